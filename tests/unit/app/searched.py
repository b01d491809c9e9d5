"""A deployment whose store can be searched, and short ways to do it."""

from __future__ import annotations

from memolith.app.kernel.results import Hit
from memolith.core.objects.search_pack import PackKey
from tests.unit.app.scene import HOME, Scene


class Searched(Scene):
    """A scene that can be searched."""

    def search(
        self, query: str, *, at: str = HOME, limit: int = 10, key: str | None = None, path_prefix: str | None = None
    ) -> list[str]:
        return [hit.memory.path for hit in self.hits(query, at=at, limit=limit, key=key, path_prefix=path_prefix)]

    def hits(
        self, query: str, *, at: str = HOME, limit: int = 10, key: str | None = None, path_prefix: str | None = None
    ) -> tuple[Hit, ...]:
        found = self.at(at).search.search(self.call(key), self.store, query=query, limit=limit, path_prefix=path_prefix)
        return found.items

    def pack(self, at: str = HOME) -> None:
        answer = self.cloud.peers.call(at, "packer", {"call": "pack", "store_id": self.store})
        assert "error" not in answer

    def packs(self, at: str = HOME) -> list[str]:
        return list(self.cloud.buckets.page(at, PackKey.prefix(self.store), None, 1_000).keys)

    def cold(self) -> None:
        """Every reader starts anew."""
        for site in self.cloud.sites.values():
            site.memolith._pack_cache.forget()
