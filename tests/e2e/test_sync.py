"""Ours: ``memolith sync`` on the deployed functions: two machines in two regions, and processes that are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic

from memolith.clients.cli.failures import Exit
from tests.e2e.conftest import knows, until
from tests.mount.mounted import Laptop
from tests.support.killed_sync import finished_by_the_next, touches, written_on_afterwards

pytestmark = pytest.mark.e2e

WITHIN_S = 120
ENDED = {0, int(Exit.IN_PART)}

KILLED_AT = """
import os, signal, sys
import httpx2
from memolith.clients.cli import main
left = int(sys.argv.pop(1))
root = os.path.realpath(sys.argv[3])
send = httpx2.Client.send

def touch():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def heard(event, arguments):
    writes = event == "open" and str(arguments[0]).startswith(root) and arguments[1] not in (None, "r", "rb")
    if writes or event in {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.utime"}:
        touch()

def sent(*arguments, **options):
    touch()
    answer = send(*arguments, **options)
    touch()
    return answer

httpx2.Client.send = sent
sys.addaudithook(heard)
main.run(sys.argv[1:])
"""
"""The command, which kills itself at its so-and-so-many-th touch of the folder or the network."""


@dataclass
class Machine:
    """A folder of one machine, and the region that it speaks to."""

    folder: Path
    url: str
    api_key: str
    store_id: str

    def _run(self, *python: str) -> subprocess.CompletedProcess[str]:
        words = ["sync", self.store_id, str(self.folder), "--json", "--api-url", self.url, "--api-key", self.api_key]
        return subprocess.run(
            [sys.executable, *python, *words], capture_output=True, text=True, check=False, timeout=WITHIN_S
        )

    def sync(self) -> dict[str, str]:
        """One pass in a process of its own: what became of each path."""
        done = self._run("-m", "memolith.clients.cli")
        assert done.returncode in ENDED, done
        return {row["path"]: row["result"] for row in json.loads(done.stdout)["rows"]}

    def sync_and_die(self, touches: int) -> bool:
        """One pass that is killed; False where it ended first."""
        done = self._run("-c", KILLED_AT, str(touches))
        assert done.returncode in {*ENDED, -9}, done
        return done.returncode == -9

    def write(self, name: str, text: str) -> None:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def files(self) -> dict[str, str]:
        """What the folder has, but for Memolith's own."""
        found = {str(one.relative_to(self.folder)): one for one in self.folder.rglob("*") if one.is_file()}
        return {name: one.read_text() for name, one in found.items() if not name.startswith(".memolith/")}


@pytest.fixture
def home(dev: dict[str, Any], regions: tuple[str, ...], tmp_path: Path) -> Laptop:
    """The home region's API, to look behind the machines."""
    return Laptop(dev["regions"][regions[0]]["api_url"], dev["api_key"], tmp_path)


@pytest.fixture
def machines(
    home: Laptop, dev: dict[str, Any], sdk: dict[str, Anthropic], regions: tuple[str, ...]
) -> Iterator[tuple[Machine, Machine]]:
    """Two machines, one store: one speaks to its home, one to the other region."""
    store_id = home.store()
    until(lambda: knows(sdk[regions[1]], store_id), WITHIN_S)
    urls = [dev["regions"][name]["api_url"] for name in regions[:2]]
    yield (
        Machine(home.folder / "here", urls[0], home.api_key, store_id),
        Machine(home.folder / "there", urls[1], home.api_key, store_id),
    )


def in_step(machine: Machine, expected: dict[str, str]) -> None:
    """Passes until the folder is so: what another region wrote takes a moment to arrive."""

    def so() -> bool:
        machine.sync()
        return {name: text for name, text in machine.files().items() if ".conflict-" not in name} == expected

    until(so, WITHIN_S)


def test_two_machines_in_two_regions_come_to_the_same_texts_and_no_side_of_a_conflict_is_lost(
    machines: tuple[Machine, Machine], home: Laptop
) -> None:
    here, there = machines
    here.write("a.md", "one\n")
    here.write("deep/b.md", "two\n")
    assert here.sync() == {"/a.md": "sent", "/deep/b.md": "sent"}
    in_step(there, {"a.md": "one\n", "deep/b.md": "two\n"})

    there.write("a.md", "one, there\n")
    (there.folder / "deep" / "b.md").rename(there.folder / "moved.md")
    (there.folder / "deep").rmdir()
    assert there.sync() == {"/a.md": "sent", "/moved.md": "moved"}
    here.write("a.md", "one, here\n")
    assert here.sync()["/a.md"] in {"conflict", "fetched"}
    in_step(here, {"a.md": "one, there\n", "moved.md": "two\n"})
    assert "one, here\n" in here.files().values()

    (here.folder / "moved.md").unlink()
    assert here.sync() == {"/moved.md": "deleted"}
    in_step(there, {"a.md": "one, there\n"})
    assert home.stored(here.store_id) == {"/a.md": "one, there\n"}
    assert [operation for operation, _ in home.log(here.store_id)].count("deleted") == 1


def test_a_sync_that_is_killed_again_and_again_loses_nothing_and_is_finished_by_the_next(
    machines: tuple[Machine, Machine], home: Laptop
) -> None:
    here, there = machines
    there.write("theirs.md", "theirs, at first\n")
    there.sync()
    texts = {f"{number}.md": f"text {number}\n" for number in range(6)}
    for name, text in texts.items():
        here.write(name, text)
    deaths = 0
    for at in (3, 6, 7, 8, 11):
        deaths += here.sync_and_die(at)
        assert texts.items() <= here.files().items()
        stored = home.stored(here.store_id)
        assert set(stored.values()) <= {*texts.values(), "theirs, at first\n"}
    assert deaths == 5
    in_step(here, {**texts, "theirs.md": "theirs, at first\n"})
    assert home.stored(here.store_id) == {f"/{name}": text for name, text in here.files().items()}
    log = home.log(here.store_id)
    assert len(log) == len(set(log)) == len(texts) + 1, "a text that was there already was written again"
    assert {one.name for one in (here.folder / ".memolith").iterdir()} == {"lock", "sync.json"}
    in_step(there, here.files())


def test_wherever_a_sync_is_killed_nothing_is_lost(tmp_path: Path) -> None:
    """Every point at which a pass touches the disk or the network, on a store within this process."""
    last = touches(tmp_path / "whole")
    for at in range(1, last + 1):
        finished_by_the_next(tmp_path / f"finished-{at}", at)
        written_on_afterwards(tmp_path / f"written-{at}", at)
