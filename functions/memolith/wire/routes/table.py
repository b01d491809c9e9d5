"""The table of routes: which path and method leads to which operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memolith.core.errors import NotFound
from memolith.wire.errors import MethodNotAllowed, UnknownRoute
from memolith.wire.event_streams import EventStream
from memolith.wire.exchange import Exchange
from memolith.wire.json_views import Json
from memolith.wire.requests import ID_MAX_CHARS, Request
from memolith.wire.routes.activity import list_activity
from memolith.wire.routes.divergent import dismiss_divergent, list_divergent, restore_divergent, retrieve_divergent
from memolith.wire.routes.dreams import (
    archive_dream,
    cancel_dream,
    create_dream,
    list_dream_changes,
    list_dreams,
    retrieve_dream,
    revert_dream,
)
from memolith.wire.routes.graph import (
    build_context,
    list_conflicts,
    list_observations,
    reach_graph,
    recall_memories,
    resolve_conflict,
)
from memolith.wire.routes.integrity import list_integrity_keys, prove_version
from memolith.wire.routes.keys import create_key, list_keys, revoke_key
from memolith.wire.routes.memories import (
    append_remark,
    create_memory,
    delete_memory,
    list_memories,
    load_memories,
    retrieve_memory,
    search_memories,
    search_stores,
    update_memory,
)
from memolith.wire.routes.proposals import (
    approve_proposal,
    erase_proposal,
    list_proposals,
    open_proposal,
    reject_proposal,
    retrieve_proposal,
    revert_proposal,
    withdraw_proposal,
)
from memolith.wire.routes.quarantine import (
    list_quarantine,
    release_quarantined,
    restore_quarantined,
    retrieve_quarantined,
)
from memolith.wire.routes.session_parts import (
    add_session_resource,
    archive_session_thread,
    delete_session_resource,
    list_session_resources,
    list_session_threads,
    list_thread_events,
    retrieve_session_resource,
    retrieve_session_thread,
    stream_events,
    stream_thread_events,
    update_session_resource,
)
from memolith.wire.routes.sessions import (
    archive_session,
    create_session,
    delete_session,
    list_sessions,
    renew_session_token,
    retrieve_session,
    session_context,
    update_session,
)
from memolith.wire.routes.stores import (
    archive_store,
    create_store,
    delete_store,
    list_stores,
    restore_store,
    retrieve_store,
    update_store,
)
from memolith.wire.routes.transcripts import (
    extract_notes,
    list_events,
    record_transcript,
    search_transcripts,
    send_events,
)
from memolith.wire.routes.usage import cite_memories, list_usage
from memolith.wire.routes.versions import import_versions, list_versions, redact_version, retrieve_version

Operation = Callable[[Exchange], Json | EventStream]


@dataclass(frozen=True, slots=True)
class Route:
    """A path, ``*`` standing for an id, and what each method does there."""

    path: tuple[str, ...]
    methods: dict[str, Operation]

    def ids(self, segments: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the ids in `segments`, or None where they are not of this path. An id is never empty."""
        if len(segments) != len(self.path):
            return None
        pairs = list(zip(self.path, segments, strict=True))
        ids = tuple(segment for part, segment in pairs if part == "*")
        fixed = all(segment == part for part, segment in pairs if part != "*")
        return ids if fixed and all(ids) else None


_STORES = ("v1", "memory_stores")


_STORE = (*_STORES, "*")


_SESSIONS = ("v1", "sessions")


_DREAMS = ("v1", "dreams")


ROUTES: tuple[Route, ...] = (
    Route(_STORES, {"GET": list_stores, "POST": create_store}),
    Route(_STORE, {"GET": retrieve_store, "POST": update_store, "DELETE": delete_store}),
    Route((*_STORE, "archive"), {"POST": archive_store}),
    Route((*_STORE, "restore"), {"POST": restore_store}),
    Route((*_STORE, "memories"), {"GET": list_memories, "POST": create_memory}),
    Route((*_STORE, "memories", "*"), {"GET": retrieve_memory, "POST": update_memory, "DELETE": delete_memory}),
    Route((*_STORE, "log"), {"POST": append_remark}),
    Route((*_STORE, "search"), {"GET": search_memories}),
    Route(("v1", "search"), {"GET": search_stores}),
    Route((*_STORE, "graph"), {"GET": reach_graph}),
    Route((*_STORE, "context"), {"GET": build_context}),
    Route((*_STORE, "observations"), {"GET": list_observations}),
    Route((*_STORE, "conflicts"), {"GET": list_conflicts}),
    Route((*_STORE, "conflicts", "*", "resolve"), {"POST": resolve_conflict}),
    Route((*_STORE, "recall"), {"GET": recall_memories}),
    Route((*_STORE, "activity"), {"GET": list_activity}),
    Route((*_STORE, "usage"), {"GET": list_usage}),
    Route((*_STORE, "pack"), {"GET": load_memories}),
    Route((*_STORE, "memory_versions"), {"GET": list_versions, "POST": import_versions}),
    Route((*_STORE, "memory_versions", "*"), {"GET": retrieve_version}),
    Route((*_STORE, "memory_versions", "*", "proof"), {"GET": prove_version}),
    Route((*_STORE, "memory_versions", "*", "redact"), {"POST": redact_version}),
    Route(_SESSIONS, {"GET": list_sessions, "POST": create_session}),
    Route((*_SESSIONS, "search"), {"GET": search_transcripts}),
    Route((*_SESSIONS, "*"), {"GET": retrieve_session, "POST": update_session, "DELETE": delete_session}),
    Route((*_SESSIONS, "*", "token"), {"POST": renew_session_token}),
    Route((*_SESSIONS, "*", "archive"), {"POST": archive_session}),
    Route((*_SESSIONS, "*", "events"), {"GET": list_events, "POST": send_events}),
    Route((*_SESSIONS, "*", "events", "stream"), {"GET": stream_events}),
    Route((*_SESSIONS, "*", "resources"), {"GET": list_session_resources, "POST": add_session_resource}),
    Route(
        (*_SESSIONS, "*", "resources", "*"),
        {"GET": retrieve_session_resource, "POST": update_session_resource, "DELETE": delete_session_resource},
    ),
    Route((*_SESSIONS, "*", "threads"), {"GET": list_session_threads}),
    Route((*_SESSIONS, "*", "threads", "*"), {"GET": retrieve_session_thread}),
    Route((*_SESSIONS, "*", "threads", "*", "archive"), {"POST": archive_session_thread}),
    Route((*_SESSIONS, "*", "threads", "*", "events"), {"GET": list_thread_events}),
    Route((*_SESSIONS, "*", "threads", "*", "stream"), {"GET": stream_thread_events}),
    Route((*_SESSIONS, "*", "extract"), {"POST": extract_notes}),
    Route((*_SESSIONS, "*", "citations"), {"POST": cite_memories}),
    Route((*_SESSIONS, "*", "transcript"), {"POST": record_transcript}),
    Route((*_SESSIONS, "*", "context"), {"POST": session_context}),
    Route((*_STORE, "proposals"), {"GET": list_proposals, "POST": open_proposal}),
    Route((*_STORE, "proposals", "*"), {"GET": retrieve_proposal}),
    Route((*_STORE, "proposals", "*", "approve"), {"POST": approve_proposal}),
    Route((*_STORE, "proposals", "*", "reject"), {"POST": reject_proposal}),
    Route((*_STORE, "proposals", "*", "withdraw"), {"POST": withdraw_proposal}),
    Route((*_STORE, "proposals", "*", "revert"), {"POST": revert_proposal}),
    Route((*_STORE, "proposals", "*", "erase"), {"POST": erase_proposal}),
    Route(_DREAMS, {"GET": list_dreams, "POST": create_dream}),
    Route((*_DREAMS, "*"), {"GET": retrieve_dream}),
    Route((*_DREAMS, "*", "cancel"), {"POST": cancel_dream}),
    Route((*_DREAMS, "*", "archive"), {"POST": archive_dream}),
    Route((*_DREAMS, "*", "changes"), {"GET": list_dream_changes}),
    Route((*_DREAMS, "*", "revert"), {"POST": revert_dream}),
    Route((*_STORE, "quarantine"), {"GET": list_quarantine}),
    Route((*_STORE, "quarantine", "*"), {"GET": retrieve_quarantined}),
    Route((*_STORE, "quarantine", "*", "release"), {"POST": release_quarantined}),
    Route((*_STORE, "quarantine", "*", "restore"), {"POST": restore_quarantined}),
    Route(("v1", "integrity", "keys"), {"GET": list_integrity_keys}),
    Route((*_STORE, "divergent"), {"GET": list_divergent}),
    Route((*_STORE, "divergent", "*"), {"GET": retrieve_divergent}),
    Route((*_STORE, "divergent", "*", "restore"), {"POST": restore_divergent}),
    Route((*_STORE, "divergent", "*", "dismiss"), {"POST": dismiss_divergent}),
)


KEY_ROUTES: tuple[Route, ...] = (
    Route(("v1", "api_keys"), {"GET": list_keys, "POST": create_key}),
    Route(("v1", "api_keys", "*", "revoke"), {"POST": revoke_key}),
)
"""Apart from the others: on AWS a function of its own answers them, and them alone."""


_CREATED = ("created_at[gte]", "created_at[lte]")
_PAGED = ("limit", "page")
_SEARCHED = (
    "query", "limit", "path_prefix", "min_trust", "type", "tags", *_CREATED, "updated_at[gte]", "updated_at[lte]",
    "api_key_id", "session_id", "service_account_id",
)  # fmt: skip

PARAMETERS: Mapping[Operation, tuple[str, ...]] = {
    list_stores: (*_CREATED, "include_archived", "deleted", *_PAGED),
    list_memories: ("path_prefix", "depth", "as_of", "view", *_PAGED),
    create_memory: ("view",),
    retrieve_memory: ("view", "as_of"),
    update_memory: ("view",),
    delete_memory: ("expected_content_sha256",),
    search_memories: (*_SEARCHED, "as_of"),
    search_stores: ("memory_store_ids", *_SEARCHED),
    reach_graph: ("path", "memory_id", "direction", "depth", "types", "limit", "as_of"),
    build_context: ("url", "depth", "timeframe", "page", "page_size", "max_related", "as_of"),
    list_observations: ("category", "tag", "query", "valid_at", "limit", "as_of"),
    list_conflicts: ("path_prefix", "status", "limit"),
    recall_memories: ("query", "recent_tools", "loaded", "limit", "max_tokens"),
    list_activity: ("timeframe", "page", "page_size", "api_key_id", "session_id", "service_account_id"),
    list_usage: ("unused", *_PAGED),
    load_memories: ("page",),
    list_versions: (
        "memory_id", "operation", "api_key_id", "session_id", "service_account_id", *_CREATED, "view", *_PAGED,
    ),
    retrieve_version: ("view",),
    list_sessions: (
        *_CREATED, "created_at[gt]", "created_at[lt]", "include_archived", "memory_store_id", "api_key_id", "agent_id",
        "agent_version", "deployment_id", "statuses", "statuses[]", *_PAGED,
    ),
    search_transcripts: ("query", "limit", "session_id", "memory_store_id", *_CREATED),
    list_events: (*_CREATED, "created_at[gt]", "created_at[lt]", "types[]", *_PAGED),
    stream_events: ("event_deltas", "event_deltas[]"),
    stream_thread_events: ("event_deltas", "event_deltas[]"),
    list_session_resources: _PAGED,
    list_session_threads: ("statuses", "statuses[]", *_PAGED),
    list_thread_events: _PAGED,
    list_proposals: ("status", *_PAGED),
    retrieve_proposal: ("diff",),
    list_dreams: ("created_at[gt]", "created_at[lt]", "include_archived", "statuses", "statuses[]", *_PAGED),
    list_quarantine: ("include_released", *_PAGED),
    restore_quarantined: ("view",),
    list_divergent: _PAGED,
    list_keys: _PAGED,
    restore_divergent: ("view",),
}  # fmt: skip
"""The query parameters that an operation knows; one that is not listed here knows none."""


def find(request: Request, routes: Sequence[Route] = ROUTES) -> tuple[Operation, tuple[str, ...]]:
    """Find the operation of a request, and the ids in its path.

    Raises:
        UnknownRoute, MethodNotAllowed, NotFound.
    """
    for route in routes:
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
