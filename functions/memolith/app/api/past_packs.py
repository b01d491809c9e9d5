"""The pack of a store as it was at an instant: a copy of the present one, in which what has changed since is put back.

It lives as long as one call, so that no text that was replaced is kept anywhere to be found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from memolith.app.api.past_search import FormerTexts
from memolith.app.auth.authorizer import StoreAccess
from memolith.app.kernel.results import Memory
from memolith.app.search.pack_cache import PackCache
from memolith.core.errors import Unavailable
from memolith.ports.packs import DamagedPack, Matching, Pack

FOR_EVER_US = 2**62


class PastPacks:
    """Makes packs of what was."""

    def __init__(self, pack_cache: PackCache, texts: FormerTexts) -> None:
        self._pack_cache = pack_cache
        self._texts = texts

    @contextmanager
    def at(self, access: StoreAccess, as_of: int) -> Iterator[tuple[Pack, Mapping[str, Memory]]]:
        """Yield a store's pack as of an instant, and by id those of its memories that have changed since, as they were.
        All others are what the index has now, and are compared with it as always.

        Costs what `PackCache.pack` and `FormerTexts.of` do, and copying the pack. The copy comes first: what changes
        meanwhile is put back as it was.

        Raises:
            InvalidRequest: the instant is in the future, or too much has changed since. SnapshotIncomplete,
            Unavailable.
        """
        with self._pack_cache.pack(access) as present:
            pack = present.copy()
        try:
            shown = self._texts.of(access, as_of)
            later = Matching((), interval=(as_of + 1, FOR_EVER_US), limit=pack.extent()[0])
            pack.change([document for _, document in shown], pack.matching(later))
            yield pack, {memory.id: memory for memory, _ in shown}
        except DamagedPack as damaged:
            raise Unavailable("the search of this store is being made anew; try again") from damaged
        finally:
            pack.close()

    def check_unchanged(self, access: StoreAccess, memory_ids: Iterable[str], as_of: int) -> None:
        """Check as `FormerTexts.check_unchanged` does. Raises ChangedMeanwhile."""
        self._texts.check_unchanged(access, memory_ids, as_of)
