"""``memolith backup restore`` and imports that stop: what they say to go on does it, where it was begun."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.backup_folder import BackupFolder
from memolith.clients.cli.failures import Exit
from memolith.core.errors import Unavailable
from memolith.ports.backup_places import PlaceUnanswered, ReadFile
from tests.api.harness import memolith_backend
from tests.api.loopback import serving
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_backup import stopping


def told(err: str, words: str) -> list[str]:
    """The words of the command that is printed behind these, without the program's own."""
    return err.partition(f"{words}: memolith ")[2].split("\n")[0].split()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["memory_versions", "memory_stores"])
def test_the_commands_that_finish_a_restoration_go_to_the_deployment_that_was_named(desk: Desk, path: str) -> None:
    """It stops in the second store, or at its creation; the desk's own deployment is another one."""
    desk.put("/a.md", "one")
    second = desk.json("stores", "create", "Second")["id"]
    desk.ok("put", second, "/b.md", typed=b"two")
    desk.ok("backup", "create", "saved")
    other = memolith_backend()
    key, ours = ("--api-key", other.api_key), desk.json("stores", "list")
    with serving(stopping(other, path, 1)) as port:
        url = f"http://127.0.0.1:{port}"
        err = desk.run("backup", "restore", "saved", "--api-url", url, *key)[2]
    again = told(err, "to go on" if path == "memory_versions" else "then")
    assert again[-2:] == ["--api-url", url] and other.api_key not in err
    with serving(other.answer) as port:
        desk.ok(*again[:-1], f"http://127.0.0.1:{port}", *key)
    assert sorted(store.name for store in other.client().beta.memory_stores.list()) == ["Second", "Team notes"]
    assert desk.json("stores", "list") == ours


@pytest.mark.slow
def test_the_command_that_finishes_an_import_goes_to_the_deployment_that_was_named(desk: Desk) -> None:
    desk.put("/a.md", "one")
    desk.ok("export", desk.store, "history.tar", "--history")
    assert Path("history.tar").exists()
    with serving(stopping(desk.backend, allowed=0)) as port:
        url = f"http://127.0.0.1:{port}"
        err = desk.run("import", "history.tar", "--api-url", url)[2]
    assert told(err, "to go on")[-2:] == ["--api-url", url]


def test_a_resumed_restoration_that_stops_before_its_store_names_that_store_again(desk: Desk) -> None:
    """The place gives the manifest, and the tar to verify it, and does not answer when it is to be restored."""
    desk.ok("backup", "create", "saved")
    reading, left = BackupFolder.reading, [2]

    @contextmanager
    def silent(place: BackupFolder, name: str, advance: Any) -> Iterator[ReadFile]:
        left[0] -= 1
        if left[0] < 0:
            raise PlaceUnanswered("saved does not answer")
        with reading(place, name, advance) as read:
            yield read

    desk.patch.setattr(BackupFolder, "reading", silent)
    err = desk.fails(Exit.NO_ANSWER, "backup", "restore", "saved", "--store", desk.store, "--into", desk.store)
    assert told(err, "to go on")[3:7] == ["--store", desk.store, "--into", desk.store]
    assert "then:" not in err


def test_a_restoration_that_stops_after_its_first_store_does_not_say_to_run_it_again(desk: Desk) -> None:
    desk.json("stores", "create", "Second")
    desk.ok("backup", "create", "saved")
    with serving(stopping(desk.backend, "memory_stores", 1, busy=True)) as port:
        code, out, err = desk.run("backup", "restore", "saved", "--api-url", f"http://127.0.0.1:{port}")
    assert (code, told(err, "then")[3]) == (Exit.IN_PART, "--store")
    assert "same command" not in out + err and "Nothing was changed" not in err and "Try again" not in err


@pytest.mark.slow
def test_an_import_into_a_new_store_that_stops_names_that_store_to_go_on(desk: Desk) -> None:
    Path("notes").mkdir()
    for name in ("a", "b"):
        Path("notes", name).write_text(name)
    desk.ok("import", "notes")
    for allowed in (0, 1):
        with serving(stopping(desk.backend, "memories", allowed, busy=True)) as port:
            url = ("--api-url", f"http://127.0.0.1:{port}")
            code, out, err = desk.run("import", "notes", "--new", "--name", "Newer", *url)
        assert code == Exit.IN_PART
        assert "same command" not in out + err and "Nothing was changed" not in err
        store = err.partition("to go on: give --store ")[2].split()[0]
        assert f"--store {store} instead of --new and --name" in err
        desk.ok("import", "notes", "--store", store)
        assert desk.ok("ls", store).split() == ["/a", "/b"]
    assert len(desk.json("stores", "list")) == 4


def test_an_import_that_has_made_its_store_does_not_say_that_nothing_was_changed(desk: Desk) -> None:
    Path("notes").mkdir()
    Path("notes", "a").write_text("a")
    with serving(stopping(desk.backend, "memories", 0, busy=True)) as port:
        code, _, err = desk.run("import", "notes", "--api-url", f"http://127.0.0.1:{port}")
    assert code == Exit.IN_PART
    assert "the same command, run again, continues" in err and "Nothing was changed" not in err


def test_an_import_of_a_history_that_stops_does_not_say_that_nothing_was_changed(desk: Desk) -> None:
    desk.put("/a.md", "one")
    desk.ok("export", desk.store, "history.tar", "--history")
    with serving(stopping(desk.backend, allowed=0, busy=True)) as port:
        code, out, err = desk.run("import", "history.tar", "--api-url", f"http://127.0.0.1:{port}")
    assert code == Exit.IN_PART and "to go on: memolith import history.tar --store memstore_" in err
    assert "same command" not in out + err and "Nothing was changed" not in err


def test_a_backup_that_stops_after_its_first_store_does_not_say_that_nothing_was_changed(desk: Desk) -> None:
    desk.json("stores", "create", "Second")
    put, left = BackupFolder.put_if_absent, [1]

    def silent(place: BackupFolder, name: str, draft: Path, sha256: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Unavailable("the place does not answer")
        put(place, name, draft, sha256)

    desk.patch.setattr(BackupFolder, "put_if_absent", silent)
    err = desk.fails(Exit.IN_PART, "backup", "create", "saved")
    assert "saved has a part of a backup now" in err and "needs another place" in err
    assert "Nothing was changed" not in err and "same command" not in err
