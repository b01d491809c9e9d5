"""Ours: one store as a folder in two regions at once, by real mounts on the deployed functions.

Writers are processes of their own, as agents' shells are.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from anthropic import Anthropic

from tests.e2e.conftest import knows, until
from tests.mount.editors import PROGRAMS, Program, emacs, jetbrains, node, vim
from tests.mount.mounted import Laptop, Mounted, fuse_is_missing, mounted
from tests.support.line import line_to

WHY_NOT = fuse_is_missing()
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(bool(WHY_NOT), reason=f"NOTHING IS MOUNTED IN TWO REGIONS: {WHY_NOT}"),
]

SHOWS_WITHIN_S = 120
"""How long anything may take on a busy machine; an interval, two requests and a replication is what it takes."""

APPENDS, AT_ONCE = 200, 16
SAVING = [program for program in PROGRAMS if program.name.startswith(("sed", "vim, renaming", "vim, with", "mv"))]
WRITES, KILLED_AT, WRITERS = 100, 40, 4


@pytest.fixture(scope="module")
def there_url(dev: dict[str, Any], regions: tuple[str, ...]) -> str:
    """The address of the region that is not the store's home."""
    return str(dev["regions"][regions[1]]["api_url"])


@pytest.fixture(scope="module")
def home(dev: dict[str, Any], regions: tuple[str, ...]) -> Laptop:
    """The home region's API, to look behind the mounts."""
    return Laptop(dev["regions"][regions[0]]["api_url"], dev["api_key"], Path(mkdtemp(prefix="memolith-e2e-mount-")))


@pytest.fixture(scope="module")
def both(home: Laptop, there_url: str, sdk: dict[str, Anthropic], regions: tuple[str, ...]) -> Iterator[list[Mounted]]:
    """One store, mounted in its home and in the other region."""
    store_id = home.store()
    until(lambda: knows(sdk[regions[1]], store_id), SHOWS_WITHIN_S)
    with (
        mounted(home.url, home.api_key, store_id, home.folder / "here", "--interval", "1") as here,
        mounted(there_url, home.api_key, store_id, home.folder / "there", "--interval", "1") as there,
    ):
        yield [here, there]


def shows(mount: Mounted, name: str, text: str) -> None:
    """Waits until a file of the mount has this text."""
    until(lambda: mount.sh(f"cat {name}").out == text, SHOWS_WITHIN_S)


def test_a_line_appended_in_one_region_shows_in_the_other(both: list[Mounted], home: Laptop) -> None:
    here, there = both
    here.ok("mkdir notes && echo first > notes/shared.md")
    shows(there, "notes/shared.md", "first\n")
    there.ok("echo second >> notes/shared.md")
    shows(here, "notes/shared.md", "first\nsecond\n")
    here.ok("sed -i s/first/FIRST/ notes/shared.md")
    shows(there, "notes/shared.md", "FIRST\nsecond\n")
    assert home.stored(here.store_id) == {"/notes/shared.md": "FIRST\nsecond\n"}


def by_shell(folder: Path, line: str) -> int:
    """A shell's own ``>>``; it hears of a write that fails, and not of a close."""
    return subprocess.run(["bash", "-c", 'echo "$1" >> log.md', "bash", line], cwd=folder, check=False).returncode


def by_program(folder: Path, line: str) -> int:
    """A program behind ``>>`` of a shell, which hears of a close that fails too."""
    script = '/bin/echo "$1" >> log.md'
    return subprocess.run(["bash", "-c", script, "bash", line], cwd=folder, capture_output=True, check=False).returncode


@dataclass
class Appended:
    """Lines by what their writers were told."""

    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)


def append_at_once(mounts: list[Mounted], writers: list[Callable[[Path, str], int]]) -> Appended:
    """Every other line through the other mount, and of each mount every other one by the other writer."""
    told = Appended()

    def append(number: int) -> None:
        line = f"line {number}"
        code = writers[number // 2 % 2](mounts[number % 2].folder, line)
        (told.failed if code else told.done).add(line)

    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(append, range(APPENDS)))
    return told


def test_two_hundred_appends_from_both_regions_at_once_lose_nothing_that_returned_success(
    both: list[Mounted], home: Laptop
) -> None:
    told = append_at_once(both, [by_shell, by_program])
    assert len(told.done) + len(told.failed) == APPENDS

    def lines() -> list[str]:
        return (home.stored(both[0].store_id)["/log.md"] or "").splitlines()

    until(lambda: told.done <= set(lines()), SHOWS_WITHIN_S)  # what a shell was not told of waits, and is tried again
    assert len(lines()) == len(set(lines())), "a line was appended twice"
    assert set(lines()) <= told.done | told.failed
    assert len(told.done) >= APPENDS / 2
    shows(both[1], "log.md | sort | uniq | wc -l", f"{len(lines())}\n")


@pytest.fixture(scope="module")
def saved(both: list[Mounted]) -> Mounted:
    """Where editors save: the region that is not the home."""
    both[1].ok("mkdir edit")
    return both[1]


@pytest.mark.parametrize("program", SAVING, ids=lambda program: program.name)
def test_a_program_saves_as_one_version_and_no_temporary_name_is_in_the_log(
    program: Program, saved: Mounted, home: Laptop, tmp_path: Path
) -> None:
    if program.missing:
        pytest.skip(program.missing)
    folder = f"edit/{PROGRAMS.index(program)}"
    saved.ok(f"mkdir {folder} && echo before > {folder}/v.md")
    saved.ok(f"export TMPDIR={tmp_path}; {program.script.replace('{}', f'{folder}/v.md')}")
    assert saved.ok(f"cat {folder}/v.md") != "before\n"
    assert logged_under(home, saved, folder) == [f"/{folder}/v.md"] * 2
    assert saved.ok(f"ls -A {folder}") == "v.md\n"


@pytest.mark.parametrize("save", [vim, emacs, jetbrains, node], ids=lambda save: save.__name__)
def test_the_system_calls_of_an_editor_are_one_version_and_leave_no_temporary_name_in_the_log(
    save: Callable[[Path, str], None], saved: Mounted, home: Laptop
) -> None:
    folder = f"edit/{save.__name__}"
    saved.ok(f"mkdir {folder} && echo before > {folder}/v.md")
    save(saved.folder / folder / "v.md", "after\n")
    assert logged_under(home, saved, folder) == [f"/{folder}/v.md"] * 2
    assert saved.ok(f"ls -A {folder} && cat {folder}/v.md") == "v.md\nafter\n"


def logged_under(home: Laptop, mount: Mounted, folder: str) -> list[str]:
    """The paths of every version that was ever made under a folder."""
    return [path for _, path in home.log(mount.store_id) if path is not None and path.startswith(f"/{folder}/")]


@dataclass
class Writes:
    """What became of each file, as its writer knows: its text was written, and its close returned."""

    written: set[int] = field(default_factory=set)
    closed: set[int] = field(default_factory=set)


def text_of(number: int) -> str:
    return f"text {number}\n" * 20


def write_and_kill(mount: Mounted) -> Writes:
    """A hundred files by a few writers at once; in their middle the mount is killed."""
    told = Writes()

    def write(number: int) -> None:
        if number == KILLED_AT:
            mount.kill()
        descriptor = os.open(mount.folder / f"{number}.md", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            os.write(descriptor, text_of(number).encode())
            told.written.add(number)
        finally:
            os.close(descriptor)
        told.closed.add(number)

    with ThreadPoolExecutor(WRITERS) as threads:
        for one in [threads.submit(write, number) for number in range(WRITES)]:
            assert isinstance(one.exception(), OSError | None), one.exception()
    return told


def test_kill_9_in_the_middle_of_a_hundred_writes_loses_nothing_that_was_closed_and_offers_the_rest_again(
    home: Laptop, there_url: str, sdk: dict[str, Anthropic], regions: tuple[str, ...]
) -> None:
    store_id = home.store()
    until(lambda: knows(sdk[regions[1]], store_id), SHOWS_WITHIN_S)
    mount = Mounted(there_url, home.api_key, store_id, home.folder / "killed", ("--interval", "1"))
    try:
        told = write_and_kill(mount.start())
        assert 0 < len(told.closed) < WRITES
        stored = home.stored(store_id)
        assert {number for number in told.closed if stored.get(f"/{number}.md") != text_of(number)} == set()
        mount.start()
        left = mount.started["left"]
        offered = {int(path[1:].partition(".")[0]) for path in left}
        in_log = {int(path[1:].partition(".")[0]) for path in stored}
        assert told.written <= in_log | offered
        unsaved = [path for path in left if ".unsaved-" in path]
        for path in unsaved:
            assert (mount.folder / path[1:]).read_text() in {"", text_of(int(path[1:].partition(".")[0]))}
        waiting = set(left) - set(unsaved)
        until(lambda: waiting <= set(home.stored(store_id)), SHOWS_WITHIN_S)
        now = home.stored(store_id)
        assert {path for path, text in now.items() if text != text_of(int(path[1:].partition(".")[0]))} == set()
    finally:
        mount.clear()


def test_a_dead_network_keeps_what_was_written_and_the_store_has_it_once_it_answers(
    home: Laptop, there_url: str, sdk: dict[str, Anthropic], regions: tuple[str, ...]
) -> None:
    store_id = home.store()
    until(lambda: knows(sdk[regions[1]], store_id), SHOWS_WITHIN_S)
    with line_to(there_url) as (line, url):
        mount = Mounted(url, home.api_key, store_id, home.folder / "cut", ("--interval", "0.5"))
        try:
            mount.start().ok("echo before > a.md && echo before > b.md && cat a.md b.md")
            line.down()
            lost = mount.sh("cp /etc/hostname new.md")
            assert (lost.code, "Input/output error" in lost.err) == (1, True), lost
            assert mount.sh("/bin/echo during >> a.md").code == 1
            assert mount.ok("cat a.md") == "before\nduring\n"
            assert mount.ok("cat b.md") == "before\n", "what was read before needs no network"
            mount.kill()
            assert home.stored(store_id) == {"/a.md": "before\n", "/b.md": "before\n"}
            line.up()
            mount.start()
            assert set(mount.started["left"]) == {"/a.md", "/new.md"}
            line.down()
            assert mount.ok("cat a.md") == "before\nduring\n"
            assert mount.sh("/bin/echo again >> a.md").code == 1
            line.up()
            expected = {
                "/a.md": "before\nduring\nagain\n",
                "/b.md": "before\n",
                "/new.md": Path("/etc/hostname").read_text(),
            }
            until(lambda: home.stored(store_id) == expected, SHOWS_WITHIN_S)
        finally:
            mount.clear()
