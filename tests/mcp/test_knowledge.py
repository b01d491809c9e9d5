"""What the tools tell of notes together: their context, what contradicts, what was said of them, what matters now."""

from __future__ import annotations

import json

import pytest

from memolith.app.api import activity
from tests.mcp.conftest import Server
from tests.mcp.notes import put


def test_a_context_and_backlinks_follow_the_links_of_notes(server: Server) -> None:
    put(server, "/people/ada.md", "# Ada\n\n- [fact] mathematician #people\n- works_with [[Charles]]\n")
    put(server, "/people/charles.md", "# Charles\n")
    for url in ("memory://people/ada", "/memories/people/ada.md", "memories/people/ada", "Ada"):
        context = server.call("build_context", url=url, project="memories", depth=1, timeframe="7d")[1] or {}
        [result] = context["results"]
        assert [one["content"] for one in result["observations"]] == ["mathematician #people"]
        assert [one["title"] for one in result["related_results"] if one["type"] == "entity"] == ["Charles"]
    assert len((server.call("build_context", url="people/*")[1] or {})["results"]) == 2
    [link] = (server.call("backlinks", path="people/charles.md")[1] or {})["links"]
    assert (link["path"], link["title"], link["type"], link["line"], link["trust"]) == (
        "/memories/people/ada.md",
        "Ada",
        "works_with",
        4,
        "agent",
    )
    assert "does not exist" in server.call("backlinks", path="nobody.md")[0]
    text, _, failed = server.call("build_context", url="http://a")
    assert failed and "url: must be a memory:// URL" in text


def test_every_path_of_a_context_and_of_candidates_can_be_read(server: Server) -> None:
    put(server, "/people/ada.md", "# Ada\n\n- works_with [[Charles]]\n- knows [[Twin]]\n")
    put(server, "/people/charles.md", "# Charles\n")
    for path in ("/memories/twin.md", "/other.md"):
        put(server, path, f"# Twin\n\nof {path}\n")
    [result] = (server.call("build_context", url="memory://people/ada")[1] or {})["results"]
    related = result["related_results"]
    [several] = [one["candidates"] for one in related if one["type"] == "relation" and one["candidates"]]
    twins = (server.call("build_context", url="Twin")[1] or {})["candidates"]
    assert twins == several == ["/memories/memories/twin.md", "/memories/other.md"]
    entities = [one for one in related if one["type"] == "entity"]
    paths = [result["primary_result"]["path"], *(one["path"] for one in entities), *twins]
    assert paths[:2] == ["/memories/people/ada.md", "/memories/people/charles.md"]
    for path in paths:
        note = server.call("read_note", path=path)[1] or {}
        assert note.get("path") == path
    words, _, failed = server.call("backlinks", path="Twin")
    assert failed and ", ".join(twins) in words


def test_what_contradicts_each_other_is_listed_with_both_sides_and_when_each_holds(server: Server) -> None:
    put(server, "/ops/a.md", "# Plan\n\n- [day] @effective[2026-01-01,2026-07-01) We deploy on Thursdays\n")
    put(server, "/b.md", "- [day] [[Plan]]: We deploy on Fridays\n")
    for directory, count in (("/memories", 1), ("/memories/ops", 1), ("ops", 1), ("/memories/none", 0)):
        found = (server.call("conflicts", directory=directory)[1] or {})["conflicts"]
        assert len(found) == count
    [one] = (server.call("conflicts")[1] or {})["conflicts"]
    sides = {side["path"]: side for side in one["sides"]}
    assert sides["/memories/ops/a.md"]["says"] == "[day] We deploy on Thursdays"
    assert sides["/memories/ops/a.md"]["valid"]["from"].startswith("2026-01-01")
    assert sides["/memories/b.md"]["written_by"].startswith("apikey_")


@pytest.mark.slow
def test_what_is_in_dispute_is_marked_until_a_person_has_decided_which_is_then_shown(server: Server) -> None:
    put(server, "/ops/a.md", "# Gateway\n\n- [limit] The timeout is 30 s\n")
    put(server, "/b.md", "- [limit] The timeout of [[Gateway]] is 60 s\n")
    [one] = (server.call("conflicts")[1] or {})["conflicts"]
    assert (one["status"], one["keep"], one["resolved_by"]) == ("open", None, None)
    hits = {hit["path"]: hit["disputed"] for hit in (server.call("search_notes", query="timeout")[1] or {})["hits"]}
    assert hits == {"/memories/ops/a.md": [3], "/memories/b.md": [1]}
    recalled = (server.call("recall", query="timeout of the gateway")[1] or {})["memories"]
    assert {one["path"]: one["disputed"] for one in recalled}["/memories/b.md"] == [1]
    [result] = (server.call("build_context", url="memory://b")[1] or {})["results"]
    assert result["observations"][0]["disputed"] == [one["conflict_id"]]
    backend, keep = server.fresh.backend, one["sides"][0]["statement_id"]
    listed = backend.raw("GET", f"/v1/memory_stores/{server.store_id}/conflicts", "").body["conflicts"]
    body = {"memory_version_ids": [side["memory_version_id"] for side in listed[0]["sides"]], "keep": keep}
    path = f"/v1/memory_stores/{server.store_id}/conflicts/{one['conflict_id']}/resolve"
    assert backend.raw("POST", path, body=json.dumps(body).encode()).status == 200
    assert (server.call("conflicts")[1] or {})["conflicts"] == []
    [decided] = (server.call("conflicts", status="resolved")[1] or {})["conflicts"]
    assert (decided["keep"], decided["status"]) == (keep, "resolved")
    assert decided["resolved_by"].startswith("apikey_")
    assert [hit["disputed"] for hit in (server.call("search_notes", query="timeout")[1] or {})["hits"]] == [[], []]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_notes", {"query": "thursdays"}),
        ("build_context", {"url": "memory://a"}),
        ("backlinks", {"path": "/memories/a.md"}),
    ],
)
def test_what_asks_for_an_instant_of_the_future_or_for_none_is_told_so(
    server: Server, tool: str, arguments: dict[str, str]
) -> None:
    put(server, "/a.md", "# Plan\n\nWe deploy on Thursdays.\n")
    for as_of in ("2990-01-01", "some day"):
        failed = server.call(tool, **arguments, as_of=as_of)[0]
        assert "as_of" in str(failed), failed


def test_what_was_said_in_sessions_with_this_store_is_found_and_nothing_of_others(server: Server) -> None:
    backend = server.fresh.backend
    other = backend.client().beta.memory_stores.create(name="Other").id
    for store in (server.store_id, other):
        resources = [{"type": "memory_store", "memory_store_id": store, "access": "read_only"}]
        session = backend.raw("POST", "/v1/sessions", body={"resources": resources, "title": store}).body["id"]
        said = {"type": "user.message", "content": [{"type": "text", "text": "ECONNREFUSED of the gateway"}]}
        backend.raw("POST", f"/v1/sessions/{session}/transcript", body={"events": [said]})
    found = server.call("search_sessions", query="econnrefused gateway", since="7d")[1] or {}
    [hit] = found["hits"]
    assert (hit["session_title"], hit["excerpt"], hit["age"]) == (
        server.store_id,
        "ECONNREFUSED of the gateway",
        "today",
    )
    assert server.call("search_sessions", query="econnrefused", since="soon")[2]


def test_what_matters_now_is_recalled_and_what_is_loaded_is_not_recalled_again(server: Server) -> None:
    put(server, "/deploys.md", "Deploys go out on Tuesdays.")
    [one] = (server.call("recall", query="when do deploys go out?", recent_tools=["git"])[1] or {})["memories"]
    assert (one["path"], one["content"], one["age"]) == ("/memories/deploys.md", "Deploys go out on Tuesdays.", "today")
    assert one["why"]
    for query, loaded in (("when do deploys go out?", [one["memory_id"]]), ("bake sourdough bread", [])):
        assert server.call("recall", query=query, loaded=loaded)[1] == {"memories": []}
    assert server.call("recall", query=" ")[2]


def test_backlinks_conflicts_and_activity_say_whether_there_are_more(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(server, "/hub.md", "# Hub\n\n- [limit] The timeout is 10 s\n- [limit] The rate is 5 s\n")
    for name in ("a", "b"):
        put(server, f"/{name}.md", f"# Note {name}\n\n- uses [[Hub]]\n")
    put(server, "/c.md", "- [limit] [[Hub]]: The timeout is 20 s\n- [limit] [[Hub]]: The rate is 6 s\n")
    for limit, truncated in ((1, True), (3, False)):
        links = server.call("backlinks", path="hub.md", limit=limit)[1] or {}
        assert (len(links["links"]) < 3, links["truncated"]) == (truncated, truncated)
    for limit, truncated in ((1, True), (2, False)):
        found = server.call("conflicts", limit=limit)[1] or {}
        assert (len(found["conflicts"]), found["truncated"]) == (limit, truncated)
    assert (server.call("recent_activity")[1] or {})["truncated"] is False
    monkeypatch.setattr(activity, "VERSIONS_MAX", 2)
    assert (server.call("recent_activity")[1] or {})["truncated"] is True
