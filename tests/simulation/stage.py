"""A stage for exact schedules: each call runs up to a port call that the scenario names, and waits there.

    mover = stage.actor(lambda: memolith.memories.update(...)).until("objects.put_if_absent", occurrence=2)
    ...                                  # anything may happen meanwhile
    mover.finish()                       # or: mover.die()

Nothing is drawn: copies and events wait in `cloud.pending` until the scenario delivers them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from greenlet import getcurrent, greenlet

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Crash, Fault, Faulty, ScriptedFaults, Strike
from memolith.adapters.memory import ManualClock, MemoryIndex, StoredVersion
from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Memory, RequestContext, VersionFilter
from memolith.core.errors import MemolithError, OutcomeUnknown
from memolith.core.paths import path_hash
from memolith.core.rows.control import ControlRow
from memolith.ports.errors import PORT_FAILURES
from memolith.ports.index import Change
from tests.support.cloud import WORKSPACE, Cloud

T = TypeVar("T")
HOME = "us-east-1"
AWAY = "eu-west-1"
PUT = "objects.put_if_absent"
__all__ = ["AWAY", "HOME", "WORKSPACE", "Actor", "Stage"]


class Actor(Generic[T]):
    """One call on its way. `trail` names the port calls it has made, for a scenario that went astray."""

    def __init__(self, stage: Stage, body: Callable[[], T], strikes: Sequence[Strike]) -> None:
        self._stage = stage
        self._greenlet = greenlet(lambda: self._live(body))
        self._stop: tuple[str | None, str | None, int, bool] | None = None
        self._faulty = Faulty(ScriptedFaults(*strikes))
        self._result: list[T] = []
        self.error: BaseException | None = None
        self.done = False
        self.trail: list[str] = []

    def until(self, name: str, about: str | None = None, occurrence: int = 1, after: bool = False) -> Actor[T]:
        """Goes on to just before (or after) the port call of this name, the `occurrence`-th from here."""
        self._stop = (name, about, occurrence, after)
        self._resume()
        assert not self.done, f"ended without {name}: {self.trail} {self.error!r}"
        return self

    def step(self) -> Actor[T]:
        """Goes on to just after its next port call, or to its end. Of a call to a peer those count that it makes."""
        self._stop = (None, None, 1, True)
        self._resume()
        return self

    def lost(self, name: str) -> bool:
        """Goes on to its end, with the reply to this call lost; whether the outcome is unknown then, as it must be."""
        self.struck_by(Strike(Fault.LOST_REPLY, name)).fails(OutcomeUnknown)
        return True

    def struck_by(self, *strikes: Strike) -> Actor[T]:
        """From here on these strike."""
        self._faulty = Faulty(ScriptedFaults(*strikes))
        return self

    def finish(self) -> T:
        """Goes on to its end; its result, or what it raised."""
        self._stop = None
        self._resume()
        if self.error is not None:
            raise self.error
        return self._result[0]

    def fails(self, kind: type[MemolithError]) -> MemolithError:
        """Goes on to its end, which has to be this error."""
        try:
            result = self.finish()
        except kind as error:
            return error
        raise AssertionError(f"answered {result!r}, not {kind.__name__}")

    def die(self) -> None:
        """Never goes on: the process is gone."""
        self.done = True
        self._greenlet.throw(Crash)

    def _resume(self) -> None:
        assert not self.done
        before, self._stage.current = self._stage.current, self
        self._greenlet.parent = getcurrent()
        self._greenlet.switch()
        self._stage.current = before

    def _live(self, body: Callable[[], T]) -> None:
        try:
            self._result.append(body())
        except (Crash, Exception) as error:  # noqa: BLE001 - raised by `finish`
            self.error = error
        self.done = True

    def around(self, call: PortCall, act: Callable[[], Any]) -> Any:
        """At one of its port calls: waits if the scenario wants it to, then does it."""
        self.trail.append(f"{call.name} {' '.join(call.subjects)}")
        stops = self._stops(call)
        if stops and not self._after:
            self._wait()
        try:
            result = self._faulty(call, act)
        except PORT_FAILURES:
            if stops and self._after:
                self._wait()
            raise
        if stops and self._after:
            self._wait()
        return result

    def _stops(self, call: PortCall) -> bool:
        if self._stop is None:
            return False
        name, about, occurrence, after = self._stop
        named = call.name == name if name is not None else call.name != "peers.call"
        if not named or not (about is None or any(about in subject for subject in call.subjects)):
            return False
        self._stop, self._after = (name, about, occurrence - 1, after), after
        return occurrence == 1

    _after = False

    def _wait(self) -> None:
        parent = self._greenlet.parent
        assert parent is not None
        parent.switch()


class Stage:
    """A cloud of regions and the actors in it; a store whose home is `HOME`, and a key to it."""

    def __init__(self, regions: Sequence[str] = (HOME, AWAY), lagging: bool = False, erase_delay_us: int = 0) -> None:
        self.current: Actor[Any] | None = None
        self.clock = ManualClock()
        self.cloud = Cloud(
            regions, interceptor=self._around, clock=self.clock, lagging=lagging, erase_delay_us=erase_delay_us
        )
        self.api_key = self.cloud.key()
        self.store = self.memolith().stores.create(self.call(), name="s", description="", metadata={}).id
        self.cloud.deliver()

    def _around(self, call: PortCall, act: Callable[[], T]) -> T:
        if self.current is None:
            return act()
        result: T = self.current.around(call, act)
        return result

    def memolith(self, region: str = HOME) -> Memolith:
        return self.cloud.sites[region].memolith

    def call(self) -> RequestContext:
        return self.cloud.call(self.api_key)

    def actor(self, body: Callable[[], T], *strikes: Strike) -> Actor[T]:
        """A call that begins only when it is told to go."""
        return Actor(self, body, strikes)

    # ---- calls as scenarios make them ---------------------------------------------------------------------------

    def create(self, path: str, content: str = "x", region: str = HOME) -> Memory:
        return self.memolith(region).memories.create(self.call(), self.store, path=path, content=content, full=False)

    def update(
        self,
        memory_id: str,
        content: str | None = None,
        path: str | None = None,
        expected: str | None = None,
        region: str = HOME,
        full: bool = False,
    ) -> Memory:
        return self.memolith(region).memories.update(
            self.call(),
            self.store,
            memory_id,
            content=content,
            path=path,
            expected_content_sha256=expected,
            full=full,
        )

    def delete(self, memory_id: str, region: str = HOME) -> str:
        return self.memolith(region).memories.delete(self.call(), self.store, memory_id, expected_content_sha256=None)

    def read(self, memory_id: str, region: str = HOME) -> Memory:
        return self.memolith(region).memories.retrieve(self.call(), self.store, memory_id, full=True)

    def listed(self, region: str = HOME) -> dict[str, str]:
        """Path to memory id, as one whole page has it."""
        page = self.memolith(region).memories.page(
            self.call(), self.store, path_prefix=None, depth=0, limit=100, after=None, full=False
        )
        items = [item for item in page.items if isinstance(item, Memory)]
        assert len({item.path for item in items}) == len(items)
        return {item.path: item.id for item in items}

    def contents(self, region: str = HOME) -> dict[str, str | None]:
        """Path to content, as one whole page has it."""
        page = self.memolith(region).memories.page(
            self.call(), self.store, path_prefix=None, depth=0, limit=20, after=None, full=True
        )
        return {item.path: item.content for item in page.items if isinstance(item, Memory)}

    # ---- the network, by hand -----------------------------------------------------------------------------------

    def copy(self, key: str, region: str = AWAY) -> None:
        """Replicates the newest version of one object; its event waits."""
        newest = [event for event in self.cloud.pending if event.key == key and not event.replica][-1]
        self.cloud.buckets.replicate(newest, region)

    def under_way(self, key: str) -> StoredVersion:
        """The newest version of an object at home, as a copy that has left carries it; `arrive` is its end."""
        return self.cloud.buckets.versions(HOME, key)[-1]

    def arrive(self, copy: StoredVersion, region: str = AWAY) -> None:
        self.cloud.buckets.arrive(copy, region)

    def index(self, key: str, region: str = HOME) -> None:
        """Wakes a region's indexer for one object."""
        self.cloud.sites[region].indexing.object_arrived(key)

    def keys(self, region: str = HOME) -> list[str]:
        """The keys of every log in a region's bucket."""
        return [key for key in self.cloud.buckets.page(region, "", None, 1000).keys if "/log/" in key]

    def all_keys(self, region: str = HOME) -> list[str]:
        """Every key of a region's bucket."""
        return list(self.cloud.buckets.page(region, "", None, 1000).keys)

    def wipe(self, region: str = HOME) -> None:
        """Every row of a region's tables is gone; it says that it is not complete."""
        site = self.cloud.sites[region]
        site.database.drop(1)
        site.database.make(1)
        control = ControlRow(serving=1, complete=False).to_attributes()
        MemoryIndex(site.database).commit([Change(ControlRow.KEY, None, control, unconditional=True)])

    def searched(self, text: str, region: str) -> list[str]:
        """Rows, and metadata of objects, in which a text stands."""
        rows = [repr(row) for row in self.cloud.sites[region].database.everything() if text in repr(row)]
        encoded = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        for key in self.all_keys(region):
            for version in self.cloud.buckets.versions(region, key):
                metadata = repr(version.object.metadata)
                rows += [key] if text in metadata or encoded in metadata else []
        return rows

    def new_version_id(self) -> str:
        return self.cloud.sites[HOME].region.new_id("memver")

    def found(self, text: str, region: str) -> list[str]:
        """The objects of a region any S3 version of which holds the text."""
        return [
            key
            for key in self.cloud.buckets.page(region, "", None, 1000).keys
            if any(text.encode() in version.object.body for version in self.cloud.buckets.versions(region, key))
        ]

    def redact(self, version_id: str, region: str = HOME) -> None:
        self.memolith(region).redactions.redact(self.call(), self.store, version_id)

    def history(self, memory_id: str, region: str = HOME) -> list[str]:
        """The ids of a memory's versions, newest first."""
        page = self.memolith(region).versions.page(
            self.call(), self.store, VersionFilter(memory_id=memory_id), limit=100, after=None, full=False
        )
        return [version.id for version in page.items]

    def key_of(self, version_id: str, region: str = HOME) -> str:
        """The object that holds a version."""
        for key in self.keys(region):
            found = self.cloud.buckets.current(region, key)
            if found is not None and found.metadata["id"] == version_id:
                return key
        raise AssertionError(f"no object holds {version_id}")

    def hash_of(self, path: str) -> str:
        """What stands for a path in keys."""
        rows = self.cloud.rows(HOME, "stores")
        return path_hash(bytes.fromhex(rows[self.store, "record"]["salt"]), path)

    def assert_one_path(self, memory_id: str) -> None:
        """One id, one path, in every answer of every region."""
        for region in self.cloud.regions:
            listed = {path: id for path, id in self.listed(region).items() if id == memory_id}
            assert len(listed) == 1, f"{region} lists {listed}"
            assert self.read(memory_id, region).path in listed
