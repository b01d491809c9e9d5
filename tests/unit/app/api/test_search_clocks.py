"""Searches of a region whose clock was ahead, once that was set right."""

from __future__ import annotations

import json

import pytest

from tests.unit.app.replication.test_watermark import settle
from tests.unit.app.scene import AWAY, HOME
from tests.unit.app.searched import Searched

MONTH_S = 30 * 24 * 3600


@pytest.fixture
def scene() -> Searched:
    """A store that was packed, and searched, with clocks that were ahead."""
    made = Searched(packs_by_events=True)
    made.clock.advance(MONTH_S)
    made.create("/old.md", "The zeppelin is silver.")
    settle(made)
    for region in (HOME, AWAY):
        assert pack_as_asked(made, region) >= 1
        assert made.search("zeppelin", at=region) == ["/old.md"]
    made.clock.advance(-MONTH_S)
    return made


def pack_as_asked(scene: Searched, region: str) -> int:
    """Do what the indexer asked of the packer by now; return how many times it asked."""
    site = scene.cloud.sites[region]
    messages = [json.loads(one) for one in site.packings.take(100)]
    for one in messages:
        site.packing.pack(one["pack"], one["since"])
    return len(messages)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_what_is_written_later_is_found_and_packed(scene: Searched, region: str) -> None:
    for path in ("/a.md", "/b.md"):
        scene.create(path, "Another zeppelin is gold.")
        scene.deliver()
        assert pack_as_asked(scene, region) == 1
        scene.create(f"/between{path}", "A zeppelin is blue.")
        scene.deliver()
        scene.clock.advance(61)
        assert {path, f"/between{path}"} <= set(scene.search("zeppelin", at=region))
        for number in range(2):
            scene.create(f"/after{number}{path}", "One more zeppelin is black.")
            scene.deliver()
            assert f"/after{number}{path}" in scene.search("zeppelin", at=region), (
                "and what came after the pack at once"
            )
        scene.clock.advance(300)
        scene.cloud.sites[region].packings.take(100)


def test_a_pack_in_which_nothing_changed_is_made_again_when_it_is_old(scene: Searched) -> None:
    before = scene.packs()
    scene.pack()
    assert scene.packs() != before
    before = scene.packs()
    scene.pack()
    assert scene.packs() == before
