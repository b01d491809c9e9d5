"""Files and SQLite: what the contract does not say, because only one machine has it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.adapters.local import Database, LocalBucket, LocalErasableObjects, LocalIndex, LocalObjects
from memolith.adapters.local.index import LocalTables
from memolith.adapters.local.keys import NAME_MAX_BYTES, part_of, path_of
from memolith.adapters.local.objects import Look, look_at
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.rows.content import PathRow
from memolith.core.rows.journal import JournalRow
from memolith.ports.errors import ObjectNotFound, OutcomeUnknown, Unavailable
from memolith.ports.index import Change, Query
from tests.support.folders import quick_folder

KEY = "local/log/memstore_1/0001-0.0000000001"
ROW = PathRow.key("s", "/a")


@pytest.fixture
def root() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def objects_in(root: Path) -> LocalObjects:
    return LocalObjects({"local": LocalBucket(root)}, "local")


# ---- keys -----------------------------------------------------------------------------------------------------------

keys = st.text(st.sampled_from("aAbÄäA\u0308/.%@-_ é🧠\0"), min_size=1, max_size=12)


@given(keys)
def test_a_key_is_read_back_from_its_path(key: str) -> None:
    names = path_of(Path(), key).parts
    parts = [part_of(name) for name in names]
    assert "/".join(part for part, _ in parts) == key
    assert [is_object for _, is_object in parts] == [False] * (len(parts) - 1) + [True]


@given(keys, keys)
def test_keys_that_differ_stand_apart_where_case_and_unicode_form_do_not_count(one: str, other: str) -> None:
    assert (str(path_of(Path(), one)).lower() == str(path_of(Path(), other)).lower()) == (one == other)
    assert str(path_of(Path(), one)).isascii()


@pytest.mark.parametrize("key", ["..", "../x", "a/../../x", ".", "/etc/passwd", "a//b", ".hidden", "a/"])
def test_no_key_leads_out_of_its_folder_or_hides(key: str) -> None:
    assert not any(name.startswith(".") for name in path_of(Path(), key).parts)
    assert not path_of(Path(), key).is_absolute()


def test_memoliths_own_keys_come_through_unchanged() -> None:
    key = str(LogKey("memstore_local_01kb0000000000000000000000", "9f" * 32, Slot(Epoch(1, "local"), 42)))
    assert str(path_of(Path(), key)) == f"{key}@"


def test_a_part_that_no_file_system_would_take_is_refused_before_anything_is_done(root: Path) -> None:
    objects_in(root).put_if_absent("k" * (NAME_MAX_BYTES - 1), b"", {})
    with pytest.raises(ValueError, match="254 bytes"):
        objects_in(root).put_if_absent("k" * NAME_MAX_BYTES, b"", {})


# ---- objects --------------------------------------------------------------------------------------------------------


def test_an_object_is_a_line_of_json_and_then_its_body(root: Path) -> None:
    objects_in(root).put_if_absent(KEY, b"remember\nthe milk\n", {"id": "1"})
    header, _, body = path_of(root / "objects", KEY).read_bytes().partition(b"\n")
    assert body == b"remember\nthe milk\n"
    assert json.loads(header)["metadata"] == {"id": "1"}


def test_objects_are_their_owners_alone(root: Path) -> None:
    objects_in(root).put_if_absent(KEY, b"text", {})
    for path in root.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", [b"", b"{}\ntext", b"text", b'{"memolith_object": 1}\n', b"\xff\n", b"[1]\n"])
def test_an_object_whose_first_line_is_damaged_is_refused(root: Path, damage: bytes) -> None:
    objects_in(root).put_if_absent(KEY, b"text", {})
    path_of(root / "objects", KEY).write_bytes(damage)
    for read in (objects_in(root).get, objects_in(root).head):
        with pytest.raises(Unavailable, match="damaged"):
            read(KEY)


def test_an_object_whose_first_line_is_damaged_is_listed_among_the_versions_of_all(root: Path) -> None:
    other = f"{KEY}1"
    for key in (KEY, other):
        objects_in(root).put_if_absent(key, b"text", {})
    path_of(root / "objects", KEY).write_bytes(b"tex")
    erasable = LocalErasableObjects(LocalBucket(root))
    found = erasable.versions("")
    assert [(one.key, one.size_bytes) for one in found.versions] == [(KEY, 3), (other, 4)]


FOREIGN = [b"notes.txt", b"desktop.ini", b".DS_Store", b"%ff", b"N" * 200 + b"@", b"Notes@"]
NO_UTF_8 = [b"caf\xe9"] if sys.platform == "linux" else []


@pytest.mark.parametrize("name", FOREIGN + NO_UTF_8, ids=lambda name: repr(name[:20]))
def test_a_file_that_is_not_memoliths_is_passed_over_by_listings_and_told_by_a_look(root: Path, name: bytes) -> None:
    objects = objects_in(root)
    for key in ("a/b/1", "z/2"):
        objects.put_if_absent(key, b"text", {})
    for folder in (root / "objects", root / "objects" / "a", root / "objects" / "a" / "b"):
        (folder / os.fsdecode(name)).write_bytes(b"a note")
    assert objects.list("").keys == ("a/b/1", "z/2")
    assert objects.list("a/").keys == ("a/b/1",)
    assert objects.list("", after="a/b/1").keys == ("z/2",)
    assert Counter(look for _, look in look_at(root)) == {Look.WHOLE: 2, Look.FOREIGN: 3}


def test_objects_that_are_no_folder_are_refused_and_not_taken_for_none(root: Path) -> None:
    objects = objects_in(root)
    (root / "objects").rmdir()
    (root / "objects").write_bytes(b"a note")
    with pytest.raises(Unavailable, match="cannot be listed"):
        objects.list("")


@pytest.mark.parametrize("change", [lambda old: old[:-1], lambda old: old + b"!", lambda old: old[:-1] + b"T"])
def test_a_body_that_is_no_longer_what_was_put_is_refused(root: Path, change: Callable[[bytes], bytes]) -> None:
    objects_in(root).put_if_absent(KEY, b"text", {})
    path = path_of(root / "objects", KEY)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Unavailable, match="damaged"):
        objects_in(root).get(KEY)


def test_a_disk_that_is_full_or_read_only_is_unavailable_and_nothing_is_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = objects_in(root)

    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("memolith.adapters.local.files.os.fsync", refuse)
        with pytest.raises(Unavailable, match="no space left on the disk of"):
            objects.put_if_absent(KEY, b"text", {})
    with pytest.raises(ObjectNotFound):
        objects.head(KEY)
    assert list((root / "unfinished").iterdir()) == []
    objects.put_if_absent(KEY, b"text", {})


def test_a_name_that_may_not_be_on_disk_yet_is_an_unknown_outcome(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = objects_in(root)

    def refuse(folder: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("memolith.adapters.local.objects.sync_folder", refuse)
    with pytest.raises(OutcomeUnknown):
        objects.put_if_absent(KEY, b"text", {})
    assert objects.get(KEY).body == b"text"


def test_an_object_that_stands_is_put_though_its_first_name_cannot_be_removed_and_the_sweep_removes_that(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = LocalBucket(root)

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        LocalObjects({"local": bucket}, "local").put_if_absent(KEY, b"text", {})
    assert objects_in(root).get(KEY).body == b"text"
    [left] = (root / "unfinished").iterdir()
    bucket.sweep(before_s=left.stat().st_mtime + 1)
    assert list((root / "unfinished").iterdir()) == []


def test_every_key_is_announced_before_it_is_put_and_one_that_is_taken_is_not(root: Path) -> None:
    told: list[tuple[str, bool]] = []
    bucket = LocalBucket(root, lambda key: told.append((key, path_of(root / "objects", key).exists())))
    objects = LocalObjects({"local": bucket}, "local")
    objects.put_if_absent(KEY, b"text", {})
    with pytest.raises(Exception, match=KEY):
        objects.put_if_absent(KEY, b"text", {})
    assert told == [(KEY, False)]
    LocalErasableObjects(bucket).erase(KEY, b"", {})
    assert told == [(KEY, False), (KEY, True)]


def test_what_dead_writers_left_is_swept_and_what_is_being_written_is_not(root: Path) -> None:
    bucket = LocalBucket(root)
    for name, written_s in (("dead", 1_000), ("alive", 5_000)):
        path = root / "unfinished" / name
        path.write_bytes(b"text")
        os.utime(path, (written_s, written_s))
    bucket.sweep(before_s=4_000)
    assert [path.name for path in (root / "unfinished").iterdir()] == ["alive"]


def test_an_erasure_reaches_the_second_name_that_a_killed_writer_left(root: Path) -> None:
    objects, erasable = objects_in(root), LocalErasableObjects(LocalBucket(root))
    objects.put_if_absent(KEY, b"secret", {})
    os.link(path_of(root / "objects", KEY), root / "unfinished" / "left")
    (root / "unfinished" / "another").write_bytes(b"of somebody else")
    erasable.erase(KEY, b"", {})
    assert [path.name for path in (root / "unfinished").iterdir()] == ["another"]


RACER = """
import sys
from pathlib import Path
from memolith.adapters.local import LocalBucket, LocalObjects
from memolith.ports.errors import ObjectExists
objects = LocalObjects({"local": LocalBucket(Path(sys.argv[1]))}, "local")
print("ready", flush=True)
sys.stdin.readline()
for slot in range(1, 101):
    try:
        objects.put_if_absent(f"local/log/{slot:010d}", sys.argv[2].encode(), {})
    except ObjectExists:
        continue
    print(slot)
"""


def test_of_processes_that_put_the_same_keys_exactly_one_wins_each(root: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(root), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("one", "two")
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = [set(map(int, racer.communicate(timeout=60)[0].split())) for racer in racers]
    assert not won[0] & won[1]
    assert won[0] | won[1] == set(range(1, 101))
    for slot in range(1, 101):
        winner = b"one" if slot in won[0] else b"two"
        assert objects_in(root).get(f"local/log/{slot:010d}").body == winner


# ---- tables ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(root: Path) -> Iterator[Database]:
    database = Database(root / "index.sqlite")
    LocalTables(database).make(1)
    yield database
    database.close()


@pytest.mark.parametrize("descending", [False, True])
def test_a_page_that_continues_far_into_a_partition_costs_no_more_than_its_first(
    database: Database, descending: bool
) -> None:
    index = LocalIndex(database)
    rows = [Change(PathRow.key("s", f"/{number:05}"), None, {"n": number}) for number in range(2_000)]
    for begin in range(0, len(rows), 50):
        index.commit(rows[begin : begin + 50])
    steps = []
    with database.reading() as connection:  # the one connection there is: the next query takes it
        connection.set_progress_handler(lambda: steps.append(1), 10)
    place = PathRow.key("s", "/00010" if descending else "/01990").sk
    found = index.query(Query("paths", "s", after=place, limit=5, descending=descending))
    assert [row.attributes["n"] for row in found] == ([9, 8, 7, 6, 5] if descending else [1991, 1992, 1993, 1994, 1995])
    assert len(steps) < 50


def test_a_database_that_somebody_else_keeps_locked_is_unavailable_and_nothing_is_done(
    database: Database, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memolith.adapters.local.database.WAIT_S", 0.05)
    other = sqlite3.connect(root / "index.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    impatient = LocalIndex(Database(root / "index.sqlite"))
    with pytest.raises(Unavailable, match="locked"):
        impatient.commit([Change(ROW, None, {"n": 1})])
    assert impatient.read([ROW]) == {}
    other.execute("ROLLBACK")
    impatient.commit([Change(ROW, None, {"n": 1})])
    assert LocalIndex(database).read([ROW]) == {ROW: {"n": 1}}
    other.close()


def test_a_commit_that_fails_itself_is_an_unknown_outcome(database: Database) -> None:
    with database.writing() as connection:
        connection.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
    with database.reading() as connection:
        pass
    connection.execute("PRAGMA foreign_keys = 1")
    with pytest.raises(OutcomeUnknown), database.writing() as connection:
        connection.execute("INSERT INTO child VALUES (1)")
    assert LocalIndex(database).read([ROW]) == {}


def test_rows_are_there_for_whoever_opens_the_file_next(database: Database, root: Path) -> None:
    LocalIndex(database).commit([Change(ROW, None, {"n": 1, "yes": True, "list": ["a"], "map": {"k": "v"}})])
    database.close()
    again = Database(root / "index.sqlite")
    assert LocalIndex(again).read([ROW]) == {ROW: {"n": 1, "yes": True, "list": ["a"], "map": {"k": "v"}}}
    again.close()


def test_rows_that_have_expired_go_and_others_stay(database: Database) -> None:
    index, tables = LocalIndex(database), LocalTables(database)
    old, new = (JournalRow.key("local", 1, 0, f"local/log/{number}") for number in (1, 2))
    index.commit([Change(old, None, {"expires_at": 99}), Change(new, None, {"expires_at": 100}), Change(ROW, None, {})])
    tables.expire(100)
    assert set(index.read([old, new, ROW])) == {new, ROW}


def test_what_was_deleted_is_in_no_file_of_the_database(database: Database, root: Path) -> None:
    index = LocalIndex(database)
    key = PathRow.key("s", "/a-private-path")
    index.commit([Change(key, None, {"path": "/a-private-path"})])
    index.commit([Change(key, {"path": "/a-private-path"}, None)])
    database.forget()
    assert not any(b"private" in path.read_bytes() for path in root.iterdir())
