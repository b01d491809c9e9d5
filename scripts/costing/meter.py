"""What port calls use of AWS, in the units that are billed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

from memolith.adapters.layered import Call
from memolith.core.rows.base import RowKey
from memolith.core.tables import BY_NAME, PARTITION_KEY, SORT_KEY
from memolith.ports.index import Change, Found, Index, Query, RowMap
from scripts.costing.prices import CONTENT_BYTES, DURATIONS_MS, FAR_MS, MEMORY_MB, OWN_MS

T = TypeVar("T")
READ_UNIT_BYTES, WRITE_UNIT_BYTES = 4_096, 1_024
TRANSACTION_FACTOR = 2
"""Every row of a transaction is written twice: Amazon DynamoDB Developer Guide, "Transactions: capacity management"."""

PASSED_ON_BYTES = CONTENT_BYTES + 2_048
"""What a write carries to its home and back: the content, and the head with what was met on the way."""

Units = dict[str, float]
"""Uses by the names of `prices.PRICES`; a fraction where several share one request."""


def item_bytes(key: RowKey, attributes: Mapping[str, Any]) -> int:
    """Return the size of an item. Source: Amazon DynamoDB Developer Guide, "DynamoDB item sizes and formats"."""
    keys = len(PARTITION_KEY) + len(key.pk.encode()) + len(SORT_KEY) + len(key.sk.encode())
    return keys + sum(len(name) + _value_bytes(value) for name, value in attributes.items())


def _value_bytes(value: Any) -> int:
    if isinstance(value, bool):
        return 1
    if isinstance(value, int):
        return (len(str(abs(value))) + 1) // 2 + 1
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, Mapping):
        return 3 + sum(1 + len(name) + _value_bytes(one) for name, one in value.items())
    return 3 + sum(1 + _value_bytes(one) for one in value)


def row_units(change: Change) -> int:
    """Write units for one row: one for each KB of the larger of what was and what comes. A check counts as a write."""
    rows = (row for row in (change.before, change.after) if row is not None)
    return -(-max((item_bytes(change.key, row) for row in rows), default=1) // WRITE_UNIT_BYTES)


def index_units(change: Change) -> int:
    """Write units in the table's global indexes, which hold whole rows.

    An index whose keys a row lacks is not written. No change of Memolith's moves a row within an index.
    """
    own = {PARTITION_KEY, SORT_KEY}
    has = own | set(change.before or ()) | set(change.after or ())
    changed = change.before != change.after or change.unconditional
    indexes = [one for one in BY_NAME[change.key.table].indexes if {one.partition_key, one.sort_key} <= has]
    return len(indexes) * row_units(change) if changed else 0


def commit_units(changes: Sequence[Change]) -> int:
    """Write units of a commit: twice in a transaction, but for the global indexes, which follow it by themselves."""
    factor = 1 if len(changes) == 1 else TRANSACTION_FACTOR
    return sum(factor * row_units(one) + index_units(one) for one in changes)


def _none() -> defaultdict[str, float]:
    return defaultdict(float)


@dataclass(slots=True)
class Meter:
    """Units by region, and the time that functions take. An interceptor, and a `Parallel`.

    Attributes:
        units: region -> what was used there.
        took_ms: how long the function took that ended last, of those that no caller waited for.
        control_share: the share of one reading of the `control` table in each call that is measured: a process
            remembers for two seconds which tables serve.
    """

    units: defaultdict[str, defaultdict[str, float]] = field(default_factory=lambda: defaultdict(_none))
    took_ms: float = 0.0
    control_share: float = 1.0
    _running_ms: list[float] = field(default_factory=list)
    _shares: list[float] = field(default_factory=lambda: [1.0])

    def add(self, region: str, name: str, amount: float = 1) -> None:
        self.units[region][name] += amount

    @contextmanager
    def function(self, region: str, name: str, invocations: float = 1) -> Iterator[None]:
        """Attribute what is called in the block to that function, whose time is billed with its memory.

        With a fraction of `invocations`, a batch's share: what that does at once, or sends together, is shared, too.
        """
        self.add(region, "invocation", invocations)
        self._running_ms.append(OWN_MS)
        self._shares.append(invocations)
        try:
            yield
        finally:
            self._shares.pop()
            own_ms = self._running_ms.pop()
            self.add(region, "gb_s", own_ms / 1_000 * MEMORY_MB[name] / 1_024)
            if self._running_ms:
                self._running_ms[-1] += own_ms
            else:
                self.took_ms = own_ms

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        """Run the task once it is waited for."""
        return cache(task)

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run tasks as `ports.parallel.Parallel` does: together they take as long as the longest of them."""
        results, longest_ms = [], 0.0
        for task in tasks:
            self._running_ms.append(0.0)
            results.append(task())
            longest_ms = max(longest_ms, self._running_ms.pop())
        if self._running_ms:
            self._running_ms[-1] += longest_ms * self._shares[-1]
        return results

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        far = call.origin != call.target
        share = self._shares[-1] if call.name == "queue.send" else 1
        if self._running_ms:
            self._running_ms[-1] += share * (DURATIONS_MS[call.name] + (FAR_MS if far else 0))
        if call.name in ("objects.put_if_absent", "objects.list", "erasable.versions", "erasable.remove"):
            self.add(call.origin, "put")
            if far and call.name == "objects.put_if_absent":
                self.add(call.origin, "transfer_bytes", CONTENT_BYTES)
        elif call.name in ("objects.get", "objects.head"):
            self.add(call.origin, "get")
            if far and call.name == "objects.get":
                self.add(call.target, "transfer_bytes", CONTENT_BYTES)
        elif call.name == "queue.send":
            self.add(call.origin, "sqs", share)
        elif call.name == "peers.call":
            if far:
                self.add(call.origin, "transfer_bytes", PASSED_ON_BYTES)
            with self.function(call.target, call.subjects[0]):
                return act()
        return act()


class MeteredIndex:
    """`ports.index.Index` around `inner`, whose rows are measured."""

    def __init__(self, inner: Index, region: str, meter: Meter) -> None:
        self._inner = inner
        self._region = region
        self._meter = meter

    @property
    def generation(self) -> int:
        return self._inner.generation

    def at(self, generation: int) -> Index:
        return MeteredIndex(self._inner.at(generation), self._region, self._meter)

    def read(self, keys: Sequence[RowKey]) -> RowMap:
        """Read rows and meter each by itself, also one that does not exist."""
        rows = self._inner.read(keys)
        for key in keys:
            share = self._meter.control_share if key.table == "control" else 1
            self._read(item_bytes(key, rows.get(key, {})), share)
        return rows

    def query(self, query: Query) -> Sequence[Found]:
        """Query and meter all rows together, whole; half through a global index, which is eventually consistent."""
        found = self._inner.query(replace(query, only=()))
        size = sum(item_bytes(one.key, one.attributes) for one in found)
        self._read(max(1, size), factor=1 if query.index is None else 0.5)
        return self._inner.query(query) if query.only else found

    def count(self, table: str, pk: str) -> int:
        """Count and meter as much as reading the partition."""
        rows = self._inner.query(Query(table, pk, limit=1_000_000))
        self._read(max(1, sum(item_bytes(one.key, one.attributes) for one in rows)))
        return self._inner.count(table, pk)

    def commit(self, changes: Sequence[Change]) -> None:
        if changes:
            self._meter.add(self._region, "wru", commit_units(changes))
        self._inner.commit(changes)

    def _read(self, size: int, factor: float = 1) -> None:
        self._meter.add(self._region, "rru", factor * -(-size // READ_UNIT_BYTES))
