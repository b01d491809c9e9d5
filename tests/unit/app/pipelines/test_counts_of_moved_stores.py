"""Counts of uses of a store whose home changes: each home goes on from those of the one before, and keeps counting."""

from __future__ import annotations

from memolith.adapters.memory import PutEvent
from memolith.core.objects.usage_record import KIND, UsageRecord
from tests.api.dreams.stage import Stage, choose
from tests.unit.app.api.test_usage import TEXTS, begin, cite, cited, look, records
from tests.unit.app.failing import fail_over, hold_back
from tests.unit.app.homes.test_transfer import home_of, move
from tests.unit.app.scene import AWAY, HOME


def ranks(stage: Stage, region: str) -> list[tuple[int, int]]:
    """Return epoch and sequence of the records that a region put itself, in the order of their keys."""
    buckets = stage.scene.cloud.buckets
    keys = buckets.page(region, f"{region}/job/{stage.scene.store}/{KIND}/", None, 1_000).keys
    return [UsageRecord.from_json(one.body).rank for key in keys if (one := buckets.current(region, key)) is not None]


def test_a_store_that_comes_back_to_a_home_with_more_counts_than_the_other_had_is_counted_on() -> None:
    """The counts that the lost home put last have not arrived when the other takes over, and outnumber its own."""
    stage = Stage()
    stage.fill(TEXTS)
    choose(stage, usage="count")
    session_id = begin(stage)
    cite(stage, session_id, "/a.md", message_id="0")
    assert look(stage) == 1
    late: list[PutEvent] = []
    for number in ("1", "2"):
        cite(stage, session_id, "/a.md", message_id=number)
        stage.scene.deliver()
        stage.scene.clock.advance(7 * 3_600)
        assert stage.memolith.automatic.run(stage.scene.store).uses == 1
        late += hold_back(stage.scene)
    assert (ranks(stage, HOME), len(records(stage, AWAY))) == ([(1, 1), (1, 2), (1, 3)], 1)
    fail_over(stage.scene)
    stage.scene.deliver()
    assert stage.scene.at(AWAY).automatic.run(stage.scene.store).uses == 2, "goes on from what had arrived"
    assert ranks(stage, AWAY) == [(2, 1)]
    stage.scene.cloud.pending += late
    stage.scene.deliver()
    move(stage.scene, HOME)
    stage.scene.deliver()
    assert home_of(stage.scene, HOME) == HOME
    for number in ("3", "4"):
        cite(stage, session_id, "/a.md", message_id=number)
        assert look(stage, hours=7) == 1
    assert ranks(stage, HOME) == [(1, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
    assert cited(stage) == {"/a.md": (5, 0), "/b.md": (0, 0), "/other.md": (0, 0)}
