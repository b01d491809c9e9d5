"""What an export that was killed leaves in a folder: half a text, under a name that it gave."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from memolith.clients.transfer import exporting
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import synced
from tests.unit.clients.transfers.reports import fill, moved, reasons


@pytest.fixture
def left(tmp_path: Path) -> tuple[Path, str]:
    """A folder with such a file beside a memory's, and that file's path as a memory."""
    folder = fill(tmp_path / "f", {"n/a.md": "one\n", ".memolith-notes": "a person's\n"})
    draft = exporting._draft(folder / "n/b.md")
    draft.write_text("ha")
    return folder, f"/n/{draft.name}"


def test_what_a_killed_export_leaves_is_imported_neither_from_the_folder_nor_from_an_archive_of_it(
    desk: Desk, left: tuple[Path, str]
) -> None:
    folder, draft = left
    with tarfile.open("f.tar", "w") as opened:
        opened.add(folder, ".")
    for source, results in ((str(folder), {"created": 2, "noted": 1}), ("f.tar", {"unchanged": 2, "noted": 1})):
        report = moved(desk, "import", source, "--store", desk.store)
        assert report["results"] == results
        assert reasons(report)[draft].startswith("ignored")
    assert desk.ok("ls", desk.store, "-r").split() == ["/.memolith-notes", "/n/a.md"]


def test_what_a_killed_export_leaves_in_a_synced_folder_stays_there(desk: Desk, left: tuple[Path, str]) -> None:
    folder, draft = left
    assert synced(desk, folder) == {"/n/a.md": "sent", "/.memolith-notes": "sent"}
    assert (folder / draft[1:]).exists()


def test_a_memory_that_an_earlier_import_made_of_one_stays_in_step(desk: Desk, left: tuple[Path, str]) -> None:
    folder, draft = left
    desk.put(draft, "ha")
    synced(desk, folder)
    assert draft in desk.ok("ls", desk.store, "-r").split()
    (folder / draft[1:]).unlink()
    assert synced(desk, folder) == {draft: "deleted"}
