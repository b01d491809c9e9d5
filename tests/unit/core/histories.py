"""Random valid histories of one store, as the objects that its bucket would hold.

A history is made of steps; each step is interpreted against what is so far, so that any list of steps is valid and a
failing one shrinks. The makers of entries are the product's own (`memolith.core.decide`); what is live is kept apart,
by the plainest means, for comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from memolith.core import decide
from memolith.core.drafts import Draft
from memolith.core.fold import join_memory
from memolith.core.ids import ulid
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.objects.entry import Actor, Entry, Operation
from memolith.core.objects.redaction_order import Redaction
from memolith.core.paths import path_hash
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow

STORE = "memstore_useast1_" + ulid(1, bytes(10))
SALT = bytes(32)
PATHS = ("/a", "/b", "/c", "/d")
EPOCHS = (Epoch(1, "us-east-1"), Epoch(2, "eu-west-1"), Epoch(3, "us-east-1", 1))
ACTOR = Actor("api_key", "apikey_useast1_" + ulid(1, bytes(10)))

Unit = tuple[ResolvedEntry, ...] | Redaction
"""What one event makes known at once: an entry, or a rename's two, or an order of redaction."""

Step = tuple[int, int, int]
"""Which of the operations that are possible now, on what, and how."""

steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(st.integers(0, 23), st.integers(0, 7), st.integers(0, 7)), min_size=4, max_size=16
)


@dataclass
class History:
    """A store's objects so far.

    Attributes:
        units: everything that any region may come to know, originals of blanked entries too.
        heads: the last version of every memory, deleted ones too.
        at: which memory is at a path.
        blanked: ids of the versions whose text is gone.
    """

    units: list[Unit] = field(default_factory=list)
    heads: dict[str, MemoryRow] = field(default_factory=dict)
    at: dict[str, str] = field(default_factory=dict)
    blanked: set[str] = field(default_factory=set)
    tails: dict[str, Slot] = field(default_factory=dict)
    committed: dict[str, tuple[ResolvedEntry, ...]] = field(default_factory=dict)
    epoch: Epoch = EPOCHS[0]
    clock: int = 1_000_000

    def live(self) -> dict[str, str]:
        """Path -> memory, as a listing should show it: a memory whose head is blank is not live."""
        return {path: id for path, id in self.at.items() if self.heads[id].version_id not in self.blanked}

    def apply(self, step: Step) -> None:
        choice, one, other = step
        free = [self._create, self._create, self._void]
        occupied = [self._modify, self._rename, self._rename, self._delete, self._half_rename]
        written = [self._blank, self._redact, self._next_epoch]
        possible = (free if len(self.at) < len(PATHS) else []) + (occupied if self.at else [])
        possible += written if self.committed else []
        possible[choice % len(possible)](one, other)

    # ---- steps ------------------------------------------------------------------------------------------------------

    def _create(self, one: int, other: int) -> None:
        path = self._free(one)
        entry = decide.created(self._draft(f"mem_{self._ulid()}"), self._next(path), path, f"text {other}")
        self._commit(replace(entry, flags=("odd",) if other % 2 else ()))

    def _modify(self, one: int, other: int) -> None:
        if head := self._occupant(one):
            self._commit(self._successor(head, decide.Commit(Operation.MODIFIED, _path(head), f"text {other}")))

    def _delete(self, one: int, other: int) -> None:
        if head := self._occupant(one):
            self._commit(self._successor(head, decide.Commit(Operation.DELETED, _path(head), None)))
            del self.at[_path(head)]

    def _rename(self, one: int, other: int) -> None:
        head = self._occupant(one)
        if head and len(self.at) < len(PATHS):
            moved_in = self._arrival(head, self._free(other))
            departure = decide.moved_out(moved_in)
            self._take(departure)
            self._commit(moved_in, departure)
            del self.at[_path(head)]

    def _half_rename(self, one: int, other: int) -> None:
        """Somebody else took the source slot: what arrived is void, and its text is erased."""
        head = self._occupant(one)
        if head and len(self.at) < len(PATHS):
            moved_in = self._arrival(head, self._free(other))
            self._take(moved_in)
            self.units += [(ResolvedEntry(moved_in, void=True),), (ResolvedEntry(moved_in.blanked(), void=True),)]
            self._commit(self._successor(head, decide.Commit(Operation.MODIFIED, _path(head), "other")))

    def _void(self, one: int, other: int) -> None:
        entry = decide.void(self._next(self._free(one)), f"memver_{self._ulid()}", self.clock)
        self._take(entry)
        self.units.append((ResolvedEntry(entry),))

    def _blank(self, one: int, other: int) -> None:
        """Any version, heads too: retention may blank those."""
        if version := self._version(one):
            settled = tuple(
                replace(part, entry=part.entry.blanked()) if part.is_version else part
                for part in self.committed[version]
            )
            self.units.append(settled)
            self.blanked.add(version)

    def _redact(self, one: int, other: int) -> None:
        """As the API has it: never the head of a memory that is at a path."""
        version = self._version(one)
        if version and not any(self.heads[id].version_id == version for id in self.at.values()):
            position = str(self.committed[version][0].entry.ref)
            self.units.append(Redaction(STORE, version, position, self.clock + other, f"api_key:{other}"))
            self.blanked.add(version)

    def _next_epoch(self, one: int, other: int) -> None:
        self.epoch = EPOCHS[min(EPOCHS.index(self.epoch) + 1, len(EPOCHS) - 1)]

    # ---- making entries ---------------------------------------------------------------------------------------------

    def _commit(self, entry: Entry, departure: Entry | None = None) -> None:
        """A version, and for a rename what commits it; both halves tell of both, so that unit is known twice."""
        self._take(entry)
        unit = (ResolvedEntry(entry),) if departure is None else (ResolvedEntry(entry), ResolvedEntry(departure))
        self.units += [unit] if departure is None else [unit, unit]
        self.committed[entry.version_id] = unit
        head = join_memory(self.heads.get(entry.memory_id), entry)
        self.heads[entry.memory_id] = replace(head, path=entry.path)
        if entry.path is not None:
            self.at[entry.path] = entry.memory_id

    def _successor(self, head: MemoryRow, commit: decide.Commit) -> Entry:
        return decide.follows(self._draft(head.memory_id), head, self._next(_path(head)), commit)

    def _arrival(self, head: MemoryRow, path: str) -> Entry:
        source = self._next(_path(head)).slot
        commit = decide.Commit(Operation.MOVED_IN, path, None)
        return decide.follows(self._draft(head.memory_id), head, self._next(path), commit, source)

    def _take(self, entry: Entry) -> None:
        self.tails[entry.key.path_hash] = entry.slot

    def _next(self, path: str) -> LogKey:
        hash = path_hash(SALT, path)
        tail = self.tails.get(hash)
        slot = tail.following if tail is not None and tail.epoch == self.epoch else Slot(self.epoch, 1)
        return LogKey(STORE, hash, slot)

    def _draft(self, memory_id: str) -> Draft:
        return Draft(f"memver_{self._ulid()}", memory_id, ACTOR, self.clock)

    def _ulid(self) -> str:
        self.clock += 1_000
        return ulid(self.clock // 1000, self.clock.to_bytes(10, "big"))

    def _occupant(self, choice: int) -> MemoryRow | None:
        """A live memory: one whose head was blanked takes no more writes."""
        ids = sorted(id for id in self.at.values() if self.heads[id].version_id not in self.blanked)
        return self.heads[ids[choice % len(ids)]] if ids else None

    def _free(self, choice: int) -> str:
        free = [path for path in PATHS if path not in self.at]
        return free[choice % len(free)]

    def _version(self, choice: int) -> str | None:
        versions = sorted(self.committed)
        return versions[choice % len(versions)] if versions else None


def history(given: list[Step]) -> History:
    """The history that these steps make."""
    made = History()
    for step in given:
        made.apply(step)
    return made


def _path(head: MemoryRow) -> str:
    assert head.path is not None
    return head.path
