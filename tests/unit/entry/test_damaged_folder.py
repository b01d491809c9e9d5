"""A laptop's folder that was damaged: what the next start makes of it, and in which words."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.local import Database
from memolith.adapters.local.keys import path_of
from memolith.app.kernel.results import Memory
from memolith.core.errors import Busy, Damaged, NotFound, Unavailable
from memolith.core.tables import TABLES
from memolith.entry import laptop_files
from memolith.entry.compose_laptop import LocalSite
from memolith.entry.laptop_files import ASIDE, index_path, queue_path
from memolith.entry.laptop_log import FORMAT, FactsFormatter
from memolith.ports.errors import OutcomeUnknown
from tests.unit.entry.test_laptop import Laptop, laptop

__all__ = ["laptop"]


def cut_to(size: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, size)


def zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


OBJECT_DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut within its first line": cut_to(100),
    "of no length": cut_to(0),
    "zeroed": zero,
    "with a bit flipped in its metadata": lambda path: flip(path, path.read_bytes().index(b"metadata") + 40),
    "without its last byte": lambda path: cut_to(path.stat().st_size - 1)(path),
    "with a bit flipped in its text": lambda path: flip(path, path.stat().st_size - 1),
    "gone": lambda path: path.unlink(),
}


def filled(laptop: Laptop) -> dict[str, Memory]:
    with laptop.site() as site:
        made = {name: laptop.create(site, f"/{name}", f"the text of {name}") for name in "abc"}
        laptop.settle(site)
        return made


def object_of(laptop: Laptop, text: str) -> Path:
    """The file of the version that has this text."""
    logs = laptop.root / "objects" / "laptop" / "log"
    [found] = [path for path in logs.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
    return found


def drop_index(laptop: Laptop) -> None:
    for path in laptop.root.glob("index-*"):
        path.unlink()


def content_of(laptop: Laptop, site: LocalSite, memory: Memory) -> str | None:
    found = site.memolith.memories.retrieve(laptop.call, laptop.store_id, memory.id, full=True)
    return found.content


@pytest.mark.slow
@pytest.mark.parametrize("damage", OBJECT_DAMAGES.values(), ids=OBJECT_DAMAGES)
@pytest.mark.parametrize("index", ["kept", "gone"])
def test_one_damaged_object_costs_its_own_version_and_the_server_starts(
    laptop: Laptop, damage: Callable[[Path], None], index: str
) -> None:
    made = filled(laptop)
    damage(object_of(laptop, "the text of b"))
    if index == "gone":
        drop_index(laptop)
    with laptop.site() as site:
        assert [content_of(laptop, site, made[name]) for name in "ac"] == ["the text of a", "the text of c"]
        assert {"/a", "/c"} <= set(laptop.paths(site))
        with pytest.raises((Unavailable, NotFound)):
            content_of(laptop, site, made["b"])
        assert laptop.create(site, "/d", "new").content == "new"


def test_a_damaged_object_is_named_in_the_log_when_the_index_is_made_anew(
    laptop: Laptop, caplog: pytest.LogCaptureFixture
) -> None:
    filled(laptop)
    path = object_of(laptop, "the text of b")
    cut_to(100)(path)
    drop_index(laptop)
    with laptop.site():
        pass
    [named] = [record for record in caplog.records if "is damaged and left out" in record.message]
    assert str(path) in FactsFormatter(FORMAT).format(named)
    assert any("1 objects are damaged" in record.message for record in caplog.records)


def test_a_read_of_a_damaged_object_names_the_file_and_is_no_matter_of_trying_again(laptop: Laptop) -> None:
    filled(laptop)
    path = object_of(laptop, "the text of b")
    flip(path, path.stat().st_size - 1)
    with laptop.site() as site:
        [key] = [key for key in site.region.objects.list("").keys if path_of(laptop.root / "objects", key) == path]
        with pytest.raises(Damaged, match="memolith doctor") as refused:
            site.region.objects.get(key)
    assert str(path) in refused.value.message


def header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not a database at all")


def middle(path: Path) -> None:
    """Noise over every page but the first two."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(size - 8192))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [header, middle], ids=["in its header", "in its pages"])
def test_a_broken_index_is_set_aside_and_made_anew_by_the_next_start(
    laptop: Laptop, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    made = filled(laptop)
    damage(index_path(laptop.root))
    with laptop.site() as site:
        assert [content_of(laptop, site, made[name]) for name in "abc"] == [f"the text of {name}" for name in "abc"]
    assert [path.name for path in (laptop.root / ASIDE).rglob("index-*.sqlite")] == [index_path(laptop.root).name]
    assert any(str(index_path(laptop.root)) in record.message for record in caplog.records)


def test_what_was_set_aside_is_gone_after_a_redaction_for_it_may_hold_the_same_text(laptop: Laptop) -> None:
    made = filled(laptop)
    middle(index_path(laptop.root))
    with laptop.site() as site:
        changed = site.memolith.memories.update(
            laptop.call, laptop.store_id, made["a"].id, content="x", path=None, expected_content_sha256=None, full=False
        )
        assert changed.version_id != made["a"].version_id
        assert (laptop.root / ASIDE).exists()
        site.memolith.redactions.redact(laptop.call, laptop.store_id, made["a"].version_id)
        laptop.settle(site)
        assert not (laptop.root / ASIDE).exists()


def test_what_was_set_aside_and_cannot_be_removed_is_told_and_goes_with_a_later_sweep_and_the_redaction_is_done(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As where another user set it aside: the indexer goes on, though nothing can be removed."""
    made = filled(laptop)
    middle(index_path(laptop.root))
    aside = laptop.root / ASIDE

    def forbidden(*_: Any) -> None:
        raise PermissionError(13, "Permission denied", "index.sqlite")

    with laptop.site() as site:
        site.memolith.memories.update(
            laptop.call, laptop.store_id, made["a"].id, content="x", path=None, expected_content_sha256=None, full=False
        )
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "rmtree", forbidden)
            site.memolith.redactions.redact(laptop.call, laptop.store_id, made["a"].version_id)
            laptop.settle(site)
            version = site.memolith.versions.retrieve(laptop.call, laptop.store_id, made["a"].version_id, full=True)
            assert (version.content, aside.exists()) == (None, True)
        told = [one for one in caplog.records if one.message == "a copy of what was erased may be left"]
        assert f"Permission denied: {aside}" in told[0].__dict__["cause"]
        assert "give the user that runs Memolith the right" in told[0].__dict__["cause"]
        site.region.peers.call("laptop", "eraser", {"call": "sweep"})
        assert not aside.exists()


def test_what_was_set_aside_may_go_while_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ASIDE / "m").mkdir(parents=True)
    (tmp_path / ASIDE / "m" / "index.sqlite").touch()
    real, tries = shutil.rmtree, list[Path]()

    def raced(path: Path) -> None:
        tries.append(path)
        if len(tries) == 1:
            raise FileNotFoundError(2, "No such file or directory", "index.sqlite")
        real(path)

    monkeypatch.setattr(shutil, "rmtree", raced)
    laptop_files.forget_set_aside(tmp_path)
    laptop_files.forget_set_aside(tmp_path)
    assert (len(tries), (tmp_path / ASIDE).exists()) == (2, False)


def test_the_indexer_goes_on_after_an_error_that_nobody_foresaw(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    struck: list[int] = []

    with laptop.site() as site:
        laptop.settle(site)
        erase = site.arrivals._erase

        def broken() -> object:
            struck.append(1)
            if len(struck) > 1:
                return erase()
            raise PermissionError(13, "Permission denied", "something")

        monkeypatch.setattr(site.arrivals, "_erase", broken)
        for _ in range(500):
            if struck:
                break
            laptop.clock.advance(60)
            site.arrivals._stopped.wait(0.02)
        assert struck
        laptop.create(site, "/a", "text")
        laptop.settle(site)
        assert site.arrivals._thread.is_alive()
    waits = [record for record in caplog.records if record.message == "the indexer waits"]
    assert [record.__dict__["reason"] for record in waits] == ["PermissionError"]


@pytest.mark.slow
def test_an_index_that_is_made_anew_has_what_was_redacted_erased_where_it_had_come_back(laptop: Laptop) -> None:
    """As from a copy of the folder that somebody brought back in part."""
    made = filled(laptop)
    path = object_of(laptop, "the text of a")
    before = path.read_bytes()
    with laptop.site() as site:
        site.memolith.memories.update(
            laptop.call, laptop.store_id, made["a"].id, content="x", path=None, expected_content_sha256=None, full=False
        )
        site.memolith.redactions.redact(laptop.call, laptop.store_id, made["a"].version_id)
        laptop.settle(site)
    path.write_bytes(before)
    drop_index(laptop)
    with laptop.site() as site:
        assert content_of(laptop, site, made["a"]) == "x"
    assert b"the text of a" not in path.read_bytes()


def test_a_row_of_the_index_that_is_damaged_in_a_whole_file_is_told_with_what_to_do(laptop: Laptop) -> None:
    made = filled(laptop)
    path = index_path(laptop.root)
    row = f'"{made["b"].version_id}"'.encode()
    path.write_bytes(path.read_bytes().replace(row, b"\n" * len(row)))
    with laptop.site() as site, pytest.raises(Unavailable, match=r"a row that is no JSON.*memolith doctor --fix"):
        content_of(laptop, site, made["b"])


def test_a_broken_queue_is_set_aside_and_the_rest_is_as_before(laptop: Laptop) -> None:
    made = filled(laptop)
    header(queue_path(laptop.root))
    with laptop.site() as site:
        assert content_of(laptop, site, made["a"]) == "the text of a"
        laptop.settle(site)
        assert laptop.create(site, "/d", "new").content == "new"
    assert list((laptop.root / ASIDE).rglob("queue.sqlite"))


def test_a_broken_index_that_another_server_uses_is_left_to_it_and_the_start_says_so(laptop: Laptop) -> None:
    filled(laptop)
    with laptop.site():
        header(index_path(laptop.root))
        with pytest.raises(Unavailable, match=r"another server uses it.*memolith serve"), laptop.site():
            pass
    assert not (laptop.root / ASIDE).exists()


def test_a_server_of_another_release_is_not_joined_and_once_it_has_ended_everything_is_there(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = filled(laptop)
    with monkeypatch.context() as older:
        older.setattr(laptop_files, "TABLES", TABLES[:-1])
        site = laptop.site()
        running = site.__enter__()
        laptop.create(running, "/late", "by the other release")
    try:
        refused = pytest.raises(Unavailable, match=r"a server of another release.*end it, then start this one")
        with refused, laptop.site():
            pass
        assert content_of(laptop, running, made["a"]) == "the text of a"
    finally:
        site.__exit__(None, None, None)
    with laptop.site() as newer:
        assert laptop.paths(newer) == ["/a", "/b", "/c", "/late"]
    assert [path.name for path in laptop.root.glob("index-*.sqlite")] == [index_path(laptop.root).name]


# ---- what the machine refuses, in words -----------------------------------------------------------------------------


def test_a_database_without_room_says_so_and_that_nothing_was_done(tmp_path: Path) -> None:
    database = Database(tmp_path / "d.sqlite")
    with database.writing() as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.execute("PRAGMA max_page_count = 2")
    full = pytest.raises(Unavailable, match=r"no space left on the disk of .*d\.sqlite\); free some space")
    with full as refused, database.writing() as connection:
        connection.execute("PRAGMA max_page_count = 2")
        connection.execute("INSERT INTO t VALUES (?)", ("x" * 100_000,))
    assert not isinstance(refused.value, OutcomeUnknown)
    database.close()


def test_a_disk_that_is_full_is_told_as_that_by_the_api_and_by_the_log(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with laptop.site() as site:
        with monkeypatch.context() as patched:
            patched.setattr("memolith.adapters.local.objects.write_new", full)
            with pytest.raises(Unavailable, match=r"no space left on the disk of .*free some space"):
                laptop.create(site, "/a", "text")
            with pytest.raises(Busy, match="a call that failed may hold the path for ten seconds"):
                laptop.create(site, "/a", "text")
        laptop.clock.advance(11)
        assert laptop.create(site, "/a", "text").content == "text"


def test_a_file_that_may_not_be_read_is_told_with_its_name_and_what_to_do(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = filled(laptop)
    path = object_of(laptop, "the text of b")
    real = Path.open

    def forbidden(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", forbidden)
    with laptop.site() as site, pytest.raises(Unavailable, match="right to read and write") as refused:
        content_of(laptop, site, made["b"])
    assert str(path) in refused.value.message


def test_why_the_indexer_waits_is_logged_once_and_not_five_times_a_second(
    laptop: Laptop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[int] = []

    def refused(*_: Any) -> None:
        asked.append(1)
        raise Unavailable("the database cannot grow")

    with laptop.site() as site:
        database = site.queue._database
        with monkeypatch.context() as patched:
            patched.setattr(database, "_connection", refused)
            for _ in range(500):
                if len(asked) >= 4:
                    break
                site.arrivals._stopped.wait(0.02)
    assert len(asked) >= 4
    waits = [record for record in caplog.records if record.message == "the indexer waits"]
    assert len(waits) == 1
    assert "reason=" in FactsFormatter(FORMAT).format(waits[0])


def test_a_log_line_ends_with_its_facts_and_stays_one_line() -> None:
    record = logging.LogRecord("memolith.x", logging.WARNING, "f", 1, "it failed", (), None)
    record.reason, record.trace = "no space\nleft", ["a.py:1 f", "OSError"]
    assert FactsFormatter(FORMAT).format(record) == (
        'WARNING memolith.x: it failed reason="no space\\nleft" trace="OSError < a.py:1 f"'
    )
