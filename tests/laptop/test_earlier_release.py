"""A folder that an earlier release filled: served, read, searched, changed, and its tables made from it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anthropic
import pytest

from memolith.adapters.local import LocalBucket
from tests.laptop.processes import Server, serving
from tests.support.earlier import LAPTOP, Earlier

TEXTS = {
    "/MEMORY.md": "# Index\n- /plan.md\n",
    "/empty": "",
    "/gone.md": "another at its path\n",
    "/notes/ideen-ü.md": "ideas about dolphins\n",
    "/plan.md": "second plan: lighthouse and harbor\n",
    "/secret.md": "nothing here any more\n",
}


@pytest.fixture(scope="module")
def earlier() -> Earlier:
    return Earlier.load(LAPTOP)


@pytest.fixture
def filled(root: Path, earlier: Earlier) -> Path:
    """A folder with the earlier objects, and without tables."""
    bucket = LocalBucket(root)
    for stored in earlier.objects:
        bucket.put(stored)
    return root


def get(server: Server, path: str, **query: str) -> Any:
    """An answer of an operation that the SDK does not have."""
    return server.client().get(path, cast_to=object, options={"params": query})


def texts(client: anthropic.Anthropic, store_id: str) -> dict[str, str | None]:
    """Every memory's path and text."""
    found = client.beta.memory_stores.memories.list(store_id, view="full")
    return {one.path: one.content for one in found if one.type == "memory"}


@pytest.mark.slow
def test_stores_of_an_earlier_release_are_listed_with_all_their_fields(filled: Path, earlier: Earlier) -> None:
    with serving(filled) as server:
        stores = {one.id: one for one in server.client().beta.memory_stores.list(include_archived=True)}
    assert stores.keys() == {earlier.ids[name] for name in ("store", "archived", "imported")}
    kept = stores[earlier.ids["store"]]
    assert (kept.name, kept.description, kept.metadata) == ("Team notes", "kept for years", {"team": "a"})
    assert kept.model_extra is not None
    assert kept.model_extra["retention"] == {"days": 3650, "versions": 50, "transcript_days": 30}
    assert stores[earlier.ids["archived"]].archived_at is not None


@pytest.mark.slow
def test_memories_of_an_earlier_release_are_read_searched_and_changed(filled: Path, earlier: Earlier) -> None:
    ids, store = earlier.ids, earlier.ids["store"]
    with serving(filled) as server:
        stores = server.client().beta.memory_stores
        assert texts(server.client(), store) == TEXTS
        (hit,) = get(server, f"/v1/memory_stores/{store}/search", query="lighthouse")["data"]
        assert hit["memory"]["path"] == "/plan.md"
        plan = stores.memories.retrieve(ids["plan"], memory_store_id=store)
        stores.memories.update(
            plan.id,
            memory_store_id=store,
            content="third plan\n",
            precondition={"type": "content_sha256", "content_sha256": plan.content_sha256},
        )
        stores.memories.update(ids["moved"], memory_store_id=store, path="/notes/whales.md")
        changed = {name: text for name, text in TEXTS.items() if not name.startswith("/notes/")}
        expected = changed | {"/plan.md": "third plan\n", "/notes/whales.md": "ideas about dolphins\n"}
        assert texts(server.client(), store) == expected
        operations = [one.operation for one in stores.memory_versions.list(store, memory_id=plan.id)]
        assert operations == ["modified", "modified", "created"]


@pytest.mark.slow
def test_what_an_earlier_release_erased_stays_erased(filled: Path, earlier: Earlier) -> None:
    ids, store = earlier.ids, earlier.ids["store"]
    with serving(filled) as server:
        stores = server.client().beta.memory_stores
        redacted = stores.memory_versions.retrieve(ids["redacted"], memory_store_id=store)
        assert redacted.redacted_at is not None
        assert redacted.content is None
        with pytest.raises(anthropic.NotFoundError):
            stores.memories.retrieve(ids["gone"], memory_store_id=store)
        with pytest.raises(anthropic.NotFoundError):
            stores.retrieve(ids["deleted"])


@pytest.mark.slow
def test_sessions_of_an_earlier_release_are_retrieved_and_get_tokens(filled: Path, earlier: Earlier) -> None:
    ids, store = earlier.ids, earlier.ids["store"]
    with serving(filled) as server:
        session = get(server, f"/v1/sessions/{ids['session']}")
        assert (session["title"], session["metadata"]) == ("kept", {"a": "b"})
        assert [one["memory_store_id"] for one in session["resources"]] == [store]
        assert get(server, f"/v1/sessions/{ids['ended']}")["archived_at"] is not None
        listed = {one["id"] for one in get(server, "/v1/sessions", include_archived="true")["data"]}
        assert listed == {ids["session"], ids["ended"]}


@pytest.mark.slow
def test_tables_made_again_after_a_change_show_old_and_new_versions_alike(filled: Path, earlier: Earlier) -> None:
    store = earlier.ids["store"]
    with serving(filled) as server:
        server.client().beta.memory_stores.memories.create(store, path="/new.md", content="of this release")
        before = texts(server.client(), store)
        assert server.end() == 0
    for table in filled.glob("index-*"):
        table.unlink()
    with serving(filled) as server:
        assert texts(server.client(), store) == before == TEXTS | {"/new.md": "of this release"}
