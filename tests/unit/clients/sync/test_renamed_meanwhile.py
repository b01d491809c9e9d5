"""A memory that another client renames while a pass of ``memolith sync`` is under way, after the pass has listed it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.working_copy.http_store_client import HttpStoreClient
from memolith.clients.working_copy.store_client import Heads
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import files, memories, synced
from tests.unit.clients.transfers.reports import fill


def after_the_listing(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Let somebody else act once, right after the next pass has listed the store."""
    heads = HttpStoreClient.heads

    def listed(client: HttpStoreClient) -> Heads:
        found = heads(client)
        monkeypatch.setattr(HttpStoreClient, "heads", heads)
        then()
        return found

    monkeypatch.setattr(HttpStoreClient, "heads", listed)


def test_a_text_that_was_sent_to_a_memory_renamed_meanwhile_is_not_deleted_by_the_next_pass(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, {"a.md": "mine\n"})
    after_the_listing(monkeypatch, lambda: desk.ok("mv", desk.store, "/a.md", "/b.md"))
    assert synced(desk, folder) == {"/a.md": "sent"}
    assert synced(desk, folder) == {"/a.md": "removed", "/b.md": "fetched"}
    assert files(folder) == memories(desk) == {"b.md": "mine\n", "n/b.md": "two\n"}
    assert synced(desk, folder) == {}


def test_a_memory_that_was_renamed_meanwhile_is_not_deleted_for_the_file_at_its_old_path(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").unlink()
    after_the_listing(monkeypatch, lambda: desk.ok("mv", desk.store, "/a.md", "/b.md"))
    _, out, _ = desk.run("sync", desk.store, str(folder))
    assert out == "kept  /a.md: somebody else renamed it meanwhile\n"
    assert synced(desk, folder) == {"/b.md": "fetched"}
    assert files(folder) == memories(desk) == {"b.md": "one\n", "n/b.md": "two\n"}


def test_a_memory_that_was_renamed_meanwhile_is_not_moved_after_its_renamed_file(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").rename(folder / "c.md")
    after_the_listing(monkeypatch, lambda: desk.ok("mv", desk.store, "/a.md", "/b.md"))
    _, out, _ = desk.run("sync", desk.store, str(folder))
    assert out == "kept  /a.md: somebody else renamed it meanwhile\nsent  /c.md\n"
    assert synced(desk, folder) == {"/b.md": "fetched"}
    assert files(folder) == memories(desk) == {"b.md": "one\n", "c.md": "one\n", "n/b.md": "two\n"}


def test_a_memory_that_was_deleted_meanwhile_counts_as_deleted(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").unlink()
    after_the_listing(monkeypatch, lambda: desk.ok("rm", desk.store, "/a.md"))
    assert synced(desk, folder) == {"/a.md": "deleted"}
    assert synced(desk, folder) == {}


def test_a_deletion_asks_the_home_where_the_memory_is_with_one_read(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = desk.json("cat", desk.store, "/a.md")["id"]
    (folder / "a.md").unlink()
    asked: list[tuple[str, str, str | None]] = []
    ask_once = HttpStoreClient._ask_once

    def noted(
        client: HttpStoreClient, method: str, path: str, query: Any, body: Any, headers: Mapping[str, str] | None
    ) -> Any:
        asked.append((method, path, (headers or {}).get("x-memolith-consistency")))
        return ask_once(client, method, path, query, body, headers)

    monkeypatch.setattr(HttpStoreClient, "_ask_once", noted)
    assert synced(desk, folder) == {"/a.md": "deleted"}
    assert asked == [
        ("GET", "/memories", None),
        ("GET", f"/memories/{memory}", "home"),
        ("DELETE", f"/memories/{memory}", None),
    ]
