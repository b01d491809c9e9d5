"""Packs: one region's own copy of a store's live memories in one piece, their texts and an index of their words.

A pack is derived, like the index, and of no authority: what it holds is compared with the index before a caller is
shown it. Here is what can be done with one that is open; how packs are kept is `memolith.app.search.packs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from memolith.core.graph.note import Note
from memolith.ports.graph import GraphPack
from memolith.ports.vectors import Encoder, VectorPack

Property = tuple[str, str]
"""A name and a value in lower case by which memories can be filtered, such as ``("tag", "deploy")``."""


@dataclass(frozen=True, slots=True)
class Document:
    """A memory at the version that a pack has of it.

    Attributes:
        memory_id, version_id, path, content_sha256, content_size_bytes, created_at, updated_at: the memory's.
        passages: the stems that it is found by, the path's first, then the text's, a passage at a time, each as
            `core.search.analysis.passage` writes it.
        starts: where in the text each passage but the first begins.
        length: how many stems it has.
        names: words of it that look like names, and those of its path, in lower case.
        properties: what it says of itself, to filter by.
        content: the text; None where it is too long to be kept twice.
        note: what it is in the graph; None where it is no Markdown. A document that comes back has none.
    """

    memory_id: str
    version_id: str
    path: str
    content_sha256: str
    content_size_bytes: int
    created_at: int
    updated_at: int
    passages: tuple[str, ...]
    starts: tuple[int, ...]
    length: int
    names: frozenset[str]
    properties: frozenset[Property] = frozenset()
    content: str | None = None
    note: Note | None = None


@dataclass(frozen=True, slots=True)
class Restriction:
    """Which memories may match at all; every part that is given has to hold.

    Attributes:
        prefix: what their paths begin with; it ends with a slash.
        properties: each of which they have.
        created, updated: from and before, in microseconds since 1970.
    """

    prefix: str | None = None
    properties: tuple[Property, ...] = ()
    created: tuple[int, int] | None = None
    updated: tuple[int, int] | None = None


ALL = Restriction()


@dataclass(frozen=True, slots=True)
class Matching:
    """Which memories to look for: any of the stems, or all of them, and of the names if there are any; made or changed
    within the interval, if there is one; as far as the restriction lets them.

    Of each group of `near`, all stems have to stand near each other, in any order. Without stems and groups, the newest
    in the interval. `limit` of them, those that fit best first.
    """

    stems: Sequence[str]
    names: Sequence[str] = ()
    interval: tuple[int, int] | None = None
    within: Restriction = ALL
    every: bool = False
    near: Sequence[Sequence[str]] = ()
    limit: int = 50


class DamagedPack(Exception):
    """It is no pack, or one of another format; it is made anew."""


class Pack(GraphPack, VectorPack, Protocol):
    """An open pack. Reads run side by side; a change excludes all else. None lasts until it is kept (`to_bytes`).

    Every method raises DamagedPack.
    """

    @property
    def size_bytes(self) -> int:
        """What it takes in memory, or on the disk."""

    @property
    def changes(self) -> int:
        """How often it was changed: what several reads give is of one state if this is as it was before them."""

    def extent(self) -> tuple[int, float]:
        """Return how many memories it has, and how many stems they have on the average."""

    def heads(self, memory_ids: Sequence[str] | None = None) -> Mapping[str, str]:
        """Return the version that it has of each of these memories, or of all."""

    def sizes(self) -> Mapping[str, int]:
        """Return by memory how many bytes its text has, whether or not the pack has all of it."""

    def cut(self, text_max_bytes: int) -> list[str]:
        """List memories that it has the beginning of, and whose text is not longer than this."""

    def change(self, put: Sequence[Document], gone: Sequence[str]) -> None:
        """Put these in place of what it had of them, and remove those. All or nothing; repeatable."""

    def matching(self, wanted: Matching) -> list[str]:
        """List memories by id."""

    def vectors_within(self, model: str, within: Restriction, limit: int) -> Mapping[str, bytes]:
        """Return the vectors of all memories that the restriction lets match; of the newest where there are more."""

    def frequencies(self, stems: Sequence[str]) -> Mapping[str, int]:
        """Count the memories that contain each stem; stems that are in none are left out."""

    def name_frequencies(self, names: Sequence[str]) -> Mapping[str, int]:
        """Count the memories in which each word is a name; words that are a name in none are left out."""

    def stems_from(self, beginning: str) -> Mapping[str, int]:
        """Return stems that begin so, and in how many memories each is."""

    def stems_to(self, ending: str) -> Mapping[str, int]:
        """Return stems that end so and are longer, and in how many memories each is."""

    def documents(self, memory_ids: Sequence[str]) -> list[Document]:
        """Return those that it has of these, without their texts and properties, in no order."""

    def contents(self, memory_ids: Sequence[str]) -> Mapping[str, str]:
        """Return the texts that it has of these."""

    def copy(self) -> Pack:
        """Return another pack with the same memories, which changes by itself."""

    def to_bytes(self) -> bytes:
        """Return the whole segment, to be stored. Nothing that was removed is left in it."""

    def close(self) -> None:
        """Release its memory. Repeatable."""


class IncomingPack(Protocol):
    """A stored segment that arrives piece by piece."""

    def write(self, piece: bytes) -> object:
        """Take the next piece."""

    def open(self) -> Pack:
        """Open it, once all of it is there. Raises DamagedPack."""


class Packs(Protocol):
    """Makes and opens packs."""

    @property
    def encoder(self) -> Encoder | None:
        """The model of meanings whose vectors the packs have; None where there is none."""

    def new(self) -> Pack:
        """Make an empty segment."""

    def open(self, body: bytes) -> Pack:
        """Open a stored segment. Raises DamagedPack."""

    def incoming(self) -> AbstractContextManager[IncomingPack]:
        """Yield what takes a stored segment piece by piece; nothing is left of one that is not opened."""

    def stem(self, word: str) -> str:
        """Return the stem of a word in lower case, by the rules that belong to the segments' format."""
