"""Searching and loading a store over HTTP. Both are ours; what is found when is in
tests/unit/app/api/test_search.py.
"""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from tests.api.harness import Backend

TEXTS = {
    "/deploy/how.md": "Deploys run on Tuesdays, after the migrations.",
    "/deploy/who.md": "Caroline runs deploys.",
    "/food.md": "Pizza on Fridays.",
}


@pytest.fixture
def filled(client: anthropic.Anthropic, store_id: str) -> str:
    for path, content in TEXTS.items():
        client.beta.memory_stores.memories.create(store_id, path=path, content=content)
    return store_id


def search(backend: Backend, store_id: str, query: str) -> Any:
    return backend.raw("GET", f"/v1/memory_stores/{store_id}/search", query).body["data"]


def test_the_best_come_first_and_show_where(backend: Backend, filled: str) -> None:
    [hit] = search(backend, filled, "query=Pizza")
    assert (hit["memory"]["path"], hit["excerpt"], hit["memory"]["content"]) == ("/food.md", "Pizza on Fridays.", None)
    assert search(backend, filled, "query=deploys+Caroline")[0]["memory"]["path"] == "/deploy/who.md"


def test_a_search_may_be_of_one_folder_and_as_long_as_is_asked(backend: Backend, filled: str) -> None:
    assert len(search(backend, filled, "query=deploys")) == 2
    assert len(search(backend, filled, "query=deploys&limit=1")) == 1
    assert search(backend, filled, "query=pizza&path_prefix=/deploy/") == []


NOTE = "---\nname: Release\ntype: project\ntags: [deploy, Weekly]\n---\nDeploys run on Tuesdays."


def test_a_search_finds_by_the_last_of_many_tags(backend: Backend, client: anthropic.Anthropic, filled: str) -> None:
    text = f"---\ntags: [{', '.join(f't{number}' for number in range(1, 41))}]\n---\nDeploys run on Tuesdays."
    client.beta.memory_stores.memories.create(filled, path="/tagged.md", content=text)
    found = search(backend, filled, "query=deploys&tags=t1,t40")
    assert [hit["memory"]["path"] for hit in found] == ["/tagged.md"]


def test_a_search_may_be_of_one_type_of_tags_and_of_a_time(
    backend: Backend, client: anthropic.Anthropic, filled: str
) -> None:
    note = client.beta.memory_stores.memories.create(filled, path="/release.md", content=NOTE)
    every = {hit["memory"]["path"] for hit in search(backend, filled, "query=deploys")}
    assert every == {"/deploy/how.md", "/deploy/who.md", "/release.md"}
    for query in ("type=project", "type=Project", "tags=deploy", "tags=weekly,deploy", "type=project&tags=weekly"):
        found = [hit["memory"]["path"] for hit in search(backend, filled, f"query=deploys&{query}")]
        assert found == ["/release.md"], query
    for query in ("type=user", "tags=deploy,other", "type=project&path_prefix=/deploy/"):
        assert search(backend, filled, f"query=deploys&{query}") == [], query
    written = note.created_at.isoformat().replace("+00:00", "Z")
    for field in ("created_at", "updated_at"):
        since = search(backend, filled, f"query=deploys&{field}[gte]={written}")
        until = search(backend, filled, f"query=deploys&{field}[lte]={written}")
        assert [hit["memory"]["path"] for hit in since] == ["/release.md"]
        assert {hit["memory"]["path"] for hit in until} == every
        assert search(backend, filled, f"query=deploys&{field}[lte]=2020-01-01T00:00:00Z") == []


def test_a_search_may_be_of_words_that_stand_side_by_side(backend: Backend, filled: str) -> None:
    quoted = [hit["memory"]["path"] for hit in search(backend, filled, "query=%22on+tuesdays%22+deploys")]
    assert quoted == ["/deploy/how.md"]
    assert search(backend, filled, "query=%22tuesdays+on%22+deploys") == []


def test_a_search_may_be_of_what_one_author_wrote_last(
    backend: Backend, client: anthropic.Anthropic, filled: str
) -> None:
    [first] = client.beta.memory_stores.memory_versions.list(filled, limit=1).data
    author = getattr(first.created_by, "api_key_id", None)
    every = search(backend, filled, f"query=deploys&api_key_id={author}")
    assert {hit["memory"]["path"] for hit in every} == {"/deploy/how.md", "/deploy/who.md"}
    assert search(backend, filled, "query=deploys&session_id=sesn_01kb") == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("query=x&api_key_id=a&session_id=b", "session_id"),
        ("query=x&type=", "type"),
        ("query=x&tags=a,,b", "tags"),
        (f"query=x&tags={'x' * 101}", "tags"),
        (f"query=x&tags={','.join('abcdefghi')}", "tags"),
        ("query=x&created_at[gte]=yesterday", "created_at[gte]"),
        ("", "query"),
        ("query=", "query"),
        ("query=%20", "query"),
        (f"query={'x' * 1_001}", "query"),
        ("query=x&query=y", "query"),
        ("query=x&limit=51", "limit"),
        ("query=x&limit=0", "limit"),
        ("query=x&path_prefix=/deploy", "path_prefix"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(backend: Backend, filled: str, query: str, field: str) -> None:
    reply = backend.raw("GET", f"/v1/memory_stores/{filled}/search", query)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert reply.error["message"].startswith(f"{field}:")


@pytest.mark.parametrize("what", ["search?query=x", "pack"])
def test_another_workspaces_store_is_not_found(backend: Backend, filled: str, what: str) -> None:
    key = backend.issue_key("other", "admin")
    path, _, query = what.partition("?")
    headers = {"authorization": f"Bearer {key}"}
    assert backend.raw("GET", f"/v1/memory_stores/{filled}/{path}", query, headers=headers).status == 404


def test_a_whole_store_is_loaded_with_its_texts(backend: Backend, filled: str) -> None:
    page = backend.raw("GET", f"/v1/memory_stores/{filled}/pack").body
    assert {row["path"]: row["content"] for row in page["data"]} == TEXTS
    assert page["next_page"] is None
    assert [row["id"] for row in page["data"]] == sorted(row["id"] for row in page["data"])


def test_a_sessions_token_searches_its_own_stores_and_no_other(sessions_backend: Backend) -> None:
    backend = sessions_backend
    client = backend.client()
    mine, other = (client.beta.memory_stores.create(name=name).id for name in ("mine", "other"))
    client.beta.memory_stores.memories.create(mine, path="/food.md", content="Pizza on Fridays.")
    resources = [{"type": "memory_store", "memory_store_id": mine, "access": "read_only"}]
    token = backend.raw("POST", "/v1/sessions", body={"resources": resources}).body["token"]
    headers = {"authorization": f"Bearer {token}"}
    found = backend.raw("GET", f"/v1/memory_stores/{mine}/search", "query=pizza", headers=headers)
    assert [hit["memory"]["path"] for hit in found.body["data"]] == ["/food.md"]
    assert backend.raw("GET", f"/v1/memory_stores/{other}/search", "query=pizza", headers=headers).status == 404
    assert backend.raw("GET", f"/v1/memory_stores/{other}/pack", headers=headers).status == 404


@pytest.mark.parametrize("date", ["9999-12-31", "9999-12", "Dec+9999", "31+December+9999", "since+May+9999"])
def test_a_query_may_name_the_last_dates_that_there_are(backend: Backend, filled: str, date: str) -> None:
    [hit] = search(backend, filled, f"query=Pizza+{date}")
    assert hit["memory"]["path"] == "/food.md"


def several(backend: Backend, query: str, **headers: str) -> Any:
    return backend.raw("GET", "/v1/search", query, headers=headers or None)


@pytest.fixture
def second(client: anthropic.Anthropic, filled: str) -> str:
    store = client.beta.memory_stores.create(name="second").id
    client.beta.memory_stores.memories.create(store, path="/deploy/how.md", content="Caroline deploys on Mondays.")
    client.beta.memory_stores.memories.create(store, path="/tea.md", content="Tea at four.")
    return store


def test_several_stores_are_searched_at_once_and_each_hit_names_its_store(
    backend: Backend, filled: str, second: str
) -> None:
    reply = several(backend, f"memory_store_ids={filled},{second}&query=Caroline+pizza+Mondays")
    found = {(hit["memory"]["memory_store_id"], hit["memory"]["path"]) for hit in reply.body["data"]}
    assert found == {(filled, "/food.md"), (filled, "/deploy/who.md"), (second, "/deploy/how.md")}
    assert reply.body["data"][0]["excerpt"] == "Caroline deploys on Mondays."
    assert reply.body["next_page"] is None
    best = several(backend, f"memory_store_ids={filled},{second},{second}&query=Caroline+Mondays&limit=1").body["data"]
    assert [hit["memory"]["memory_store_id"] for hit in best] == [second]
    narrowed = several(backend, f"memory_store_ids={filled},{second}&query=deploys&path_prefix=/deploy/").body["data"]
    assert len(narrowed) == 3
    alone = several(backend, f"memory_store_ids={filled}&query=deploys+Caroline").body["data"]
    assert alone == search(backend, filled, "query=deploys+Caroline")


def test_a_search_of_several_stores_with_one_that_the_caller_may_not_read_finds_nothing(
    backend: Backend, filled: str, second: str
) -> None:
    strange = {"authorization": f"Bearer {backend.issue_key('other', 'admin')}"}
    assert several(backend, f"memory_store_ids={filled},{second}&query=pizza", **strange).status == 404
    unknown = f"{filled[:-3]}zzz"
    assert several(backend, f"memory_store_ids={filled},{unknown}&query=pizza").status == 404


@pytest.mark.parametrize(
    ("query", "headers", "field"),
    [
        ("query=x", {}, "memory_store_ids"),
        ("query=x&memory_store_ids=", {}, "memory_store_ids"),
        ("query=x&memory_store_ids=memstore_a,", {}, "memory_store_ids"),
        ("query=x&memory_store_ids=" + ",".join(f"memstore_{number}" for number in range(9)), {}, "memory_store_ids"),
        ("memory_store_ids=memstore_a", {}, "query"),
        ("query=%20&memory_store_ids=memstore_a", {}, "query"),
        ("query=x&memory_store_ids=memstore_a", {"x-memolith-consistency": "home"}, "x-memolith-consistency"),
        ("query=x&store=memstore_a", {}, "store"),
    ],
)
def test_a_search_of_several_stores_that_makes_no_sense_is_refused(
    backend: Backend, query: str, headers: dict[str, str], field: str
) -> None:
    reply = backend.raw("GET", "/v1/search", query, headers=headers or None)
    assert (reply.status, reply.error["type"]) == (400, "invalid_request_error")
    assert reply.error["message"].startswith(f"{field}:")


def test_a_sessions_token_searches_all_of_its_stores_that_there_still_are(sessions_backend: Backend) -> None:
    backend = sessions_backend
    client = backend.client()
    made = [client.beta.memory_stores.create(name=name).id for name in ("first", "second", "gone", "other")]
    for store in made:
        client.beta.memory_stores.memories.create(store, path="/food.md", content="Pizza on Fridays.")
    resources = [{"type": "memory_store", "memory_store_id": id, "access": "read_only"} for id in made[:3]]
    token = backend.raw("POST", "/v1/sessions", body={"resources": resources}).body["token"]
    client.beta.memory_stores.delete(made[2])
    headers = {"authorization": f"Bearer {token}"}
    found = several(backend, "query=pizza", **headers).body["data"]
    assert sorted(hit["memory"]["memory_store_id"] for hit in found) == sorted(made[:2])
    assert several(backend, f"query=pizza&memory_store_ids={made[3]}", **headers).status == 404
