"""Ours: nothing that was acknowledged is lost, shown by real processes in both regions at once."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from scripts.agents import Assignment, Report, kept, run_agents
from tests.e2e.conftest import until

pytestmark = pytest.mark.e2e

EDITS = 50
ROUNDS = 200
RENAMES = 1_000


def test_eight_processes_in_two_regions_lose_no_edit_of_one_memory(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any]
) -> None:
    home = sdk[regions[0]]
    memory = home.beta.memory_stores.memories.create(store_id, path="/shared.md", content="")
    until(lambda: _readable(sdk[regions[1]], store_id, memory.id))
    agents = [
        Assignment(f"{region}-{n}", dev["regions"][region]["api_url"], dev["api_key"], store_id, (memory.id,), EDITS)
        for region in regions[:2]
        for n in range(4)
    ]
    reports = [told for told in run_agents(agents) if isinstance(told, Report)]
    assert [report.errors for report in reports if report.errors] == []
    assert [report.unknown for report in reports if report.unknown] == []
    acknowledged = [one for report in reports for one in report.acknowledged]
    assert len(acknowledged) == len(agents) * EDITS
    assert Counter(kept(home, store_id, [memory.id])[memory.id]) == Counter(line for _, line, _ in acknowledged)
    versions = [v.id for v in home.beta.memory_stores.memory_versions.list(store_id, memory_id=memory.id, limit=100)]
    assert Counter(versions) == Counter([memory.memory_version_id, *(version for _, _, version in acknowledged)])


def _readable(sdk: Anthropic, store_id: str, memory_id: str) -> bool:
    try:
        return bool(sdk.beta.memory_stores.memories.retrieve(memory_id, memory_store_id=store_id))
    except anthropic.NotFoundError:
        return False


def test_a_path_and_its_ancestor_are_never_both_alive(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    def create(region: str, path: str) -> bool:
        try:
            sdk[region].beta.memory_stores.memories.create(store_id, path=path, content="")
        except anthropic.ConflictError:
            return False
        return True

    won: Counter[int] = Counter()
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            pair = [(regions[0], f"/r{number}"), (regions[number % 2], f"/r{number}/b")]
            random.Random(number).shuffle(pair)
            won[sum(pool.map(lambda one: create(*one), pair))] += 1
    assert won[2] == 0
    assert won[1] > ROUNDS * 0.9, f"creators refused each other too often: {won}"
    paths = {one.path for one in sdk[regions[0]].beta.memory_stores.memories.list(store_id, limit=100)}
    assert not [path for path in paths if path.removesuffix("/b") != path and path.removesuffix("/b") in paths]


def test_after_a_thousand_renames_among_ten_paths_every_memory_is_at_one_path(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    memories = sdk[regions[0]].beta.memory_stores.memories
    ids = [memories.create(store_id, path=f"/p{n}", content=str(n)).id for n in range(6)]
    until(lambda: all(_readable(sdk[regions[1]], store_id, id) for id in ids))

    def rename(number: int) -> str:
        chosen = random.Random(number)
        region = regions[number % 2]
        try:
            sdk[region].beta.memory_stores.memories.update(
                chosen.choice(ids), memory_store_id=store_id, path=f"/p{chosen.randrange(10)}"
            )
        except anthropic.ConflictError:
            return "conflict"
        except anthropic.APIStatusError as error:
            return str(error.status_code)
        return "renamed"

    with ThreadPoolExecutor(8) as pool:
        told = Counter(pool.map(rename, range(RENAMES)))
    assert set(told) <= {"renamed", "conflict", "503"}, told
    for region in regions[:2]:
        until(lambda region=region: _settled(sdk[region], store_id, ids))  # type: ignore[misc]  # a lambda with a default has no type


def _settled(sdk: Anthropic, store_id: str, ids: list[str]) -> bool:
    """Whether a region lists every memory once, at the path that the memory itself names."""
    memories = sdk.beta.memory_stores.memories
    listed = {one.id: one.path for one in memories.list(store_id, limit=100) if one.type == "memory"}
    paths = [one.path for one in memories.list(store_id, limit=100)]
    named = {id: memories.retrieve(id, memory_store_id=store_id).path for id in ids}
    return listed == named and len(paths) == len(set(paths)) == len(ids)
