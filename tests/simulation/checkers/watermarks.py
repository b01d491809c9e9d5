"""What regions say of themselves, beside what clients had been told: acknowledgements, by the clock of the home."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.evidence import Evidence
from tests.simulation.history import Claim, Operation, Seen


def _writes(evidence: Evidence) -> list[Operation]:
    return [
        one
        for one in evidence.history.operations
        if one.kind in ("create", "update") and one.acknowledged and isinstance(one.answer, Seen)
    ]


def the_watermark_never_claims_what_is_missing(evidence: Evidence) -> Iterator[str]:
    """A region that says it is complete up to T has every version whose writer was told so before T."""
    writes = _writes(evidence)
    for claim in evidence.history.claims:
        for one in writes:
            version_id = one.answer.version_id
            home = _written_by(evidence, one)
            until, told_us = claim.until.get(home, 0), one.shown_us[home]
            if told_us < until and version_id in claim.asked - claim.present:
                yield f"{claim.region} at {claim.moment} claims {until}, and lacks, told at {told_us}: {one}"


def watermarks_do_not_stick(evidence: Evidence) -> Iterator[str]:
    """At rest every region is complete up to after the last acknowledged write."""
    last: dict[str, Claim] = {claim.region: claim for claim in evidence.history.claims}
    for claim in last.values():
        for home in {_written_by(evidence, one) for one in _writes(evidence)}:
            told = [one.shown_us[home] for one in _writes(evidence) if _written_by(evidence, one) == home]
            if claim.until.get(home, 0) < max(told):
                yield f"{claim.region} at rest is complete up to {claim.until.get(home)} of {home}, not {max(told)}"


def _written_by(evidence: Evidence, write: Operation) -> str:
    """The home that acknowledged it."""
    written = evidence.written.get(write.answer.version_id)
    return evidence.homes[write.store_id] if written is None else written.home
