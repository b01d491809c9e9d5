"""Hostile requests over every route with every kind of credential: never a 5xx, never another tenant's text.

`make test` sends a small share of them, `make fuzz` twenty thousand (`MEMOLITH_FUZZ`). Two workspaces stand side by
side; every text of the other one, and one text of this one that was redacted, has a word in it that no answer may show.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from memolith.core.ids import primary_thread
from memolith.wire.request_bodies import Body, MemoryCreate, MemoryUpdate, Release, VersionsToImport
from memolith.wire.routes.table import KEY_ROUTES, PARAMETERS, ROUTES
from memolith.wire.session_bodies import (
    ResourceToAdd,
    ResourceUpdate,
    SessionContext,
    SessionCreate,
    SessionToken,
    SessionUpdate,
)
from memolith.wire.store_bodies import StoreCreate, StoreUpdate
from tests.api.harness import Backend, Reply, memolith_backend

REQUESTS = int(os.environ.get("MEMOLITH_FUZZ", "1000"))
GROWTH_MAX_KB = 300_000
"""How much memory the process may gain: what the fuzz itself creates is small, and is kept in memory."""

CANARY = "qzxcanaryqzx"
ALLOWED = {200, 400, 401, 403, 404, 405, 409, 413, 429}
OUGHT_TO_BE_DONE = {
    "create_memory",
    "create_session",
    "create_store",
    "list_memories",
    "list_sessions",
    "list_stores",
    "list_versions",
    "load_memories",
    "recall_memories",
    "redact_version",
    "retrieve_memory",
    "retrieve_session",
    "retrieve_store",
    "retrieve_version",
    "search_memories",
    "session_context",
    "update_memory",
    "update_store",
}
"""What some request carries out, in a full run: a fuzz that is always refused at the door shows little."""
OPERATIONS = [
    (route.path, method, operation) for route in (*ROUTES, *KEY_ROUTES) for method, operation in route.methods.items()
]
STORE = "/v1/memory_stores"


@dataclass(slots=True)
class Ids:
    """What a request may name."""

    store: str
    memory: str
    version: str
    session: str

    def of(self, segment_before: str) -> str:
        return {
            "memory_stores": self.store,
            "memories": self.memory,
            "sessions": self.session,
            "resources": self.store,
            "threads": primary_thread(self.session),
        }.get(segment_before, self.version)


@dataclass(slots=True)
class Town:
    """Two workspaces in one deployment, and what has been asked of them."""

    backend: Backend
    ours: Ids
    theirs: Ids
    spare_store: str
    credentials: dict[str, str]
    statuses: Counter[int] = field(default_factory=Counter)
    done: set[str] = field(default_factory=set)


def _settle(backend: Backend, key: str, word: str) -> Ids:
    """A store with a memory of two versions, and a session."""

    def ask(method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        reply = backend.raw(method, path, body=body, headers={"authorization": f"Bearer {key}"})
        assert reply.status == 200, reply.body
        return reply.body

    store = ask("POST", STORE, {"name": f"store {word}", "description": word, "metadata": {"of": word}})["id"]
    note = f"---\nname: note {word}\ndescription: {word}\n---\n- [fact] {word} #tag\n- knows [[other {word}]]\n"
    memory = ask("POST", f"{STORE}/{store}/memories", {"path": f"/notes/{word}.md", "content": note})
    updated = ask("POST", f"{STORE}/{store}/memories/{memory['id']}", {"content": note + word})
    body = {"resources": [{"type": "memory_store", "memory_store_id": store}]}
    session = ask("POST", "/v1/sessions", body)
    return Ids(store, memory["id"], updated["memory_version_id"], session["id"])


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    backend = memolith_backend()
    admin, other = backend.api_key, backend.issue_key("other", "admin")
    ours, theirs = _settle(backend, admin, "ours"), _settle(backend, other, CANARY)
    bearer = {"authorization": f"Bearer {admin}"}
    spare = backend.raw("POST", STORE, body={"name": "spare"}, headers=bearer).body["id"]
    memories = f"{STORE}/{ours.store}/memories"
    hidden = backend.raw("POST", memories, body={"path": "/gone", "content": CANARY}, headers=bearer).body
    replaced = backend.raw("POST", f"{memories}/{hidden['id']}", body={"content": "harmless"}, headers=bearer)
    assert replaced.status == 200
    redaction = f"{STORE}/{ours.store}/memory_versions/{hidden['memory_version_id']}/redact"
    assert backend.raw("POST", redaction, body={}, headers=bearer).status == 200
    token = backend.raw(
        "POST",
        "/v1/sessions",
        body={"resources": [{"type": "memory_store", "memory_store_id": ours.store, "access": "read_only"}]},
        headers=bearer,
    ).body["token"]
    digest = hashlib.sha256(b"nobody").hexdigest()[:32]
    credentials = {
        "an admin's key": admin,
        "a writer's key": backend.issue_key("main", "write"),
        "a reader's key": backend.issue_key("main", "read"),
        "a key of one store": backend.issue_key("main", "write", stores=[spare]),
        "a session's token": token,
        "a changed token": token[:-6] + "AAAAAA",
        "a key that nobody issued": f"sk-memolith-main-{'0' * 26}-{digest}",
        "a key of another workspace's name": admin.replace("-main-", "-other-"),
        "no key at all": "",
    }
    yield Town(backend, ours, theirs, spare, credentials)


RARELY = st.sampled_from([*[False] * 12, True])
SOMETIMES = st.sampled_from([False, True, True])

any_text = st.text(st.characters(codec=None), max_size=30)
texts = st.one_of(
    any_text,
    st.text(string.ascii_letters + string.digits + "%+&=;[]/_-.:*\"' ", max_size=60),
    st.sampled_from(
        ["", "full", "basic", "true", "/a/", "/notes", "9999-12-31", "2026-01-02T03:04:05Z", "page_", "%00"]
    ),
    st.integers(1, 60).map(lambda number: "a" * 2**number if number < 14 else "é" * number),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def _bodies_of(kind: type[Body]) -> Iterator[type[Body]]:
    for one in kind.__subclasses__():
        yield one
        yield from _bodies_of(one)


def _required(kind: type[Body]) -> list[str]:
    """The fields that a body cannot do without; of an update, its content."""
    names = [name for name, one in kind.model_fields.items() if one.is_required()]
    return names or [name for name in ("content", "name") if name in kind.model_fields]


BODY_OF: dict[str, type[Body]] = {
    "create_store": StoreCreate,
    "update_store": StoreUpdate,
    "create_memory": MemoryCreate,
    "update_memory": MemoryUpdate,
    "import_versions": VersionsToImport,
    "create_session": SessionCreate,
    "update_session": SessionUpdate,
    "renew_session_token": SessionToken,
    "session_context": SessionContext,
    "release_quarantined": Release,
    "add_session_resource": ResourceToAdd,
    "update_session_resource": ResourceUpdate,
}
"""What an operation takes; one that is not here takes none."""
BODIES = sorted(_bodies_of(Body), key=lambda kind: kind.__name__)


def _plausible(name: str, town: Town) -> st.SearchStrategy[Any]:
    """Values that get further than the first check; of ids, both workspaces'."""
    both = (town.ours, town.theirs)
    known: dict[str, list[Any]] = {
        "name": ["a name"],
        "path": [f"/notes/{number}.md" for number in range(200)],
        "content": ["text", "- [fact] said #tag", "x" * 2000],
        "metadata": [{}, {"a": "b"}, {"a": None}],
        "memory_store_id": [one.store for one in both],
        "version_id": [one.version for one in both],
        "memory_version_id": [one.version for one in both],
        "resources": [[{"type": "memory_store", "memory_store_id": one.store}] for one in both],
        "precondition": [{"type": "content_sha256", "content_sha256": "0" * 64}, {"type": "not_exists"}],
        "reason": ["because"],
        "title": ["a title"],
        "agent": ["agent_1"],
        "token_lifetime_seconds": [60, 120],
        "versions": [[], [{"path": "/x", "content": "y"}]],
    }
    return st.sampled_from(known[name]) if name in known else json_values


@st.composite
def bodies(draw: st.DrawFn, town: Town, operation: str) -> bytes:
    if draw(RARELY):
        return draw(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
    kind = BODY_OF.get(operation)
    if draw(SOMETIMES):
        return json.dumps({name: draw(_plausible(name, town)) for name in _required(kind)} if kind else {}).encode()
    kind = draw(st.sampled_from(BODIES))
    fields = list(kind.model_fields)
    chosen = draw(st.lists(st.sampled_from(fields), unique=True, max_size=len(fields))) if fields else []
    body = {name: draw(json_values if draw(RARELY) else _plausible(name, town)) for name in chosen}
    if draw(RARELY):
        body[draw(texts)] = draw(json_values)
    return json.dumps(body).encode()


@st.composite
def queries(draw: st.DrawFn, town: Town, operation: Any) -> str:
    known = list(PARAMETERS.get(operation, ())) or ["beta"]
    if draw(SOMETIMES):
        asked = [name for name in ("query", "path", "url") if name in known]
        return "&".join(f"{name}={draw(st.sampled_from(PLAUSIBLE[name]))}" for name in asked)
    if draw(RARELY):
        known.append("x")
    both = st.sampled_from([town.ours.memory, town.theirs.memory, town.ours.store, town.theirs.store, "1", "0", "-1"])
    pairs = draw(st.lists(st.tuples(st.sampled_from(known), st.one_of(texts, both, both)), max_size=4))
    return "&".join(f"{name}={value}" for name, value in pairs)


@st.composite
def paths(draw: st.DrawFn, town: Town, path: tuple[str, ...], method: str) -> str:
    ids = draw(st.sampled_from([town.ours, town.ours, town.theirs]))
    segments: list[str] = []
    for number, part in enumerate(path):
        if part != "*":
            segments.append(part)
        elif draw(RARELY):
            segments.append(draw(texts).replace("/", "") or "x")
        else:
            segments.append(ids.of(path[number - 1]))
    ends = method == "DELETE" or path[-1] == "archive"
    if ends and segments[2:3] == [town.ours.store] and len(path) <= 4:
        segments[2] = town.spare_store
    if ends and segments[1] == "sessions" and segments[2] == town.ours.session:
        segments[2] = town.theirs.session
    return "/" + "/".join(segments)


PLAUSIBLE = {
    "query": ["ours", "note", "canary", "fact knows"],
    "path": ["/notes/ours.md", "/gone"],
    "url": ["memory://notes/ours", "memory://notes/*"],
}

headers = st.dictionaries(
    st.sampled_from(
        ["x-memolith-consistency", "x-memolith-min-version", "x-memolith-withheld", "content-type", "accept"]
    ),
    st.sampled_from(["home", "show", "memver_" + "0" * 26, "application/json", "text/plain"]) | texts,
    max_size=2,
)


def _ask(town: Town, data: st.DataObject, route: tuple[tuple[str, ...], str, Any], who: str) -> None:
    path, method, operation = route
    key = town.credentials[who]
    reply: Reply = town.backend.raw(
        data.draw(st.sampled_from(["PUT", "PATCH", "HEAD", "OPTIONS"])) if data.draw(RARELY) else method,
        data.draw(paths(town, path, method)),
        data.draw(queries(town, operation)),
        data.draw(bodies(town, operation.__name__)) if method == "POST" else b"",
        {**(data.draw(headers) if data.draw(RARELY) else {}), "authorization": f"Bearer {key}" if key else ""},
    )
    town.statuses[reply.status] += 1
    if reply.status == 200:
        town.done.add(operation.__name__)
    assert reply.status in ALLOWED
    shown = json.dumps(reply.body, ensure_ascii=False) + json.dumps(dict(reply.headers))
    assert CANARY not in shown, f"{who} was shown what it may not see by {operation.__name__}"


def _fuzz(town: Town, route: tuple[tuple[str, ...], str, Any], who: str, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def fuzz(data: st.DataObject) -> None:
        _ask(town, data, route, who)

    fuzz()


@pytest.mark.slow
def test_no_request_on_any_route_with_any_credential_is_answered_with_a_5xx_or_shows_anothers_text(town: Town) -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    pairs = [(route, who) for route in OPERATIONS for who in town.credentials]
    for route, who in pairs:
        _fuzz(town, route, who, -(-REQUESTS // len(pairs)))
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
    sent = town.statuses.total()
    print(f"{sent} requests, {dict(sorted(town.statuses.items()))}, {grown_kb // 1024} MB more")  # noqa: T201 - make fuzz
    assert sent >= 0.9 * REQUESTS
    assert grown_kb < GROWTH_MAX_KB
    assert {status for status in (200, 400, 401, 403, 404) if not town.statuses[status]} == set()
    if sent >= 5_000:
        assert OUGHT_TO_BE_DONE - town.done == set()


def test_the_other_workspace_is_in_order_its_own_text_so_that_a_leak_would_be_seen(town: Town) -> None:
    key = town.backend.issue_key("other", "read")
    path = f"{STORE}/{town.theirs.store}/memories/{town.theirs.memory}"
    reply = town.backend.raw("GET", path, headers={"authorization": f"Bearer {key}"})
    assert reply.status == 200 and CANARY in json.dumps(reply.body)
