"""Verdicts: put once, where the store's home is; replicated and folded like everything else; asked for by every read.

A verdict is put for one version and holds for its text, whatever else in the store has it (`core.verdicts` says how).
Its record carries the text's HMAC, so that folding it needs neither the version nor the store's own record, and it may
arrive before both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from memolith.app.index.ack_journal import commit_joined_everywhere
from memolith.app.kernel.listing import keys_of
from memolith.app.kernel.port_calls import find, require
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.core import verdicts
from memolith.core.decide import sha256_hex
from memolith.core.errors import Busy, InvalidRequest, Unavailable, unindexed
from memolith.core.limits import WRITE_ATTEMPTS
from memolith.core.object_keys import VerdictKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.verdict_record import VerdictRecord
from memolith.core.rows.base import Row, RowKey
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import SightingRow, VerdictRow
from memolith.core.sealing import named_record
from memolith.ports.index import Change, Index

FOLD_ATTEMPTS = 20
SCANNER = "scanner"
"""Who decided, where no person did: `VerdictRecord.decided_by` of the scanner's own verdicts."""

_NOT_KEPT = frozenset({"excerpt"})


class Verdicts:
    """Puts, folds and finds verdicts."""

    def __init__(self, region: Region) -> None:
        self._region = region

    @staticmethod
    def hmac(store: StoreRow, content_sha256: str) -> str:
        """Return the key of a text of this store in its verdicts. Raises ValueError for a deleted store."""
        if not store.salt:
            raise ValueError("a deleted store has no salt")
        return verdicts.content_hmac(bytes.fromhex(store.salt), content_sha256)

    # ---- deciding -----------------------------------------------------------------------------------------------

    def put(self, record: VerdictRecord) -> VerdictRecord:
        """Put a verdict in this region, the store's home, and project it; return the verdict that holds afterwards.

        What says nothing new is not put: the same decision as the version's last one; a withholding of a text that is
        withheld for the same rules already, under any version; one by the scanner of a text that a person released from
        them. Sets `region` and `sequence` of the record, and leaves excerpts out of its findings, so that no verdict
        keeps what a redaction erases.

        One index read, one GET that finds nothing, one PUT, a read and a transaction of the index. Repeatable.

        Raises:
            Busy, Unavailable: nothing was done. OutcomeUnknown: it may have been; put it again.
        """
        view, taken = self._region.view(), 0
        record = replace(record, region=self._region.name, findings=tuple(map(_without_text, record.findings)))
        for attempt in range(WRITE_ATTEMPTS):
            row = self.row(view.index, record.store_id, record.content_hmac)
            standing = verdicts.says_nothing_new(row, record)
            if row is not None and standing is not None:
                return self.read(row, standing)
            taken = max(taken, verdicts.last_sequence(row, record.version_id))
            last = self._last(view, replace(record, sequence=taken).key)
            if last is not None and last.sequence > taken:
                taken = last.sequence
                if _same_decision(last, record):
                    return last
                continue
            draft = replace(record, sequence=taken + 1)
            if self._take(draft):
                self._fold_own(view, draft)
                return draft
            self._region.back_off(attempt)
        raise Busy("others kept deciding on this version; try again")

    def _last(self, view: View, known: VerdictKey) -> VerdictRecord | None:
        """Return the version's last verdict after the known one, projecting each; None if there is none."""
        last, key = None, replace(known, sequence=known.sequence + 1)
        while (found := self._find(key)) is not None:
            self.fold(view, found)
            last, key = found, replace(key, sequence=key.sequence + 1)
        return last

    def _take(self, draft: VerdictRecord) -> bool:
        """Put the object; return False when another verdict has taken the sequence."""

        def is_mine() -> bool | None:
            found = self._find(draft.key)
            return None if found is None else found == draft

        return put_if_absent(self._region, str(draft.key), draft.to_json(), {}, is_mine=is_mine) is Put.MINE

    def _find(self, key: VerdictKey) -> VerdictRecord | None:
        found = find(self._region.objects, str(key))
        return None if found is None else VerdictRecord.from_json(found.body)

    def read(self, row: VerdictRow, mark: verdicts.Mark) -> VerdictRecord:
        """Read an indexed verdict in full; where its object is not here, return what the mark says. One GET.

        A verdict that the store's home answered with is indexed before its object arrives. If that region is lost, the
        object never arrives, and the verdict holds all the same.

        Raises:
            Unavailable.
        """
        return self._find(mark.key(row.store_id)) or verdicts.record_of(row, mark)

    # ---- folding ------------------------------------------------------------------------------------------------

    def fold(self, view: View, record: VerdictRecord, journal: bool = True, new: bool = False) -> None:
        """Join one verdict into every generation of tables. Repeatable, in any order.

        At home it is logged as acknowledged if it changes a row, and in any case if it is `new`: then with its digest,
        as this call has put it.

        Raises:
            Unavailable, OutcomeUnknown: the index could not be brought so far; the verdict itself stands.
        """
        here = journal and record.region == self._region.name
        key = str(record.key)
        commit_joined_everywhere(
            self._region,
            view,
            partial(self._changed, record=record),
            (named_record(key, record.to_json()) if new else Named(key)) if here else None,
            own=new,
            contended="the verdict's row stayed contended; repeat the call",
            attempts=FOLD_ATTEMPTS,
        )

    def _fold_own(self, view: View, record: VerdictRecord) -> None:
        try:
            self.fold(view, record, new=True)
        except Unavailable as error:
            raise unindexed("the verdict was written", error, "repeat the call") from error

    def _changed(self, index: Index, record: VerdictRecord) -> list[Change]:
        """Return what a verdict says that the index does not have yet. One index read."""
        key, seen = VerdictRow.key(record.store_id, record.content_hmac), verdicts.sightings(record)
        rows = self._region.read(index, [key, *seen])
        judged = verdicts.join_verdict(VerdictRow.from_attributes(rows[key]) if key in rows else None, record)
        after: dict[RowKey, Row | None] = {key: judged}
        for place, sighting in seen.items():
            before = SightingRow.from_attributes(rows[place]) if place in rows else None
            after[place] = verdicts.join_sighting(before, sighting)
        attributes = {place: None if row is None else row.to_attributes() for place, row in after.items()}
        return [Change(place, rows.get(place), new) for place, new in attributes.items() if new != rows.get(place)]

    # ---- asking -------------------------------------------------------------------------------------------------

    def key(self, store: StoreRow, content_sha256: str) -> RowKey:
        """Return the key of a text's row."""
        return VerdictRow.key(store.store_id, self.hmac(store, content_sha256))

    def of(self, view: View, store: StoreRow, content_sha256s: Iterable[str]) -> Mapping[str, VerdictRow]:
        """Return what this region knows of texts, by their hash, without those that have no verdict. One index read.

        Raises:
            Unavailable: the index does not answer, or its verdicts were emptied, so that it is not known whether a
            text may be shown.
        """
        keys = {sha256: self.key(store, sha256) for sha256 in dict.fromkeys(content_sha256s)}
        rows = self._region.read_whole(view, list(keys.values()), "verdicts") if keys else {}
        return {sha256: VerdictRow.from_attributes(rows[key]) for sha256, key in keys.items() if key in rows}

    def refuse_if_withheld(self, row: VerdictRow) -> None:
        """Refuse a text that is known to be bad, as the scanner would. A GET for each verdict on it.

        Raises:
            InvalidRequest: with the findings of every verdict that withholds it. Unavailable.
        """
        marks = verdicts.withholdings(row)
        if not marks:
            return
        rules = ", ".join(dict.fromkeys(rule for mark in marks for rule in mark.rules)) or marks[0].reason
        finding_to_json = (self._find(mark.key(row.store_id)) for mark in marks)
        findings = [dict(finding) for record in finding_to_json if record is not None for finding in record.findings]
        raise InvalidRequest(
            "content", f"is withheld in this store by the safety scanner ({rules})", findings=(*findings,)
        )

    def put_for(self, store_id: str, version_id: str, regions: Iterable[str]) -> list[VerdictRecord]:
        """List every verdict on one version that these regions put and that is here. A LIST a region, a GET a verdict.

        Raises:
            Unavailable.
        """
        records: list[VerdictRecord] = []
        for region in regions:
            keys = keys_of(self._region.objects, VerdictKey, f"{region}/verdict/{store_id}/{version_id}/")
            records += [VerdictRecord.from_json(require(self._region.objects, str(key)).body) for key in keys]
        return records

    def row(self, index: Index, store_id: str, content_hmac: str) -> VerdictRow | None:
        """Return what this region knows of one text. One index read."""
        key = VerdictRow.key(store_id, content_hmac)
        attributes = self._region.read(index, [key]).get(key)
        return None if attributes is None else VerdictRow.from_attributes(attributes)


def verdict_keys(store_id: str, salt: bytes, content: str | None) -> list[RowKey]:
    """Return the row of a text that is about to be written; none where there is no text."""
    if content is None:
        return []
    return [VerdictRow.key(store_id, verdicts.content_hmac(salt, sha256_hex(content)))]


def _without_text(finding: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in finding.items() if name not in _NOT_KEPT}


def _same_decision(one: VerdictRecord, other: VerdictRecord) -> bool:
    return (one.outcome, one.content_hmac, one.rules) == (other.outcome, other.content_hmac, other.rules)
