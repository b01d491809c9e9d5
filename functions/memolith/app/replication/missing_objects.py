"""Whether this region holds an object that its home has acknowledged, and bringing it where it does not.

A row tells that an object is folded here, if it stands at the object's own position or at a later one, and does not say
that it was made without the object (`VersionRow.unseen`). The rows of records, keys and orders do not say so, and may
come from another region's answer. Of these there are few: each object is looked for as well, and so is the beginning of
a session whose row another of its records may have made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from enum import Enum
from functools import partial

from memolith.app.indexer.indexer import Indexer, Malformed
from memolith.app.kernel.damage_report import report_damage
from memolith.app.kernel.port_calls import find, find_head
from memolith.app.kernel.region import Region, View
from memolith.app.log.copy import put_copy
from memolith.app.log.epoch_snapshot import EpochSnapshots
from memolith.core.audit import State, Stored, state_of
from memolith.core.errors import Unavailable
from memolith.core.integrity import Damage
from memolith.core.log_position import LogKey, LogRef, Slot
from memolith.core.object_keys import (
    SESSION_TRUST_FROM,
    ApiKeyKey,
    ObjectKey,
    ProposalKey,
    RedactionKey,
    ResolutionKey,
    RunKey,
    SessionKey,
    StoreKey,
    TranscriptKey,
    parsed_key,
)
from memolith.core.objects import schema
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.store_record import StoreState
from memolith.core.proposals import shows
from memolith.core.rows.base import Attributes, RowKey
from memolith.core.rows.content import LATE_PREFIX, UNSEEN_DEPARTURE, UNSEEN_ENTRY, UNSEEN_ORDER, VersionRow
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import ApiKeyRow, SessionRow, StoreRow
from memolith.core.rows.proposals import ProposalRow
from memolith.core.rows.resolutions import ResolutionRow
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.trust import rank
from memolith.ports import errors as port_errors
from memolith.ports.objects import StoredObject

ROWS_PER_READ = 100
AT_ONCE = 16


class RepairOutcome(Enum):
    """What became of an object that the tables did not hold.

    `FOLDED`: it was here, and is in the tables now. `FETCHED`: as well, once it was copied from its home.
    `DISCHARGED`: it never will be, and nothing is missing for it: its store is deleted, it is gone at its home too, or
    no release reads it. `WAITING`: it has not arrived, could not be folded, or a later release reads it; look again.
    """

    FOLDED = "folded"
    FETCHED = "fetched"
    DISCHARGED = "discharged"
    WAITING = "waiting"


class MissingObjects:
    """Checks objects by the rows that they leave, a hundred in one read, and folds what is missing."""

    def __init__(self, region: Region, indexer: Indexer, snapshots: EpochSnapshots) -> None:
        self._region = region
        self._indexer = indexer
        self._snapshots = snapshots

    def missing(
        self,
        view: View,
        names: Sequence[Named],
        listed: bool = False,
        seen: MutableMapping[RowKey, Attributes] | None = None,
    ) -> list[Named]:
        """Return those that this region does not show to be here and projected.

        One read for a hundred names, and a HEAD for each record of a store, key, proposal, conflict or dream, for each
        order to redact, and for the beginning of a session that was changed; none for names that the caller has just
        `listed` in this region's bucket. Versions that the rows do not show cost a second read for a hundred.

        The rows that were read are added to `seen`, for a caller that has more to ask of them.

        Raises:
            Unavailable: the index or the bucket does not answer.
        """
        found: list[Named] = []
        alone: set[Named] = set()
        for start in range(0, len(names), ROWS_PER_READ):
            row_keys = {name: _row_key_of(name) for name in names[start : start + ROWS_PER_READ]}
            keys = {row[0] for row in row_keys.values() if row is not None}
            rows = self._region.read(view.index, list(keys)) if keys else {}
            if seen is not None:
                seen.update(rows)
            projected = {name: row for name, row in row_keys.items() if row is not None and _shows(rows, *row)}
            found += [name for name in row_keys if name not in projected]
            alone.update(name for name, (row, key) in projected.items() if _may_lack_object(rows[row], key))
        found = self._without_late(view, found)
        return found if listed else found + self._gone(alone)

    def _gone(self, alone: Iterable[Named]) -> list[Named]:
        """Return those that are not in this region's bucket, whatever made the row that shows them."""
        names = sorted(alone, key=lambda name: (name.key, name.version_id or ""))
        here: list[bool] = []
        for start in range(0, len(names), AT_ONCE):
            tasks = [partial(self._is_here, name.key) for name in names[start : start + AT_ONCE]]
            here += self._region.parallel.run(tasks)
        return [name for name, is_here in zip(names, here, strict=True) if not is_here]

    def _without_late(self, view: View, names: Sequence[Named]) -> list[Named]:
        """Leave out the versions that are divergent stragglers, or count elsewhere. Reads only where one is missing.

        A replayed version has the id of the late original: a row of the one says nothing of the other; the positions
        do.
        """
        parsed = {name: parsed_key(name.key) for name in names if name.version_id is not None}
        versions = {name: key for name, key in parsed.items() if isinstance(key, LogKey)}
        keys = {name: VersionRow.late_key(key.store_id, name.version_id or "") for name, key in versions.items()}
        stores = {key.store_id: StoreRow.key(key.store_id) for key in versions.values()}
        asked = [*keys.values(), *stores.values(), *(VersionRow.key(key.pk, _id_of(key)) for key in keys.values())]
        rows: dict[RowKey, Attributes] = {}
        for start in range(0, len(asked), ROWS_PER_READ):
            rows |= self._region.read(view.index, asked[start : start + ROWS_PER_READ])
        held: set[Named] = set()
        for name, key in versions.items():
            apart = rows.get(keys[name])
            is_apart = apart is not None and _shows_entry(VersionRow.from_attributes(apart), key)
            if is_apart or self._counts_elsewhere(rows, keys[name], stores[key.store_id], key):
                held.add(name)
        return [name for name in names if name not in held]

    def _counts_elsewhere(
        self, rows: Mapping[RowKey, Attributes], late_key: RowKey, store_key: RowKey, key: LogKey
    ) -> bool:
        """Tell whether a version is known at another position and the named one is a straggler: then nothing is
        missing.

        So it is with what a home replayed whose epoch was not accepted. Where that cannot be decided, it is missing; so
        is the end of a rename that the version's row lacks.
        """
        found = [rows.get(late_key), rows.get(VersionRow.key(key.store_id, _id_of(late_key)))]
        known = [
            VersionRow.from_attributes(row) for row in found if row is not None and row.get("position") is not None
        ]
        if store_key not in rows or any(_lacks_end(row, key) for row in known):
            return False
        if all(row.ref == LogRef(key.path_hash, key.slot) for row in known):
            return False
        store = StoreRow.from_attributes(rows[store_key])
        try:
            return store.state != StoreState.DELETED and self._snapshots.is_straggler(store, key.path_hash, key.slot)
        except Unavailable:
            return False

    def is_indexed(self, name: Named) -> bool:
        """Tell whether a row shows that the object is projected; otherwise the object itself must be read."""
        return _row_key_of(name) is not None

    def repair(self, view: View, names: Sequence[Named], home: str, fetch: bool) -> Mapping[Named, RepairOutcome]:
        """Project what is missing, several at once; `fetch`: copy from its home what has not arrived.

        Of a name one HEAD and a projection; a GET from the home and a PUT for what is fetched. A version that is not
        what its checkpoint sealed is not fetched: it is reported, and each further region costs a GET.

        Raises:
            Unavailable: the index does not answer.
        """
        stores = self._stores_of(view, names)
        tasks = [partial(self._repair_one, view, name, home, fetch, stores) for name in names]
        results: list[RepairOutcome] = []
        for start in range(0, len(tasks), AT_ONCE):
            results += self._region.parallel.run(tasks[start : start + AT_ONCE])
        brought = dict(zip(names, results, strict=True))
        folded = [name for name, result in brought.items() if result in (RepairOutcome.FOLDED, RepairOutcome.FETCHED)]
        row_keys = [name for name in folded if _row_key_of(name) is not None]
        brought |= dict.fromkeys(self.missing(view, row_keys), RepairOutcome.WAITING)
        for kind in (RepairOutcome.FETCHED, RepairOutcome.DISCHARGED):
            if count := results.count(kind):
                self._region.metrics.count(f"slots_{kind.value}", count, home=home)
        return brought

    def _stores_of(self, view: View, names: Iterable[Named]) -> dict[str, StoreRow]:
        parsed = (parsed_key(name.key) for name in names)
        keys = {StoreRow.key(key.store_id) for key in parsed if isinstance(key, LogKey)}
        rows = self._region.read(view.index, list(keys)) if keys else {}
        return {row["store_id"]: StoreRow.from_attributes(row) for row in rows.values()}

    def _repair_one(
        self, view: View, name: Named, home: str, fetch: bool, stores: Mapping[str, StoreRow]
    ) -> RepairOutcome:
        key = parsed_key(name.key)
        store = stores.get(key.store_id) if isinstance(key, LogKey) else None
        if store is not None and store.state == StoreState.DELETED:
            return RepairOutcome.DISCHARGED
        try:
            if self._is_here(name.key):
                return self._fold(view, name.key, RepairOutcome.FOLDED)
            if not fetch:
                return RepairOutcome.WAITING
            if not self._copy(name, home, "" if store is None else store.salt):
                return RepairOutcome.DISCHARGED
            return self._fold(view, name.key, RepairOutcome.FETCHED)
        except port_errors.PORT_FAILURES:
            return RepairOutcome.WAITING

    def _is_here(self, key: str) -> bool:
        return find_head(self._region.objects, key) is not None

    def _copy(self, name: Named, home: str, salt: str) -> bool:
        """Copy an object from its home, whose copies go no further; False when there is none there either.

        What stands at home may have been changed since the checkpoint was sealed: then a whole copy of another region
        is taken, and False returned where there is none.

        Raises:
            Unavailable: what stands there is of a later schema, so that this release cannot compare it.
        """
        key, is_later = parsed_key(name.key), False
        for at in dict.fromkeys((home, *self._region.regions)):
            found = None if at == self._region.name else find(self._region.objects, name.key, at)
            if found is None and at == home:
                return False
            if found is None:
                continue
            if not isinstance(key, LogKey) or _is_as_sealed(name, key, found, salt):
                put_copy(self._region, found)
                return True
            if schema.is_later(found.metadata.get("schema")):
                is_later = True
            else:
                report_damage(self._region, {(key, at): Damage.REPLACED})
        if is_later:
            raise Unavailable("an object of a later schema was not copied", object=name.key, hint="deploy its release")
        return False

    def _fold(self, view: View, key: str, done: RepairOutcome) -> RepairOutcome:
        """Project as its event would have: with all that follows from it."""
        try:
            reactions: Sequence[Callable[[], object]] = self._indexer.fold_object(view, key, journal=False)
        except Malformed as error:
            return RepairOutcome.WAITING if error.is_later else RepairOutcome.DISCHARGED
        for react in reactions:
            react()
        return done


def _is_as_sealed(name: Named, key: LogKey, found: StoredObject, salt: str) -> bool:
    """Tell whether a version's object may be what a checkpoint names: it fits, it was erased, or nothing was sealed."""
    state = state_of(name, key, Stored(found.metadata, found.body), salt)
    return state in (State.INTACT, State.UNSEALED, State.BLANK)


_RowOfObject = tuple[RowKey, ObjectKey]


def _row_key_of(name: Named) -> _RowOfObject | None:
    """Return the row that shows whether an object is projected; None where the object itself must be read."""
    key = parsed_key(name.key)
    if isinstance(key, LogKey) and name.version_id is not None:
        return VersionRow.key(key.store_id, name.version_id), key
    if isinstance(key, StoreKey):
        return StoreRow.key(key.store_id), key
    if isinstance(key, ApiKeyKey):
        return ApiKeyRow.key(key.workspace_id, key.key_id), key
    if isinstance(key, SessionKey):
        return SessionRow.key(key.workspace_id, key.session_id), key
    if isinstance(key, TranscriptKey):
        return TranscriptRow.key(key.workspace_id, key.session_id, key.region, key.sequence), key
    if isinstance(key, ProposalKey):
        return ProposalRow.key(key.store_id, key.proposal_id), key
    if isinstance(key, ResolutionKey):
        return ResolutionRow.key(key.store_id, key.conflict_id), key
    if isinstance(key, RunKey):
        return DreamRow.key(key.run_id), key
    if isinstance(key, RedactionKey):
        return VersionRow.key(key.store_id, key.version_id), key
    return None


def _shows(rows: Mapping[RowKey, Attributes], row_key: RowKey, key: ObjectKey) -> bool:
    attributes = rows.get(row_key)
    if attributes is None:
        return False
    if isinstance(key, StoreKey):
        return Slot.parse(StoreRow.from_attributes(attributes).slot).rank >= key.slot.rank
    if isinstance(key, ApiKeyKey):
        return key.sequence == 1 or ApiKeyRow.from_attributes(attributes).revoked_at is not None
    if isinstance(key, SessionKey):
        return _shows_session(SessionRow.from_attributes(attributes), key)
    if isinstance(key, TranscriptKey | ResolutionKey):
        return True
    if isinstance(key, ProposalKey):
        return shows(ProposalRow.from_attributes(attributes), key)
    if isinstance(key, RunKey):
        return DreamRow.from_attributes(attributes).shows(key)
    row = VersionRow.from_attributes(attributes)
    if isinstance(key, LogKey):
        return _shows_entry(row, key)
    return row.redacted_at is not None and UNSEEN_ORDER not in (row.unseen or ())


def _may_lack_object(attributes: Attributes, key: ObjectKey) -> bool:
    """Tell whether a row that shows an object may have been made without it, and does not say so.

    From the answer of a home; or, where it shows the beginning of a session, from another of its records: any of those
    leaves more in the row, and only a beginning with a context leaves one of its own rank.
    """
    if not isinstance(key, SessionKey):
        return isinstance(key, (StoreKey, ApiKeyKey, RedactionKey, ProposalKey, ResolutionKey, RunKey))
    row = SessionRow.from_attributes(attributes)
    is_changed = any(one is not None for one in (row.context, row.updated, row.archived_at, row.trust))
    return key.sequence == 1 and is_changed and row.context != key.rank


def _shows_entry(row: VersionRow, key: LogKey) -> bool:
    """Tell whether a version's row shows that one of its objects is projected: its own, or the end of its rename.

    Its own at the position of the row, or at an earlier one of the same log, from which it was replayed since.
    """
    if row.memory_id is None or row.position is None:
        return False
    at = LogRef.parse(row.position)
    if at.path_hash != key.path_hash:
        return at.slot.epoch.rank >= key.slot.epoch.rank and UNSEEN_DEPARTURE not in (row.unseen or ())
    if at.slot == key.slot:
        return UNSEEN_ENTRY not in (row.unseen or ())
    return at.slot.rank > key.slot.rank


def _lacks_end(row: VersionRow, key: LogKey) -> bool:
    """Tell whether a key may be the end of the rename that made a version, and the row was made without it."""
    return row.ref.path_hash != key.path_hash and UNSEEN_DEPARTURE in (row.unseen or ())


def _id_of(late_key: RowKey) -> str:
    return late_key.sk.removeprefix(LATE_PREFIX)


def _shows_session(row: SessionRow, key: SessionKey) -> bool:
    if key.sequence == 1:
        return True
    if key.sequence == 2:
        return row.archived_at is not None
    if key.is_trust:
        return row.trust is not None and rank(row.trust) <= key.sequence - SESSION_TRUST_FROM
    return ((row.updated if key.is_update else row.context) or "") >= key.rank
