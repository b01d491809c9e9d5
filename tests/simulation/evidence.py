"""What a run leaves behind, as the checkers are given it; how it is gathered, `gathering` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memolith.app.kernel.results import Version
from memolith.core.log_position import Epoch
from memolith.core.objects.resolution_record import ResolutionRecord
from tests.simulation.history import NEVER, History, Seen
from tests.simulation.tampering import Audited, Deceived
from tests.simulation.workers import Worked


@dataclass(frozen=True, slots=True)
class Apart:
    """A divergent version, as whoever decides about it is shown it; one that was erased has neither path nor hash."""

    version_id: str
    memory_id: str
    generation: int
    operation: str
    path: str | None
    sha256: str | None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Where a version was written first: the home, and its position there, as versions name theirs.

    `adopted` means that it was written once more, by a home that had taken over: there, at `stands`, it stands now.
    It was put after the tick `put_at`, and what stands after `stands_since`; NEVER, where no object was.
    """

    home: str
    position: str
    adopted: bool
    stands: str
    put_at: int
    stands_since: int = NEVER


Tables = Mapping[str, Mapping[tuple[str, str], Mapping[str, Any]]]
"""Rows by table, then key."""


@dataclass(slots=True)
class Final:
    """One store in one region at the end, as its API shows it.

    `shown` are the hashes of all texts that a key which may only read is shown, where verdicts are given at all.
    """

    listed: tuple[Seen, ...] = ()
    versions: Mapping[str, tuple[Version, ...]] = field(default_factory=dict)
    read: Mapping[str, Seen | str] = field(default_factory=dict)
    shown: frozenset[str] = frozenset()


@dataclass(slots=True)
class Evidence:
    """All that the checkers are given.

    Attributes:
        history: what clients did and were told.
        final: by store, then region.
        rows: by region, then table: every row of those that are equal everywhere at rest.
        rebuilt: the same, as a rebuild from that region's bucket makes them.
        stored: by region: every row of every table of every generation, as text.
        objects: by region: every S3 version of every object, as (key, metadata and body in one text).
        homes: the home of each store at rest.
        homes_ever: every region that was once the home of each store.
        written: by version: where it was committed first, and by which home.
        taken_over: stores whose home others took over, and when they began to.
        takeovers: when each take-over of a store began.
        epochs: by store: every home's term that counts, in order.
        lost_terms: by store: the terms that somebody began, and that do not count.
        apart: by store: its divergent versions, in the order in which they are listed.
        wiped: regions whose tables vanished on the way, and when.
        rebuilds: from when until when each region's tables were rebuilt.
        defects: errors that no caller is meant to see.
        named: by region: the positions that the checkpoints in its bucket name as its own.
        again: `rows`, after every event has come once more.
        blocked: paths that could not be written at rest, and what was said instead.
        doomed: all that was written into a store that was deleted.
        kept: of how many versions of a live memory stores keep the text; None where they keep all.
        two_regions: whether stores ask for a second region.
        lossy: whether copies and events were lost for good.
        audits: what audits said of the homes, untouched and after each thing that was done to a copy of their buckets.
        deceived: what regions made of a checkpoint that is not the chain's.
        journals_lost: whether a journal, or a region's tables, vanished on the way.
        put_behind: by region and key, the texts of S3 versions that were put behind the product's back.
        resolutions: every record of a decision about a conflict, from the bucket of the home that put it.
        worked: what two workers left of a store besides the clients', where there are any.
        elsewhere: those of `taken_over` that ask for a second region, and that another region took over, too or alone.
    """

    history: History
    final: dict[str, dict[str, Final]]
    rows: dict[str, Tables]
    rebuilt: dict[str, Tables]
    stored: dict[str, list[str]]
    objects: dict[str, list[tuple[str, bytes]]]
    homes: dict[str, str]
    wiped: dict[str, int]
    defects: list[str]
    named: dict[str, set[str]] = field(default_factory=dict)
    again: dict[str, Tables] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    rebuilds: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    doomed: list[bytes] = field(default_factory=list)
    kept: int | None = None
    two_regions: bool = False
    lossy: bool = False
    elsewhere: frozenset[str] = frozenset()
    written: Mapping[str, Written] = field(default_factory=dict)
    taken_over: Mapping[str, int] = field(default_factory=dict)
    takeovers: Mapping[str, Sequence[int]] = field(default_factory=dict)
    epochs: Mapping[str, tuple[Epoch, ...]] = field(default_factory=dict)
    lost_terms: Mapping[str, frozenset[Epoch]] = field(default_factory=dict)
    apart: Mapping[str, tuple[Apart, ...]] = field(default_factory=dict)
    homes_ever: Mapping[str, frozenset[str]] = field(default_factory=dict)
    audits: Sequence[Audited] = ()
    deceived: Sequence[Deceived] = ()
    journals_lost: bool = False
    worked: Worked = field(default_factory=Worked)
    resolutions: Sequence[ResolutionRecord] = ()
    put_behind: Mapping[tuple[str, str], frozenset[bytes]] = field(default_factory=dict)

    def had_terms(self, store_id: str) -> bool:
        """Whether any region knows of more than one term of a store; a move that is given up begins one, too."""
        records = (tables["stores"].get((store_id, "record"), {}) for tables in self.rows.values())
        return any(len(record.get("epochs") or ()) > 1 for record in records)

    def may_lack(self, store_id: str) -> bool:
        """Whether others took a store over who need not have had all of it: any region but its second."""
        return store_id in self.taken_over and (not self.two_regions or store_id in self.elsewhere)
