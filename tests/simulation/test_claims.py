"""What the worlds take for a claim: what a client could be answered, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from memolith.app.kernel.region import Region, View
from memolith.core.rows.base import RowKey
from tests.simulation.claims import hear
from tests.simulation.options import Options
from tests.simulation.world import World

_view = Region.view


def _quiet_world() -> World:
    world = World(1, Options())
    world.run()
    return world


def test_a_region_that_is_heard_at_rest_claims_what_it_has() -> None:
    world = _quiet_world()
    known = len(world.history.claims)
    for site in world.sites.values():
        hear(world, site)
    claims = world.history.claims[known:]
    assert [claim.region for claim in claims] == list(world.sites)
    assert all(claim.until and claim.counted for claim in claims)


def test_a_batch_that_met_the_marks_before_its_tables_were_emptied_and_the_rest_after_claims_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = _quiet_world()
    site, *_ = world.sites.values()
    known = len(world.history.claims)

    def torn(region: Region, keys: Sequence[RowKey] = (), marked: Collection[str] = ()) -> View:
        view = _view(region, keys, marked=marked)
        while site.database.table("versions", site.serving).order.rows:
            site.empty()
        return replace(view, rows={})

    monkeypatch.setattr(Region, "view", torn)
    hear(world, site)
    assert world.history.claims[known:] == []
