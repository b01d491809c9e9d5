"""Adoption: the home takes up a version that came late, where nobody has written since.

A late version's parent is still the head, or what the head itself adopted: then it is committed in the present epoch by
an ordinary put, with its own id, text, actor and time, under every rule that a write obeys. Otherwise it stays apart, a
divergent version; so does a creation whose path has had another memory since, and what would list its memory and was
refused once because another one was above or below it. A child that came before its parent is
looked at again once its parent is adopted. A parent that was erased before it came is passed over: its child is adopted
on what was before it. A rename is left apart: its two halves were one commit, and half of it may have been built on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import Enum

from memolith.app.commit.late_records import LateRecords
from memolith.app.commit.writer import Writer
from memolith.app.epochs.fence import stored_record
from memolith.app.kernel.eraser_client import erase
from memolith.app.kernel.region import Region
from memolith.app.log.log_reader import LogReader
from memolith.app.log.verified_reads import verified_text
from memolith.core.commands import AdoptVersion
from memolith.core.decide import ADOPTABLE
from memolith.core.errors import InvalidRequest, PathConflict, Unavailable
from memolith.core.integrity import Acknowledged
from memolith.core.log_position import LogKey, LogRef
from memolith.core.objects.entry import Entry, Operation
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.core.rows.identity import StoreRow

LOOKED_AT_ONCE = 100
"""How many versions of one path one call looks at; the rest come with their own events."""


class Replay(Enum):
    """What became of one late version.

    Attributes:
        ADOPTED: it was committed in the present epoch just now.
        COUNTS: it is in the history already; who put it there may have died before looking at what follows.
        APART: it stays apart.
    """

    ADOPTED = "adopted"
    COUNTS = "counts"
    APART = "apart"


class Adoption:
    """Commits late versions through the writer, in the loop of ordinary writes."""

    def __init__(self, region: Region, writer: Writer, logs: LogReader, late_records: LateRecords) -> None:
        self._region = region
        self._writer = writer
        self._logs = logs
        self._late_records = late_records

    def adopt(self, store: StoreRow, key: LogKey) -> list[str]:
        """Adopt what stands at `key`, and then what follows in its log, as far as that can be. Return their versions.

        Once something was adopted, now or before, all that follows is looked at: what was in its way, as the memory
        whose deletion was adopted was in that of a creation, may be gone.

        Repeatable: what was adopted is not adopted again, a HEAD and a read. Of a version that can be adopted, a GET
        and what a write costs.

        Raises:
            Unavailable, Busy, OutcomeUnknown: repeat it.
        """
        adopted, goes_on = list[str](), False
        for _ in range(LOOKED_AT_ONCE):
            entry = self._logs.entry(key)
            if entry is None or not (goes_on or entry.operation in ADOPTABLE):
                break
            if not self._logs.is_straggler(store, entry):
                break
            replayed = Replay.APART
            if entry.operation in ADOPTABLE and not entry.blank:
                replayed = self._replay(store, entry)
            if replayed is Replay.ADOPTED:
                adopted.append(entry.version_id)
            goes_on = goes_on or replayed is not Replay.APART
            if not goes_on and not entry.blank:
                break
            key = replace(key, slot=key.slot.following)
        if adopted:
            self._region.metrics.count("late_adopted", len(adopted))
        return adopted

    def _replay(self, store: StoreRow, entry: Entry) -> Replay:
        key = VersionRow.key(store.store_id, entry.version_id)
        began_us = self._region.clock.now_us()
        view = self._region.view([StoreRow.key(store.store_id), MemoryRow.key(store.store_id, entry.memory_id), key])
        store = stored_record(view, store)
        known = None if key not in view.rows else VersionRow.from_attributes(view.rows[key])
        if known is not None and known.position is not None:
            counts = self._writer.done(view, store, AdoptVersion(entry, None)) is not None
            return Replay.COUNTS if counts else Replay.APART
        if known is not None and known.redacted_at is not None:
            return Replay.APART
        archived_since = self._late_records.late_archiving(store, entry)
        command = AdoptVersion(entry, self._text(entry), archived_since)
        try:
            outcome = self._writer.commit(view, store, command, entry.flags, passed_on_us=began_us)
        except (InvalidRequest, PathConflict):
            return Replay.APART
        committed = outcome.memory is not None and outcome.memory.version_id == entry.version_id
        if outcome.error is not None or not committed:
            return Replay.APART
        with suppress(Unavailable):
            self._erase_if_ordered(entry)
        return Replay.ADOPTED

    def _erase_if_ordered(self, entry: Entry) -> None:
        """Has the copy erased if an order came while it was committed. A read.

        The copy's own event looks again, so that an error here stops no adoption of what follows.
        """
        key = VersionRow.key(entry.key.store_id, entry.version_id)
        attributes = self._region.view([key]).rows.get(key)
        row = None if attributes is None else VersionRow.from_attributes(attributes)
        if row is not None and row.redacted_at is not None and row.position is not None:
            erase(self._region, str(LogRef.parse(row.position).key_in(row.store_id)))

    def _text(self, entry: Entry) -> str | None:
        if entry.operation is Operation.DELETED:
            return None
        return verified_text(self._region, entry.key, Acknowledged(entry.content_sha256 or "", entry.version_id))
