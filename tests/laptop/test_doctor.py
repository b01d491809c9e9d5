"""``memolith doctor``: what it finds in a folder, and what it mends, without a server."""

from __future__ import annotations

import errno
import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

import pytest

from memolith.adapters.local import Database, LocalQueue, Message
from memolith.adapters.system import SystemClock, SystemRandomness, Unmeasured
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.entry import doctor_checks
from memolith.entry.compose_laptop import Machine, open_site
from memolith.entry.doctor import main, mend
from memolith.entry.doctor_checks import State, examine
from memolith.entry.laptop_files import ASIDE, index_path, queue_path
from tests.laptop.processes import environment
from tests.laptop.test_damages import UNUSED_PORT, call_on, site_on
from tests.support.folders import quick_folder
from tests.unit.app.looking import Looking


@pytest.fixture
def folder() -> Any:
    """A folder with a store and two memories that nothing serves."""
    with quick_folder() as place:
        root = place / "root"
        with site_on(root) as site:
            call = call_on(root, site)
            store = site.memolith.stores.create(call, name="s", description="", metadata={}).id
            for name in "ab":
                site.memolith.memories.create(call, store, path=f"/{name}", content=f"the text of {name}", full=False)
        yield root


def object_of(root: Path, text: str) -> Path:
    [found] = [path for path in (root / "objects").rglob("*@") if text.encode() in path.read_bytes()]
    return found


def wrong(root: Path, part: str) -> list[str]:
    return [one.found for one in examine(root, UNUSED_PORT).findings if one.part == part and one.state is State.ERROR]


def doctor(root: Path, *words: str) -> tuple[int, list[dict[str, str]]]:
    """The command as somebody types it."""
    command = [sys.executable, "-m", "memolith.clients.cli", "doctor", "--root", str(root), "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=300)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_a_folder_in_order_is_found_so_and_looking_changes_nothing(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert [one for one in examine(folder, UNUSED_PORT).findings if one.state is State.ERROR] == []
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.slow
def test_the_command_names_a_damaged_object_and_mends_the_folder(folder: Path) -> None:
    path = object_of(folder, "the text of b")
    os.truncate(path, 50)
    code, findings = doctor(folder)
    assert code == 1
    [named] = [one for one in findings if str(path) in one["found"]]
    assert (named["state"], "backup" in named["remedy"]) == ("error", True)
    code, findings = doctor(folder, "--fix")
    assert code == 0
    assert not path.exists()
    with site_on(folder) as site:
        call = call_on(folder, site)
        store = path.relative_to(folder).parts[3]
        made = site.memolith.memories.create(call, store, path="/b", content="again", full=True)
        assert made.content == "again"


@pytest.mark.slow
def test_a_reader_that_has_enough_and_a_full_disk_under_its_output_end_the_command_without_a_traceback(
    folder: Path,
) -> None:
    line = f"{sys.executable} -m memolith.clients.cli doctor --root {folder}"
    for rest, said in (
        ("| true", ""),
        (">&-", ""),
        ("> /dev/full", "error: standard output cannot be used: No space left on device\n"),
    ):
        done = subprocess.run(
            ["bash", "-c", f"{line} {rest}"], capture_output=True, text=True, env=environment(), timeout=300
        )
        assert done.stderr == said


@pytest.mark.parametrize("name", ["index", "queue"])
def test_a_damaged_database_is_named_with_what_to_do_and_set_aside(folder: Path, name: str) -> None:
    path = {"index": index_path, "queue": queue_path}[name](folder)
    with path.open("r+b") as file:
        file.write(b"noise" * 10)
    [told] = wrong(folder, name)
    assert str(path) in told
    mend(folder, examine(folder, UNUSED_PORT))
    assert wrong(folder, name) == []
    assert list((folder / ASIDE).rglob(path.name))


def test_messages_that_were_given_up_are_told_and_the_advice_makes_a_new_queue_that_scans_every_text(
    folder: Path,
) -> None:
    with closing(Database(queue_path(folder))) as database:
        LocalQueue(database, SystemClock()).bury(Message(1, '{"inspect": "laptop/log/…"}', 5), "the disk was full")
    [told] = [one for one in examine(folder, UNUSED_PORT).findings if one.part == "queue"]
    assert (told.state, told.found) == (State.NOTE, "1 messages were given up; the log said why")
    assert "`memolith doctor --fix`: the next start projects every object and scans every text again" in told.remedy
    mend(folder, examine(folder, UNUSED_PORT))
    assert not queue_path(folder).exists() and not index_path(folder).exists()
    looking = Looking()
    machine = Machine(SystemClock(), SystemRandomness(), Unmeasured())
    site = open_site(folder, LettingAllThrough(), machine, deep=looking)
    try:
        for _ in range(500):
            if len(looking.texts) == 2:
                break
            Event().wait(0.02)
    finally:
        site.close()
    assert sorted(looking.texts) == ["the text of a", "the text of b"]


def test_nothing_is_mended_while_a_server_serves_the_folder(folder: Path) -> None:
    path = object_of(folder, "the text of b")
    os.truncate(path, 50)
    with site_on(folder):
        looked = examine(folder, UNUSED_PORT)
        assert looked.served
        [told] = mend(folder, looked)
    assert (told.state, "a server serves the folder" in told.found) == (State.ERROR, True)
    assert path.exists()
    assert index_path(folder).exists()


def test_nothing_is_mended_once_a_server_began_while_the_folder_was_looked_at(folder: Path) -> None:
    os.truncate(path := object_of(folder, "the text of b"), 50)
    looked = examine(folder, UNUSED_PORT)
    assert not looked.served
    with site_on(folder):
        [told] = mend(folder, looked)
    assert (told.state, "a server serves the folder" in told.found) == (State.ERROR, True)
    assert "doctor --fix` again" in told.remedy
    assert path.exists() and index_path(folder).exists()
    assert not (folder / ASIDE).exists()


def test_what_was_put_in_order_while_the_folder_was_looked_at_stays_where_it_is(folder: Path) -> None:
    """As by hand from a backup, or by a server that began and ended."""
    path, queue = object_of(folder, "the text of b"), queue_path(folder)
    whole = {one: one.read_bytes() for one in (path, queue)}
    os.truncate(path, 50)
    queue.write_bytes(b"noise" * 1000)
    looked = examine(folder, UNUSED_PORT)
    assert (looked.unreadable, looked.broken) == ([path], [queue])
    for one, content in whole.items():
        one.write_bytes(content)
    mend(folder, looked)
    assert {one: one.read_bytes() for one in whole} == whole
    assert not list((folder / ASIDE).rglob(path.name)) + list((folder / ASIDE).rglob(queue.name))


def test_an_object_that_is_gone_since_the_folder_was_looked_at_is_no_error(folder: Path) -> None:
    os.truncate(path := object_of(folder, "the text of b"), 50)
    looked = examine(folder, UNUSED_PORT)
    path.unlink()
    assert {one.state for one in mend(folder, looked)} == {State.NOTE}


def test_a_text_that_is_damaged_stays_where_it_is_because_the_rest_of_its_version_is_whole(folder: Path) -> None:
    path = object_of(folder, "the text of b")
    os.truncate(path, path.stat().st_size - 1)
    assert any("its body is damaged" in told for told in wrong(folder, "objects"))
    mend(folder, examine(folder, UNUSED_PORT))
    assert path.exists()


@pytest.mark.slow
def test_the_advice_for_a_damaged_text_restores_it_from_the_search_pack(folder: Path) -> None:
    path = object_of(folder, "the text of b")
    before = path.read_bytes()
    with site_on(folder) as site:
        store = path.relative_to(folder).parts[3]
        assert "error" not in site.region.peers.call("laptop", "packer", {"call": "pack", "store_id": store})
    os.truncate(path, len(before) - 1)
    [found] = [one for one in examine(folder, UNUSED_PORT).findings if str(path) in one.found]
    advice = found.remedy.split("`")[1]
    assert advice == f"memolith repair --root {folder}"
    command = [sys.executable, "-m", "memolith.clients.cli", *advice.split()[1:]]
    assert subprocess.run(command, env=environment(), timeout=300, check=False).returncode == 0
    assert path.read_bytes() == before


@pytest.mark.slow
def test_another_program_on_the_port_is_told_from_memolith(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = [one for one in examine(folder, taken.getsockname()[1]).findings if one.part == "port"]
    assert [one.state for one in found] == [State.ERROR]
    assert "another program" in found[0].found


def test_a_disk_with_no_room_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "LITTLE_BYTES", 1 << 62)
    assert "MB free" in wrong(folder, "disk")[0]


def test_a_read_only_file_system_is_told_as_what_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_: Any, **__: Any) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    def open_to_read(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        writes = flags & (os.O_RDWR | os.O_WRONLY) and folder in Path(path).parents
        return refuse(path) if writes else opened(path, flags, *rest, **named)

    def refuse_database(*_: Any, **__: Any) -> None:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise error

    opened = os.open
    for name in ("touch", "unlink"):
        monkeypatch.setattr(Path, name, refuse)
    monkeypatch.setattr(os, "open", open_to_read)
    monkeypatch.setattr(sqlite3, "connect", refuse_database)
    looked = examine(folder, UNUSED_PORT)
    found = {one.part: one.found for one in looked.findings if one.state is State.ERROR}
    assert found["folder"] == f"Read-only file system: {folder}"
    assert found["index"] == f"{index_path(folder)} cannot be opened: unable to open database file"
    assert looked.broken == []


@contextmanager
def closed(path: Path) -> Iterator[None]:
    """Nobody may use this file or folder, not even a test that runs as root: for this block it is somebody else."""
    import_module("encodings.idna")  # a look at the port imports it, and the other user may not read this Python
    path.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(user)
        path.chmod(0o700)


DENIED = "Permission denied: "
UNCOMPARED = "1 files or folders of objects may not be read, and were not compared"
OPEN = "{root}/key can be read by other users"
RIGHTS = "give the user that runs Memolith the right to read"


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("..", {"folder": DENIED + "{root}"}),
        (
            ".",
            {
                "folder": DENIED + "{root}",
                "server": DENIED + "{root}/serving.lock",
                "index": DENIED + "{index}",
                "queue": DENIED + "{root}/queue.sqlite",
                "objects": UNCOMPARED,
                "key": DENIED + "{root}/key",
                "scanner": DENIED + "{root}/scanner.hsdb",
                "set aside": DENIED + "{root}/set-aside",
            },
        ),
        ("objects/laptop/log", {"objects": UNCOMPARED, "key": OPEN}),
        ("key", {"key": DENIED + "{root}/key"}),
        ("index-of-another-release.sqlite", {"key": OPEN}),
    ],
)
def test_what_another_user_has_closed_is_told_with_what_to_do(folder: Path, where: str, told: dict[str, str]) -> None:
    (folder / "index-of-another-release.sqlite").touch()
    folder.parent.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777)
    with closed(folder / where):
        looked = examine(folder, UNUSED_PORT)
    errors = [one for one in looked.findings if one.state is State.ERROR and one.part != "packages"]
    expected = {part: text.format(root=folder, index=index_path(folder)) for part, text in told.items()}
    assert {one.part: one.found for one in errors} == expected
    assert [one for one in errors if "read by other" not in one.found and not one.remedy.startswith(RIGHTS)] == []
    whole = [one for one in looked.findings if one.found.endswith("each is what was put")]
    assert len(whole) == (where in ("key", "index-of-another-release.sqlite"))


@pytest.mark.parametrize("where", ["..", "."])
def test_what_another_user_has_closed_is_not_mended_and_ends_the_command_with_its_report(
    folder: Path, where: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"MEMOLITH_ROOT": str(folder), "MEMOLITH_PORT": str(UNUSED_PORT), "MEMOLITH_DOCTOR_FIX": "1"}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    with closed(folder / where):
        assert main() == 1
    assert f"ERROR folder {DENIED}{folder}" in " ".join(capsys.readouterr().out.split())
    assert index_path(folder).exists()


@pytest.mark.parametrize("name", ["notes #1", "is it?", "100%41", "ünïcode", "a&mode=rwc"])
def test_a_folder_of_any_name_has_its_own_databases_looked_at(folder: Path, name: str) -> None:
    root = folder.rename(folder.with_name(name))
    for part, path in (("index", index_path(root)), ("queue", queue_path(root))):
        assert wrong(root, part) == []
        path.write_bytes(bytes(9000))
        assert wrong(root, part) == [f"{path} is damaged: file is not a database"]
    assert list(root.parent.iterdir()) == [root]


def test_a_key_that_others_can_read_is_told_and_closed(folder: Path) -> None:
    (folder / "key").chmod(0o644)
    assert "can be read by other users" in wrong(folder, "key")[0]
    mend(folder, examine(folder, UNUSED_PORT))
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    assert "sk-memolith" not in repr(examine(folder, UNUSED_PORT))


def test_a_folder_that_is_not_there_is_no_error_and_is_not_made(tmp_path: Path) -> None:
    assert wrong(tmp_path / "none", "folder") == []
    assert not (tmp_path / "none").exists()
