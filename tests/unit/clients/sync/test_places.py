"""``memolith sync``: folders that it refuses because another program has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memolith.clients.cli.failures import Exit
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import files, memories, synced
from tests.unit.clients.transfers.reports import fill


def test_a_folder_in_one_that_is_in_step_with_the_same_store_is_refused_and_nothing_is_doubled(
    desk: Desk, folder: Path
) -> None:
    error = desk.fails(Exit.USAGE, "sync", desk.store, str(folder / "n"))
    assert f"{folder / 'n'} lies in {folder}, which is in step with this store: sync {folder}" in error
    assert files(folder) == memories(desk) == {"a.md": "one\n", "n/b.md": "two\n"}
    assert not (folder / "n" / ".memolith").exists()


def test_a_folder_in_one_that_is_in_step_with_another_store_is_synced_and_its_own_notes_stay_in_it(
    desk: Desk, folder: Path
) -> None:
    other = desk.ok("stores", "create", "Other").strip()
    assert desk.ok("sync", other, str(folder / "n")) == "sent  /b.md\n"
    assert synced(desk, folder) == {}
    assert set(memories(desk)) == {"a.md", "n/b.md"}


def test_a_folder_beside_one_that_is_in_step_is_synced_however_its_path_is_written(
    desk: Desk, folder: Path, tmp_path: Path
) -> None:
    fill(tmp_path / "beside", {})
    assert set(synced(desk, folder / ".." / "beside").values()) == {"fetched"}


def test_the_folder_whose_data_memolith_serve_keeps_is_refused(desk: Desk, tmp_path: Path) -> None:
    home = fill(tmp_path / "home", {"a.md": "one\n", ".memolith/objects/x": "{}"})
    assert f"`memolith serve` keeps its data in {home / '.memolith'}" in desk.fails(
        Exit.USAGE, "sync", desk.store, str(home)
    )
    assert memories(desk) == {}
    assert [one.name for one in (home / ".memolith").iterdir()] == ["objects"]


def test_a_folder_in_a_mount_of_a_store_is_refused(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = tmp_path / "mounted"
    (mounted / ".memolith" / "versions").mkdir(parents=True)
    (mounted / "n").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda place: Path(place) == mounted)
    for place in (mounted, mounted / "n"):
        error = desk.fails(Exit.USAGE, "sync", desk.store, str(place))
        assert f"{place} is in a mount of a store, {mounted}" in error
    assert list((mounted / "n").iterdir()) == []
