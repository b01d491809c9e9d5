"""The graph of a store over HTTP: links, contexts, observations. It is ours; the reference model has none of it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import pytest

from memolith.core.times import rfc3339
from tests.api.harness import Backend, memolith_backend

NOTES = {
    "/people/ada.md": "---\ntitle: Ada Lovelace\ntype: person\ntags: [math]\n---\n\n# Ada\n\n"
    "- [name] Augusta Ada King #people (at birth)\n- works_with [[Charles Babbage]]\n- wrote [[Note G]] (in 1843)\n",
    "/people/babbage.md": "---\ntitle: Charles Babbage\ntype: person\n---\n\n- designed [[Analytical Engine]]\n",
    "/machines/engine.md": "# Analytical Engine\n\n- [built] @valid[,2010-01-01) never finished #machine\n"
    "- [built] in part, in 2010\n",
    "/other.md": "Nothing is said of anyone here, see [the engine](machines/engine.md).",
}


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


@pytest.fixture
def store(backend: Backend) -> str:
    return made_store(backend)


def made_store(backend: Backend) -> str:
    store_id = backend.client().beta.memory_stores.create(name="Team notes").id
    for path, content in NOTES.items():
        put(backend, store_id, path, content)
    return store_id


@pytest.fixture(scope="module")
def shared_store(shared_sessions_backend: Backend) -> str:
    """For questions that are refused."""
    return made_store(shared_sessions_backend)


def put(backend: Backend, store_id: str, path: str, content: str) -> Any:
    return backend.client().beta.memory_stores.memories.create(store_id, path=path, content=content)


def ask(backend: Backend, store_id: str, what: str, /, **query: object) -> Any:
    reply = backend.raw("GET", f"/v1/memory_stores/{store_id}/{what}", urlencode(query))
    assert reply.status == 200, reply.body
    return reply.body


def reached(answer: Any) -> list[tuple[str, int]]:
    return [(node["path"], node["distance"]) for node in answer["nodes"]]


def edges(answer: Any) -> set[tuple[str, str, str | None]]:
    paths = {node["memory_id"]: node["path"] for node in answer["nodes"]}
    return {(paths[edge["from"]], edge["type"], paths.get(edge["to"])) for edge in answer["edges"]}


def test_what_a_note_links_to_is_found_by_path_title_or_id_and_as_deep_as_is_asked(
    backend: Backend, store: str
) -> None:
    near = ask(backend, store, "graph", path="/people/ada.md", direction="out")
    assert reached(near) == [("/people/ada.md", 0), ("/people/babbage.md", 1)]
    assert edges(near) == {("/people/ada.md", "works_with", "/people/babbage.md"), ("/people/ada.md", "wrote", None)}
    [unresolved] = [edge for edge in near["edges"] if edge["to"] is None]
    assert (unresolved["target_text"], unresolved["context"], unresolved["line"]) == ("Note G", "in 1843", 11)
    root = near["nodes"][0]
    assert (root["title"], root["type"], root["tags"]) == ("Ada Lovelace", "person", ["math"])
    for root_is in ({"path": "Ada Lovelace"}, {"path": "people/ada"}, {"memory_id": root["memory_id"]}):
        assert edges(ask(backend, store, "graph", direction="out", **root_is)) == edges(near)
    far = ask(backend, store, "graph", path="Ada Lovelace", direction="out", depth=2)
    assert reached(far)[2:] == [("/machines/engine.md", 2)]


def test_backlinks_are_found_and_types_narrow_them(backend: Backend, store: str) -> None:
    into = ask(backend, store, "graph", path="/machines/engine.md", direction="in")
    assert edges(into) == {
        ("/people/babbage.md", "designed", "/machines/engine.md"),
        ("/other.md", "links_to", "/machines/engine.md"),
    }
    typed = ask(backend, store, "graph", path="/machines/engine.md", direction="in", types="designed,built")
    assert reached(typed) == [("/machines/engine.md", 0), ("/people/babbage.md", 1)]
    both = ask(backend, store, "graph", path="Charles Babbage", limit=1)
    assert (len(both["nodes"]), both["truncated"]) == (2, True)


def test_a_link_leads_to_a_note_as_soon_as_there_is_one_and_to_none_once_it_is_deleted(
    backend: Backend, store: str
) -> None:
    made = put(backend, store, "/g.md", "# Note G")
    wrote = ("/people/ada.md", "wrote", "/g.md")
    assert wrote in edges(ask(backend, store, "graph", path="Ada Lovelace"))
    backend.client().beta.memory_stores.memories.delete(made.id, memory_store_id=store)
    after = ask(backend, store, "graph", path="Ada Lovelace")
    assert ("/people/ada.md", "wrote", None) in edges(after)
    assert "/g.md" not in [path for path, _ in reached(after)]


def test_a_name_of_several_notes_is_answered_with_their_paths(backend: Backend, store: str) -> None:
    put(backend, store, "/copy.md", "# Analytical Engine\n")
    for what, query in (("graph", {"path": "Analytical Engine"}), ("context", {"url": "Analytical Engine"})):
        answer = ask(backend, store, what, **query)
        assert answer["candidates"] == ["/copy.md", "/machines/engine.md"]
        assert not answer.get("nodes") and not answer.get("results")
    [edge] = ask(backend, store, "graph", path="Charles Babbage", direction="out")["edges"]
    assert (edge["to"], edge["candidates"]) == (None, ["/copy.md", "/machines/engine.md"])


def test_a_context_has_the_note_what_it_states_and_what_it_is_linked_with(backend: Backend, store: str) -> None:
    answer = ask(backend, store, "context", url="memory://people/ada", depth=2)
    [result] = answer["results"]
    primary = result["primary_result"]
    assert (primary["type"], primary["title"], primary["file_path"]) == ("entity", "Ada Lovelace", "people/ada.md")
    assert primary["content"] == NOTES["/people/ada.md"]
    [observation] = result["observations"]
    assert (observation["category"], observation["content"], observation["context"]) == (
        "name",
        "Augusta Ada King #people",
        "at birth",
    )
    related = [one for one in result["related_results"] if one["type"] == "entity"]
    assert [one["title"] for one in related] == ["Charles Babbage", "Analytical Engine"]
    relations = {(one["relation_type"], one["to_name"], one["to_entity"]) for one in result["related_results"][2:]}
    assert ("works_with", "Charles Babbage", "Charles Babbage") in relations
    assert ("wrote", "Note G", None) in relations
    assert answer["metadata"]["primary_count"] == 1


def test_a_folder_is_a_context_of_its_notes_newest_first_a_page_at_a_time(backend: Backend, store: str) -> None:
    first = ask(backend, store, "context", url="memory://people/*", page_size=1)
    assert [one["primary_result"]["path"] for one in first["results"]] == ["/people/babbage.md"]
    assert first["has_more"]
    second = ask(backend, store, "context", url="people/*", page_size=1, page=2, timeframe="7d")
    assert [one["primary_result"]["path"] for one in second["results"]] == ["/people/ada.md"]
    assert not second["has_more"]
    assert len(ask(backend, store, "context", url="*")["results"]) == 4
    assert ask(backend, store, "context", url="nothing/*")["results"] == []
    assert ask(backend, store, "context", url="memory://people/nobody")["results"] == []


def test_related_notes_are_as_many_as_are_asked_for_in_all(backend: Backend, store: str) -> None:
    answer = ask(backend, store, "context", url="people/*", max_related=1, depth=3)
    found = [one for result in answer["results"] for one in result["related_results"] if one["type"] == "entity"]
    assert len(found) == 1
    assert answer["results"][0]["truncated"]


def test_observations_are_found_by_category_tag_words_and_the_time_at_which_they_hold(
    backend: Backend, store: str
) -> None:
    def texts(**query: object) -> set[str]:
        return {one["content"] for one in ask(backend, store, "observations", **query)["observations"]}

    finished, part = "never finished #machine", "in part, in 2010"
    assert texts(category="built") == {finished, part}
    assert texts(tag="machine") == {finished}
    assert texts(query="IN 2010 part") == {part}
    assert texts(category="built", valid_at="2001-01-01T00:00:00Z") == {finished, part}
    assert texts(category="built", valid_at="2020-01-01T00:00:00Z") == {part}
    assert texts(category="none") == set()
    [one] = ask(backend, store, "observations", tag="people")["observations"]
    assert one["memory"]["path"] == "/people/ada.md"
    few = ask(backend, store, "observations", limit=1)
    assert (len(few["observations"]), few["truncated"]) == (1, True)


@pytest.mark.parametrize("backend", [memolith_backend(10_000)], ids=["memolith"])
def test_a_changed_note_has_its_new_relations_and_observations_alone(backend: Backend, store: str) -> None:
    """At the store's home alone: the other region of the harness is told that it is complete until next year."""
    [found] = ask(backend, store, "observations", category="name")["observations"]
    backend.client().beta.memory_stores.memories.update(
        found["memory_id"], memory_store_id=store, content="# Ada\n\n- [name] changed\n- knows [[Charles Babbage]]\n"
    )
    assert [one["content"] for one in ask(backend, store, "observations", category="name")["observations"]] == [
        "changed"
    ]
    assert ("/people/ada.md", "knows", "/people/babbage.md") in edges(
        ask(backend, store, "graph", path="/people/ada.md")
    )


@pytest.mark.parametrize(
    ("what", "query", "field"),
    [
        ("graph", "", "path"),
        ("graph", "path=a&memory_id=mem_x", "path"),
        ("graph", "path=a&depth=4", "depth"),
        ("graph", "path=a&direction=up", "direction"),
        ("graph", "path=a&limit=101", "limit"),
        ("graph", "path=a&types=", "types"),
        ("graph", f"path=a&types={','.join('x' * 17)}", "types"),
        ("graph", f"path={'x' * 2_029}", "path"),
        ("context", "", "url"),
        ("context", f"url={quote('http://a/b')}", "url"),
        ("context", "url=a/../b", "url"),
        ("context", "url=a*b/c", "url"),
        ("context", "url=*/a", "url"),
        ("context", "url=a&timeframe=soon", "timeframe"),
        ("context", "url=a&page_size=51", "page_size"),
        ("context", "url=a&page=0", "page"),
        ("context", "url=a&max_related=101", "max_related"),
        ("observations", "limit=0", "limit"),
        ("recall", "", "query"),
        ("recall", "query=%20", "query"),
        ("recall", "query=a&limit=6", "limit"),
        ("recall", "query=a&max_tokens=0", "max_tokens"),
        ("recall", f"query=a&loaded={','.join('m' * 101)}", "loaded"),
        ("recall", "query=a&recent_tools=a,,b", "recent_tools"),
        ("conflicts", "status=closed", "status"),
        ("conflicts", "path_prefix=a", "path_prefix"),
        ("activity", "timeframe=soon", "timeframe"),
        ("activity", "page_size=101", "page_size"),
        ("activity", "api_key_id=a&session_id=b", "session_id"),
        ("observations", "valid_at=may", "valid_at"),
        ("observations", f"query={'x' * 1_001}", "query"),
    ],
)
def test_a_question_to_the_graph_that_makes_no_sense_is_refused(
    shared_sessions_backend: Backend, shared_store: str, what: str, query: str, field: str
) -> None:
    reply = shared_sessions_backend.raw("GET", f"/v1/memory_stores/{shared_store}/{what}", query)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert reply.error["message"].startswith(f"{field}:")


def test_what_matters_is_recalled_with_why_and_nothing_where_nothing_does(backend: Backend, store: str) -> None:
    [first, *_] = ask(backend, store, "recall", query="Ada Lovelace and Babbage")["memories"]
    assert (first["path"], first["content"]) == ("/people/ada.md", NOTES["/people/ada.md"])
    assert first["why"] and first["age"]
    assert ask(backend, store, "recall", query="how do I bake sourdough bread?")["memories"] == []
    again = ask(
        backend, store, "recall", query="Ada Lovelace and Babbage", loaded=first["memory_id"], recent_tools="vim"
    )
    assert first["memory_id"] not in [one["memory_id"] for one in again["memories"]]


def test_recent_activity_is_grouped_by_memory_the_last_change_first_with_who_changed_it(
    backend: Backend, store: str
) -> None:
    memories = backend.client().beta.memory_stores.memories
    changed = put(backend, store, "/late.md", "one")
    memories.update(changed.id, memory_store_id=store, content="two")
    gone = put(backend, store, "/gone.md", "soon deleted")
    memories.delete(gone.id, memory_store_id=store)
    first = ask(backend, store, "activity", page_size=2)
    assert [(one["path"], one["operation"], one["changes"]) for one in first["memories"]] == [
        ("/gone.md", "deleted", 2),
        ("/late.md", "modified", 2),
    ]
    assert (first["has_more"], first["truncated"]) == (True, False)
    rest = ask(backend, store, "activity", page_size=2, page=2)["memories"]
    assert [one["path"] for one in rest] == ["/other.md", "/machines/engine.md"]
    [author] = first["memories"][0]["changed_by"]
    assert author["type"] == "api_actor"
    by_it = ask(backend, store, "activity", api_key_id=author["api_key_id"], timeframe="24h")
    assert len(by_it["memories"]) == 6
    assert ask(backend, store, "activity", session_id="sesn_nobody")["memories"] == []


def test_a_root_that_is_not_there_is_not_found(backend: Backend, store: str) -> None:
    assert backend.raw("GET", f"/v1/memory_stores/{store}/graph", "path=/none.md").status == 404


@pytest.mark.parametrize(
    "what", ["graph?path=/people/ada.md", "context?url=*", "observations", "recall?query=a", "activity", "conflicts"]
)
def test_another_workspaces_graph_is_not_found(shared_sessions_backend: Backend, shared_store: str, what: str) -> None:
    path, _, query = what.partition("?")
    headers = {"authorization": f"Bearer {shared_sessions_backend.issue_key('other', 'admin')}"}
    assert (
        shared_sessions_backend.raw("GET", f"/v1/memory_stores/{shared_store}/{path}", query, headers=headers).status
        == 404
    )


def test_a_note_that_says_it_holds_from_an_instant_of_no_year_is_answered_without(backend: Backend, store: str) -> None:
    """Nothing could show the instant: one such note was a 500 for the whole store."""
    for name, instant in (("last", "9999-12-31T23:59:59-05:00"), ("first", "0001-01-01T00:00:00+05:00")):
        content = f"---\nvalid_from: {instant}\n---\n# {name}\n\n- [name] Holder of {name}\n"
        backend.client().beta.memory_stores.memories.create(store, path=f"/{name}.md", content=content)
    said = ask(backend, store, "observations")["observations"]
    assert {"Holder of last", "Holder of first"} <= {one["content"] for one in said}
    assert ask(backend, store, "context", url="last")["results"] and ask(
        backend, store, "recall", query="Holder of last"
    )


def test_the_graph_a_context_and_observations_are_answered_as_of_an_instant(backend: Backend, store: str) -> None:
    then = rfc3339(backend.clock.now_us())
    backend.clock.advance(61)
    client = backend.client().beta.memory_stores.memories
    [ada] = [row for row in client.list(store, path_prefix="/people/") if getattr(row, "path", "") == "/people/ada.md"]
    client.update(
        getattr(ada, "id", ""),
        memory_store_id=store,
        content="# Ada Lovelace\n\n- [name] Countess\n- met [[Faraday]]\n",
    )
    backend.clock.advance(61)
    assert ("/people/ada.md", "works_with", "/people/babbage.md") in edges(
        ask(backend, store, "graph", path="Ada Lovelace", direction="out", as_of=then)
    )
    assert edges(ask(backend, store, "graph", path="Ada Lovelace", direction="out")) == {
        ("/people/ada.md", "met", None)
    }
    [result] = ask(backend, store, "context", url="people/ada", as_of=then)["results"]
    assert "works_with" in result["primary_result"]["content"]
    assert "Countess" in [one["content"] for one in ask(backend, store, "observations")["observations"]]
    assert "Countess" not in [one["content"] for one in ask(backend, store, "observations", as_of=then)["observations"]]
    for what in ("graph?path=people/ada&", "context?url=people/ada&", "observations?"):
        path, _, query = what.partition("?")
        reply = backend.raw("GET", f"/v1/memory_stores/{store}/{path}", f"{query}as_of=2999-01-01T00:00:00Z")
        assert (reply.status, "as_of" in reply.body["error"]["message"]) == (400, True)
