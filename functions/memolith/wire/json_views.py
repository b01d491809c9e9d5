"""Answers as the API's JSON objects. Source: docs/api-compatibility.md §1.3."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from memolith.app.api.history_import import ImportResult
from memolith.app.kernel.results import (
    DivergentVersion,
    Hit,
    Memory,
    MemoryPrefix,
    Page,
    Place,
    QuarantinedText,
    Session,
    SessionContext,
    Store,
    Version,
    Withheld,
)
from memolith.core.approval import ApprovalPolicy
from memolith.core.ids import primary_thread
from memolith.core.objects.session_record import Attachment, SessionRecord
from memolith.core.objects.verdict_record import VerdictRecord
from memolith.core.pipelines.policy import PipelinesPolicy
from memolith.core.sync_replica import durability_of
from memolith.core.times import LAST_US, rfc3339
from memolith.core.trust import name_of

T = TypeVar("T")
Json = dict[str, Any]

_ACTORS = {
    "api_key": ("api_actor", "api_key_id"),
    "session": ("session_actor", "session_id"),
    "user": ("user_actor", "user_id"),
    "service_account": ("service_account_actor", "service_account_id"),
}


def store(answer: Store) -> Json:
    """Render a memory_store."""
    return {
        "type": "memory_store",
        "id": answer.id,
        "name": answer.name,
        "description": answer.description,
        "metadata": dict(answer.metadata),
        "created_at": rfc3339(answer.created_at),
        "updated_at": rfc3339(answer.updated_at),
        "archived_at": _instant(answer.archived_at),
        "scan_policy": asdict(answer.scan_policy) | {"allow": list(answer.scan_policy.allow)},
        "retention": asdict(answer.retention),
        "durability": durability_of(answer.second_region),
        "second_region": answer.second_region,
        "approval": ApprovalPolicy.of(answer.approval).to_json(),
        "pipelines": PipelinesPolicy.of(answer.pipelines).to_json(),
    }


def deleted_store(answer: Store) -> Json:
    """Render a memory_store that was deleted and can be restored until `erase_after`."""
    return {**store(answer), "erase_after": _instant(answer.erase_after)}


def memory(answer: Memory) -> Json:
    """Render a memory; `content` is null unless the caller asked for it."""
    return {
        "type": "memory",
        "id": answer.id,
        "memory_store_id": answer.store_id,
        "memory_version_id": answer.version_id,
        "path": answer.path,
        "content": answer.content,
        "content_sha256": answer.content_sha256,
        "content_size_bytes": answer.content_size_bytes,
        "created_at": rfc3339(answer.created_at),
        "updated_at": rfc3339(answer.updated_at),
        "flags": list(answer.flags),
        "withheld": _withheld(answer.withheld),
        **_damaged(answer),
        "trust": name_of(answer.trust),
        **({"redacted": [asdict(secret) for secret in answer.redacted]} if answer.redacted else {}),
    }


def memory_or_prefix(answer: Memory | MemoryPrefix) -> Json:
    """Render one row of a listing of memories."""
    return memory(answer) if isinstance(answer, Memory) else {"type": "memory_prefix", "path": answer.path}


def hit(answer: Hit) -> Json:
    """Render a memory that a search found, and where in it."""
    return {
        "type": "memory_search_hit",
        "score": answer.score,
        "excerpt": answer.excerpt,
        "memory": memory(answer.memory),
        "disputed": [{"conflict_id": one.conflict_id, "line": one.line} for one in answer.disputed],
    }


def past_memory(answer: Memory | MemoryPrefix) -> Json:
    """Render a memory as it was; what was erased since is null, and `blank` says so."""
    row = memory_or_prefix(answer)
    blank = isinstance(answer, Memory) and answer.blank
    gone = dict.fromkeys(("path", "content", "content_sha256", "content_size_bytes")) if blank else {}
    return {**row, **gone, "blank": blank}


def version(answer: Version) -> Json:
    """Render a memory_version."""
    return {
        "type": "memory_version",
        "id": answer.id,
        **_what_was_written(answer),
        "redacted_at": _instant(answer.redacted_at),
        "redacted_by": actor(answer.redacted_by),
        "flags": list(answer.flags),
        "withheld": _withheld(answer.withheld),
        "imported": answer.imported,
        **_damaged(answer),
        "trust": name_of(answer.trust),
    }


def _damaged(answer: Memory | Version) -> Json:
    """Say why a listed text is null that no verdict withholds; nothing is said of any other."""
    return {"damaged": True} if answer.damaged else {}


def _what_was_written(answer: Version | DivergentVersion) -> Json:
    """Render what a version says of its memory, whether it is in the history or divergent."""
    return {
        "memory_id": answer.memory_id,
        "memory_store_id": answer.store_id,
        "operation": answer.operation,
        "path": answer.path,
        "content": answer.content,
        "content_sha256": answer.content_sha256,
        "content_size_bytes": answer.content_size_bytes,
        "created_at": rfc3339(answer.created_at),
        "created_by": actor(answer.created_by),
    }


def imported_version(answer: ImportResult) -> Json:
    """Render what became of one imported version."""
    return {
        "type": "imported_version",
        "memory_version_id": answer.version_id,
        "memory_id": answer.memory_id,
        "status": answer.status,
        "reason": answer.reason or None,
        "path_taken": answer.path_taken,
        "withheld_rules": list(answer.withheld_rules),
        "redacted": list(answer.redacted),
    }


def actor_text(shown: Mapping[str, str]) -> str:
    """Parse what `json_views` shows of an actor. Raises ValueError."""
    for kind, (type, field) in _ACTORS.items():
        if set(shown) == {"type", field} and shown["type"] == type:
            return f"{kind}:{shown[field]}"
    raise ValueError("no actor of the API")


_AGENT: Json = {
    "type": "agent",
    "name": "",
    "description": None,
    "system": None,
    "model": {"id": ""},
    "multiagent": None,
    "execution_identity": {"type": "service_account"},
    "mcp_servers": [],
    "skills": [],
    "tools": [],
}
"""What a session says of its agent beside its id and version: nothing is known here."""


def session(answer: Session) -> Json:
    """Render a session; its token is included once, when it is issued.

    What concerns memory is Memolith's to say. The rest stands there because clients of the API require it: of agent and
    environment the ids that the caller gave, and nothing of what Memolith neither runs nor measures.
    """
    record = answer.record
    shown: Json = {
        "type": "session",
        "id": record.session_id,
        "title": record.title,
        "metadata": dict(record.metadata),
        "status": record.status,
        "resources": [session_resource(one) for one in record.attachments],
        "created_at": rfc3339(record.created_at),
        "updated_at": rfc3339(record.changed_at),
        "archived_at": _instant(record.archived_at),
        "created_by": actor(record.created_by),
        "agent": _agent(record),
        "environment_id": record.environment_id or "",
        "vault_ids": [],
        "outcome_evaluations": [],
        "stats": {},
        "usage": {},
        "budget": None,
        "deployment_id": None,
    }
    if answer.token is not None:
        shown |= {"token": answer.token, "token_expires_at": _instant(answer.token_expires_at)}
    return shown


def session_resource(one: Attachment) -> Json:
    """Render a store of a session, as it was when the session began."""
    return {
        "type": "memory_store",
        "memory_store_id": one.memory_store_id,
        "access": one.access,
        "instructions": one.instructions,
        "name": one.name,
        "description": one.description,
        "mount_path": one.mount_path,
    }


def session_thread(record: SessionRecord) -> Json:
    """Render a session's one thread."""
    return {
        "type": "session_thread",
        "id": primary_thread(record.session_id),
        "session_id": record.session_id,
        "parent_thread_id": None,
        "status": record.status,
        "agent": {name: value for name, value in _agent(record).items() if name != "multiagent"},
        "created_at": rfc3339(record.created_at),
        "updated_at": rfc3339(record.changed_at),
        "archived_at": _instant(record.archived_at),
        "stats": None,
        "usage": None,
        "workflow_run_id": None,
    }


def _agent(record: SessionRecord) -> Json:
    return {**_AGENT, "id": record.agent_id or "", "version": record.agent_version or 0}


def session_context(answer: SessionContext) -> Json:
    """Render what a session's agent is to know of its memory."""
    return {
        "type": "session_context",
        "session_id": answer.session_id,
        "pinned_at": rfc3339(answer.pinned_at),
        "text": answer.text,
        "stores": [
            {
                **asdict(one.attachment),
                "index": {
                    "source": one.source,
                    "text": one.text,
                    "remarks": list(one.remarks),
                    "lines": one.lines,
                    "lines_total": one.lines_total,
                    "truncated": one.truncated,
                    "more": one.more,
                    "trust": name_of(one.trust),
                },
            }
            for one in answer.stores
        ],
    }


def quarantined_text(answer: QuarantinedText) -> Json:
    """Render a text that a verdict withheld, or withholds."""
    return {
        "type": "quarantined_text",
        "memory_store_id": answer.store_id,
        "memory_version_id": answer.version_ids[0],
        "memory_version_ids": list(answer.version_ids),
        "status": "released" if answer.withheld is None else "withheld",
        "withheld": _withheld(answer.withheld),
        "verdicts": None if answer.verdicts is None else [_verdict(verdict) for verdict in answer.verdicts],
        "places": None if answer.places is None else [_place(place) for place in answer.places],
        "all_places": answer.all_places,
    }


def divergent_version(answer: DivergentVersion) -> Json:
    """Render a straggler's divergent version; its text and its present memory, if they were looked up."""
    return {
        "type": "divergent_version",
        "id": answer.version_id,
        **_what_was_written(answer),
        "withheld": _withheld(answer.withheld),
        "current": None if answer.current is None else memory(answer.current),
    }


def restored_version(id: str, answer: Memory | None) -> Json:
    """Render what restoring a divergent version made of its memory; null where that was to delete it."""
    return {
        "type": "divergent_version_restored",
        "id": id,
        "memory": None if answer is None else memory(answer),
    }


def _verdict(answer: VerdictRecord) -> Json:
    by = actor(answer.decided_by) if answer.by_person else {"type": answer.decided_by}
    return {
        "type": "verdict",
        "memory_version_id": answer.version_id,
        "outcome": answer.outcome.value,
        "reason": answer.reason,
        "findings": [dict(finding) for finding in answer.findings],
        "decided_at": rfc3339(answer.decided_at),
        "decided_by": by,
    }


def _place(answer: Place) -> Json:
    return {
        "type": "place",
        "memory_id": answer.memory_id,
        "memory_version_id": answer.version_id,
        "operation": answer.operation,
        "path": answer.path,
        "created_at": rfc3339(answer.created_at),
        "head": answer.head,
    }


def deleted(type: str, id: str) -> Json:
    """Render the answer to a deletion; never an empty body, which the SDK cannot parse."""
    return {"type": type, "id": id}


def page(answer: Page[T], row: Callable[[T], Json], cursor: Callable[[str], str]) -> Json:
    """Render a page of rows; `cursor` makes the text that continues after a position."""
    next_page = None if answer.next_after is None else cursor(answer.next_after)
    return {"data": [row(item) for item in answer.items], "next_page": next_page}


def _instant(instant_us: int | None) -> str | None:
    """Render an instant. An import of an earlier release could store a later one than `LAST_US`, which is shown so."""
    return None if instant_us is None else rfc3339(min(instant_us, LAST_US))


def _withheld(answer: Withheld | None) -> Json | None:
    if answer is None:
        return None
    return {"reason": answer.reason, "rules": list(answer.rules), "since": rfc3339(answer.since)}


def actor(text: str | None) -> Json | None:
    """Render who did something, as the API's own types have it.

    An actor of a kind that the API lacks is a service account: an earlier release recorded one, and a later one may.
    """
    if text is None:
        return None
    kind, _, id = text.partition(":")
    type, field = _ACTORS.get(kind, _ACTORS["service_account"])
    return {"type": type, field: id}
