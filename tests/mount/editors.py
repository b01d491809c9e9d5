"""How programs save a file: real ones where they are installed, and everywhere their system calls, step by step.

Each save changes the text of a file that is there, and leaves nothing else behind; as one version of the same memory.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

VIM = "vim -u NONE -i NONE -es -c 'set nocp {}' -c 'normal onew' {} -c wq {{}} < /dev/null && rm -f {{}}~"
VIM_BACKUP = "noswapfile backup writebackup backupcopy={}"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that saves a file.

    Attributes:
        script: of bash; ``{}`` is the file.
    """

    name: str
    program: str
    script: str

    @property
    def missing(self) -> str:
        """Why it cannot be tried here; empty where it can."""
        return "" if shutil.which(self.program) else f"{self.program} is not installed: only its system calls are tried"


PROGRAMS = (
    Program("sed -i", "sed", "sed -i 's/^/x/' {}"),
    Program("vim, writing in place", "vim", VIM.format(VIM_BACKUP.format("yes"), "")),
    Program("vim, renaming to a backup", "vim", VIM.format(VIM_BACKUP.format("no"), "")),
    Program("vim, with a swap file", "vim", VIM.format("swapfile", "-c preserve")),
    Program("ex", "ex", "printf 'a\\nlast\\n.\\nwq\\n' | ex -s {}"),
    Program("ed", "ed", "printf 'a\\nlast\\n.\\nw\\nq\\n' | ed -s {}"),
    Program("rsync", "rsync", 'cp {} "$TMPDIR/new" && echo more >> "$TMPDIR/new" && rsync -a "$TMPDIR/new" {}'),
    Program("mv of a .tmp", "mv", "printf 'x\\n' > {}.tmp && mv {}.tmp {}"),
)


def _write(path: Path, text: str, flags: int = os.O_TRUNC) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    try:
        os.write(descriptor, text.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def vim(path: Path, text: str) -> None:
    """`set backupcopy=no`, the default on most machines: src/bufwrite.c and src/memfile.c."""
    swap = path.with_name(f".{path.name}.swp")
    held = os.open(swap, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        probe = path.with_name(f".{path.name}.swx")
        _write(probe, "", os.O_EXCL)
        probe.unlink()
        os.pwrite(held, b"b0VIM 9.0\0\0\0\0\xff" * 300, 0)
        os.fsync(held)
        writable = path.with_name("4913")
        _write(writable, "", os.O_EXCL)
        writable.unlink()
        backup = path.with_name(path.name + "~")
        path.rename(backup)
        _write(path, text)
        backup.unlink()
    finally:
        os.close(held)
        swap.unlink()


def emacs(path: Path, text: str) -> None:
    """An auto-save, then a backup by renaming, which stays (`make-backup-files`): lisp/files.el."""
    auto_save = path.with_name(f"#{path.name}#")
    _write(auto_save, text)
    backup = path.with_name(path.name + "~")
    path.rename(backup)
    _write(path, text)
    auto_save.unlink()
    backup.unlink()


def jetbrains(path: Path, text: str) -> None:
    """`SafeFileOutputStream`, of IntelliJ and its family."""
    new, old = (path.with_name(f"{path.name}___jb_{word}___") for word in ("tmp", "old"))
    _write(new, text)
    path.rename(old)
    new.rename(path)
    old.unlink()


def vs_code(path: Path, text: str) -> None:
    """An atomic write of Visual Studio Code: `diskFileSystemProvider.ts`."""
    new = path.with_name(path.name + ".vsctmp")
    _write(new, text)
    new.rename(path)


def glib(path: Path, text: str) -> None:
    """`g_file_replace`, of gedit and others: gio/glocalfileoutputstream.c."""
    new = path.with_name(".goutputstream-X7K2Q1")
    _write(new, text, os.O_EXCL)
    new.rename(path)


def qt(path: Path, text: str) -> None:
    """`QSaveFile`, of Kate and others."""
    new = path.with_name(path.name + ".kWvXzQ")
    _write(new, text, os.O_EXCL)
    new.rename(path)


def python(path: Path, text: str) -> None:
    """Whoever writes to `tempfile`'s name beside the file, and renames."""
    new = path.with_name("tmpk3_9x1ab")
    _write(new, text, os.O_EXCL)
    new.replace(path)


def rust(path: Path, text: str) -> None:
    """The tempfile crate's `persist`."""
    new = path.with_name(".tmpR4d0mX")
    _write(new, text, os.O_EXCL)
    new.replace(path)


def node(path: Path, text: str) -> None:
    """Whoever puts the process and the time behind the name."""
    new = path.with_name(f"{path.name}.tmp.4711.1763788000123")
    _write(new, text)
    new.replace(path)


REPLAYS: tuple[Callable[[Path, str], None], ...] = (
    vim,
    emacs,
    jetbrains,
    vs_code,
    glib,
    qt,
    python,
    rust,
    node,
)
"""Each saves a text into a file that is there, by the system calls of the program that it is named after."""
