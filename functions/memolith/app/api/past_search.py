"""Searching a store as it was: its pack for what has not changed since, and a small segment of what has.

    the pack, for memories that were last changed by then   ┐
    the versions that memories have lost since, read now    ┴─ in one order, as if they were one store

The second is made for one search and forgotten with it: no text that was replaced is kept anywhere to be found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import ParamSpec, TypeVar

from memolith.app.api.snapshots import Snapshots
from memolith.app.auth.authorizer import StoreAccess
from memolith.app.kernel.results import Memory
from memolith.app.search.packs import Heads
from memolith.app.search.retrieval import Found, retrieve
from memolith.core.errors import Unavailable
from memolith.core.objects.search_pack import text_max_bytes
from memolith.ports.packs import Document, Packs, Restriction

CHANGED_MAX = 200
"""How many memories may have changed since the instant: each costs a query and a GET."""

TEXT_BUDGET_BYTES = 4_000_000
"""How much of their former texts is searched."""


_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")


class ChangedMeanwhile(Unavailable):
    """A memory was written after the former texts were read, so that it is in none of the two readings as it was."""


def once_more(read: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """Make a reading of the past start again, once, where a memory was written while it ran."""

    @wraps(read)
    def wrapped(*given: _Given.args, **named: _Given.kwargs) -> _Answer:
        try:
            return read(*given, **named)
        except ChangedMeanwhile:
            return read(*given, **named)

    return wrapped


@dataclass(frozen=True, slots=True)
class Past:
    """What is found among the texts that memories no longer have, and those memories as they were."""

    found: Found
    memories: Mapping[str, Memory]


class FormerTexts:
    """The texts that memories had at an instant and have no longer."""

    def __init__(self, snapshots: Snapshots, heads: Heads) -> None:
        self._snapshots = snapshots
        self._heads = heads

    def of(self, access: StoreAccess, as_of: int) -> list[tuple[Memory, Document]]:
        """Return the memories that have changed since, as they were, without what is withheld now, whoever asks. Costs
        `Snapshots.changed_since`.

        Raises:
            InvalidRequest: the instant is in the future, or there is too much to look at. SnapshotIncomplete,
            Unavailable.
        """
        self._snapshots.require(access, as_of)
        changed = self._snapshots.changed_since(access, as_of, CHANGED_MAX)
        shown = [(one, one.content) for one in changed if one.content is not None and one.path and one.withheld is None]
        bound = text_max_bytes([one.content_size_bytes for one, _ in shown], TEXT_BUDGET_BYTES)
        return [(one, self._heads.document(one, text, bound)) for one, text in shown]

    def check_unchanged(self, access: StoreAccess, memory_ids: Iterable[str], as_of: int) -> None:
        """Check memories that the pack has otherwise than the index, and of which no former text was read.

        They are withheld or were redacted, which leaves their time of change as it was; or they were written since.
        Costs nothing where there are none, or else a read for fifty.

        Raises:
            ChangedMeanwhile.
        """
        if self._heads.changed_after(access.view, access.store, list(memory_ids), as_of):
            raise ChangedMeanwhile("this store was written to while its past was read; try again")


class PastSearch:
    """Searches what is no longer."""

    def __init__(self, texts: FormerTexts, packs: Packs) -> None:
        self._texts = texts
        self._packs = packs

    def search(self, access: StoreAccess, query: str, within: Restriction, as_of: int, most: int) -> Past:
        """Search the memories that have changed since, as they were, for the `most` that match best.

        Costs and raises as `FormerTexts.of`.
        """
        shown = self._texts.of(access, as_of)
        pack = self._packs.new()
        try:
            pack.change([document for _, document in shown], [])
            found = retrieve(self._packs, pack, query, as_of, within, most)
        finally:
            pack.close()
        return Past(found, {one.id: one for one, _ in shown})

    def check_unchanged(self, access: StoreAccess, memory_ids: Iterable[str], past: Past, as_of: int) -> None:
        """Check as `FormerTexts.check_unchanged` does, but for what is in `past`. Raises ChangedMeanwhile."""
        self._texts.check_unchanged(access, set(memory_ids) - past.memories.keys(), as_of)


def unchanged_since(within: Restriction, as_of: int) -> Restriction:
    """Return the restriction, to memories alone that were last changed by the instant."""
    since, until = within.updated or (0, as_of + 1)
    return replace(within, updated=(since, min(until, as_of + 1)))
