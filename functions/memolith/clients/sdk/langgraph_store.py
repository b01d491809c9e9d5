"""A store of Memolith as LangGraph's long-term memory.

client = anthropic.Anthropic(base_url="https://…", api_key="…")     # Memolith's address and key
graph = builder.compile(store=MemolithStore(client, "memstore_…"))

Each item is one memory, a JSON document at `/{namespace}/{key}.json` (`langgraph_places`): the memory tool, MCP and the
API see the same documents, each with its versions, and the scanner reads each before it is stored. What stands in the
store and is no item (no JSON object, or withheld by the scanner) is passed over by `search`.

`search` with a query is Memolith's full-text search, the best first. There are no vectors, so that `index` has no
effect, as LangGraph says of such stores. Items do not expire: a TTL is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

import anthropic
from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory as Memory
from anyio.to_thread import run_sync
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from memolith.clients.sdk.langgraph_documents import document_of, value_of
from memolith.clients.sdk.langgraph_filter import matches
from memolith.clients.sdk.langgraph_places import folder_of, item_at, place_of
from memolith.clients.sdk.once import is_unknown
from memolith.clients.sdk.store_search import searched
from memolith.clients.sdk.writes import View, Writes
from memolith.ports.clock import Clock
from memolith.wire.memory_tool.tree import AT_HOME

Namespace = tuple[str, ...]

PUT_ATTEMPTS = 20
KNOWN_IDS_MAX = 10_000


class ItemConflict(Exception):
    """A put that lost against another client's; it has changed nothing.

    Attributes:
        namespace, key: of the item.
        path: of the memory that stands in the way, or of the item that is no longer what it was.
    """

    def __init__(self, namespace: Namespace, key: str, path: str, reason: str) -> None:
        super().__init__(f"{namespace} {key!r}: {reason} ({path})")
        self.namespace, self.key, self.path = namespace, key, path


class UnreadableItem(Exception):
    """What stands at an item's place is no item: withheld by the scanner, or not a JSON object."""


class StoredItem(Item):
    """An item, and which memory with which content it was read from: what `MemolithStore.put_if` compares."""

    __slots__ = ("content_sha256", "memory_id")

    def __init__(self, memory: Memory, namespace: Namespace, key: str, value: dict[str, Any]) -> None:
        times = {"created_at": memory.created_at, "updated_at": memory.updated_at}
        super().__init__(value=value, key=key, namespace=namespace, **times)
        self.memory_id, self.content_sha256 = memory.id, memory.content_sha256


class FoundItem(SearchItem):
    """The same for an item that a search found; it has a score where there was a query."""

    __slots__ = ("content_sha256", "memory_id")

    def __init__(self, item: StoredItem, score: float | None = None) -> None:
        super().__init__(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
        self.memory_id, self.content_sha256 = item.memory_id, item.content_sha256


@dataclass(frozen=True, slots=True)
class _Occupied:
    """What a creation met: the memory at `path`, or an empty id where it cannot be named yet."""

    path: str
    id: str


class MemolithStore(BaseStore):
    """LangGraph's `BaseStore` on one store of Memolith; may be shared between threads.

    All of `put`, `get`, `delete`, `search`, `list_namespaces` and their asynchronous twins are LangGraph's own, on top
    of `batch`. Where the API refuses or does not answer, they raise what the client does (`anthropic.APIError`). A
    write is sent again only where nothing was done. Where its answer is lost, the store's home is asked for the value.

    Args:
        client: of Memolith's address, with a key or a token that may write to the store.
        store_id: ``memstore_…``.
        clock: waits before a write that was not done is sent again.
    """

    __slots__ = ("_client", "_ids", "_memories", "_store_id", "_writes")

    def __init__(self, client: anthropic.Anthropic, store_id: str, clock: Clock | None = None) -> None:
        self._client = client
        self._memories = client.beta.memory_stores.memories
        self._store_id = store_id
        self._writes = Writes(client, store_id, clock)
        self._ids: dict[str, str] = {}

    # ---- LangGraph's interface --------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: first all reads, in order, on what was there before; then the puts.

        Of several puts of one item, only the last is done. It checks all operations before it runs the first, so that
        an invalid one changes nothing. Each put is a commit of its own: where one fails, those before it stand, and
        those after it were not begun.

        Cost: a get of an item that was met before is one request, else one for each 100 items of its namespace up to it
        and one more. A put is one request for a new item and two for one that exists. A search is one request for each
        20 items under its prefix, or with a query one, and one for each of at most 50 that match, up to the last that
        it returns. A list of namespaces is one for each 100 items.

        Raises:
            ItemConflict: a memory that is no item is above an item's place or under it.
            UnreadableItem: a get of what is no item.
            InvalidNamespaceError: a label that is empty, or that has a period.
            NotImplementedError: a TTL.
            ValueError: a value that is no JSON object, an unknown operator of a filter, a negative limit or offset.
            WriteStaged: the store has this write approved by a person first; it has changed nothing yet.
            anthropic.APIError: the API refuses, or does not answer: then a put or a deletion may have been done.
        """
        listed = list(ops)
        documents = [_checked(op) for op in listed]
        puts: dict[tuple[Namespace, str], str | None] = {}
        results: list[Result] = []
        for op, document in zip(listed, documents, strict=True):
            results.append(self._read(op))
            if isinstance(op, PutOp):
                puts[op.namespace, op.key] = document
        for (namespace, key), document in puts.items():
            if document is None:
                self._delete(place_of(namespace, key))
            else:
                self._put(namespace, key, document)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a thread."""
        return await run_sync(self.batch, list(ops))

    # ---- Memolith's own ------------------------------------------------------------------------------------------

    def put_if(self, namespace: Namespace, key: str, value: Mapping[str, Any], expected: Item | None) -> StoredItem:
        """Put an item only on what the caller has read: one conditional commit.

        Where another writer has meanwhile put the very same value, the call succeeds. A caller that must be the only
        one (a count, a lock) puts a value that names itself.

        Args:
            expected: the item as `get` or `search` of this store gave it, or None: nothing may be there yet.

        Returns:
            The item as it is stored, to go on from: without secrets, where the store has them taken out. One that was
            renamed by another client is followed: it is still the memory that was read.

        Raises:
            ItemConflict: another writer was first; read again, then decide again.
            UnreadableItem: the value was put, and what is stored of it cannot be read back.
            ValueError, InvalidNamespaceError, WriteStaged, anthropic.APIError: as for `batch`; also an item of another
                place, or of another store.
        """
        document = _checked(PutOp(namespace, key, value))
        if document is None:
            raise ValueError("value: put_if stores an object; delete has no precondition")
        if expected is None:
            memory = self._created(namespace, key, document, "full")
            if isinstance(memory, _Occupied):
                raise ItemConflict(namespace, key, memory.path, "something is there already")
        else:
            memory = self._replaced(namespace, key, document, expected)
        return _item(memory, *(item_at(memory.path) or (namespace, key)))

    async def aput_if(
        self, namespace: Namespace, key: str, value: Mapping[str, Any], expected: Item | None
    ) -> StoredItem:
        """Run `put_if` in a thread."""
        return await run_sync(self.put_if, namespace, key, value, expected)

    # ---- reading ----------------------------------------------------------------------------------------------

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, SearchOp):
            prefix, query = op.namespace_prefix, (op.query or "").strip()
            items = self._found(prefix, query) if query else map(FoundItem, self._items(prefix))
            found = (item for item in items if matches(item.value, op.filter))
            return list[SearchItem](islice(found, op.offset, op.offset + op.limit))
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        return None

    def _get(self, namespace: Namespace, key: str) -> StoredItem | None:
        memory = self._find(place_of(namespace, key))
        return None if memory is None else _item(memory, namespace, key)

    def _items(self, prefix: Namespace) -> Iterator[StoredItem]:
        """Yield the items under a prefix, in order of path."""
        for memory in self._listed(folder_of(prefix), "full"):
            place, value = item_at(memory.path), value_of(memory.content)
            if place is not None and value is not None:
                yield StoredItem(memory, *place, value)

    def _found(self, prefix: Namespace, query: str) -> Iterator[FoundItem]:
        """Yield the items under a prefix that match a query, the best first."""
        for memory_id, score in searched(self._client, self._store_id, query, folder_of(prefix)):
            memory = self._retrieve(memory_id)
            place, value = (item_at(memory.path), value_of(memory.content)) if memory else (None, None)
            if memory is not None and place is not None and value is not None:
                yield FoundItem(StoredItem(memory, *place, value), score)

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        places = (item_at(memory.path) for memory in self._listed(folder_of(_common_prefix(conditions)), "basic"))
        namespaces = {place[0] for place in places if place and all(_is_match(place[0], one) for one in conditions)}
        return sorted({one[: op.max_depth] for one in namespaces})[op.offset : op.offset + op.limit]

    def _find(self, path: str, *, at_home: bool = False) -> Memory | None:
        """Find the memory at a path, with its content: by its id if that is known, else in its folder's listing."""
        known = self._ids.get(path)
        memory = self._retrieve(known, at_home=at_home) if known else None
        if memory is None or memory.path != path:
            self._ids.pop(path, None)
            memory_id = self._look_up(path, at_home=at_home)
            memory = self._retrieve(memory_id, at_home=at_home) if memory_id else None
        return memory if memory and memory.path == path else None

    def _look_up(self, path: str, *, at_home: bool) -> str | None:
        for memory in self._listed(f"{path.rpartition('/')[0]}/", "basic", depth=1, at_home=at_home):
            if memory.path >= path:
                return memory.id if memory.path == path else None
        return None

    def _retrieve(self, memory_id: str, *, at_home: bool = False) -> Memory | None:
        options: Any = {"view": "full", "extra_headers": AT_HOME if at_home else None}
        try:
            return self._memories.retrieve(memory_id, memory_store_id=self._store_id, **options)
        except anthropic.NotFoundError:
            return None

    def _listed(self, folder: str, view: View, depth: int = 0, *, at_home: bool = False) -> Iterator[Memory]:
        options: Any = {"limit": 100, "extra_headers": AT_HOME if at_home else None}
        for listed in self._memories.list(self._store_id, path_prefix=folder, view=view, depth=depth, **options):
            if listed.type == "memory":
                self._remember(listed)
                yield listed

    def _remember(self, memory: Memory) -> None:
        """Remember a memory's id, so that its next look-up is one request; the caller compares the path."""
        if len(self._ids) >= KNOWN_IDS_MAX:
            self._ids.clear()
        self._ids[memory.path] = memory.id

    # ---- writing ----------------------------------------------------------------------------------------------

    def _put(self, namespace: Namespace, key: str, document: str) -> None:
        """Put over any item, or none. Each further attempt means that another client created or deleted the item."""
        path = place_of(namespace, key)
        for _ in range(PUT_ATTEMPTS):
            memory = self._created(namespace, key, document)
            if not isinstance(memory, _Occupied):
                return
            if memory.path != path:
                raise ItemConflict(namespace, key, memory.path, "a memory that is no item stands in the way")
            if memory.id and self._overwritten(memory.id, path, document):
                return
        raise ItemConflict(namespace, key, path, "others kept creating and deleting it")

    def _created(self, namespace: Namespace, key: str, document: str, view: View = "basic") -> Memory | _Occupied:
        path = place_of(namespace, key)
        try:
            memory = self._writes.create(path, document, view)
        except anthropic.ConflictError as error:
            if error.type != "memory_path_conflict_error":
                raise
            return _occupied(error)
        except anthropic.APIError as error:
            memory = _settled(error, document, lambda: self._find(path, at_home=True))
        self._remember(memory)
        return memory

    def _overwritten(self, memory_id: str, path: str, document: str) -> bool:
        """Overwrite the item at a path; False where it is not there any more: deleted, or renamed just before."""
        try:
            memory = self._writes.update(memory_id, document)
        except anthropic.NotFoundError:
            return False
        except anthropic.APIError as error:
            memory = _settled(error, document, lambda: self._retrieve(memory_id, at_home=True))
        return memory.path == path

    def _replaced(self, namespace: Namespace, key: str, document: str, expected: Item) -> Memory:
        if not isinstance(expected, StoredItem | FoundItem) or (expected.namespace, expected.key) != (namespace, key):
            raise ValueError("expected: must be an item of this place, as get or search of this store gave it")
        path, memory_id = place_of(namespace, key), expected.memory_id
        try:
            return self._writes.update(memory_id, document, expected.content_sha256, "full")
        except anthropic.NotFoundError as error:
            raise ItemConflict(namespace, key, path, "it is no longer there") from error
        except anthropic.ConflictError as error:
            if error.type != "memory_precondition_failed_error":
                raise
            raise ItemConflict(namespace, key, path, "it is no longer what was read") from error
        except anthropic.APIError as error:
            return _settled(error, document, lambda: self._retrieve(memory_id, at_home=True))

    def _delete(self, path: str) -> None:
        """Delete the item at a path, as the home has it: another region may not have it yet, or still at this path."""
        memory = self._find(path, at_home=True)
        if memory is None:
            return
        with suppress(anthropic.NotFoundError):
            self._writes.delete(memory.id)


def _item(memory: Memory, namespace: Namespace, key: str) -> StoredItem:
    value = value_of(memory.content)
    if value is None:
        reason = "is withheld by the scanner" if memory.content is None else "is no JSON object"
        raise UnreadableItem(f"{namespace} {key!r}: the memory at {memory.path} {reason}")
    return StoredItem(memory, namespace, key, value)


def _settled(error: anthropic.APIError, document: str, find: Callable[[], Memory | None]) -> Memory:
    """Return what a write made that failed, if it was done for all that; `find` reads it at the store's home.

    Raises:
        anthropic.APIError: the write's own error: it was not done, or nobody can tell.
    """
    if is_unknown(error):
        with suppress(anthropic.APIError):
            memory = find()
            if memory is not None and memory.content == document:
                return memory
    raise error


def _occupied(error: anthropic.ConflictError) -> _Occupied:
    told: Any = error.body
    return _Occupied(told["error"]["conflicting_path"], told["error"]["conflicting_memory_id"])


def _checked(op: Op) -> str | None:
    """Return the document that an operation would store, if it is a put. Raises as `MemolithStore.batch` says."""
    validate_op_namespace(op)
    if isinstance(op, PutOp):
        if op.ttl is not None:
            raise NotImplementedError("ttl: items of MemolithStore do not expire; leave it out")
        return None if op.value is None else document_of(op.value)
    if isinstance(op, SearchOp | ListNamespacesOp) and min(op.limit, op.offset) < 0:
        raise ValueError("limit and offset: must not be negative")
    return None


def _common_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """Return the longest start that every match must have."""
    starts = [
        tuple(takewhile(lambda label: label != "*", one.path)) for one in conditions if one.match_type == "prefix"
    ]
    return max(starts, key=len, default=())


def _is_match(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(asked in ("*", label) for label, asked in zip(part, path, strict=True))
