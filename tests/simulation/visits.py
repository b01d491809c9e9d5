"""Clients who do more than write and read: they search, begin and end sessions, and bring in what was elsewhere."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from memolith.app.api.service import Memolith
from memolith.app.kernel.results import RequestContext, StoreToAttach
from memolith.core.commands import ImportedVersion
from memolith.core.errors import Busy
from memolith.core.ids import ulid
from tests.simulation.history import Listed, Seen

if TYPE_CHECKING:
    from tests.simulation.clients import Client
    from tests.simulation.plans import Step

QUERY = "text"
"""A word of every memory's text."""

EARLIER_US = 3_600_000_000
"""How long ago the versions that are brought in were made."""


def visit(client: Client, store_id: str, step: Step) -> None:
    """One of those calls; where nothing is known that it could be about, the first of its kind."""
    if step.kind == "search":
        client.invoke(client, store_id, "search", {}, lambda memolith: _search(memolith, client.call(), store_id))
    elif step.kind == "bring":
        _brought_in(client, store_id, step)
    else:
        _attend(client, store_id, step)


def _search(memolith: Memolith, call: RequestContext, store_id: str) -> Listed:
    hits = memolith.search.search(call, store_id, query=QUERY, limit=50)
    found = (one.memory for one in hits.items)
    return Listed(tuple(Seen(one.id, one.version_id, one.path, one.content_sha256) for one in found))


def _brought_in(client: Client, store_id: str, step: Step) -> None:
    """A memory of one version, made elsewhere long ago: as a creation, of which a refusal says nothing but that."""
    made_at, name = client.now_us() - EARLIER_US, f"{client.plan.client} {step.number}"
    ids = [ulid(made_at // 1000, hashlib.sha256(f"{part} {name}".encode()).digest()[:10]) for part in ("mem", "ver")]
    text = f"text {step.number} of {client.plan.client}."
    version = ImportedVersion(f"mem_{ids[0]}", f"memver_{ids[1]}", "created", "user:somebody", made_at, step.path, text)
    asked = {"path": step.path, "content": text, "brought": version.version_id}
    client.invoke(
        client, store_id, "create", asked, lambda memolith: _bring(memolith, client.call(), store_id, version)
    )


def _bring(memolith: Memolith, call: RequestContext, store_id: str, version: ImportedVersion) -> Seen:
    [became] = memolith.imports.import_versions(call, store_id, [version])
    if became.status != "imported":
        raise Busy(f"{became.status}: {became.reason}")
    sha = hashlib.sha256((version.content or "").encode()).hexdigest()
    return Seen(version.memory_id, version.version_id, version.path or "", sha)


def _attend(client: Client, store_id: str, step: Step) -> None:
    """A session more, or, of those that anybody has begun, one that is looked at, read, or ended."""
    call, known = client.call(), client.shared.sessions
    if not known or step.pick % 4 == 0:
        stores = [StoreToAttach(store_id, "read_write", "")]
        begun = client.invoke(
            client,
            store_id,
            "session",
            {"does": "begin"},
            lambda memolith: (
                memolith.sessions.create(call, stores, title=None, metadata={}, token_lifetime_s=3600).record.session_id
            ),
        )
        known += [begun] if isinstance(begun, str) else []
        return
    session_id = known[step.pick % len(known)]
    does = ("look", "read", "end")[step.pick % 3]
    asked = {"does": does, "session_id": session_id}
    client.invoke(client, store_id, "session", asked, lambda memolith: _session(memolith, call, session_id, does, step))


def _session(memolith: Memolith, call: RequestContext, session_id: str, does: str, step: Step) -> str:
    """Whether it has ended, or that it was read."""
    if does == "read":
        memolith.sessions.context(call, session_id, refresh=step.careful)
        return "read"
    record = (memolith.sessions.retrieve if does == "look" else memolith.sessions.archive)(call, session_id).record
    return "open" if record.archived_at is None else "ended"
