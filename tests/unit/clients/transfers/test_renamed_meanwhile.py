"""A memory that another client renames or deletes during ``memolith import --replace``, after it was listed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from memolith.clients.transfer.importing import Importer
from tests.unit.clients.desk import Desk
from tests.unit.clients.transfers.reports import fill, moved, reasons


@pytest.fixture
def renamed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory at /a, which is at /b once the import has listed the store."""
    desk.put("/a", "theirs")
    there = Importer._there

    def listed(importer: Importer) -> Mapping[str, Any]:
        found = there(importer)
        monkeypatch.setattr(Importer, "_there", there)
        desk.ok("mv", desk.store, "/a", "/b")
        return found

    monkeypatch.setattr(Importer, "_there", listed)


@pytest.mark.usefixtures("renamed")
def test_a_file_is_a_memory_of_its_own_where_the_one_that_was_there_was_renamed_meanwhile(
    desk: Desk, tmp_path: Path
) -> None:
    folder = str(fill(tmp_path / "f", {"a": "mine"}))
    report = moved(desk, "import", folder, "--store", desk.store, "--replace")
    assert report["results"] == {"created": 1}
    assert reasons(report) == {"/a": "another client renamed the memory that was here to /b meanwhile"}
    assert [desk.ok("cat", desk.store, path) for path in ("/a", "/b")] == ["mine", "theirs"]
    again = moved(desk, "import", folder, "--store", desk.store, "--replace")
    assert (again["results"], reasons(again)) == ({"unchanged": 1}, {})


def test_what_another_client_put_at_the_path_after_such_a_rename_is_kept_and_told(
    desk: Desk, tmp_path: Path, renamed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Importer._there

    def followed(importer: Importer) -> Mapping[str, Any]:
        found = listed(importer)
        desk.put("/a", "another one")
        return found

    monkeypatch.setattr(Importer, "_there", followed)
    folder = str(fill(tmp_path / "f", {"a": "mine"}))
    report = moved(desk, "import", folder, "--store", desk.store, "--replace", code=Exit.IN_PART)
    assert report["results"] == {"kept": 1}
    assert [desk.ok("cat", desk.store, path) for path in ("/a", "/b")] == ["another one", "theirs"]


def test_a_replaced_text_asks_the_home_where_the_memory_is_with_one_read(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = desk.put("/a", "theirs")["id"]
    folder = str(fill(tmp_path / "f", {"a": "mine", "new": "x"}))
    asked: list[tuple[str, str]] = []
    answer = desk.backend._http

    def noted(event: Any) -> Any:
        if "/memories" in event["rawPath"]:
            asked.append((event["requestContext"]["http"]["method"], event["rawPath"].partition("/memories")[2]))
        return answer(event)

    monkeypatch.setattr(desk.backend, "_http", noted)
    assert moved(desk, "import", folder, "--store", desk.store, "--replace")["results"] == {"changed": 1, "created": 1}
    assert sorted(asked) == [("GET", ""), ("GET", f"/{memory}"), ("POST", ""), ("POST", f"/{memory}")]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_file_is_a_memory_of_its_own_where_the_one_that_was_there_was_deleted_meanwhile(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Before the home is asked where the memory is, and after it, before the text is written."""
    memory = desk.put("/a", "theirs")["id"]
    address = f"/v1/memory_stores/{desk.store}/memories/{memory}"
    answer = desk.backend._http

    def deleted(event: Any) -> Any:
        if (event["requestContext"]["http"]["method"], event["rawPath"]) == (method, address):
            monkeypatch.setattr(desk.backend, "_http", answer)
            assert desk.backend.raw("DELETE", address).status == 200
        return answer(event)

    monkeypatch.setattr(desk.backend, "_http", deleted)
    folder = str(fill(tmp_path / "f", {"a": "mine"}))
    report = moved(desk, "import", folder, "--store", desk.store, "--replace")
    assert report["results"] == {"created": 1}
    assert reasons(report) == {"/a": "another client deleted the memory that was here meanwhile"}
    assert desk.ok("cat", desk.store, "/a") == "mine"
    again = moved(desk, "import", folder, "--store", desk.store, "--replace")
    assert (again["results"], reasons(again)) == ({"unchanged": 1}, {})
