"""``memolith backup restore`` and imports that stop: what they say to go on does it, where it was begun."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.backup_folder import BackupFolder
from memolith.clients.cli.failures import Exit
from memolith.ports.backup_places import PlaceUnanswered, ReadFile
from tests.api.harness import memolith_backend
from tests.api.loopback import serving
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_backup import stopping


def told(err: str, words: str) -> list[str]:
    """The words of the command that is printed behind these, without the program's own."""
    return err.partition(f"{words}: memolith ")[2].split("\n")[0].split()


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
