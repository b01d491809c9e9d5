"""A deletion that waits and is taken back: the store is unreachable everywhere at once, and then whole again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from memolith.adapters.aws.clients import Clients
from tests.e2e.conftest import knows, until

pytestmark = pytest.mark.e2e


def _is_gone(client: Anthropic, store_id: str) -> bool:
    return not knows(client, store_id)


DELAY = "MEMOLITH_ERASE_DELAY_DAYS"


@pytest.fixture
def a_week_later(aws: Clients, dev: dict[str, Any], regions: tuple[str, ...]) -> Iterator[None]:
    """Deletions of the first region wait for a week; the local cloud erases at once, otherwise."""
    functions, name = aws.functions(regions[0]), dev["regions"][regions[0]]["functions"]["writer"]
    before = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]

    def told(variables: dict[str, str]) -> None:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
        functions.get_waiter("function_updated_v2").wait(FunctionName=name)

    told({**before, DELAY: "7"})
    try:
        yield
    finally:
        told(dict(before))


@pytest.mark.usefixtures("a_week_later")
def test_a_deleted_store_is_unreachable_in_every_region_and_comes_back_with_all_that_it_had(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    made = home.beta.memory_stores.memories.create(store_id, path="/kept.md", content="kept")
    home.beta.memory_stores.memories.update(made.id, memory_store_id=store_id, content="kept, too")
    until(lambda: knows(away, store_id))
    home.beta.memory_stores.delete(store_id)
    for client in (home, away):
        until(partial(_is_gone, client, store_id))
    with pytest.raises(anthropic.NotFoundError):
        home.beta.memory_stores.memories.retrieve(made.id, memory_store_id=store_id)
    listed = home.get("/v1/memory_stores", cast_to=object, options={"params": {"deleted": True, "limit": 100}})
    assert isinstance(listed, dict)
    assert store_id in [one["id"] for one in listed["data"]]
    restored = home.post(f"/v1/memory_stores/{store_id}/restore", cast_to=object, body={})
    assert isinstance(restored, dict)
    assert restored["id"] == store_id
    until(lambda: knows(away, store_id))
    assert home.beta.memory_stores.memories.retrieve(made.id, memory_store_id=store_id).content == "kept, too"
    versions = list(home.beta.memory_stores.memory_versions.list(store_id, view="full"))
    assert [version.content for version in versions] == ["kept, too", "kept"]
