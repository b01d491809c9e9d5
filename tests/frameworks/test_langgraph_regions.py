"""LangGraph's store in a region that lags: a deletion is done as the store's home has the item."""

from __future__ import annotations

from memolith.clients.sdk.langgraph_store import MemolithStore
from tests.support.two_regions import TwoRegions, two_regions

USER = ("users", "ada")


def stores(regions: TwoRegions) -> tuple[MemolithStore, MemolithStore]:
    home, away = (MemolithStore(one.client(), regions.store_id) for one in (regions.home, regions.away))
    return home, away


def test_an_item_that_the_region_does_not_have_yet_is_deleted() -> None:
    regions = two_regions()
    home, away = stores(regions)
    home.put(USER, "n", {"n": 1})
    assert away.get(USER, "n") is None
    away.delete(USER, "n")
    assert regions.contents() == {}


def test_what_was_renamed_where_the_region_does_not_know_it_yet_is_not_deleted() -> None:
    regions = two_regions()
    home, away = stores(regions)
    item = home.put_if(USER, "n", {"n": 1}, None)
    regions.deliver()
    memories = regions.home.client().beta.memory_stores.memories
    memories.update(item.memory_id, memory_store_id=regions.store_id, path="/archive/n.json")
    assert away.get(USER, "n") is not None
    away.delete(USER, "n")
    assert list(regions.contents()) == ["/archive/n.json"]


def test_a_deletion_is_two_requests_for_an_item_that_was_met_before() -> None:
    regions = two_regions()
    home, _ = stores(regions)
    home.put(USER, "n", {"n": 1})
    calls = len(regions.home.gateway.log)
    home.delete(USER, "n")
    assert len(regions.home.gateway.log) == calls + 2
