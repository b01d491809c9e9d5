"""What is asked where much is read: of the store few large pages, and of a mount that is warm as little as can be."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memolith.clients.mount.mounting import let_go
from tests.mount.mounted import WITHIN_S, fuse_is_missing, until

WHY_NOT = fuse_is_missing()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=f"NOTHING IS MOUNTED IN THESE TESTS: {WHY_NOT}")

FILES, FOLDERS = 60, 4
OF_FOLDERS = {"readdir", "getattr", "statfs"}
"""What a walk asks of folders, each a few times."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A mount of `FILES` memories, and what was asked since its count was cleared."""

    folder: Path
    process: subprocess.Popen[str]
    kernel: Counter[str] = field(default_factory=Counter)
    store: Counter[str] = field(default_factory=Counter)

    def grep(self) -> None:
        words = ["grep", "-r", "text", str(self.folder)]
        found = subprocess.run(words, capture_output=True, text=True, timeout=WITHIN_S, check=True)
        assert len(found.stdout.splitlines()) == FILES
        self._learn()

    def until_closed(self) -> None:
        """Returns once every file that was opened is closed: nobody waits for a mount to be told of that."""

        def closed() -> bool:
            self._learn()
            return self.kernel["open"] == self.kernel["release"]

        until(closed)

    def clear(self) -> None:
        self.kernel.clear()
        self.store.clear()

    def _learn(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        self.kernel.update(told["kernel"])
        self.store.update(told["store"])


@contextmanager
def mounted(source: Path, *words: str) -> Iterator[Mount]:
    for number in range(FILES):
        place = source / f"d{number % FOLDERS}" / f"{number}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"text {number}\n")
    folder = Path(tempfile.mkdtemp(prefix="memolith-asked-"))
    command = [sys.executable, "-m", "tests.mount.asked", str(source), str(folder), *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline()) == "shown"
            yield Mount(folder, process)
        finally:
            process.stdin.close()
            process.wait(WITHIN_S)
            let_go(folder)
            folder.rmdir()


def test_a_grep_on_a_mount_that_can_be_written_is_fetched_at_once_and_later_asks_once_for_each_file(
    tmp_path: Path,
) -> None:
    with mounted(tmp_path) as mount:
        mount.clear()
        mount.grep()
        assert mount.kernel["read"] == FILES
        assert mount.store["everything"] == 1
        assert mount.store["text"] <= 2
        mount.grep()  # the kernel asks once more for the attributes of what it has read
        mount.until_closed()
        mount.clear()
        mount.grep()
        mount.until_closed()
        assert mount.kernel.pop("open") == mount.kernel.pop("release") == FILES
        assert set(mount.kernel) <= OF_FOLDERS
        assert mount.kernel.total() <= 5 * (FOLDERS + 1)
        assert not mount.store


def test_a_grep_on_a_read_only_mount_later_asks_of_folders_alone(tmp_path: Path) -> None:
    with mounted(tmp_path, "--read-only") as mount:
        mount.grep()
        assert mount.kernel["read"] == FILES
        mount.clear()
        mount.grep()
        assert set(mount.kernel) <= OF_FOLDERS
        assert mount.kernel.total() <= 5 * (FOLDERS + 1)
        assert not mount.store
