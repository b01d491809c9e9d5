"""Any adapter, with an interceptor at every port call.

An `Interceptor` is given each call as data and as a thing to do; it may count it, delay it, switch to another task,
refuse it, or do it and lose the reply. One wrapper a port serves all of these: `instrumented` and `faulty` are
interceptors, and a simulation's scheduler is another. Interceptors nest by wrapping twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from memolith.core.rows.base import RowKey
from memolith.ports.dead_letters import DeadLetters, Depths
from memolith.ports.index import Change, Found, Index, Query, RowMap, Tables
from memolith.ports.objects import ErasableObjects, KeyPage, Objects, Sink, StoredObject, VersionMark, VersionPage
from memolith.ports.peers import Peers
from memolith.ports.queue import Queue

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one port.

    Attributes:
        name: port and method: ``objects.put_if_absent``, ``index.commit``, ``peers.call``.
        origin: the region that calls.
        target: the region that is to answer; not `origin` for a read elsewhere and for a peer.
        subjects: what it is about: the key or prefix, a function's name, a generation, the messages, or the table of
            each row (never a row's own key, which may be a path).
    """

    name: str
    origin: str
    target: str
    subjects: tuple[str, ...]


class Interceptor(Protocol):
    """Stands at every port call."""

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        """Run `act`, or do not, and return or raise what the port may."""


class InterceptedObjects:
    """`ports.objects.Objects` around `inner`."""

    def __init__(self, inner: Objects, region: str, interceptor: Interceptor) -> None:
        self._inner = inner
        self._region = region
        self._around = interceptor

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        call = self._call("put_if_absent", key, region)
        return self._around(call, lambda: self._inner.put_if_absent(key, body, metadata, content_sha256, region))

    def head(self, key: str, region: str | None = None) -> StoredObject:
        return self._around(self._call("head", key, region), lambda: self._inner.head(key, region))

    def get(self, key: str, region: str | None = None, into: Sink | None = None) -> StoredObject:
        return self._around(self._call("get", key, region), lambda: self._inner.get(key, region, into))

    def list(self, prefix: str, after: str | None = None, limit: int = 1000, region: str | None = None) -> KeyPage:
        call = self._call("list", prefix, region)
        return self._around(call, lambda: self._inner.list(prefix, after, limit, region))

    def _call(self, method: str, subject: str, target: str | None) -> Call:
        return Call(f"objects.{method}", self._region, target or self._region, (subject,))


class InterceptedErasableObjects:
    """`ports.objects.ErasableObjects` around `inner`."""

    def __init__(self, inner: ErasableObjects, region: str, interceptor: Interceptor) -> None:
        self._inner = inner
        self._region = region
        self._around = interceptor

    def erase(self, key: str, body: bytes, metadata: Mapping[str, str]) -> int:
        return self._around(self._call("erase", key), lambda: self._inner.erase(key, body, metadata))

    def delete_older(self, key: str) -> int:
        return self._around(self._call("delete_older", key), lambda: self._inner.delete_older(key))

    def remove(self, key: str) -> int:
        return self._around(self._call("remove", key), lambda: self._inner.remove(key))

    def versions(self, prefix: str, after: VersionMark | None = None, limit: int = 1000) -> VersionPage:
        return self._around(self._call("versions", prefix), lambda: self._inner.versions(prefix, after, limit))

    def read_version(self, key: str, version_id: str) -> StoredObject:
        return self._around(self._call("read_version", key), lambda: self._inner.read_version(key, version_id))

    def _call(self, method: str, key: str) -> Call:
        return Call(f"erasable.{method}", self._region, self._region, (key,))


class InterceptedIndex:
    """`ports.index.Index` around `inner`."""

    def __init__(self, inner: Index, region: str, interceptor: Interceptor) -> None:
        self._inner = inner
        self._region = region
        self._around = interceptor

    @property
    def generation(self) -> int:
        return self._inner.generation

    def at(self, generation: int) -> Index:
        """Return the other generation, with the same interceptor. Not a call of its own."""
        return InterceptedIndex(self._inner.at(generation), self._region, self._around)

    def read(self, keys: Sequence[RowKey]) -> RowMap:
        return self._around(self._call("read", (key.table for key in keys)), lambda: self._inner.read(keys))

    def query(self, query: Query) -> Sequence[Found]:
        return self._around(self._call("query", (query.table,)), lambda: self._inner.query(query))

    def count(self, table: str, pk: str) -> int:
        return self._around(self._call("count", (table,)), lambda: self._inner.count(table, pk))

    def commit(self, changes: Sequence[Change]) -> None:
        call = self._call("commit", (change.key.table for change in changes))
        return self._around(call, lambda: self._inner.commit(changes))

    def _call(self, method: str, tables: Any) -> Call:
        return Call(f"index.{method}", self._region, self._region, tuple(tables))


class InterceptedTables:
    """`ports.index.Tables` around `inner`."""

    def __init__(self, inner: Tables, region: str, interceptor: Interceptor) -> None:
        self._inner = inner
        self._region = region
        self._around = interceptor

    def make_lasting(self) -> None:
        return self._around(self._call("make_lasting"), self._inner.make_lasting)

    def make(self, generation: int) -> None:
        return self._around(self._call("make", generation), lambda: self._inner.make(generation))

    def drop(self, generation: int) -> None:
        return self._around(self._call("drop", generation), lambda: self._inner.drop(generation))

    def _call(self, method: str, *generation: int) -> Call:
        return Call(f"tables.{method}", self._region, self._region, tuple(str(one) for one in generation))


class InterceptedQueue:
    """`ports.queue.Queue` around `inner`."""

    def __init__(self, inner: Queue, region: str, interceptor: Interceptor) -> None:
        self._inner = inner
        self._region = region
        self._around = interceptor

    def send(self, messages: Sequence[str]) -> None:
        call = Call("queue.send", self._region, self._region, tuple(messages))
        return self._around(call, lambda: self._inner.send(messages))


class InterceptedDeadLetters:
    """`ports.dead_letters.DeadLetters` around `inner`. Every step of a move is a call of its own."""

    def __init__(self, inner: DeadLetters, region: str, interceptor: Interceptor) -> None:
        self._inner = inner
        self._region = region
        self._around = interceptor

    def depths(self) -> Depths:
        return self._around(self._call("depths"), self._inner.depths)

    def look(self, limit: int) -> Sequence[str]:
        return self._around(self._call("look"), lambda: self._inner.look(limit))

    def send_back(self) -> Iterator[int]:
        moving = self._inner.send_back()
        while (moved := self._around(self._call("send_back"), lambda: next(moving, None))) is not None:
            yield moved

    def _call(self, method: str) -> Call:
        return Call(f"dead_letters.{method}", self._region, self._region, ())


class InterceptedPeers:
    """`ports.peers.Peers` around `inner`."""

    def __init__(self, inner: Peers, region: str, interceptor: Interceptor) -> None:
        self._inner = inner
        self._region = region
        self._around = interceptor

    def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        call = Call("peers.call", self._region, region, (function,))
        return self._around(call, lambda: self._inner.call(region, function, payload))
