"""One region as the use cases see it: its ports, its limits, and which tables serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cairn.core import ids
from cairn.core.errors import Unavailable
from cairn.core.limits import MEMORIES_PER_STORE_DEFAULT
from cairn.core.rows import Attributes, ControlRow, RowKey
from cairn.ports import errors as port_errors
from cairn.ports.clock import Clock
from cairn.ports.ids import Randomness
from cairn.ports.index import Index
from cairn.ports.metrics import Metrics
from cairn.ports.objects import Objects
from cairn.ports.parallel import Parallel
from cairn.ports.peers import Peers


@dataclass(frozen=True, slots=True)
class View:
    """The index as one call found it: rows read in one batch, and which generations of tables to write.

    `complete` says that this generation is known to hold everything the bucket does: only then is an unknown id
    answered with 404, otherwise with 503. `asked` tells a row that is not there from one that was not asked for.
    """

    index: Index
    rows: Mapping[RowKey, Attributes]
    complete: bool
    building: int | None
    asked: frozenset[RowKey] = frozenset()

    @property
    def indexes(self) -> tuple[Index, ...]:
        """Every generation that a fold or a claim goes to, the serving one first."""
        return (self.index,) if self.building is None else (self.index, self.index.at(self.building))

    def require_complete(self) -> None:
        """Raises Unavailable while the index is being rebuilt."""
        if not self.complete:
            raise Unavailable("this region's index is being rebuilt and cannot answer this yet; try another region")


@dataclass(slots=True)
class Region:
    """The ports of one region. `index` is re-pointed when a rebuild has switched generations."""

    name: str
    regions: tuple[str, ...]
    objects: Objects
    index: Index
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    peers: Peers
    parallel: Parallel
    memories_per_store: int = MEMORIES_PER_STORE_DEFAULT
    salts: dict[str, str] = field(default_factory=dict)
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def view(self, keys: Sequence[RowKey] = ()) -> View:
        """One consistent batch: the control row and `keys`. A second one only just after a switch of generations.

        Raises:
            Unavailable: the tables are throttled or gone.
        """
        for _ in range(3):
            rows = self._batch(keys)
            attributes = rows.get(ControlRow.KEY)
            if attributes is None:
                return View(self.index, rows, complete=False, building=None, asked=frozenset(keys))
            control = ControlRow.from_attributes(attributes)
            if control.serving == self.index.generation:
                return View(self.index, rows, control.complete, control.building, asked=frozenset(keys))
            self.index = self.index.at(control.serving)
        raise Unavailable("the index is being switched; try again")

    def _batch(self, keys: Sequence[RowKey]) -> Mapping[RowKey, Attributes]:
        """The control row and `keys`; the control row alone where another generation serves and this one is gone."""
        try:
            return self.read(self.index, (ControlRow.KEY, *keys))
        except Unavailable:
            control = self.read(self.index, [ControlRow.KEY])
            attributes = control.get(ControlRow.KEY)
            if attributes is None or ControlRow.from_attributes(attributes).serving == self.index.generation:
                raise
            return control

    def read(self, index: Index, keys: Sequence[RowKey]) -> Mapping[RowKey, Attributes]:
        """`Index.read`, its error turned into the caller's."""
        try:
            return index.read(keys)
        except port_errors.Unavailable as error:
            raise Unavailable(f"the index of {self.name} does not answer; try again") from error

    def new_id(self, prefix: str) -> str:
        """``mem_…`` and the like, from the clock and the randomness port."""
        return f"{prefix}_{ids.ulid(self.clock.now_us() // 1000, self.randomness.bytes(10))}"

    def new_regional_id(self, prefix: str) -> str:
        """An id that carries this region, for stores and keys."""
        return self.new_id(f"{prefix}_{ids.region_code(self.name)}")

    def back_off(self, attempt: int) -> None:
        """A pause with full jitter: up to 10 ms at first, doubling up to 640 ms.

        Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
        """
        self.clock.pause(self.randomness.fraction() * 0.01 * 2 ** min(attempt, 6))
