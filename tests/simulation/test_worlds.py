"""Worlds from seeds: every promise is kept in each of them. ``make sim N=2000`` runs as many as you like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memolith.core.errors import OutcomeUnknown
from memolith.core.objects.store_record import StoreState
from memolith.core.rows.journal import JournalStateRow
from tests.simulation.checkers import check
from tests.simulation.gathering import gather, rows_of
from tests.simulation.kinds_of_homes import failing_over, frozen, moving
from tests.simulation.options import Links, Options, crowded, doubled, drawn, eroding, judging, remembering, retaining
from tests.simulation.shrinking import case_of, run, shrink
from tests.simulation.world import World

SEEDS_KEPT = Path(__file__).with_name("seeds.txt")
FIXED = range(10_000, 10_010)
PER_TEST = 5
OF_A_KIND = range(2)
"""`make sim KIND=all` runs hundreds of each kind."""


def kept() -> Iterator[int]:
    """The seeds that failed once."""
    for line in SEEDS_KEPT.read_text().splitlines():
        if line and not line.startswith("#"):
            yield int(line.split()[0])


def check_all(seeds: list[int], options: Callable[[int], Options] = drawn) -> None:
    """Runs each; a failure tells its seed and the shortest history that was found."""
    for seed in seeds:
        failure = run(case_of(seed, options(seed)))
        if failure is not None:
            pytest.fail(f"{shrink(failure, tries=300)}\n\nat length: make sim SEED={seed}", pytrace=False)


def test_every_promise_is_kept_at_every_seed_that_failed_once() -> None:
    check_all(sorted(set(kept())))


@pytest.mark.parametrize("first", FIXED[::PER_TEST])
def test_every_promise_is_kept(first: int) -> None:
    check_all(list(range(first, first + PER_TEST)))


def test_every_promise_is_kept_among_movers_that_stop_half_way() -> None:
    check_all(list(OF_A_KIND), crowded)


def test_every_promise_is_kept_where_texts_are_withheld_and_released() -> None:
    check_all(list(range(20_000, 20_002)), judging)


def test_every_promise_is_kept_where_a_store_is_deleted_while_it_is_written() -> None:
    check_all(list(OF_A_KIND), eroding)


def test_every_promise_is_kept_where_stores_keep_little_for_long() -> None:
    check_all(list(OF_A_KIND), retaining)


def test_every_promise_is_kept_where_a_write_must_stand_in_two_regions() -> None:
    check_all(list(OF_A_KIND), doubled)


def test_every_promise_is_kept_where_homes_move() -> None:
    check_all(list(OF_A_KIND), moving)


def test_every_promise_is_kept_where_writers_stand_still_while_their_store_moves() -> None:
    check_all([14, 29, 43], frozen)


def test_every_promise_is_kept_where_regions_are_lost_and_taken_over_from() -> None:
    check_all(list(OF_A_KIND), failing_over)


def test_every_promise_is_kept_where_clients_ask_for_the_past() -> None:
    check_all(list(OF_A_KIND), remembering)


@pytest.mark.parametrize("seed", [3, 42, 328])
def test_the_same_seed_is_the_same_history(seed: int) -> None:
    first, second = World(seed), World(seed)
    assert first.run().rows == second.run().rows
    assert first.history.lines() == second.history.lines()
    assert first.scheduler.steps == second.scheduler.steps


@pytest.mark.parametrize("leap_s", [-12.0, -60.0])
def test_a_clock_that_is_set_back_holds_watermarks_up_until_it_has_caught_up(leap_s: float) -> None:
    world = World(0, Options(operations=8, links=Links(delay_s=0.05, slow=0.0), tick_s=0.5))
    world.set_up()
    world.let_loose()
    world.sites["us-east-1"].clock.step(leap_s)
    world.come_to_rest()
    assert check(gather(world)) == []


def test_what_came_to_a_home_whose_new_log_was_closed_by_an_earlier_reconciler_is_indexed_at_rest() -> None:
    """The log is lost while a period is about to be closed; the new log's first period has the same number."""
    world = World(0, Options(clients=0, operations=0))
    world.set_up()
    site = world.sites["us-east-1"]

    def log() -> JournalStateRow:
        return JournalStateRow.from_attributes(site.database.table("journal", 0).order.rows[site.name, "state"][2])

    world.tick(site)
    world.scheduler.run()
    world.tick(site)
    (earlier,) = world.scheduler.tasks
    world.scheduler.run(lambda: log().closing is not None)
    closing, earlier.wake_us = log().closing, world.scheduler.now_us + 5_000_000
    site.lose_journal()
    world.tick(site)
    world.scheduler.run(lambda: world.scheduler.tasks == [earlier])
    assert log().open == closing, "the number is used again, or this test shows nothing"
    world.scheduler.run()
    with pytest.raises(OutcomeUnknown):
        site.use(
            lambda sandbox: sandbox.memolith.memories.create(
                world.call(), world.stores[0], path="/a", content="x", full=False
            )
        )
    world.come_to_rest()
    assert world.defects == []
    assert [row["path"] for row in rows_of(site.database, "memories", site.serving).values()] == ["/a"]


def test_another_schedule_is_another_history_of_the_same_plans() -> None:
    histories = set()
    for schedule in range(3):
        world = World(42, schedule=schedule)
        world.run()
        histories.add(tuple(world.history.lines()))
    assert len(histories) == 3


@pytest.mark.parametrize(
    ("state", "decides"), [(StoreState.ACTIVE, True), (StoreState.MOVING, True), (StoreState.MOVED, False)]
)
def test_no_region_is_taken_for_the_home_between_the_two_records_of_a_move(state: StoreState, decides: bool) -> None:
    world = World(0, drawn(0), plans=[])
    world.set_up()
    store_id = world.stores[0]
    home = world.home(store_id)
    (key,) = world.buckets.page(home, f"{home}/store/{store_id}/", None, 9).keys
    found, record = world.buckets.current(home, key), replace(world.operators.record(store_id), state=state)
    assert found is not None
    for region in world.options.regions:
        world.buckets.damage(region, key, replace(found, body=record.to_json()))
    assert [region for region in world.options.regions if world.is_home(region, store_id)] == [home][:decides]
