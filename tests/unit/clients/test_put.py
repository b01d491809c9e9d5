"""``memolith put``: from a file or a pipe, on what conditions, and what it refuses."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from threading import Thread

import pytest

from memolith.clients.cli.failures import Exit
from tests.unit.clients.desk import Desk


def test_a_text_is_put_from_standard_input_or_a_file(desk: Desk, tmp_path: Path) -> None:
    assert desk.put("/a", "one")["result"] == "created"
    (tmp_path / "two.md").write_text("two")
    assert desk.json("put", desk.store, "/a", "two.md")["result"] == "changed"
    assert desk.json("put", desk.store, "/a", "two.md")["result"] == "unchanged"
    assert desk.ok("cat", desk.store, "/a") == "two"


def test_a_put_may_demand_what_must_be_there(desk: Desk) -> None:
    sha256 = desk.put("/a", "one")["content_sha256"]
    assert "/a is held" in desk.fails(Exit.CONFLICT, "put", desk.store, "/a", "--new", typed=b"new")
    desk.put("/a", "two")
    told = desk.fails(Exit.CONFLICT, "put", desk.store, "/a", "--if-sha256", sha256, typed=b"three")
    assert "Another writer changed it" in told
    assert desk.ok("cat", desk.store, "/a") == "two"
    now = desk.json("cat", desk.store, "/a")["content_sha256"]
    assert desk.json("put", desk.store, "/a", "--if-sha256", now, typed=b"three")["result"] == "changed"


@pytest.mark.parametrize(
    ("words", "typed", "said"),
    [
        (("notes",), b"", "PATH: must begin with /"),
        (("/a",), b"caf\xe9", "is not UTF-8 text (byte 3)"),
        (("/a", "nowhere.md"), b"", "nowhere.md cannot be read: No such file"),
        (("/a", "--new", "--if-sha256", "0" * 64), b"", "exclude each other"),
        (("/a", "--if-sha256", "0" * 64), b"", "no memory is at /a"),
        (("/a", "--if-sha256", "zz"), b"", "--if-sha256: must be 64 hexadecimal digits"),
    ],
)
def test_what_cannot_be_put_is_told_and_nothing_is_written(
    desk: Desk, words: tuple[str, ...], typed: bytes, said: str
) -> None:
    assert said in desk.fails(Exit.USAGE, "put", desk.store, *words, typed=typed)
    assert desk.ok("ls", desk.store) == ""


class SlowPipe(BytesIO):
    """Standard input of a program that takes its time: somebody else writes the memory before it says anything."""

    def __init__(self, text: bytes, meanwhile: Callable[[], object]) -> None:
        super().__init__(text)
        self.meanwhile = meanwhile

    def read(self, size: int | None = -1, /) -> bytes:
        self.meanwhile()
        return super().read(size)


def test_a_text_that_was_written_while_a_pipe_was_read_is_not_replaced_by_the_pipes(desk: Desk) -> None:
    memory = desk.put("/a", "one")

    def change() -> None:
        desk.memories.update(memory["id"], memory_store_id=desk.store, content="of another writer")

    def create() -> None:
        desk.memories.create(desk.store, path="/b", content="of another writer")

    for path, meanwhile in (("/a", change), ("/b", create)):
        desk.fails(Exit.CONFLICT, "put", desk.store, path, typed=SlowPipe(b"of the pipe", meanwhile))
        assert desk.ok("cat", desk.store, path) == "of another writer"


def test_a_pipes_text_does_not_follow_a_memory_that_was_renamed_while_it_was_read(desk: Desk) -> None:
    memory = desk.put("/a", "one")

    def rename() -> None:
        desk.memories.update(memory["id"], memory_store_id=desk.store, path="/b")

    told = desk.fails(Exit.CONFLICT, "put", desk.store, "/a", typed=SlowPipe(b"of the pipe", rename))
    assert "the memory at /a was renamed to /b meanwhile" in told
    assert desk.ok("ls", desk.store).split() == ["/b"]
    assert desk.ok("cat", desk.store, "/b") == "one"


def test_neither_does_the_text_of_a_pipe_that_has_a_name(desk: Desk, tmp_path: Path) -> None:
    """A shell makes one of <(command), too. Only standard input was known to take its time."""
    memory, fifo = desk.put("/a", "one"), tmp_path / "pipe"
    os.mkfifo(fifo)

    def rename_then_write() -> None:
        with fifo.open("w") as pipe:  # once `put` reads it
            desk.memories.update(memory["id"], memory_store_id=desk.store, path="/b")
            pipe.write("of the pipe")

    writer = Thread(target=rename_then_write, daemon=True)
    writer.start()
    told = desk.fails(Exit.CONFLICT, "put", desk.store, "/a", str(fifo))
    writer.join(10)
    assert "the memory at /a was renamed to /b meanwhile" in told
    assert desk.ok("ls", desk.store).split() == ["/b"]
    assert desk.ok("cat", desk.store, "/b") == "one"
