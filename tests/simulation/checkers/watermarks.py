"""What regions say of themselves, beside what clients had been told: acknowledgements, by the clock of the home."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memolith.core.log_position import LogRef
from memolith.core.rows.content import LATE_PREFIX
from tests.simulation.checkers.facts import epoch_of, is_of_a_lost_term
from tests.simulation.evidence import Evidence
from tests.simulation.history import Claim, Operation, Seen


def _writes(evidence: Evidence) -> list[Operation]:
    return [
        one
        for one in evidence.history.operations
        if one.kind in ("create", "update") and one.acknowledged and isinstance(one.answer, Seen)
    ]


def the_watermark_never_claims_what_is_missing(evidence: Evidence) -> Iterator[str]:
    """A region that says it is complete up to T has every version whose writer was told so before T.

    What counts is who told the writer, and not in whose term the version was put: a new home answers with what the
    lost one had put and told nobody of. Only a region that has heard of the new home claims anything of such answers.
    It tells of a store the least that it has of any of its homes: so the one that put the version counts as well.

    It also has every version that a home adopted, and had in its own history, before T. Of what a home adopted in a
    term that does not count, that is the late original, apart: the other copy is a straggler, and adds nothing to it.
    """
    writes = _writes(evidence)
    adoptions = _adoptions(evidence)
    lost = _adopted_in_lost_terms(evidence, adoptions)
    for claim in evidence.history.claims:
        for one in writes:
            version_id = one.answer.version_id
            written, told_us = evidence.written.get(version_id), one.shown_us[one.decided_by]
            homes = {one.decided_by} if written is None else {one.decided_by, written.home}
            until = min(claim.until.get(home, 0) for home in homes)
            lacks = version_id in claim.asked and (written is None or not _has(claim, version_id, written.position))
            if told_us < max(until, claim.complete or 0) and lacks:
                yield f"{claim.region} at {claim.moment} claims {until}, and lacks, told at {told_us}: {one}"
        for (version_id, position), adopted_us in adoptions.items():
            home = epoch_of(position).home
            until = claim.until.get(home, 0)
            is_apart = (version_id, position) in lost and version_id in claim.late
            if adopted_us < until and version_id in claim.asked and not (is_apart or _has(claim, version_id, position)):
                adopted = f"{version_id}, adopted by {home} at {adopted_us}"
                yield f"{claim.region} at {claim.moment} claims {until}, and lacks {adopted}"


def _adoptions(evidence: Evidence) -> dict[tuple[str, str], int]:
    """By version and position: when a home that had adopted it first showed it in its history, by its own clock."""
    found: dict[tuple[str, str], int] = {}
    for claim in evidence.history.claims:
        for version_id, position in claim.counted.items():
            written = evidence.written.get(version_id)
            by_home = epoch_of(position).home == claim.region
            if written is not None and by_home and position != written.position:
                found.setdefault((version_id, position), claim.shown_us)
    return found


def _adopted_in_lost_terms(evidence: Evidence, adoptions: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Of these versions and positions, those that somebody adopted in a term that does not count in the end."""
    stores = {
        sort.removeprefix(LATE_PREFIX): store_id
        for tables in evidence.rows.values()
        for store_id, sort in tables.get("versions", {})
    }
    return frozenset(
        (version_id, position)
        for version_id, position in adoptions
        if is_of_a_lost_term(evidence, stores.get(version_id, ""), position)
    )


def _has(claim: Claim, version_id: str, position: str) -> bool:
    """Whether the region had the version: in its history, or apart from it at this position, or at a later one.

    An adopted copy keeps its version's id: that the late original stands apart does not tell that the copy is here.
    """
    late = claim.late.get(version_id)
    return version_id in claim.counted or (late is not None and _rank(late) >= _rank(position))


def _rank(position: str) -> tuple[object, ...]:
    return LogRef.parse(position).slot.rank


def watermarks_do_not_stick(evidence: Evidence) -> Iterator[str]:
    """At rest every region is complete up to after the last acknowledged write."""
    last: dict[str, Claim] = {claim.region: claim for claim in evidence.history.claims}
    for claim in last.values():
        for home in {one.decided_by for one in _writes(evidence)}:
            told = [one.shown_us[home] for one in _writes(evidence) if one.decided_by == home]
            if claim.until.get(home, 0) < max(told):
                yield f"{claim.region} at rest is complete up to {claim.until.get(home)} of {home}, not {max(told)}"
