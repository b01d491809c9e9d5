"""What a working copy asks of a store, and how it is refused.

StoreClientError
├── Overtaken      another writer was first; nothing was written
├── Gone           there is no such memory, or store
├── Refused        the store will not have this text or path, and says why
│   └── Staged     the write has become a proposal, and waits for a person
├── Denied         this key may not do that, or the text is withheld
├── Damaged        the stored text is not what was acknowledged, in every region
└── NoAnswer       no answer, or not now; whether it was done may be unknown
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


class StoreClientError(Exception):
    """Why a request came to nothing. The message is for a person, and quotes no content."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Overtaken(StoreClientError):
    """Another writer was first; nothing was written.

    Attributes:
        now: what is at the path now, where that is known.
    """

    def __init__(self, message: str, now: Head | None = None) -> None:
        super().__init__(message)
        self.now = now


class Gone(StoreClientError):
    """There is no such memory, or no such store."""


class Refused(StoreClientError):
    """The store will not have this text or path.

    Attributes:
        scanner: it was the safety scanner.
    """

    def __init__(self, message: str, *, scanner: bool = False) -> None:
        super().__init__(message)
        self.scanner = scanner


class Staged(Refused):
    """The store's approval policy has made the write a proposal: it is not in memory, and may never be."""


class Denied(StoreClientError):
    """This key may not do that, or the text is withheld."""


class Damaged(StoreClientError):
    """The stored text is not what was acknowledged, and no region has a whole copy. Repeating does not help."""


class NoAnswer(StoreClientError):
    """The store does not answer, or not now.

    Attributes:
        maybe_done: a write may have been done all the same.
    """

    def __init__(self, message: str, *, maybe_done: bool = False) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


@dataclass(frozen=True, slots=True)
class Head:
    """What the store has at a path.

    Attributes:
        changed_at_us: when its version was made; grows with every version of a memory.
        withheld: its text is not shown.
        trust: the name of its trust class; empty where the store does not say.
    """

    memory_id: str
    path: str
    content_sha256: str
    size_bytes: int
    version_id: str
    changed_at_us: int
    withheld: bool = False
    trust: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a memory. The attributes of its content are None where it has none: deleted, or erased."""

    version_id: str
    memory_id: str
    operation: str
    path: str | None
    content_sha256: str | None
    size_bytes: int | None
    made_at_us: int
    withheld: bool = False
    trust: str = ""


@dataclass(frozen=True, slots=True)
class Heads:
    """Every head of a store; the rest is as `Changes` has it."""

    heads: Sequence[Head]
    complete_until_us: int | None
    answered_at_us: int | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Versions made since an instant, newest first.

    Attributes:
        complete_until_us: everything acknowledged until then was seen; None where the region cannot say.
        answered_at_us: when it was answered, by the clock of who answered; None where he does not say.
    """

    versions: Sequence[Version]
    complete_until_us: int | None
    answered_at_us: int | None = None


class StoreClient(Protocol):
    """One store. May be shared between threads. Every method may raise `NoAnswer`, `Denied`, and `Gone`."""

    def heads(self) -> Heads:
        """List every memory, without text. One request for each hundred."""

    def changes(self, since_us: int) -> Changes:
        """List versions made at or after an instant. One request for each hundred."""

    def text(self, memory_id: str) -> tuple[Head, bytes]:
        """Return a memory and its text. One request. Raises Denied: it is withheld."""

    def texts(self, folder: str, *, deep: bool) -> Iterator[tuple[Head, bytes]]:
        """Yield memories in a folder (``/``, ``/notes``) with their texts, without withheld ones.

        One request for each twenty. `deep`: those in the folders in it too.
        """

    def everything(self) -> Iterator[tuple[Head, bytes]]:
        """Yield every memory with its text, except withheld ones. One request per thousand, or per five megabytes."""

    def head(self, memory_id: str) -> Head:
        """Return what the store's home has of a memory now, wherever it is. One request."""

    def at(self, path: str) -> Head | None:
        """Return what the store's home has at a path now. One request per hundred memories of its folder, up to it."""

    def create(self, path: str, text: str) -> Head:
        """Create a memory. One request, never repeated. Raises Overtaken, Refused, Staged."""

    def update(self, memory_id: str, *, expected_sha256: str, text: str | None = None, path: str | None = None) -> Head:
        """Change a memory's text, path, or both, if it still has the text with that hash.

        One request, never repeated; a caller may repeat it: a store that has the result already answers as if it had
        just done it. Raises Overtaken, Refused, Staged.
        """

    def delete(self, memory_id: str, *, expected_sha256: str) -> None:
        """Delete a memory if it still has the text with that hash. One request, never repeated.

        Raises Overtaken, Staged.
        """

    def versions(self, memory_id: str, *, at_home: bool = False) -> Sequence[Version]:
        """List a memory's versions, newest first. One request for each hundred.

        `at_home`: those that the store's home has. A region may have heard of a version and not yet of one before it.
        """

    def version_text(self, version_id: str) -> bytes:
        """Return a version's text. One request. Raises Denied: it is withheld, erased, or a deletion's."""
