"""Stores by name and by default, folders, the past, and completion, on the command line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from threading import Event, Thread, current_thread
from typing import Any

import pytest

from memolith.adapters.local.files import locked
from memolith.clients.cli import store_argument
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.instants import instant
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_address import commands


@pytest.fixture(autouse=True)
def no_store_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMOLITH_STORE", raising=False)


# ---- which store ----------------------------------------------------------------------------------------------------


def test_a_store_is_found_by_its_name(desk: Desk) -> None:
    desk.put("/a", "one")
    assert desk.ok("cat", "Team notes", "/a") == "one"
    assert "no store is called Nobody" in desk.fails(Exit.NOT_FOUND, "cat", "Nobody", "/a")
    other = desk.ok("stores", "create", "Team notes").strip()
    told = desk.fails(Exit.USAGE, "cat", "Team notes", "/a")
    assert "2 stores are called Team notes" in told and other in told and desk.store in told
    assert desk.ok("cat", desk.store, "/a") == "one"


def test_a_sessions_token_finds_its_stores_by_name_and_no_others(desk: Desk) -> None:
    """The stores were listed, which no token may: each command that was given a name ended with a 403."""
    desk.put("/a", "one")
    gone = desk.ok("stores", "create", "Gone").strip()
    desk.ok("stores", "create", "Other")
    token = desk.json("sessions", "begin", "Team notes", "--read-only", "Gone")["token"]
    desk.ok("stores", "delete", gone, "--yes")
    assert desk.ok("cat", "Team notes", "/a", "--api-key", token) == "one"
    told = desk.fails(Exit.NOT_FOUND, "cat", "Other", "/a", "--api-key", token)
    assert "no store of the token's session is called Other" in told and "It has: Team notes" in told
    desk.ok("stores", "archive", "Team notes", "--yes")
    assert desk.ok("cat", "Team notes", "/a", "--api-key", token) == "one"


def test_an_archived_store_is_found_by_its_name_where_no_other_has_it(desk: Desk) -> None:
    """A store that had just been archived by its name was called by no name any more, not even to delete it."""
    desk.put("/a", "archived")
    desk.ok("stores", "archive", "Team notes", "--yes")
    assert desk.ok("cat", "Team notes", "/a") == "archived"
    desk.ok("put", desk.ok("stores", "create", "Team notes").strip(), "/a", typed=b"written")
    assert desk.ok("cat", "Team notes", "/a") == "written"


def test_a_deleted_store_is_restored_by_its_name(desk: Desk) -> None:
    desk.ok("stores", "delete", "Team notes", "--yes")
    assert "--deleted" in desk.fails(Exit.NOT_FOUND, "ls", "Team notes")
    assert desk.json("stores", "restore", "Team notes")["id"] == desk.store
    assert desk.json("stores", "restore", "Team notes")["id"] == desk.store, "it changes nothing"


def test_every_command_that_begins_with_a_store_takes_its_name_too() -> None:
    optional = {"divergent list", "homes move"}
    others = [(words, command) for words, command in commands() if words not in optional]
    taking = [(words, command) for words, command in others if _arguments(command)[:1] == ["store"]]
    assert len(taking) > 20
    assert [words for words, command in taking if not isinstance(command, StoreCommand)] == ["use"]


@pytest.mark.slow
def test_commands_that_take_something_else_or_several_stores_take_names_too(desk: Desk, tmp_path: Path) -> None:
    desk.put("/a.md", "one")
    other = desk.ok("stores", "create", "Other notes").strip()
    session = desk.json("sessions", "begin", "Team notes", "--read-only", "Other notes")
    assert [one["memory_store_id"] for one in session["resources"]] == [desk.store, other]
    assert [one["id"] for one in desk.json("sessions", "list", "--store", "Other notes")] == [session["id"]]
    assert "Other notes" in desk.ok("context", "Team notes", "Other notes")
    assert desk.json("divergent", "list", "Team notes") == []
    for words in (("lint", "Team notes"), ("scan", "Team notes")):
        assert desk.run(*words)[0] in (0, 1), "2: nothing could be read"
        assert "no store is called Nobody" in desk.run(words[0], "Nobody")[2]


def test_a_folder_comes_before_a_store_of_the_same_name(desk: Desk, tmp_path: Path) -> None:
    desk.patch.chdir(tmp_path)
    folder = tmp_path / "Team notes"
    folder.mkdir()
    (folder / "only-here.md").write_bytes(b"\xff")
    assert "only-here.md" in desk.run("lint", "Team notes")[1]


def test_a_search_is_narrowed_by_type_tags_and_time(desk: Desk) -> None:
    for path, type_, tags in (
        ("/a.md", "incident", "pay, eu"),
        ("/b.md", "incident", "pay"),
        ("/c.md", "note", "pay, eu"),
    ):
        desk.put(path, f"---\ntype: {type_}\ntags: [{tags}]\n---\n\nThe outage.\n")

    def found(*words: str) -> list[str]:
        return sorted(hit["memory"]["path"] for hit in desk.json("search", "Team notes", "outage", *words))

    assert found() == ["/a.md", "/b.md", "/c.md"]
    assert found("--type", "incident") == ["/a.md", "/b.md"]
    assert found("--tags", "pay,eu") == ["/a.md", "/c.md"]
    assert found("--since", "1971-01-01T00:00:00Z", "--until", "2100-01-01T00:00:00Z") == ["/a.md", "/b.md", "/c.md"]
    assert found("--since", "2100-01-01T00:00:00Z") == []
    assert found("--until", "1971-01-01T00:00:00Z") == []
    assert "--since" in desk.fails(Exit.USAGE, "search", "Team notes", "outage", "--since", "whenever")


def _arguments(command: Any) -> list[str]:
    return [one.name for one in command.params if one.param_type_name == "argument"]


def test_the_default_store_takes_the_place_of_one_that_is_not_named(desk: Desk) -> None:
    desk.put("/a", "one")
    assert "memolith use" in desk.fails(Exit.USAGE, "cat", "/a")
    assert desk.store in desk.ok("use", "Team notes")
    assert desk.json("use") == {"store": desk.store}
    assert desk.ok("cat", "/a") == "one"
    assert desk.ok("ls").split() == ["/a"]
    assert desk.ok("ls", "-l", "/").split()[-1] == "/a"
    desk.ok("put", "/b/c", "-", typed=b"two")
    assert desk.ok("search", "two").startswith("/b/c")
    desk.ok("mv", "/b/c", "/d")
    assert desk.ok("ls", "--recursive").split() == ["/a", "/d"]
    assert desk.json("log", "/d")[0]["path"] == "/d"
    desk.ok("rm", "/d")
    desk.ok("use", "--none")
    assert "memolith use" in desk.fails(Exit.USAGE, "ls")


def test_the_environment_s_store_comes_before_the_default(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put("/a", "one")
    desk.ok("stores", "create", "Other")
    desk.ok("use", "Other")
    assert desk.ok("ls") == ""
    monkeypatch.setenv("MEMOLITH_STORE", "Team notes")
    assert desk.ok("ls").split() == ["/a"]


@pytest.mark.parametrize("there", ["elsewhere", "here"])
def test_of_two_defaults_that_are_kept_at_once_neither_is_lost(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    """The second command comes after the first has read the file; of one address the second one's counts."""
    here, key = os.environ["ANTHROPIC_BASE_URL"], desk.backend.api_key
    address = here if there == "here" else "http://127.0.0.1:9"
    second = Thread(target=store_argument.keep_default, args=(address, key, "memstore_second"))
    kept, waits = store_argument._kept, Event()

    @contextmanager
    def noted(path: Path) -> Iterator[None]:
        if current_thread() is second:
            waits.set()
        with locked(path):
            yield

    def overtaken() -> dict[str, str]:
        found = kept()
        monkeypatch.setattr(store_argument, "_kept", kept)
        second.start()
        while second.is_alive() and not waits.wait(0.01):
            pass
        return found

    monkeypatch.setattr(store_argument, "locked", noted, raising=False)
    monkeypatch.setattr(store_argument, "_kept", overtaken)
    desk.ok("use", "Team notes")
    second.join(10)
    expected = {here: desk.store} | {address: "memstore_second"}
    assert (second.is_alive(), kept()) == (False, expected)


def test_a_default_store_belongs_to_one_address(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.ok("use", "Team notes")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert "memolith use" in desk.fails(Exit.USAGE, "ls")


def test_deleting_a_store_takes_no_default(desk: Desk) -> None:
    desk.ok("use", "Team notes")
    assert desk.run("stores", "delete", "--yes")[0] == Exit.USAGE
    assert desk.json("stores", "delete", "Team notes", "--yes")["id"] == desk.store


def test_a_damaged_file_of_defaults_is_named(desk: Desk, tmp_path: Path) -> None:
    desk.ok("use", "Team notes")
    file = tmp_path / "root" / "default-stores.json"
    file.write_text("[]")
    assert str(file) in desk.fails(Exit.USAGE, "ls")


# ---- folders --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_folder_is_copied_moved_and_deleted(desk: Desk) -> None:
    for path in ("/n/a", "/n/m/b", "/x"):
        desk.put(path, path)
    assert "give --recursive" in desk.fails(Exit.USAGE, "cp", desk.store, "/n/", "/c/")
    desk.ok("cp", desk.store, "-r", "/n/", "/c/")
    desk.ok("cp", desk.store, "/x", "/n/")
    assert desk.ok("ls", desk.store, "-r").split() == ["/c/a", "/c/m/b", "/n/a", "/n/m/b", "/n/x", "/x"]
    ids = {row["path"]: row["id"] for row in desk.json("ls", desk.store, "-r")}
    desk.ok("mv", desk.store, "/n", "/c/")
    moved = {row["path"]: row["id"] for row in desk.json("ls", desk.store, "/c/n/", "-r")}
    assert moved == {f"/c{path}": id for path, id in ids.items() if path.startswith("/n/")}
    assert "is in /c/ itself" in desk.fails(Exit.USAGE, "mv", desk.store, "/c/", "/c/d/")
    desk.ok("rm", desk.store, "-r", "/c/", "/x")
    assert desk.ok("ls", desk.store, "-r") == ""
    assert "no memory is at /c/" in desk.fails(Exit.NOT_FOUND, "rm", desk.store, "-r", "/c/")


def test_a_folder_is_moved_as_far_as_its_places_are_free(desk: Desk) -> None:
    for path in ("/n/a", "/n/b", "/m/a"):
        desk.put(path, path)
    code, out, err = desk.run("mv", desk.store, "/n/", "/m/", "--json")
    rows = {row["from"]: row for row in json.loads(out)}
    assert code == Exit.IN_PART and rows["/n/a"]["result"] == "kept" and rows["/n/a"]["reason"]
    assert (rows["/n/b"]["result"], rows["/n/b"]["path"]) == ("moved", "/m/b")
    assert desk.ok("cat", desk.store, "/m/a") == "/m/a"
    assert "error: " in err


# ---- the past -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_deleted_memory_is_restored_by_its_path(desk: Desk) -> None:
    desk.put("/a", "one")
    assert "is not deleted" in desk.fails(Exit.USAGE, "restore", desk.store, "/a")
    desk.ok("rm", desk.store, "/a")
    desk.ok("restore", desk.store, "/a")
    assert desk.ok("cat", desk.store, "/a") == "one"


def test_the_versions_of_a_whole_store_are_listed_newest_first_and_since_an_instant(desk: Desk) -> None:
    desk.put("/a", "one")
    desk.backend.clock.advance(7200)
    desk.put("/b", "two")
    assert [row["path"] for row in desk.json("log", desk.store)] == ["/b", "/a"]
    first = desk.json("log", desk.store)[1]["created_at"]
    second = desk.json("log", desk.store)[0]["created_at"]
    assert [row["path"] for row in desk.json("log", desk.store, "--since", second)] == ["/b"]
    assert len(desk.json("log", desk.store, "--since", first)) == 2
    assert "is not an instant" in desk.fails(Exit.USAGE, "log", desk.store, "--since", "soon")


def test_a_store_is_listed_and_a_text_printed_as_of_an_instant(desk: Desk) -> None:
    desk.put("/n/a", "one")
    desk.put("/n/m/b", "deep")
    then = desk.json("log", desk.store)[0]["created_at"]
    desk.backend.clock.advance(61)
    desk.put("/n/a", "two")
    desk.ok("rm", desk.store, "/n/m/b")
    assert desk.ok("cat", desk.store, "/n/a", "--as-of", then) == "one"
    assert desk.ok("ls", desk.store, "--as-of", then).split() == ["/n/"]
    assert desk.ok("ls", desk.store, "/n", "--as-of", then).split() == ["/n/a", "/n/m/"]
    assert desk.ok("ls", desk.store, "-r", "--as-of", then).split() == ["/n/a", "/n/m/b"]
    assert "no memory was at /x" in desk.fails(Exit.NOT_FOUND, "cat", desk.store, "/x", "--as-of", then)


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine's zone: an hour ahead of UTC in winter, and two in summer."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


NOW = datetime(2026, 11, 22, 15, 30, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("2026-11-22", "2026-11-21T23:00:00.000000Z"),
        ("2026-11-22 10:30", "2026-11-22T09:30:00.000000Z"),
        ("2026-11-22T10:30:00Z", "2026-11-22T10:30:00.000000Z"),
        ("2026-07-14", "2026-07-13T22:00:00.000000Z"),
        ("2026-07-14 10:30", "2026-07-14T08:30:00.000000Z"),
        ("yesterday", "2026-11-21T14:30:00.000000Z"),
        ("today", "2026-11-21T23:00:00.000000Z"),
        ("now", "2026-11-22T14:30:00.000000Z"),
        ("90m", "2026-11-22T13:00:00.000000Z"),
        ("2 hours ago", "2026-11-22T12:30:00.000000Z"),
        ("1 Week ago", "2026-11-15T14:30:00.000000Z"),
    ],
)
def test_an_instant_is_understood_as_people_write_it(text: str, means: str, in_berlin: None) -> None:
    assert instant(text, NOW, "--as-of") == means


@pytest.mark.parametrize(
    ("now", "text", "means"),
    [
        (datetime(2026, 7, 14, 12, tzinfo=UTC), "2026-01-15 10:30", "2026-01-15T09:30:00.000000Z"),
        (datetime(2026, 7, 14, 12, tzinfo=UTC), "2026-01-15", "2026-01-14T23:00:00.000000Z"),
        (datetime(2026, 3, 29, 12, tzinfo=UTC), "today", "2026-03-28T23:00:00.000000Z"),
        (datetime(2026, 10, 25, 12, tzinfo=UTC), "today", "2026-10-24T22:00:00.000000Z"),
    ],
)
def test_a_time_before_the_clocks_were_changed_is_read_by_the_rules_of_its_own_day(
    now: datetime, text: str, means: str, in_berlin: None
) -> None:
    assert instant(text, now.astimezone(), "--as-of") == means


@pytest.mark.parametrize("text", ["", "soon", "999999w", "2026-13-01", "5 parsecs"])
def test_what_is_no_instant_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"--as-of.*yesterday"):
        instant(text, NOW, "--as-of")


# ---- completion -----------------------------------------------------------------------------------------------------


def completed(desk: Desk, monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    with monkeypatch.context() as asking:
        asking.setenv("_MEMOLITH_COMPLETE", "complete_bash")
        asking.setenv("COMP_WORDS", " ".join(["memolith", *words]))
        asking.setenv("COMP_CWORD", str(len(words)))
        return [line for line in desk.run()[1].splitlines() if line]


def test_stores_and_paths_are_completed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put("/notes/a", "x")
    desk.put("/now", "x")
    assert completed(desk, monkeypatch, "ls", "Te") == ["Team notes"]
    assert completed(desk, monkeypatch, "ls", "memstore_") == [desk.store]
    assert completed(desk, monkeypatch, "cat", desk.store, "/no") == ["/notes/", "/now"]
    assert completed(desk, monkeypatch, "cat", desk.store, "/notes/") == ["/notes/a"]
    desk.ok("use", desk.store)
    assert completed(desk, monkeypatch, "cat", "/now") == ["/now"]


def test_completion_is_silent_where_no_server_answers(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert completed(desk, monkeypatch, "ls", "Te") == []
    assert completed(desk, monkeypatch, "cat", desk.store, "/no") == []


@pytest.mark.parametrize("folder", ["/d", "/d/"])
def test_a_folder_is_deleted_only_if_that_is_said_and_the_error_says_how(desk: Desk, folder: str) -> None:
    desk.put("/d/a", "one")
    told = desk.fails(Exit.NOT_FOUND, "rm", desk.store, folder)
    assert f"{folder} is a folder; -r deletes every memory in it" in told
    assert desk.ok("cat", desk.store, "/d/a") == "one"
