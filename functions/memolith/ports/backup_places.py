"""A place that keeps a backup: a folder, or a part of a bucket, with a flat set of files that are put once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memolith.core.errors import MemolithError

Advance = Callable[[int], None]
"""What is told how much was done since the last call; here, how many bytes were read."""


class PlaceMissing(MemolithError):
    """The bucket does not exist, or not in the region that was asked."""


class PlaceUnanswered(MemolithError):
    """The place does not give what it has: it does not answer, or not now. Nothing was put."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A whole file of a place on this machine, and what its bytes are."""

    path: Path
    size_bytes: int
    sha256: str


class BackupPlace(Protocol):
    """Puts that overwrite nothing, and reads.

    Beside what is named at each call, each may raise PermissionDenied, Unauthenticated, PlaceMissing, PlaceUnanswered,
    and OSError: of a folder, or of the drafts and copies on this machine.
    """

    def at(self, name: str = "") -> str:
        """Return how people write the address of a file of it, or its own."""

    def names(self) -> Iterator[tuple[str, int]]:
        """Yield the name and size in bytes of every file, in any order; those of folders below it with ``/``."""

    def drafts(self) -> AbstractContextManager[Path]:
        """Make the place if it is a folder that is missing, and yield a folder in which files are made before they are
        put. It is readable by its owner alone, and gone when the block ends.
        """

    def put_if_absent(self, name: str, draft: Path, sha256: str) -> None:
        """Put a file whole, or change nothing. The draft may be gone afterwards.

        Raises:
            ObjectExists: the name is taken, by another's file.
            OutcomeUnknown: it may be there.
        """

    def reading(self, name: str, advance: Advance) -> AbstractContextManager[ReadFile]:
        """Yield a file of it, every byte of which was read; it is not to be changed. Raises ObjectNotFound."""
