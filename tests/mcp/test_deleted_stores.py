"""A store that is deleted while its server runs: every tool says so, and the other stores are served as before."""

from __future__ import annotations

import pytest
from mcp import MCPError
from mcp_types import INVALID_PARAMS, ListResourcesResult

from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.clients.sdk.memory_tool import SdkCaller
from memolith.wire.mcp.invoking import stores_over
from memolith.wire.mcp.server import server_on
from tests.mcp.calls import every_call
from tests.mcp.conftest import Server, with_client
from tests.memory_tool.conftest import Fresh

NAMES = ("First", "Second", "Third")


class Several:
    """A server of three stores, each with a memory."""

    def __init__(self, fresh: Fresh, *, named: bool) -> None:
        client = fresh.backend.client()
        self.stores = client.beta.memory_stores
        self.stores.delete(fresh.store_id)
        self.ids = [self.stores.create(name=name).id for name in NAMES]
        for store_id in self.ids:
            self.stores.memories.create(store_id, path="/a.md", content="wombats")
        stores = stores_over(SdkCaller(client), self.ids if named else None, SystemClock(), SystemRandomness())
        self.server = server_on(stores)

    def text(self, name: str, **arguments: object) -> str:
        answer = with_client(self.server, lambda client: client.call_tool(name, arguments))
        assert not answer.is_error, answer.content
        return str(answer.structured_content)

    def page(self, cursor: str | None) -> ListResourcesResult:
        return with_client(self.server, lambda client: client.list_resources(cursor=cursor))

    def pages(self, cursor: str | None = None) -> list[str]:
        """The stores whose memories are listed from a cursor on."""
        found: list[str] = []
        while True:
            page = self.page(cursor)
            found += [one.uri.removeprefix("memolith://").split("/")[0] for one in page.resources]
            if not (cursor := page.next_cursor):
                return found


@pytest.mark.slow
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_deleted_store_among_those_that_were_named_leaves_the_others(fresh: Fresh, gone: int) -> None:
    several = Several(fresh, named=True)
    several.stores.delete(several.ids[gone])
    left = [id for id in several.ids if id != several.ids[gone]]
    hits = several.text("search_notes", query="wombats")
    assert [id in several.text("list_memory_projects") for id in several.ids] == [id in left for id in several.ids]
    assert [repr(name) in hits for name in NAMES] == [number != gone for number in range(3)]
    for name in (name for number, name in enumerate(NAMES) if number != gone):
        assert "wombats" in several.text("read_note", path="/memories/a.md", project=name)
    assert several.pages() == left


def test_a_listing_goes_on_with_the_next_store_where_the_cursors_own_is_deleted(fresh: Fresh) -> None:
    several = Several(fresh, named=True)
    cursor = several.page(None).next_cursor
    several.stores.delete(several.ids[1])
    assert several.pages(cursor) == [several.ids[2]]
    several.stores.delete(several.ids[2])
    assert several.pages(cursor) == []


@pytest.mark.parametrize("named", [True, False], ids=["stores that were named", "all stores"])
@pytest.mark.parametrize("cursor", ["nonsense", " x", "memstore_01kb0000000000000000000000"])
def test_a_cursor_that_is_none_is_refused(fresh: Fresh, named: bool, cursor: str) -> None:
    several = Several(fresh, named=named)
    with pytest.raises(MCPError, match="list the resources from the start") as refused:
        several.page(cursor)
    assert refused.value.error.code == INVALID_PARAMS


def test_what_fails_otherwise_than_by_a_deletion_is_not_hidden(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    several = Several(fresh, named=True)
    monkeypatch.setattr(several.stores._client, "api_key", "wrong")
    answer = with_client(several.server, lambda client: client.call_tool("list_memory_projects", {}))
    assert answer.is_error


@pytest.mark.parametrize("tool", [name for name in every_call() if name != "search_sessions"])
def test_every_tool_says_that_its_store_is_not_there_any_more(server: Server, tool: str) -> None:
    server.fresh.backend.client().beta.memory_stores.delete(server.store_id)
    words, structure, failed = server.call(tool, **every_call()[tool])
    assert failed
    assert structure is None
    assert server.store_id in words


def test_backlinks_of_a_note_that_is_not_there_are_told_by_its_path(server: Server) -> None:
    words, _, failed = server.call("backlinks", path="/memories/none.md")
    assert failed
    assert words == "The path /memories/none.md does not exist. Please provide a valid path."
