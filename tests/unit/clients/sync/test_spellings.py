"""``memolith sync`` on a disk that finds a file under another spelling of its name, as macOS and Windows disks do."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from memolith.clients.sync.folder import SyncFolder
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import files, memories, synced
from tests.unit.clients.transfers.reports import fill


@pytest.fixture
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, on a disk that tells apart neither cases nor forms of Unicode. Only a look at one path is so here."""

    def spelled(place: object) -> str:
        return unicodedata.normalize("NFC", str(place)).casefold()

    def found(place: object) -> bool:
        return spelled(place) in {spelled(one) for one in folder.rglob("*")}

    monkeypatch.setattr(os.path, "lexists", found)
    return folder


def test_a_file_that_is_renamed_in_its_case_alone_is_a_memory_that_moved(desk: Desk, folder: Path) -> None:
    memory = desk.json("cat", desk.store, "/a.md")["id"]
    (folder / "a.md").rename(folder / "A.md")
    assert synced(desk, folder) == {"/A.md": "moved"}
    assert desk.json("cat", desk.store, "/A.md")["id"] == memory
    assert memories(desk) == files(folder) == {"A.md": "one\n", "n/b.md": "two\n"}
    assert synced(desk, folder) == {}


def test_a_folder_that_is_renamed_in_its_case_alone_takes_its_memories_along(desk: Desk, folder: Path) -> None:
    (folder / "n").rename(folder / "N")
    assert synced(desk, folder) == {"/N/b.md": "moved"}
    assert memories(desk) == files(folder) == {"a.md": "one\n", "N/b.md": "two\n"}


def test_a_memory_whose_old_spelling_an_earlier_release_left_is_deleted(desk: Desk, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SyncFolder, "has", lambda self, path: True)
        (folder / "a.md").rename(folder / "A.md")
        assert synced(desk, folder) == {"/A.md": "sent"}
    assert synced(desk, folder) == {"/a.md": "deleted"}
    assert memories(desk) == {"A.md": "one\n", "n/b.md": "two\n"}


def test_a_file_that_the_disk_lists_in_another_form_of_unicode_is_not_gone(desk: Desk, folder: Path) -> None:
    """HFS+ decomposes the name of a file that is written to it; a memory's is composed."""
    desk.put("/caf\u00e9.md", "three\n")
    synced(desk, folder)
    (folder / "caf\u00e9.md").rename(folder / "cafe\u0301.md")
    synced(desk, folder, code=3)
    assert memories(desk)["caf\u00e9.md"] == "three\n"


def test_a_folder_that_cannot_be_listed_has_its_files(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(place: object) -> list[str]:
        raise PermissionError("Permission denied")

    fill(folder, {"A.md": "one\n"})
    (folder / "a.md").unlink()
    monkeypatch.setattr(os, "listdir", refused)
    synced(desk, folder)
    assert memories(desk)["a.md"] == "one\n"
