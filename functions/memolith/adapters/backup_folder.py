"""A backup in a folder of this machine."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from memolith.adapters.local.files import name_new
from memolith.ports.backup_places import Advance, ReadFile
from memolith.ports.errors import ObjectExists, ObjectNotFound

_PIECE_BYTES = 1 << 20


class BackupFolder:
    """`ports.backup_places.BackupPlace` on a folder, whose files are readable by their owner alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def at(self, name: str = "") -> str:
        """Return the path. See `BackupPlace`."""
        return str(self._folder / name)

    def names(self) -> Iterator[tuple[str, int]]:
        """Yield every file; links to folders are followed no further. See `BackupPlace`."""
        if self._folder.exists() and not self._folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self._folder))
        for folder, _, names in os.walk(self._folder):
            for path in (Path(folder, name) for name in names):
                found = path.stat() if path.exists() else path.lstat()
                yield path.relative_to(self._folder).as_posix(), found.st_size

    @contextmanager
    def drafts(self) -> Iterator[Path]:
        """Yield a hidden folder in it, so that a draft is moved and not copied. See `BackupPlace`."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with TemporaryDirectory(prefix=".drafts-", dir=self._folder) as drafts:
            yield Path(drafts)

    def put_if_absent(self, name: str, draft: Path, sha256: str) -> None:
        """Give the draft its name, which is taken or not at one stroke. See `BackupPlace`."""
        draft.chmod(0o600)
        try:
            name_new(draft, self._folder / name)
        except FileExistsError as error:
            raise ObjectExists(self.at(name)) from error

    @contextmanager
    def reading(self, name: str, advance: Advance) -> Iterator[ReadFile]:
        """Yield the file where it is. See `BackupPlace`."""
        path = self._folder / name
        if not path.is_file():
            raise ObjectNotFound(self.at(name))
        hashed, size = hashlib.sha256(), 0
        with path.open("rb") as opened:
            while piece := opened.read(_PIECE_BYTES):
                hashed.update(piece)
                size += len(piece)
                advance(len(piece))
        yield ReadFile(path, size, hashed.hexdigest())
