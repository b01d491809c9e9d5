"""A store whose approval policy makes an agent's writes proposals: a mount and sync say so, and lose nothing."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from memolith.adapters.memory import SeededRandomness
from memolith.clients.sync.folder import SyncFolder
from memolith.clients.sync.syncing import Syncing
from memolith.clients.transfer.report import Row, complete
from memolith.clients.working_copy.http_store_client import HttpStoreClient
from memolith.clients.working_copy.store_client import Staged
from tests.api.harness import BASE_URL
from tests.mount.conftest import Desk, DeskClock
from tests.mount.test_conflicts import refused


@pytest.fixture
def staged(desk: Desk) -> Desk:
    """A store with /a.md and /d/b.md, in which agents only propose, and a working copy with an agent's key."""
    desk.others_write("/a.md", "one\n")
    desk.others_write("/d/b.md", "two\n")
    address = f"/v1/memory_stores/{desk.store_id}"
    person = {"authorization": f"Bearer {desk.backend.api_key}"}
    policy = {"approval": {"agents": "propose", "people": "write"}}
    assert desk.backend.raw("POST", address, "", policy, person).status == 200
    desk.copy.close()
    desk.key = desk.backend.issue_key("main", "write", holder="agent")
    desk.start()
    return desk


def proposed(desk: Desk) -> list[str]:
    """What the open proposals would do, oldest first."""
    by = {"authorization": f"Bearer {desk.key}"}
    store = f"/v1/memory_stores/{desk.store_id}/proposals"
    listed = reversed(desk.backend.raw("GET", store, "", None, by).body["data"])
    shown = [desk.backend.raw("GET", f"{store}/{one['id']}", "", None, by).body for one in listed]
    return [f"{edit['op']} {edit['path']}" for one in shown for edit in one["edits"]]


def approve(desk: Desk) -> None:
    """A person approves every open proposal."""
    by = {"authorization": f"Bearer {desk.backend.issue_key('main', 'write', holder='person')}"}
    store = f"/v1/memory_stores/{desk.store_id}/proposals"
    for one in desk.backend.raw("GET", store, "", None, by).body["data"]:
        assert desk.backend.raw("POST", f"{store}/{one['id']}/approve", "", {}, by).status == 200


STORED = {"/a.md": "one\n", "/d/b.md": "two\n"}


def client_of(desk: Desk) -> HttpStoreClient:
    return HttpStoreClient(BASE_URL, desk.key, desk.store_id, DeskClock(desk.backend.clock), desk.network)


def test_a_create_an_update_a_rename_and_a_deletion_that_wait_for_approval_are_none_to_a_client(staged: Desk) -> None:
    client = client_of(staged)
    head = client.at("/a.md")
    assert head is not None
    for write in (
        lambda: client.create("/new.md", "x"),
        lambda: client.update(head.memory_id, expected_sha256=head.content_sha256, text="x"),
        lambda: client.update(head.memory_id, expected_sha256=head.content_sha256, path="/moved.md"),
        lambda: client.delete(head.memory_id, expected_sha256=head.content_sha256),
    ):
        with pytest.raises(Staged, match=r"staged for approval as prop_.*not in memory yet"):
            write()
    assert proposed(staged) == ["create /new.md", "replace /a.md", "rename /a.md", "delete /a.md"]
    assert staged.stored() == STORED


def test_what_a_mount_saves_and_the_store_stages_is_kept_beside_its_file(staged: Desk) -> None:
    assert refused(lambda: staged.save("/new.md", "mine")) == errno.EACCES
    assert refused(lambda: staged.append("/a.md", "more\n")) == errno.EACCES
    for path, text in (("/new.md", "mine"), ("/a.md", "one\nmore\n")):
        [kept] = staged.beside(path, "refused")
        assert staged.read(kept) == text
        assert "staged for approval as prop_" in staged.copy.attributes(kept)["reason"]
    assert staged.read("/a.md") == "one\n"
    assert staged.stored() == STORED


def test_a_file_whose_deletion_the_store_stages_stays_in_the_mount_and_says_why(staged: Desk) -> None:
    assert refused(lambda: staged.copy.unlink("/a.md")) == errno.EACCES
    assert refused(lambda: staged.copy.rename("/d/b.md", "/c.md")) == errno.EACCES
    assert refused(lambda: staged.copy.rename("/d", "/e")) == errno.EACCES
    staged.copy.refresh()
    assert (staged.read("/a.md"), staged.read("/d/b.md")) == ("one\n", "two\n")
    assert "its deletion is staged for approval as prop_" in staged.copy.attributes("/a.md")["reason"]
    assert staged.stored() == STORED


def test_an_unsaved_edit_stays_where_the_deletion_of_its_file_is_staged(staged: Desk) -> None:
    assert staged.read("/a.md") == "one\n"
    staged.network.down = True
    assert refused(lambda: staged.append("/a.md", "unsaved\n")) == errno.EIO
    staged.network.down = False
    assert refused(lambda: staged.copy.unlink("/a.md")) == errno.EACCES
    assert staged.read("/a.md") == "one\nunsaved\n"


def pass_of(desk: Desk, root: Path) -> list[Row]:
    """One pass of sync: what it reports, by path."""
    rows: list[Row] = []
    clock = DeskClock(desk.backend.clock)
    Syncing(client_of(desk), SyncFolder(root, desk.store_id), clock, SeededRandomness()).run(rows.append)
    return sorted(rows, key=lambda row: row.path)


def test_sync_says_that_writes_and_deletions_are_staged_and_asks_for_each_once(staged: Desk, tmp_path: Path) -> None:
    pass_of(staged, tmp_path)
    (tmp_path / "a.md").unlink()
    (tmp_path / "d/b.md").write_text("changed\n")
    (tmp_path / "new.md").write_text("new\n")
    rows = pass_of(staged, tmp_path)
    assert [(row.path, row.result) for row in rows] == [
        ("/a.md", "staged"), ("/d/b.md", "staged"), ("/new.md", "staged")
    ]  # fmt: skip
    assert all("staged for approval as prop_" in (row.reason or "") for row in rows)
    assert not complete(rows)
    assert sorted(proposed(staged)) == ["create /new.md", "delete /a.md", "replace /d/b.md"]
    again = pass_of(staged, tmp_path)
    assert [(row.path, row.result) for row in again] == [
        ("/a.md", "refused"), ("/d/b.md", "refused"), ("/new.md", "refused")
    ]  # fmt: skip
    assert len(proposed(staged)) == 3
    assert not (tmp_path / "a.md").exists()
    assert (tmp_path / "d/b.md").read_text() == "changed\n"
    assert (tmp_path / "new.md").read_text() == "new\n"
    assert staged.stored() == STORED


def test_sync_keeps_what_is_in_a_folder_that_was_a_file_until_the_deletion_is_approved(
    staged: Desk, tmp_path: Path
) -> None:
    pass_of(staged, tmp_path)
    (tmp_path / "a.md").unlink()
    (tmp_path / "a.md").mkdir()
    (tmp_path / "a.md/x").write_text("new\n")
    for result in ("staged", "refused"):
        assert [(row.path, row.result) for row in pass_of(staged, tmp_path)] == [("/a.md", result), ("/a.md/x", "kept")]
    approve(staged)
    assert [(row.path, row.result) for row in pass_of(staged, tmp_path)] == [("/a.md/x", "staged")]
    assert proposed(staged) == ["create /a.md/x"]
    assert (tmp_path / "a.md/x").read_text() == "new\n"


def test_sync_proposes_one_rename_for_a_file_that_was_moved(staged: Desk, tmp_path: Path) -> None:
    pass_of(staged, tmp_path)
    (tmp_path / "a.md").rename(tmp_path / "moved.md")
    assert [(row.path, row.result) for row in pass_of(staged, tmp_path)] == [("/moved.md", "staged")]
    pass_of(staged, tmp_path)
    assert proposed(staged) == ["rename /a.md"]
    approve(staged)
    assert pass_of(staged, tmp_path) == []
    assert (tmp_path / "moved.md").read_text() == "one\n"
