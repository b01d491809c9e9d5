"""The operations: from a request to a use case to JSON. A route is a method, a path, and a function.

Bodies are parsed with pydantic, imported only where there is one: the reader has none, and starts faster without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from cairn.app.answers import UNSET, Call, Page, StoreToAttach, VersionFilter
from cairn.core.errors import InvalidRequest, NotFound
from cairn.core.limits import SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX
from cairn.wire import cursors, freshness, objects
from cairn.wire.cursors import Listing
from cairn.wire.errors import MethodNotAllowed, UnknownRoute
from cairn.wire.facade import SessionUseCases, UseCases
from cairn.wire.objects import Json
from cairn.wire.requests import ID_MAX_CHARS, Request

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request on its way to the use cases. `ids` are those of the path, in its order."""

    cairn: UseCases
    call: Call
    request: Request
    ids: tuple[str, ...]
    now_us: int
    session_cases: SessionUseCases | None = None

    @property
    def sessions(self) -> SessionUseCases:
        """The use cases of sessions. Raises UnknownRoute where there are none."""
        if self.session_cases is None:
            raise UnknownRoute
        return self.session_cases

    @property
    def store_id(self) -> str:
        """The store that the path names."""
        return self.ids[0]

    @property
    def item_id(self) -> str:
        """The memory or version that the path names."""
        return self.ids[1]

    def position(self, listing: Listing) -> str | None:
        """Where the listing is to go on. Raises InvalidRequest naming ``page``."""
        cursor = self.request.query.text("page")
        return None if cursor is None else cursors.position(cursor, self._own(listing), self.now_us)

    def page(self, listing: Listing, answer: Page[T], row: Callable[[T], Json]) -> Json:
        """The envelope of a listing."""
        return objects.page(answer, row, lambda position: cursors.issue(self._own(listing), position, self.now_us))

    def _own(self, listing: Listing) -> Listing:
        return (self.call.credentials.workspace_id, *listing)


def create_store(exchange: Exchange) -> Json:
    from cairn.wire.schemas import StoreCreate, parse

    body = parse(StoreCreate, exchange.request.body())
    return objects.store(
        exchange.cairn.create_store(
            exchange.call,
            name=body.name,
            description=body.description or "",
            metadata=body.metadata or {},
            scan_policy=None if body.scan_policy is None else body.scan_policy.model_dump(exclude_none=True),
            retention=None if body.retention is None else body.retention.model_dump(),
            durability=body.durability,
            second_region=body.second_region,
        )
    )


def list_stores(exchange: Exchange) -> Json:
    freshness.check_none(exchange.call.demand)
    query = exchange.request.query
    since, until = query.instant("created_at[gte]"), query.instant("created_at[lte]")
    archived = query.one_of("include_archived", "true", "false") == "true"
    listing: Listing = ("stores", since, until, archived)
    answer = exchange.cairn.list_stores(
        exchange.call,
        created_at_gte=since,
        created_at_lte=until,
        include_archived=archived,
        limit=query.limit(),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, objects.store)


def retrieve_store(exchange: Exchange) -> Json:
    return objects.store(exchange.cairn.retrieve_store(exchange.call, exchange.store_id))


def update_store(exchange: Exchange) -> Json:
    """Null and absence are one: `description` is cleared with ``""``, a pair of metadata with null inside it."""
    from cairn.wire.schemas import StoreUpdate, parse

    body = parse(StoreUpdate, exchange.request.body())
    return objects.store(
        exchange.cairn.update_store(
            exchange.call,
            exchange.store_id,
            name=UNSET if body.name is None else body.name,
            description=UNSET if body.description is None else body.description,
            metadata=UNSET if body.metadata is None else body.metadata,
            scan_policy=UNSET if body.scan_policy is None else body.scan_policy.model_dump(exclude_none=True),
            retention=UNSET if body.retention is None else body.retention.model_dump(),
            durability=UNSET if body.durability is None else body.durability,
            second_region=UNSET if body.second_region is None else body.second_region,
        )
    )


def archive_store(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return objects.store(exchange.cairn.archive_store(exchange.call, exchange.store_id))


def delete_store(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return objects.deleted("memory_store_deleted", exchange.cairn.delete_store(exchange.call, exchange.store_id))


def create_memory(exchange: Exchange) -> Json:
    from cairn.wire.schemas import MemoryCreate, parse

    full = exchange.request.query.full(default=False)
    body = parse(MemoryCreate, exchange.request.body())
    return objects.memory(
        exchange.cairn.create_memory(exchange.call, exchange.store_id, path=body.path, content=body.content, full=full)
    )


def list_memories(exchange: Exchange) -> Json:
    query = exchange.request.query
    prefix, depth = query.words("path_prefix"), int(query.one_of("depth", "0", "1") or 0)
    as_of = query.instant("as_of")
    if as_of is not None and depth:
        raise InvalidRequest("depth", "cannot be combined with as_of")
    listing: Listing = ("memories", exchange.store_id, prefix, depth, *([] if as_of is None else [as_of]))
    answer = exchange.cairn.list_memories(
        exchange.call,
        exchange.store_id,
        path_prefix=prefix,
        depth=depth,
        limit=query.limit(),
        after=exchange.position(listing),
        full=query.full(default=False),
        as_of=as_of,
    )
    return exchange.page(listing, answer, objects.memory_or_prefix if as_of is None else objects.past_memory)


def search_memories(exchange: Exchange) -> Json:
    query = exchange.request.query
    text = query.words("query")
    if text is None:
        raise InvalidRequest("query", "must be given")
    answer = exchange.cairn.search_memories(
        exchange.call,
        exchange.store_id,
        query=text,
        limit=query.limit(SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX),
        path_prefix=query.words("path_prefix"),
    )
    return exchange.page(("search",), answer, objects.hit)


def load_memories(exchange: Exchange) -> Json:
    listing: Listing = ("load", exchange.store_id)
    answer = exchange.cairn.load_memories(exchange.call, exchange.store_id, after=exchange.position(listing))
    return exchange.page(listing, answer, objects.memory)


def retrieve_memory(exchange: Exchange) -> Json:
    query = exchange.request.query
    full, as_of = query.full(default=True), query.instant("as_of")
    memory = exchange.cairn.retrieve_memory(exchange.call, exchange.store_id, exchange.item_id, full=full, as_of=as_of)
    return objects.memory(memory) if as_of is None else objects.past_memory(memory)


def update_memory(exchange: Exchange) -> Json:
    from cairn.wire.schemas import MemoryUpdate, parse

    full = exchange.request.query.full(default=False)
    body = parse(MemoryUpdate, exchange.request.body())
    if body.content is None and body.path is None:
        raise InvalidRequest("content", "must be given, or path, or both")
    return objects.memory(
        exchange.cairn.update_memory(
            exchange.call,
            exchange.store_id,
            exchange.item_id,
            content=body.content,
            path=body.path,
            expected_content_sha256=body.precondition.content_sha256 if body.precondition else None,
            full=full,
        )
    )


def delete_memory(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    expected = exchange.request.query.sha256("expected_content_sha256")
    id = exchange.cairn.delete_memory(
        exchange.call, exchange.store_id, exchange.item_id, expected_content_sha256=expected
    )
    return objects.deleted("memory_deleted", id)


def list_versions(exchange: Exchange) -> Json:
    query = exchange.request.query
    filter = VersionFilter(
        memory_id=query.id("memory_id"),
        operation=query.one_of("operation", "created", "modified", "deleted"),
        created_by=_actor(exchange.request),
        created_at_gte=query.instant("created_at[gte]"),
        created_at_lte=query.instant("created_at[lte]"),
    )
    listing: Listing = (
        "versions",
        exchange.store_id,
        filter.memory_id,
        filter.operation,
        filter.created_by,
        filter.created_at_gte,
        filter.created_at_lte,
    )
    answer = exchange.cairn.list_versions(
        exchange.call,
        exchange.store_id,
        filter,
        limit=query.limit(),
        after=exchange.position(listing),
        full=query.full(default=False),
    )
    return exchange.page(listing, answer, objects.version)


def retrieve_version(exchange: Exchange) -> Json:
    full = exchange.request.query.full(default=True)
    return objects.version(
        exchange.cairn.retrieve_version(exchange.call, exchange.store_id, exchange.item_id, full=full)
    )


def import_versions(exchange: Exchange) -> Json:
    from cairn.wire.schemas import VersionsToImport, brought, parse

    body = parse(VersionsToImport, exchange.request.body())
    versions = [brought(one, f"versions.{n}", exchange.call.credentials.actor) for n, one in enumerate(body.versions)]
    done = exchange.cairn.import_versions(exchange.call, exchange.store_id, versions)
    return {"data": [objects.imported_version(one) for one in done], "next_page": None}


def redact_version(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return objects.version(exchange.cairn.redact_version(exchange.call, exchange.store_id, exchange.item_id))


def create_session(exchange: Exchange) -> Json:
    from cairn.wire.schemas import SessionCreate, parse

    body = parse(SessionCreate, exchange.request.body())
    stores = [StoreToAttach(one.memory_store_id, one.access, one.instructions or "") for one in body.resources]
    session = exchange.sessions.create(
        exchange.call,
        stores,
        title=body.title,
        metadata=body.metadata or {},
        token_lifetime_s=body.token_lifetime_seconds,
    )
    return objects.session(session)


def retrieve_session(exchange: Exchange) -> Json:
    return objects.session(exchange.sessions.retrieve(exchange.call, exchange.ids[0]))


def renew_session_token(exchange: Exchange) -> Json:
    from cairn.wire.schemas import SessionToken, parse

    raw = exchange.request.body()
    body = parse(SessionToken, raw if raw.strip() else b"{}")
    return objects.session(
        exchange.sessions.renew(exchange.call, exchange.ids[0], token_lifetime_s=body.token_lifetime_seconds)
    )


def archive_session(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    return objects.session(exchange.sessions.archive(exchange.call, exchange.ids[0]))


def session_context(exchange: Exchange) -> Json:
    from cairn.wire.schemas import SessionContext, parse

    raw = exchange.request.body()
    body = parse(SessionContext, raw if raw.strip() else b"{}")
    return objects.session_context(
        exchange.sessions.context(exchange.call, exchange.ids[0], refresh=body.refresh or False)
    )


def list_quarantine(exchange: Exchange) -> Json:
    released = exchange.request.query.one_of("include_released", "true", "false") == "true"
    listing: Listing = ("quarantine", exchange.store_id, released)
    answer = exchange.cairn.quarantine.page(
        exchange.call,
        exchange.store_id,
        include_released=released,
        limit=exchange.request.query.limit(),
        after=exchange.position(listing),
    )
    return exchange.page(listing, answer, objects.quarantined_text)


def retrieve_quarantined(exchange: Exchange) -> Json:
    return objects.quarantined_text(
        exchange.cairn.quarantine.retrieve(exchange.call, exchange.store_id, exchange.item_id)
    )


def release_quarantined(exchange: Exchange) -> Json:
    from cairn.wire.schemas import Release, parse

    body = parse(Release, exchange.request.body())
    return objects.quarantined_text(
        exchange.cairn.quarantine.release(exchange.call, exchange.store_id, exchange.item_id, reason=body.reason)
    )


def restore_quarantined(exchange: Exchange) -> Json:
    full = exchange.request.query.full(default=False)
    _check_no_body(exchange)
    return objects.memory(
        exchange.cairn.quarantine.restore(exchange.call, exchange.store_id, exchange.item_id, full=full)
    )


def list_divergent(exchange: Exchange) -> Json:
    listing: Listing = ("divergent", exchange.store_id)
    answer = exchange.cairn.divergent.page(
        exchange.call, exchange.store_id, limit=exchange.request.query.limit(), after=exchange.position(listing)
    )
    return exchange.page(listing, answer, objects.divergent_version)


def retrieve_divergent(exchange: Exchange) -> Json:
    return objects.divergent_version(
        exchange.cairn.divergent.retrieve(exchange.call, exchange.store_id, exchange.item_id)
    )


def restore_divergent(exchange: Exchange) -> Json:
    full = exchange.request.query.full(default=False)
    _check_no_body(exchange)
    restored = exchange.cairn.divergent.restore(exchange.call, exchange.store_id, exchange.item_id, full=full)
    return objects.restored_version(exchange.item_id, restored)


def dismiss_divergent(exchange: Exchange) -> Json:
    _check_no_body(exchange)
    dismissed = exchange.cairn.divergent.dismiss(exchange.call, exchange.store_id, exchange.item_id)
    return objects.deleted("divergent_version_dismissed", dismissed)


def _actor(request: Request) -> str | None:
    """The one actor asked for. A version has one author, so two of the filters could only be a mistake."""
    kinds = {"api_key_id": "api_key", "session_id": "session", "service_account_id": "service_account"}
    asked = {name: id for name in kinds if (id := request.query.id(name)) is not None}
    if len(asked) > 1:
        raise InvalidRequest(next(reversed(asked)), f"cannot be combined with {next(iter(asked))}")
    return next((f"{kinds[name]}:{id}" for name, id in asked.items()), None)


def _check_no_body(exchange: Exchange) -> None:
    if not exchange.request.raw_body:
        return
    from cairn.wire.schemas import check_no_body

    check_no_body(exchange.request.body())


@dataclass(frozen=True, slots=True)
class Route:
    """A path, ``*`` standing for an id, and what each method does there."""

    path: tuple[str, ...]
    methods: dict[str, Callable[[Exchange], Json]]

    def ids(self, segments: tuple[str, ...]) -> tuple[str, ...] | None:
        """The ids in `segments`, or None where they are not of this path. An id is never empty."""
        if len(segments) != len(self.path):
            return None
        pairs = list(zip(self.path, segments, strict=True))
        ids = tuple(segment for part, segment in pairs if part == "*")
        fixed = all(segment == part for part, segment in pairs if part != "*")
        return ids if fixed and all(ids) else None


_STORES = ("v1", "memory_stores")
_STORE = (*_STORES, "*")
_SESSIONS = ("v1", "sessions")

ROUTES: tuple[Route, ...] = (
    Route(_STORES, {"GET": list_stores, "POST": create_store}),
    Route(_STORE, {"GET": retrieve_store, "POST": update_store, "DELETE": delete_store}),
    Route((*_STORE, "archive"), {"POST": archive_store}),
    Route((*_STORE, "memories"), {"GET": list_memories, "POST": create_memory}),
    Route((*_STORE, "memories", "*"), {"GET": retrieve_memory, "POST": update_memory, "DELETE": delete_memory}),
    Route((*_STORE, "search"), {"GET": search_memories}),
    Route((*_STORE, "pack"), {"GET": load_memories}),
    Route((*_STORE, "memory_versions"), {"GET": list_versions, "POST": import_versions}),
    Route((*_STORE, "memory_versions", "*"), {"GET": retrieve_version}),
    Route((*_STORE, "memory_versions", "*", "redact"), {"POST": redact_version}),
    Route(_SESSIONS, {"POST": create_session}),
    Route((*_SESSIONS, "*"), {"GET": retrieve_session}),
    Route((*_SESSIONS, "*", "token"), {"POST": renew_session_token}),
    Route((*_SESSIONS, "*", "archive"), {"POST": archive_session}),
    Route((*_SESSIONS, "*", "context"), {"POST": session_context}),
    Route((*_STORE, "quarantine"), {"GET": list_quarantine}),
    Route((*_STORE, "quarantine", "*"), {"GET": retrieve_quarantined}),
    Route((*_STORE, "quarantine", "*", "release"), {"POST": release_quarantined}),
    Route((*_STORE, "quarantine", "*", "restore"), {"POST": restore_quarantined}),
    Route((*_STORE, "divergent"), {"GET": list_divergent}),
    Route((*_STORE, "divergent", "*"), {"GET": retrieve_divergent}),
    Route((*_STORE, "divergent", "*", "restore"), {"POST": restore_divergent}),
    Route((*_STORE, "divergent", "*", "dismiss"), {"POST": dismiss_divergent}),
)


def find(request: Request) -> tuple[Callable[[Exchange], Json], tuple[str, ...]]:
    """The operation a request asks for, and the ids in its path. Raises UnknownRoute, MethodNotAllowed, NotFound."""
    for route in ROUTES:
        ids = route.ids(request.segments)
        if ids is not None:
            _check_lengths(ids)
            operation = route.methods.get(request.method)
            if operation is None:
                raise MethodNotAllowed(tuple(route.methods))
            return operation, ids
    raise UnknownRoute


def _check_lengths(ids: tuple[str, ...]) -> None:
    for id in ids:
        if len(id) > ID_MAX_CHARS:
            raise NotFound("id", f"{id[:ID_MAX_CHARS]}…")
