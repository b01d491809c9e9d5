"""What a pack has of the graph of its notes: their names, relations and observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memolith.core.graph.grammar import Observation, Relation
from memolith.core.graph.resolution import Named
from memolith.core.graph.valid_time import Interval


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as a pack has it, at the version that it has of the memory."""

    memory_id: str
    version_id: str
    path: str
    title: str
    type: str
    permalink: str | None
    tags: tuple[str, ...]
    created_at: int
    updated_at: int
    valid: Interval | None = None


@dataclass(frozen=True, slots=True)
class ObservationFilter:
    """Which observations to list: of the category and with the tag, if these are given, and of these memories; that
    hold at the instant, as they or their notes say. The newest notes' first, `limit` of them.
    """

    category: str | None = None
    tag: str | None = None
    valid_at: int | None = None
    memory_ids: Sequence[str] | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """A statement of a note, and the value that it claims; a note may give several `free` ones (`core.graph.claims`).

    Values are equal if their numbers are.
    """

    memory_id: str
    statement: Observation | Relation
    value: int
    free: bool


class GraphPack(Protocol):
    """The graph in an open pack. Every method raises DamagedPack."""

    def notes(self, memory_ids: Sequence[str]) -> list[NoteRow]:
        """Return those that it has of these, in no order."""

    def newest_notes(self, limit: int, prefix: str | None = None) -> list[NoteRow]:
        """Return the notes that were changed last, with paths that begin with the prefix if one is given."""

    def named(self, keys: Sequence[str]) -> Mapping[str, list[Named]]:
        """Return the notes that are called so, by key."""

    def relations(self, memory_ids: Sequence[str], limit: int, types: Sequence[str] = ()) -> list[tuple[str, Relation]]:
        """Return the relations of these notes, each with its note, in order of their lines; of these types, if any."""

    def relations_to(self, keys: Sequence[str], limit: int, types: Sequence[str] = ()) -> list[tuple[str, Relation]]:
        """Return relations whose target has one of these keys, each with its note, the newest notes' first; of these
        types, if any.
        """

    def observations(self, wanted: ObservationFilter) -> list[tuple[str, Observation]]:
        """Return observations, each with its note."""

    def claims_that_differ(
        self, limit: int, statements: int, among: Sequence[str] | None = None
    ) -> list[Sequence[ClaimRow]]:
        """Return groups of statements that claim values for the same, not all the same; the newest notes' first, and of
        each group so many `statements`. Only those in which one of these memories has a statement, if some are given.
        """

    def relations_of_types(self, types: Sequence[str], limit: int) -> list[tuple[str, Relation]]:
        """Return relations of these types, each with its note, the newest notes' first."""
