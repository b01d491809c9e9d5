"""A small disk that can be filled: a file system in memory, in a mount namespace that ends with the test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SIZE_MB = 24
"""The scanner's compiled patterns take six."""

MOUNT = 'mount -t tmpfs -o size="$1"m tmpfs "$2" && echo mounted && exec cat'
FILL = 'dd if=/dev/zero of="$1" bs=4096 2>/dev/null; test -s "$1"'
RETURN = 'cd "$0" && exec "$@"'


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A disk at `folder`, seen by the processes that are started with `inside`."""

    folder: Path
    holder: int

    @property
    def inside(self) -> list[str]:
        """The words before a command that is to see the disk."""
        entering = ["nsenter", f"--target={self.holder}", "--user", "--preserve-credentials", "--mount", "--"]
        return [*entering, "sh", "-c", RETURN, str(Path.cwd())]  # a namespace is entered at its root

    def run(self, *words: str) -> None:
        subprocess.run([*self.inside, *words], check=True, capture_output=True)

    def fill(self) -> None:
        """Write until nothing more can be written."""
        self.run("sh", "-c", FILL, "sh", str(self.folder / "filler"))

    def free(self) -> None:
        self.run("rm", "-f", str(self.folder / "filler"))


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A disk at an empty folder, gone when the block ends. Raises OSError: the machine lets nobody mount one."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, "sh", str(SIZE_MB), str(folder)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None and holder.stderr is not None
            if not holder.stdout.readline():
                raise OSError(holder.stderr.read().decode(errors="replace").strip())
            yield SmallDisk(folder, holder.pid)
        finally:
            holder.kill()


def no_small_disk(folder: Path) -> str:
    """Why no small disk can be had on this machine; empty where one can."""
    try:
        with small_disk(folder) as disk:
            disk.fill()
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    return ""
