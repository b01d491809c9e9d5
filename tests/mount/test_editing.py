"""What programs do to files, and what of it reaches the store's log."""

from __future__ import annotations

import errno

import pytest

from tests.mount.conftest import Desk


def test_a_new_file_is_one_memory_when_it_is_closed(desk: Desk) -> None:
    desk.save("/notes/todo.md", "milk\n")
    assert desk.log() == [("created", "/notes/todo.md", "milk\n")]
    assert desk.read("/notes/todo.md") == "milk\n"
    assert desk.names() == ["notes"]


def test_a_close_that_changed_something_is_one_version_and_one_request(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    before = len(desk.requests())
    desk.save("/todo.md", "milk\nbread\n")
    assert len(desk.requests()) == before + 1
    assert desk.log()[1:] == [("modified", "/todo.md", "milk\nbread\n")]


def test_a_close_that_changed_nothing_is_no_version_and_no_request(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    before = len(desk.requests())
    desk.save("/todo.md", "milk\n")
    assert len(desk.requests()) == before


def test_a_shell_that_closes_a_copy_of_the_file_before_it_writes_makes_one_version(desk: Desk) -> None:
    writing = desk.copy.files.create("/todo.md")
    desk.copy.files.flush("/todo.md", writing)
    desk.copy.files.write("/todo.md", writing, 0, b"milk\n")
    desk.copy.files.flush("/todo.md", writing)
    desk.copy.files.release("/todo.md", writing)
    assert desk.log() == [("created", "/todo.md", "milk\n")]


def test_a_file_that_was_only_made_is_a_memory_once_its_last_close_is_done(desk: Desk) -> None:
    writing = desk.copy.files.create("/empty.md")
    desk.copy.files.flush("/empty.md", writing)
    assert desk.log() == []
    desk.copy.files.release("/empty.md", writing)
    assert desk.log() == [("created", "/empty.md", "")]


def test_a_file_that_was_truncated_by_name_is_committed_though_nobody_closes_it(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    desk.copy.files.truncate("/todo.md", 3)
    desk.copy.commit_waiting(all=True)
    assert desk.log()[1:] == [("modified", "/todo.md", "mil")]


def test_sed_in_place_is_one_version_and_its_temporary_name_is_in_no_log(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    desk.read("/todo.md")
    desk.save("/sedX3f9aQ", "bread\n")
    desk.copy.rename("/sedX3f9aQ", "/todo.md")
    assert desk.log()[1:] == [("modified", "/todo.md", "bread\n")]
    assert desk.names() == ["todo.md"]


def test_vim_that_renames_to_a_backup_and_writes_anew_makes_one_version_of_the_same_memory(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    desk.save("/.todo.md.swp", "b0VIM")
    desk.save("/4913", "")
    desk.copy.unlink("/4913")
    desk.copy.rename("/todo.md", "/todo.md~")
    assert desk.names() == [".todo.md.swp", "todo.md~"]
    desk.save("/todo.md", "bread\n")
    desk.copy.unlink("/todo.md~")
    desk.copy.unlink("/.todo.md.swp")
    assert desk.log()[1:] == [("modified", "/todo.md", "bread\n")]
    assert desk.names() == ["todo.md"]


def test_a_backup_that_is_renamed_back_has_changed_nothing(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    desk.copy.rename("/todo.md", "/todo.md~")
    desk.copy.rename("/todo.md~", "/todo.md")
    assert desk.read("/todo.md") == "milk\n"
    assert len(desk.log()) == 1
    assert desk.names() == ["todo.md"]


def test_a_file_whose_backup_is_deleted_before_it_is_written_anew_is_deleted(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    desk.copy.rename("/todo.md", "/todo.md~")
    desk.copy.unlink("/todo.md~")
    assert desk.stored() == {}


def test_a_file_that_was_moved_to_a_temporary_name_for_good_comes_back(desk: Desk) -> None:
    desk.save("/todo.md", "milk\n")
    desk.copy.rename("/todo.md", "/todo.md~")
    desk.backend.clock.advance(31)
    assert "/todo.md" in desk.copy.refresh()
    assert desk.names() == ["todo.md", "todo.md~"]
    assert desk.stored() == {"/todo.md": "milk\n"}


def test_a_rename_keeps_the_memory_and_its_history(desk: Desk) -> None:
    desk.save("/a.md", "one")
    memory_id = desk.copy.attributes("/a.md")["memory_id"]
    assert desk.copy.attributes("/a.md")["age"] == "today"
    assert desk.copy.attributes("/a.md")["trust"] == "agent"
    desk.copy.mkdir("/done")
    desk.copy.rename("/a.md", "/done/b.md")
    assert desk.copy.attributes("/done/b.md")["memory_id"] == memory_id
    assert desk.stored() == {"/done/b.md": "one"}
    assert desk.names() == ["done"]


def test_a_rename_over_a_file_gives_it_the_text_and_ends_the_other(desk: Desk) -> None:
    desk.save("/a.md", "new")
    desk.save("/b.md", "old")
    memory_id = desk.copy.attributes("/b.md")["memory_id"]
    desk.copy.rename("/a.md", "/b.md")
    assert desk.stored() == {"/b.md": "new"}
    assert desk.copy.attributes("/b.md")["memory_id"] == memory_id


def test_a_rename_that_must_not_replace_does_not(desk: Desk) -> None:
    desk.save("/a.md", "a")
    desk.save("/b.md", "b")
    with pytest.raises(FileExistsError):
        desk.copy.rename("/a.md", "/b.md", replace=False)
    assert desk.stored() == {"/a.md": "a", "/b.md": "b"}


def test_a_folder_is_renamed_with_all_that_is_in_it(desk: Desk) -> None:
    desk.save("/a/one.md", "1")
    desk.save("/a/b/two.md", "2")
    desk.copy.mkdir("/a/empty")
    desk.copy.rename("/a", "/z")
    assert desk.stored() == {"/z/one.md": "1", "/z/b/two.md": "2"}
    assert desk.names("/z") == ["b", "empty", "one.md"]
    assert desk.names() == ["z"]


def test_a_folder_stays_when_its_last_file_is_deleted_and_goes_by_rmdir(desk: Desk) -> None:
    desk.save("/a/one.md", "1")
    with pytest.raises(OSError, match="something in it") as full:
        desk.copy.rmdir("/a")
    assert full.value.errno == errno.ENOTEMPTY
    desk.copy.unlink("/a/one.md")
    assert desk.names() == ["a"]
    desk.copy.rmdir("/a")
    assert desk.names() == []
    assert desk.stored() == {}


@pytest.mark.parametrize("path", ["/a\u0301.md", "/a\u200b.md", "/" + "x" * 1_100])
def test_a_name_that_no_memory_can_have_is_refused_at_once(desk: Desk, path: str) -> None:
    with pytest.raises(OSError, match="must") as refused:
        desk.copy.files.create(path)
    assert refused.value.errno in (errno.EINVAL, errno.ENAMETOOLONG)


def test_text_that_is_not_utf_8_is_refused_at_close_and_kept_beside(desk: Desk) -> None:
    desk.save("/a.md", "fine")
    with pytest.raises(OSError, match="UTF-8") as refused:
        desk.save("/a.md", b"\xff\xfe")
    assert refused.value.errno == errno.EILSEQ
    assert desk.stored() == {"/a.md": "fine"}
    [kept] = desk.beside("/a.md", "refused")
    assert desk.copy.read(kept, 0, 10) == b"\xff\xfe"
    assert desk.read("/a.md") == "fine"


def test_text_that_is_too_long_for_a_memory_is_refused_at_close_and_kept_beside(desk: Desk) -> None:
    with pytest.raises(OSError, match="102400 bytes") as refused:
        desk.save("/a.md", "x" * 102_401)
    assert refused.value.errno == errno.EFBIG
    assert len(desk.beside("/a.md", "refused")) == 1
    assert desk.log() == []


def test_a_read_only_copy_refuses_whatever_would_write(desk: Desk) -> None:
    desk.save("/a.md", "fine")
    desk.copy.close()
    desk.start(read_only=True)
    assert desk.read("/a.md") == "fine"
    for attempt in (
        lambda: desk.copy.files.create("/b.md"),
        lambda: desk.copy.files.open_to_write("/a.md"),
        lambda: desk.copy.files.truncate("/a.md", 0),
        lambda: desk.copy.unlink("/a.md"),
        lambda: desk.copy.rename("/a.md", "/b.md"),
        lambda: desk.copy.mkdir("/c"),
        lambda: desk.copy.rmdir("/c"),
    ):
        with pytest.raises(OSError, match="read-only") as refused:
            attempt()
        assert refused.value.errno == errno.EROFS


def test_versions_can_be_read_and_are_in_no_listing(desk: Desk) -> None:
    desk.save("/notes/todo.md", "milk\n")
    desk.save("/notes/todo.md", "bread\n")
    folder = "/.memolith/versions/notes/todo.md"
    names = [name for name, _ in desk.history.names(folder)]
    assert [desk.history.read(f"{folder}/{name}", 0, 100) for name in names] == [b"milk\n", b"bread\n"]
    assert [name.split("-")[1] for name in names] == ["created", "modified"]
    assert all(name.endswith(".md") for name in names)
    assert desk.history.names("/.memolith/versions") == [("notes", True)]
    assert desk.names() == ["notes"]
