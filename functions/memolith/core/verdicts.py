"""What verdicts say of a text: a join, and what follows from it. Pure.

A verdict is put for one version and holds for its text: whatever else in the store has the same content has the same
row. For each version the highest withholding and the highest release count, by sequence; a version withholds its text
unless a higher release of that version stands. **A text is withheld while any version withholds it**, so that a release
that names one of two withheld versions frees nothing. ``allow`` says nothing here, ``flag`` adds its rules for good.

Everything is a maximum or a union, so that verdicts may be folded in any order, twice, or again after a rebuild.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from memolith.core.fingerprints import Fingerprint
from memolith.core.object_keys import VerdictKey
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.safety import SightingRow, VerdictRow

RULES_KEPT = 16
REASON_MAX_CHARS = 200
_RULE = re.compile(r"[!-+\--~]{1,100}")
_NO_RULES = "-"


def content_hmac(salt: bytes, content_sha256: str) -> str:
    """Return a text's key in the `verdicts` table: without the store's salt, no reader can look for a text in it.

    No path hash is equal to it: a path begins with a slash, a hash is hex.
    """
    return hmac.digest(salt, content_sha256.encode(), "sha256").hex()


@dataclass(frozen=True, slots=True)
class Mark:
    """One verdict as its row remembers it, for the version that it was put for.

    `by` is who decided; `rules` and `reason` are a withholding's. Kept as one line of text whose order is the order of
    sequences, so that the higher of two is the greater text.
    """

    version_id: str
    sequence: int
    region: str
    decided_at: int
    by: str
    rules: tuple[str, ...] = ()
    reason: str = ""

    def key(self, store_id: str) -> VerdictKey:
        """Return the key of the object that has the whole verdict."""
        return VerdictKey(self.region, store_id, self.version_id, self.sequence)

    def to_text(self) -> str:
        rules = ",".join(self.rules) or _NO_RULES
        return f"{self.sequence:010d} {self.region} {self.decided_at:020d} {self.by} {rules} {self.reason}"

    @classmethod
    def parse(cls, version_id: str, text: str) -> Mark:
        """Parse what `to_text` made. Raises ValueError."""
        sequence, region, decided_at, by, rules, reason = text.split(" ", 5)
        named = () if rules == _NO_RULES else tuple(rules.split(","))
        return cls(version_id, int(sequence), region, int(decided_at), by, named, reason)


def mark_of(record: VerdictRecord) -> Mark:
    """Return what the row keeps of a record: no more rules and no longer a reason than a row has room for."""
    withholds = record.outcome is VerdictOutcome.WITHHOLD
    return Mark(
        record.version_id,
        record.sequence,
        record.region,
        record.decided_at,
        "".join(record.decided_by.split()),
        kept_rules(record) if withholds else (),
        " ".join(record.reason.split())[:REASON_MAX_CHARS] if withholds else "",
    )


def record_of(row: VerdictRow, mark: Mark) -> VerdictRecord:
    """Return what a row's mark says of its verdict, as the record that joins to the same mark. It has no `position`."""
    withholds = mark in withheld_ever(row)
    return VerdictRecord(
        store_id=row.store_id,
        version_id=mark.version_id,
        position="",
        content_hmac=row.content_hmac,
        outcome=VerdictOutcome.WITHHOLD if withholds else VerdictOutcome.RELEASE,
        decided_at=mark.decided_at,
        decided_by=mark.by,
        reason=mark.reason,
        findings=tuple({"rule": rule, "reason": mark.reason} for rule in mark.rules),
        region=mark.region,
        sequence=mark.sequence,
    )


def kept_rules(record: VerdictRecord) -> tuple[str, ...]:
    """Return the rules that a row names: at most 16 that are names without blanks or commas."""
    return tuple(rule for rule in record.rules if _RULE.fullmatch(rule))[:RULES_KEPT]


def join_verdict(before: VerdictRow | None, record: VerdictRecord) -> VerdictRow | None:
    """Join one more verdict to the row; None where there is no row and the verdict says nothing."""
    row = before or VerdictRow(store_id=record.store_id, content_hmac=record.content_hmac)
    if record.outcome is VerdictOutcome.WITHHOLD:
        return replace(row, withheld=_higher(row.withheld, mark_of(record)))
    if record.outcome is VerdictOutcome.RELEASE:
        return replace(row, released=_higher(row.released, mark_of(record)))
    if record.outcome is VerdictOutcome.FLAG and record.rules:
        return replace(row, flags=sorted({*(row.flags or ()), *kept_rules(record)}))
    return before


def _higher(marks: Mapping[str, str] | None, mark: Mark) -> dict[str, str]:
    before = dict(marks or {})
    return {**before, mark.version_id: max(before.get(mark.version_id, ""), mark.to_text())}


def sightings(record: VerdictRecord) -> dict[RowKey, SightingRow]:
    """Return the rows of a verdict's fingerprints, by key. Raises ValueError for a text that is no fingerprint."""
    rows = {}
    for text in record.fingerprints:
        seen = Fingerprint.parse(text)
        key = SightingRow.key(record.store_id, seen.kind, seen.digest, seen.memory_id)
        rows[key] = SightingRow(
            store_id=record.store_id,
            kind=seen.kind.value,
            digest=seen.digest,
            memory_id=seen.memory_id,
            severity=seen.severity,
            version_id=record.version_id,
            content_hmac=record.content_hmac,
        )
    return rows


def join_sighting(before: SightingRow | None, seen: SightingRow) -> SightingRow:
    """Keep the later version's sighting, by id; of one version's the greater, so that their order does not matter."""

    def order(row: SightingRow) -> tuple[str, str, str]:
        return (row.version_id, row.severity, row.content_hmac)

    return seen if before is None or order(seen) > order(before) else before


def withholdings(row: VerdictRow | None) -> tuple[Mark, ...]:
    """List the verdicts that withhold the text now, oldest first; none if it is shown."""
    if row is None:
        return ()
    released = {mark.version_id: mark for mark in releases(row)}
    marks = [
        mark
        for mark in _marks(row.withheld)
        if mark.version_id not in released or mark.sequence >= released[mark.version_id].sequence
    ]
    return tuple(sorted(marks, key=lambda mark: (mark.decided_at, mark.version_id)))


def withheld_ever(row: VerdictRow | None) -> tuple[Mark, ...]:
    """Return the highest withholding of each version, lifted or not."""
    return () if row is None else tuple(_marks(row.withheld))


def releases(row: VerdictRow | None) -> tuple[Mark, ...]:
    """Return the highest release of each version."""
    return () if row is None else tuple(_marks(row.released))


def last_sequence(row: VerdictRow | None, version_id: str) -> int:
    """Return the highest sequence that the row knows of a version's verdicts; 0 for none."""
    known = (*withheld_ever(row), *releases(row))
    return max((mark.sequence for mark in known if mark.version_id == version_id), default=0)


def _marks(marks: Mapping[str, str] | None) -> list[Mark]:
    return [Mark.parse(version_id, text) for version_id, text in sorted((marks or {}).items())]


def says_nothing_new(row: VerdictRow | None, record: VerdictRecord) -> Mark | None:
    """Return the stored verdict that says as much as `record`, or more; None if `record` is to be put.

    A withholding says nothing new of a text that is withheld for the same rules, or that a person released from them:
    the scanner does not take back for the same reason what a person let through; only a person does. A release says
    nothing new where the last one of that version holds.
    """
    standing, rules = withholdings(row), set(kept_rules(record))
    if record.outcome is VerdictOutcome.RELEASE and record.version_id not in {mark.version_id for mark in standing}:
        return next((mark for mark in releases(row) if mark.version_id == record.version_id), None)
    if record.outcome is not VerdictOutcome.WITHHOLD:
        return None
    if standing:
        return standing[0] if rules <= {rule for mark in standing for rule in mark.rules} else None
    lifted = releases(row)
    if not lifted or record.by_person:
        return None
    return lifted[0] if rules <= {rule for mark in withheld_ever(row) for rule in mark.rules} else None
