"""The server over HTTP as the function answers it: the real client, each request an event, no session kept."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import TextContent

from memolith.adapters.memory import ManualClock, MemoryPeers
from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.core.errors import Unavailable as MemolithUnavailable
from memolith.ports.errors import Unavailable
from memolith.wire.mcp.bearers import Bearers
from memolith.wire.mcp.invoking import mcp_on
from memolith.wire.mcp.server import TOOLS, OpenStore, server_on
from memolith.wire.memory_tool.tree import Reply
from memolith.wire.wsgi import body_of, to_event
from tests.memory_tool.conftest import Fresh

Result = TypeVar("Result")
PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()
DOMAIN = "api.memolith.test"
REGION = "us-east-1"


class Gateway(httpx2.AsyncBaseTransport):
    """API Gateway in front of the function. Each event meets it in a thread of its own, as in Lambda."""

    def __init__(self, fresh: Fresh) -> None:
        peers = MemoryPeers()
        for function in ("reader", "writer"):
            peers.register(REGION, function, fresh.backend.answer)
        self._mcp = mcp_on(peers, REGION, SystemClock(), SystemRandomness())
        self.statuses: list[int] = []

    def answer(
        self, path: str, headers: Mapping[str, str], body: bytes = b"", method: str = "POST", domain: str = DOMAIN
    ) -> dict[str, Any]:
        event = to_event(method, path, "", {"host": DOMAIN, **headers}.items(), body)
        event["requestContext"]["domainName"] = domain
        return json.loads(json.dumps(self._mcp.answer(json.loads(json.dumps(event)))))  # type: ignore[no-any-return]  # JSON has no type

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        answer = await asyncio.to_thread(
            self.answer, request.url.path, dict(request.headers.items()), body, request.method
        )
        self.statuses.append(answer["statusCode"])
        return httpx2.Response(
            answer["statusCode"], headers=answer["headers"], content=body_of(answer), request=request
        )


class Remote:
    """The function, and the real client on it with one bearer."""

    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh
        self.gateway = Gateway(fresh)

    def ask(
        self, act: Callable[[Client], Awaitable[Result]], path: str | None = None, bearer: str | None = None, **how: Any
    ) -> Result:
        url = f"https://{DOMAIN}{path or f'/mcp/{self.fresh.store_id}'}"
        authorization = {"authorization": f"Bearer {bearer or self.fresh.backend.api_key}"}

        async def run() -> Result | MCPError:
            async with (
                httpx2.AsyncClient(transport=self.gateway, headers=authorization) as http,
                Client(streamable_http_client(url, http_client=http), **how) as client,
            ):
                try:
                    return await act(client)
                except MCPError as error:
                    return error

        answer = asyncio.run(run())
        if isinstance(answer, MCPError):
            raise answer
        return answer

    def token(self, *stores: str, access: str = "read_write") -> str:
        resources = [{"type": "memory_store", "memory_store_id": store, "access": access} for store in stores]
        body = self.fresh.backend.raw("POST", "/v1/sessions", body={"resources": resources}).body
        return str(body["token"])


@pytest.fixture
def remote(fresh: Fresh) -> Remote:
    return Remote(fresh)


CREATE = {"command": "create", "path": "/memories/a.md", "file_text": "1\n"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_of_either_age_of_the_protocol_lists_calls_and_reads(remote: Remote, mode: str) -> None:
    async def act(client: Client) -> list[Any]:
        return [
            [tool.name for tool in (await client.list_tools()).tools],
            await client.call_tool("memory", CREATE),
            await client.call_tool("memory", CREATE),
            (await client.call_tool("read_note", {"path": "/memories/a.md"})).structured_content,
            [resource.uri for resource in (await client.list_resources()).resources],
            (await client.get_prompt("memory_guide")).messages[0].role,
            client.server_info and client.server_info.version,
        ]

    tools, first, second, note, uris, role, server_version = remote.ask(act, mode=mode)
    assert (len(tools), role, server_version) == (len(TOOLS), "user", version("memolith"))
    assert isinstance(first.content[0], TextContent)
    assert (first.is_error, first.content[0].text) == (False, "File created successfully at: /memories/a.md")
    assert second.is_error
    assert note["content"] == "1\n"
    assert uris == [f"memolith://{remote.fresh.store_id}/a.md"]
    assert remote.fresh.paths() == {"/a.md": "1\n"}


def test_a_token_of_one_store_needs_no_store_in_the_path(remote: Remote) -> None:
    token = remote.token(remote.fresh.store_id)
    assert not remote.ask(lambda client: client.call_tool("memory", CREATE), path="/mcp", bearer=token).is_error
    assert remote.fresh.paths() == {"/a.md": "1\n"}


def test_a_read_only_token_writes_nothing_and_a_token_of_one_store_opens_no_other(remote: Remote) -> None:
    token = remote.token(remote.fresh.store_id, access="read_only")
    assert remote.ask(lambda client: client.call_tool("memory", CREATE), path="/mcp", bearer=token).is_error
    other = remote.fresh.backend.client().beta.memory_stores.create(name="Other").id
    listed = remote.ask(lambda client: client.call_tool("list_directory", {}), path=f"/mcp/{other}", bearer=token)
    assert listed.is_error
    assert remote.fresh.paths() == {}


UNKNOWN_KEY = "sk-memolith-main-useast1_01kb0000000000000000000000-aaaaaaaaaaaaaaaa"
SENT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def request(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def test_a_token_or_a_key_that_is_made_up_reads_and_writes_nothing_and_is_not_told_the_tools(remote: Remote) -> None:
    head, claims, _ = remote.token(remote.fresh.store_id).split(".")
    called = [request("tools/call", name="memory", arguments=CREATE), request("tools/list"), request("initialize")]
    for bearer in (f"{head}.{claims}.AAAA", UNKNOWN_KEY):
        for body in called:
            sent = {**SENT, "authorization": f"Bearer {bearer}"}
            answer = remote.gateway.answer(f"/mcp/{remote.fresh.store_id}", sent, body)
            assert (answer["statusCode"], answer["headers"]["www-authenticate"]) == (401, 'Bearer realm="memolith"')
            assert "memory" not in answer["body"]
    assert remote.fresh.paths() == {}


@pytest.mark.parametrize(
    "stores", [["a/b"], [""], ["x" * 129], ["x/archive"], [f"memstore_useast1_{n:026}" for n in range(9)]]
)
def test_a_token_that_names_what_is_no_store_or_too_many_is_refused_before_the_api_is_asked(
    fresh: Fresh, stores: list[str]
) -> None:
    """A path that no operation has is a 404 before the API looks at the bearer, and was taken for knowing it."""
    claims = base64.urlsafe_b64encode(json.dumps({"acc": dict.fromkeys(stores, 1)}).encode()).decode().rstrip("=")
    asked = Asked(fresh)
    forged = f"st-memolith-eyJhbGciOiJub25lIn0.{claims}.AAAA"
    assert (asked.status(request("tools/list"), forged, rawPath="/mcp"), asked.requests) == (401, 0)


@pytest.mark.parametrize("status", [400, 405, 413])
def test_an_answer_that_may_come_before_the_api_has_looked_at_the_bearer_lets_no_one_in(status: int) -> None:
    bearers = Bearers(lambda *_: Reply(status, {"error": {"message": "no such request"}}), ManualClock())
    for _ in range(2):
        with pytest.raises(MemolithUnavailable, match="no such request"):
            bearers.check(None, UNKNOWN_KEY)


class Asked:
    """The function over the API, whose requests are counted and whose clock is moved."""

    def __init__(self, fresh: Fresh) -> None:
        self.fresh = fresh
        self.clock = ManualClock()
        self.requests = 0
        self.down = False
        peers = MemoryPeers()
        for function in ("reader", "writer"):
            peers.register(REGION, function, self._answer)
        self._mcp = mcp_on(peers, REGION, self.clock, SystemRandomness())

    def _answer(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        self.requests += 1
        if self.down:
            raise Unavailable("throttled")
        return self.fresh.backend.answer(event)

    def status(self, message: bytes, bearer: str = "", **event: Any) -> int:
        sent = {**SENT, "host": DOMAIN, "authorization": f"Bearer {bearer or self.fresh.backend.api_key}"}
        asked = {**to_event("POST", f"/mcp/{self.fresh.store_id}", "", sent.items(), message), **event}
        asked["requestContext"]["domainName"] = DOMAIN
        return int(self._mcp.answer(asked)["statusCode"])


def test_a_bearer_is_asked_for_once_a_minute_and_a_stranger_every_time(fresh: Fresh) -> None:
    asked = Asked(fresh)
    assert [asked.status(request("tools/list")) for _ in range(5)] == [200] * 5
    assert asked.requests == 1
    asked.clock.advance(60)
    assert asked.status(request("tools/list")) == 200
    assert asked.requests == 2
    assert [asked.status(request("tools/list"), UNKNOWN_KEY) for _ in range(3)] == [401] * 3
    assert asked.requests == 5


def test_a_bearer_is_not_let_in_while_the_api_does_not_answer(fresh: Fresh) -> None:
    asked = Asked(fresh)
    asked.down = True
    assert asked.status(request("tools/list")) == 503
    asked.down = False
    assert asked.status(request("tools/list")) == 200


def test_a_hostile_message_is_read_only_for_a_bearer_that_the_api_knows(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[str] = []

    def counting(store: OpenStore) -> Any:
        entered.append(store.store_id)
        return server_on(store)

    monkeypatch.setattr("memolith.wire.mcp.http.server_on", counting)
    asked = Asked(fresh)
    hostile = [
        b"[" * 1_000_000,
        request("tools/call", name="memory", arguments={"view_range": ["x"] * 150_000}),
        b"\xff",
    ]
    assert [asked.status(body, UNKNOWN_KEY) for body in hostile] == [401] * 3
    assert asked.status(b"", UNKNOWN_KEY, body="not base64", isBase64Encoded=True) == 401
    assert entered == []
    assert [asked.status(body) for body in hostile] == [400, 200, 400]
    assert asked.status(b"", body="not base64", isBase64Encoded=True) == 400
    assert asked.status(b"", body="\ud800") == 400
    assert len(entered) == 3


@pytest.mark.parametrize(
    ("authorization", "status"),
    [("", 401), ("Bearer x", 401), ("Basic sk-memolith-x", 401), ("Bearer st-memolith-nonsense", 401)],
)
def test_who_shows_no_key_and_no_token_is_told_to(remote: Remote, authorization: str, status: int) -> None:
    answer = remote.gateway.answer("/mcp", {"authorization": authorization} if authorization else {}, b"{}")
    assert answer["statusCode"] == status
    assert answer["headers"]["www-authenticate"].startswith("Bearer")


def test_a_path_that_names_no_store_by_its_id_is_refused(remote: Remote) -> None:
    answer = remote.gateway.answer("/mcp/notes", {"authorization": f"Bearer {remote.fresh.backend.api_key}"}, b"{}")
    assert answer["statusCode"] == 404
    assert "/mcp/" in json.loads(answer["body"])["error"]["message"]


@pytest.mark.slow
@pytest.mark.parametrize("credentials", ["key", "token"])
def test_one_address_serves_every_store_of_a_key_or_a_token(remote: Remote, credentials: str) -> None:
    stores = remote.fresh.backend.client().beta.memory_stores
    other, unseen = stores.create(name="Other").id, stores.create(name="Unseen").id
    bearer = remote.token(remote.fresh.store_id, other) if credentials == "token" else remote.fresh.backend.api_key

    async def act(client: Client) -> list[Any]:
        return [
            (await client.call_tool("list_memory_projects", {})).structured_content,
            await client.call_tool("memory", CREATE),
            await client.call_tool("memory", {**CREATE, "project": "Other"}),
            await client.call_tool("write_note", {"path": "/memories/b", "content": "2\n", "project": other}),
            await client.call_tool("read_note", {"path": "/memories/b", "project": "other"}),
            await client.call_tool("list_directory", {"project": unseen}),
            [resource.uri for resource in (await all_resources(client))],
            (await client.read_resource(f"memolith://{other}/b")).contents[0],
        ]

    listed, unnamed, first, second, misspelled, elsewhere, uris, contents = remote.ask(act, path="/mcp", bearer=bearer)
    seen = {"Other": other, "Unseen": unseen} if credentials == "key" else {"Other": other}
    names = {one["name"]: one["id"] for one in listed["projects"]}
    assert names.items() >= seen.items() and ("Unseen" in names) is (credentials == "key")
    assert unnamed.is_error and "'Other'" in unnamed.content[0].text
    assert not first.is_error and not second.is_error
    assert misspelled.is_error and "'other'" in misspelled.content[0].text
    assert elsewhere.is_error is (credentials == "token")
    assert uris == [f"memolith://{other}/a.md", f"memolith://{other}/b"]
    assert contents.text == "2\n"
    assert remote.fresh.paths() == {}


@pytest.mark.parametrize("credentials", ["key", "token"])
def test_a_search_without_a_project_is_of_all_and_each_hit_names_its_own(remote: Remote, credentials: str) -> None:
    client = remote.fresh.backend.client().beta.memory_stores
    other, unseen = client.create(name="Other").id, client.create(name="Unseen").id
    for store, text in ((remote.fresh.store_id, "kites"), (other, "wombats and kites"), (unseen, "kites")):
        client.memories.create(store, path="/a.md", content=text)
    bearer = remote.token(remote.fresh.store_id, other) if credentials == "token" else remote.fresh.backend.api_key

    async def act(asking: Client) -> list[Any]:
        return [
            (await asking.call_tool("search_notes", {"query": "wombats kites", **given})).structured_content
            for given in ({}, {"project": "memories"}, {"project": "Other"})
        ]

    everywhere, same, one = remote.ask(act, path="/mcp", bearer=bearer)
    projects = [hit["project"] for hit in everywhere["hits"]]
    assert everywhere == same and projects[0] == "Other"
    assert len(projects) == (3 if credentials == "key" else 2) and ("Unseen" in projects) is (credentials == "key")
    assert [hit["excerpt"] for hit in one["hits"]] == ["wombats and kites"]


async def all_resources(client: Client) -> list[Any]:
    found, cursor = [], None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        if not (cursor := page.next_cursor):
            return found


def test_of_two_stores_with_one_name_none_is_chosen(remote: Remote) -> None:
    twins = [remote.fresh.backend.client().beta.memory_stores.create(name="Twin").id for _ in range(2)]
    called = {"path": "/memories", "project": "Twin"}
    answer = remote.ask(lambda client: client.call_tool("list_directory", called), path="/mcp")
    assert answer.is_error
    assert all(twin in str(answer.content) for twin in twins)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_neither_streams_nor_sessions(remote: Remote, method: str) -> None:
    answer = remote.gateway.answer(f"/mcp/{remote.fresh.store_id}", {}, method=method)
    assert (answer["statusCode"], answer["headers"]["allow"]) == (405, "POST")


@pytest.mark.parametrize(("headers", "status"), [({"host": "evil.test"}, 421), ({"origin": "https://evil.test"}, 403)])
def test_another_host_or_a_page_of_another_origin_is_refused(
    remote: Remote, headers: dict[str, str], status: int
) -> None:
    sent = {
        "authorization": f"Bearer {remote.fresh.backend.api_key}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        **headers,
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    assert remote.gateway.answer(f"/mcp/{remote.fresh.store_id}", sent, body)["statusCode"] == status


def test_a_body_that_is_no_request_is_refused_in_the_protocols_words(remote: Remote) -> None:
    sent = {
        "authorization": f"Bearer {remote.fresh.backend.api_key}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    for body in (b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff"):
        answer = remote.gateway.answer(f"/mcp/{remote.fresh.store_id}", sent, body)
        assert answer["statusCode"] == 400
    assert remote.gateway.answer(f"/mcp/{remote.fresh.store_id}", sent, b" " * 1_048_577)["statusCode"] == 413


def test_the_pages_configuration_serves_the_tools(remote: Remote) -> None:
    block = next(block for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.M | re.S) if '"http"' in block)
    filled = block.replace("memstore_…", remote.fresh.store_id).replace(
        "st-memolith-…", remote.token(remote.fresh.store_id)
    )
    configured = json.loads(filled)["mcpServers"]["memory"]
    path, bearer = configured["url"].removeprefix("https://API"), configured["headers"]["Authorization"].split(" ")[1]
    assert len(remote.ask(lambda client: client.list_tools(), path=path, bearer=bearer).tools) == len(TOOLS)
    assert set(remote.gateway.statuses) <= {200, 202}
