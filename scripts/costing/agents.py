"""What agents do besides plain reads and writes: sessions, demanded reads, the past, and the tool's functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from memolith.adapters.layered import InterceptedPeers
from memolith.adapters.memory import MemoryPeers, MemoryTargets, SeededRandomness
from memolith.app.auth.session_tokens import READ_WRITE
from memolith.app.kernel.results import ReadConsistency, StoreToAttach
from memolith.entry.compose_tool import forms_on
from memolith.wire.http import HttpApi
from memolith.wire.mcp.invoking import mcp_on
from memolith.wire.wsgi import to_event
from scripts.costing.paths import AWAY, HOME, LISTED, TEXT, Path, Played
from scripts.costing.prices import PATH

TOKEN_S = 3_600
PAUSE_S = 3_600.0
"""Longer than a region takes to be complete up to an instant."""


# ---- sessions -------------------------------------------------------------------------------------------------------


def _begin(played: Played) -> None:
    attached = [StoreToAttach(played.store, READ_WRITE, "")]
    call = played.admitted(HOME)
    session = played.home.sessions.create(call, attached, title=None, metadata={}, token_lifetime_s=TOKEN_S)
    played.session = session.record.session_id


def _context(played: Played, refresh: bool) -> object:
    return played.home.sessions.context(played.call, played.session, refresh=refresh)


# ---- demanded reads, and the past -----------------------------------------------------------------------------------


def _read(played: Played, at: str, home: bool = False, newest: bool = False) -> object:
    demand = ReadConsistency(home=home, min_version=played.newest if newest else None)
    memolith = played.cloud.sites[at].memolith
    return memolith.memories.retrieve(replace(played.call, demand=demand), played.store, played.last.id, full=True)


def _newly(played: Played) -> None:
    """Make a version that only its home knows."""
    played.newest = played.update(played.last, TEXT).version_id


def _known(played: Played) -> None:
    _newly(played)
    played.cloud.deliver()


def _remember(played: Played) -> None:
    """Remember an instant, and change the one memory after it."""
    clock = played.cloud.clock
    played.instant = clock.now_us()
    clock.pause(1.0)
    _known(played)
    clock.pause(PAUSE_S)
    played.cloud.claim_complete(HOME, clock.now_us())


def _past_page(played: Played) -> object:
    return played.home.snapshots.page(
        played.call, played.store, path_prefix="/", limit=LISTED, after=None, full=False, as_of=played.instant
    )


def _past_memory(played: Played) -> object:
    return played.home.snapshots.retrieve(played.call, played.store, played.last.id, full=True, as_of=played.instant)


# ---- the tool's functions -------------------------------------------------------------------------------------------


def _functions(played: Played) -> InterceptedPeers:
    """Wrap the reader and the writer as the tool invokes them: with the event of an HTTP request."""
    clock, metrics = played.cloud.clock, played.cloud.metrics
    api = HttpApi(played.home, clock, SeededRandomness(), metrics)
    peers = MemoryPeers()
    for function in ("reader", "writer"):
        peers.register(HOME, function, api.answer)
    return InterceptedPeers(peers, HOME, played.intercept)


def _by_tool(played: Played, command: Mapping[str, Any]) -> None:
    forms = forms_on(_functions(played), HOME, played.cloud.clock, SeededRandomness(), MemoryTargets({}))
    answer = forms.answer({**command, "memory_store_id": played.store, "token": played.key}, None)
    if answer["is_error"]:
        raise ValueError(f"the tool answers {answer['content']!r}")


def _by_mcp(played: Played, command: Mapping[str, Any]) -> None:
    called = {"name": "memory", "arguments": command}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}).encode()
    headers = {
        "authorization": f"Bearer {played.key}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "host": "api.memolith.test",
    }
    event = to_event("POST", f"/mcp/{played.store}", "", headers.items(), body)
    event["requestContext"]["domainName"] = headers["host"]
    answer = mcp_on(_functions(played), HOME, played.cloud.clock, SeededRandomness()).answer(event)
    said: Mapping[str, Any] = json.loads(answer["body"])
    if said.get("result", {"isError": True}).get("isError"):
        raise ValueError(f"the MCP server answers {said}")


_VIEW = {"command": "view", "path": f"/memories{PATH}"}
_EDIT = {"command": "insert", "path": f"/memories{PATH}", "insert_line": 0, "insert_text": "a line\n"}

SESSIONS = (
    Path("a session, begun", _begin),
    Path("its context", partial(_context, refresh=False), before=_begin),
    Path("its context, refreshed", partial(_context, refresh=True), before=_begin),
)
READS = (
    Path("home, asked at home", partial(_read, at=HOME, home=True), "reader"),
    Path("home, asked elsewhere", partial(_read, at=AWAY, home=True), "reader", AWAY),
    Path("min-version, already here", partial(_read, at=AWAY, newest=True), "reader", AWAY, before=_known),
    Path("min-version, not here yet", partial(_read, at=AWAY, newest=True), "reader", AWAY, before=_newly),
    Path("one memory as of an instant, changed since", _past_memory, "reader", before=_remember),
    Path(f"a page of {LISTED} as of an instant, one changed since", _past_page, "reader", before=_remember),
)
TOOLS = (
    Path("the tool function: view", partial(_by_tool, command=_VIEW), "tool", by_http=False),
    Path("the tool function: insert", partial(_by_tool, command=_EDIT), "tool", by_http=False),
    Path("MCP over HTTP: view", partial(_by_mcp, command=_VIEW), "mcp"),
    Path("MCP over HTTP: insert", partial(_by_mcp, command=_EDIT), "mcp"),
)
