"""What is withheld is shown to nobody who may only read; and what is not, is, at rest."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.evidence import Evidence
from tests.simulation.history import NEVER, Operation, Seen


def withheld_texts_are_shown_nowhere(evidence: Evidence) -> Iterator[str]:
    """An acknowledged withholding holds in every region, unless a release may have come after it."""
    for withholding in _of(evidence, "withhold"):
        if not withholding.acknowledged or any(
            _ended(release) > withholding.invoked for release in _about(evidence, withholding, "release")
        ):
            continue
        for region, final in evidence.final[withholding.store_id].items():
            if withholding.asked["sha256"] in final.shown:
                yield f"{region} shows at rest what was withheld by: {withholding}"


def a_text_is_shown_no_more_where_it_was_withheld(evidence: Evidence) -> Iterator[str]:
    """Not even while the region's tables are emptied or rebuilt; unless a release may have come after it."""
    for withholding in _of(evidence, "withhold"):
        if not withholding.acknowledged or any(
            _ended(release) > withholding.invoked for release in _about(evidence, withholding, "release")
        ):
            continue
        for read in _of(evidence, "read"):
            if (
                isinstance(read.answer, Seen)
                and read.answer.has_text
                and read.answer.sha256 == withholding.asked["sha256"]
                and (read.store_id, read.region) == (withholding.store_id, withholding.region)
                and read.invoked > _ended(withholding)
            ):
                yield f"{read.region} shows what it had withheld by: {withholding}: {read}"


def released_texts_are_shown_everywhere(evidence: Evidence) -> Iterator[str]:
    """An acknowledged release holds in every region, unless a withholding may have come after it."""
    for release in _of(evidence, "release"):
        if not release.acknowledged or any(
            _ended(withholding) > release.invoked for withholding in _about(evidence, release, "withhold")
        ):
            continue
        for region, final in evidence.final[release.store_id].items():
            standing = [one for some in final.versions.values() for one in some]
            sha256 = release.asked["sha256"]
            if sha256 not in final.shown and any(one.content_sha256 == sha256 for one in standing):
                yield f"{region} does not show at rest what was released by: {release}"


def _of(evidence: Evidence, kind: str) -> Iterator[Operation]:
    return (one for one in evidence.history.operations if one.kind == kind)


def _about(evidence: Evidence, other: Operation, kind: str) -> Iterator[Operation]:
    """What was done, or may have been, about the same text."""
    for one in _of(evidence, kind):
        if not one.refused and (one.store_id, one.asked["sha256"]) == (other.store_id, other.asked["sha256"]):
            yield one


def _ended(operation: Operation) -> int:
    return NEVER if operation.returned is None else operation.returned
