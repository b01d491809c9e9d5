"""A home's periods: opening one, closing the one before it, publishing what was acknowledged in it.

    open P+1 -> close every partition of P -> read P's journal -> put checkpoint P

Once a partition's row says closed, no transaction puts a row beside it, so what is read afterwards is all there will
ever be. A journal that was lost on the way (its table emptied, its rows expired) is found out by the rows that only
this module puts, and then the checkpoint is made from a listing of the bucket: that names everything which had been
put by then, and with it everything which had been acknowledged before the period ended.

Every step can be repeated and taken up by another invocation; two at once get in each other's way, and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from memolith.app.homes.epoch_sweep import EpochSweep
from memolith.app.index.ack_journal import from_listing
from memolith.app.kernel.batching import gallop
from memolith.app.kernel.listing import keys_under, rows_of
from memolith.app.kernel.port_calls import commit_or_busy, find_head, require
from memolith.app.kernel.region import Region
from memolith.app.log.conditional_put import Put, put_if_absent
from memolith.app.log.copy import put_copy
from memolith.app.replication.checkpoint_sealer import CheckpointSealer
from memolith.core.errors import Busy
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import (
    NAMES_PER_PART,
    Checkpoint,
    Named,
    grown,
    part_from_json,
    part_to_json,
    sha256_of,
)
from memolith.core.rows.base import Attributes, Row, RowKey
from memolith.core.rows.journal import (
    JOURNAL_LIFETIME_US,
    SHARDS_MAX,
    SHARDS_MIN,
    JournalRow,
    JournalStateRow,
    OpenPeriod,
    PeriodRow,
    next_shards,
    shards_for,
    tree_of,
)
from memolith.ports import errors as port_errors
from memolith.ports.index import Change, Query

ROWS_PER_QUERY = 1_000


CLOSE_ATTEMPTS = 20


TRUSTED_US = JOURNAL_LIFETIME_US // 2
"""For how long a period may be open, and then wait to be published, until its first rows may have expired."""

_log = logging.getLogger(__name__)


class Checkpoints:
    """The journal of one home, as the reconciler sees it."""

    def __init__(self, region: Region, epoch_sweep: EpochSweep, sealer: CheckpointSealer) -> None:
        self._region = region
        self._sealer = sealer
        self._epoch_sweep = epoch_sweep
        self._home = region.name
        self._key = JournalStateRow.key(region.name)

    def turn(self, deadline_us: int) -> OpenPeriod:
        """Open the next period and publish the one before it; or go on with publishing that. Return the open period.

        A period with few acknowledged writes costs a transaction, a write and a query for each partition, one PUT, and
        a signature where it names something.
        `deadline_us` is when to stop, between two parts of a long checkpoint.

        Raises:
            Busy: another reconciler is at it. Unavailable, OutcomeUnknown: to be repeated.
        """
        state = self._state()
        if state is None:
            return self._begin().open_period
        if state.closing is None:
            state = self._open_next(state)
        if not self._close(state) and not state.listed:
            state = self._list_instead(state)
        self._publish(state, deadline_us)
        return state.open_period

    # ---- opening ------------------------------------------------------------------------------------------------

    def _begin(self) -> JournalStateRow:
        """Begin a new acknowledgement log. Its first checkpoint comes from a listing of earlier acknowledged writes.

        It goes on after the last checkpoint that any region has: one that returns with an empty bucket has put
        checkpoints before, and the others' buckets still have them. The next one states the hash of that last one, so
        it has to stand here too. While a region does not answer, nothing begins: writes go on, and the first
        checkpoint covers them.
        """
        last = gallop(self._published)
        if last is not None and last[1] != self._home:
            put_copy(self._region, require(self._region.objects, str(CheckpointKey(self._home, last[0])), last[1]))
        state = JournalStateRow(
            run=self._region.new_id("run"),
            open=1 if last is None else last[0] + 1,
            opened_at=self._region.clock.now_us(),
            listed=True,
        )
        self._open(None, state)
        return state

    def _published(self, period: int) -> tuple[int, str] | None:
        """Return the period, and a region whose bucket has its checkpoint; None if no region's has."""
        key = str(CheckpointKey(self._home, period))
        for region in sorted(self._region.regions, key=lambda one: one != self._home):
            if find_head(self._region.objects, key, region) is not None:
                return period, region
        return None

    def _open_next(self, state: JournalStateRow) -> JournalStateRow:
        """Open the next period, in which later writers write: the clock is read before any of them can."""
        now_us = max(self._region.clock.now_us(), state.opened_at)
        turned = JournalStateRow(
            run=state.run,
            open=state.open + 1,
            opened_at=now_us,
            closing=state.open,
            until=now_us,
            listed=state.listed or now_us - state.opened_at > TRUSTED_US,
            shards=next_shards(state),
            closing_shards=state.shards,
            previous=state.previous,
        )
        self._open(state, turned)
        return turned

    def begin(self) -> None:
        """Begin the journal where there is none, so that what is written from now on is in it. One read if there is.

        Raises as `turn`.
        """
        if self._state() is None:
            self._begin()

    def has_news(self) -> bool:
        """Tell whether the open period names anything, or is not a journal yet, or has to cover the one before it.

        For a home that sleeps between writes.

        One read, and a query for each partition until one has a row.
        """
        state = self._state()
        if state is None or state.closing is not None or state.listed or state.previous is None:
            return True
        shards = range(state.open_period.shards)
        partitions = [JournalRow.partition(self._home, state.open, shard) for shard in shards]
        asks = (Query("journal", partition, prefix=f"{self._home}/", limit=1) for partition in partitions)
        return any(self._region.index.query(ask) for ask in asks)

    def _open(self, before: JournalStateRow | None, after: JournalStateRow) -> None:
        """Put the period's rows together with the state that names it, so that no caller reopens a closed period."""
        row, shards = PeriodRow(open=True).to_attributes(), after.open_period.shards
        keys = [PeriodRow.key(self._home, after.open, shard) for shard in range(SHARDS_MAX)]
        found = self._region.read(self._region.index, keys if before is None else keys[:shards])
        state = Change(self._key, None if before is None else before.to_attributes(), after.to_attributes())
        # Where only the state was lost, a writer may still know of more shards: nobody would read what it puts there.
        left_over = [Change(key, found[key], None) for key in keys[shards:] if key in found]
        self._commit([state, *(Change(key, found.get(key), row) for key in keys[:shards]), *left_over])

    # ---- closing ------------------------------------------------------------------------------------------------

    def _close(self, state: JournalStateRow) -> bool:
        """Close every partition; return whether the log in them is whole."""
        whole = self._region.clock.now_us() - (state.until or 0) < TRUSTED_US
        shards = state.closing_shards or SHARDS_MIN
        keys = [PeriodRow.key(self._home, state.closing or 0, shard) for shard in range(shards)]
        found = self._region.read(self._region.index, keys)
        for key in keys:
            whole = self._close_partition(key, found.get(key)) and whole
        return whole

    def _close_partition(self, key: RowKey, attributes: Attributes | None) -> bool:
        for attempt in range(CLOSE_ATTEMPTS):
            if attributes is None:
                return False
            if not PeriodRow.from_attributes(attributes).open:
                return True
            expires_at = (self._region.clock.now_us() + JOURNAL_LIFETIME_US) // 1_000_000
            closed = PeriodRow(open=False, expires_at=expires_at).to_attributes()
            try:
                self._region.index.commit([Change(key, attributes, closed)])
                return True
            except (port_errors.Contended, port_errors.OutcomeUnknown):
                self._region.back_off(attempt)
            attributes = self._read(key)
        raise Busy("writers kept the period busy; it is closed the next time")

    def _list_instead(self, state: JournalStateRow) -> JournalStateRow:
        """Replace an acknowledgement log that cannot be trusted, under a new run, so that no part of it is reused."""
        listed = from_listing(state, self._region.new_id("run"))
        self._set(state, listed)
        return listed

    # ---- publishing ---------------------------------------------------------------------------------------------

    def _publish(self, state: JournalStateRow, deadline_us: int) -> None:
        """Put the closing period's checkpoint, or as much of it as there is time for: the next call goes on."""
        names = self._names(state)
        while part := tuple(islice(names, NAMES_PER_PART)):
            if state.parts == 0 and len(part) < NAMES_PER_PART:
                self._put_checkpoint(state, tuple(name for name, _ in part))
                return
            state = self._put_part(state, part)
            if self._region.clock.now_us() > deadline_us:
                return
            names = self._names(state)
        self._put_checkpoint(state, ())

    def _names(self, state: JournalStateRow) -> Iterator[tuple[Named, str]]:
        """Yield what the checkpoint names, each with where to go on after it."""
        return self._listed(state) if state.listed else self._journaled(state)

    def _journaled(self, state: JournalStateRow) -> Iterator[tuple[Named, str]]:
        first, _, last_key = (state.cursor or "0 ").partition(" ")
        after: str | None = last_key or None
        for shard in range(int(first), state.closing_shards or SHARDS_MIN):
            partition = JournalRow.partition(self._home, state.closing or 0, shard)
            query = Query("journal", partition, prefix=f"{self._home}/", after=after, limit=ROWS_PER_QUERY)
            for row in rows_of(self._region.index, query, JournalRow):
                yield Named(row.object_key, row.version_id, row.digest), f"{shard} {row.object_key}"
            after = None

    def _listed(self, state: JournalStateRow) -> Iterator[tuple[Named, str]]:
        """Yield what a listing has. What is left of the journal is true, and says what these objects were."""
        journaled = {name.key: name for name, _ in self._journaled(replace(state, cursor=None))}
        skipped = f"{self._home}/checkpoint/"
        for key in keys_under(self._region.objects, f"{self._home}/", state.cursor):
            if not key.startswith(skipped):
                yield journaled.get(key, Named(key)), key

    def _put_part(self, state: JournalStateRow, part: tuple[tuple[Named, str], ...]) -> JournalStateRow:
        """Put one more part, and note how far that is. A part of an invocation that died stays, and counts.

        Where such a one cannot be read, the parts begin again, under another run.
        """
        names = tuple(name for name, _ in part)
        cursor: str | None = part[-1][1]
        self._epoch_sweep.note(names)
        key = str(self._checkpoint(state).part_key(state.parts))
        if not self._put(key, part_to_json(names)) and state.listed:
            try:
                names = part_from_json(self._body(key))
            except ValueError as error:
                self._report_untrue(key, f"it cannot be read: {error}")
                return self._list_instead(state)
            cursor = names[-1].key if names else state.cursor
        tree = None if state.frontier is None else grown(state.frontier, names)
        further = replace(state, parts=state.parts + 1, cursor=cursor, tree=tree_of(state.parts + 1, tree))
        self._set(state, further)
        return further

    def _put_checkpoint(self, state: JournalStateRow, names: tuple[Named, ...]) -> None:
        """Put the checkpoint, which ends the period; if the state is, after all was read, still what it was."""
        if self._state() != state:
            raise Busy("the journal has changed meanwhile; the period is published the next time")
        self._epoch_sweep.note(names)
        checkpoint = self._sealer.sealed(replace(self._checkpoint(state), names=names), state)
        key, body = str(CheckpointKey(self._home, checkpoint.period)), checkpoint.to_json()
        if not self._put(key, body):
            body = self._body(key)
        stands = self._parsed(checkpoint.key, body)
        ours = stands is not None and stands.run == state.run and self._is_true(checkpoint, stands)
        over = JournalStateRow(
            run=state.run,
            open=state.open,
            opened_at=state.opened_at,
            listed=not ours,
            shards=state.shards,
            next_shards=None if state.listed else shards_for(state.parts * NAMES_PER_PART + len(names)),
            previous=None if stands and stands.needs_cover else f"{checkpoint.period}:{sha256_of(body)}",
        )
        self._sealer.remember(checkpoint.period, sha256_of(body), None if stands is None else stands.previous)
        self._set(state, over)
        if ours:
            self._region.metrics.count("checkpoint_published")

    def _is_true(self, made: Checkpoint, found: Checkpoint) -> bool:
        """Tell whether what stands in the place of a checkpoint says the same; another signature of it may.

        Where it does not, somebody else put it there before this home could, and the next one names all that there is.
        A listing may see more each time.
        """
        if made.listed or made.root is None or found.statement == made.statement:
            return True
        self._report_untrue(str(made.key), "it is not what this home has in its journal")
        return False

    def _parsed(self, key: CheckpointKey, body: bytes) -> Checkpoint | None:
        """Parse what stands in the place of a checkpoint; None where it is none, and then the period is over too."""
        try:
            return Checkpoint.from_json(body)
        except ValueError as error:
            self._report_untrue(str(key), f"it cannot be read: {error}")
            return None

    def _report_untrue(self, key: str, reason: str) -> None:
        self._region.metrics.count("integrity_broken")
        _log.error("a checkpoint of this home is not true", extra={"key": key, "reason": reason})

    def _checkpoint(self, state: JournalStateRow) -> Checkpoint:
        return Checkpoint(
            self._home, state.closing or 0, state.until or 0, state.run, parts=state.parts, listed=state.listed
        )

    # ---- ports --------------------------------------------------------------------------------------------------

    def _put(self, key: str, body: bytes) -> bool:
        """Put the object; return whether it is new."""
        return put_if_absent(self._region, key, body, {}) is Put.MINE

    def _body(self, key: str) -> bytes:
        return require(self._region.objects, key).body

    def _state(self) -> JournalStateRow | None:
        attributes = self._read(self._key)
        return None if attributes is None else JournalStateRow.from_attributes(attributes)

    def _read(self, key: RowKey) -> Attributes | None:
        return self._region.read(self._region.index, [key]).get(key)

    def _set(self, before: Row, after: Row) -> None:
        self._commit([Change(self._key, before.to_attributes(), after.to_attributes())])

    def _commit(self, changes: list[Change]) -> None:
        commit_or_busy(self._region.index, changes, "another reconciler is at it")
