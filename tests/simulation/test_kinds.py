"""What a kind of worlds is about does happen in its worlds, and what happens is what is said of it.

Whether promises are kept there, `test_worlds` asks. A fault that strikes nowhere would let every one of them pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import pairwise

import pytest

from memolith.core.objects.store_record import StoreState, parse_epoch
from memolith.ports.objects import StoredObject
from tests.simulation.checkers import operations_are_linearizable
from tests.simulation.gathering import gather
from tests.simulation.kinds import (
    KINDS_OF_FAULTS,
    conflicting,
    contradicting,
    crossing,
    damaging,
    deciding,
    disagreeing,
    emptied,
    joining,
    losing,
    mixed,
    redacting,
    repeating,
    scattering,
    telling,
    visiting,
    working,
)
from tests.simulation.kinds_of_homes import failing_over, moving
from tests.simulation.options import Links, Options, drawn
from tests.simulation.plans import Plan, Step
from tests.simulation.ports import Passage
from tests.simulation.sites import Sandbox, Site
from tests.simulation.tasks import Crash
from tests.simulation.world import WATCHES, World

SEEDS = 12
SWITCHES = (
    "days",
    "emptied",
    "processes",
    "apart_s",
    "repeated",
    "passing_s",
    "elsewhere",
    "packs",
    "told",
    "joins",
    "damaged",
    "tampered",
    "hold_s",
    "workers",
    "disputed",
)
"""The options that are off in every world of `drawn`."""


def lived(seed: int, options: Options) -> World:
    """A world at rest, before anybody has looked at it."""
    world = World(seed, options)
    world.set_up()
    world.let_loose()
    world.come_to_rest()
    return world


def searched(likely: Sequence[int]) -> Iterator[int]:
    """The seeds to search, those first in which it is found now."""
    yield from likely
    yield from (seed for seed in range(SEEDS) if seed not in likely)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "likely", "faults"),
    [
        (losing, [25], {"copy lost", "event lost", "mended by a comparison"}),
        (emptied, [7], {"tables emptied", "emptied tables noticed"}),
        (repeating, [2], {"repeated", "repeated while it ran"}),
        (crossing, [11], {"the home moved while a call was under way to it"}),
        (scattering, [0, 25], {"taken over elsewhere", "taken over by two, one of them the second region"}),
        (visiting, [10], {"packed"}),
        (joining, [11], {"put before a region joined", "brought to a region that joined"}),
        (damaging, [8, 41], {"text altered", "text truncated", "text swapped", "text rolled back", "repaired"}),
        (damaging, [0], {"text overwritten", "overwriting reported"}),
        (damaging, [3], {"audited", "object altered", "object removed", "objects swapped", "object rolled back"}),
        (damaging, [2], {"history rolled back", "history forked"}),
        (conflicting, [0], {"transactions in conflict"}),
        (telling, [6], {"events that tell their version"}),
        (working, [3], {"a worker had work", "a worker came twice", "an answer outlasted the lease"}),
        (mixed, [5, 6], {"copy lost", "tables emptied", "repeated"}),
    ],
)
def test_every_fault_of_a_kind_of_worlds_strikes_in_some_of_them(
    kind: Callable[[int], Options], likely: list[int], faults: set[str]
) -> None:
    struck: Counter[str] = Counter()
    for seed in searched(likely):
        struck += lived(seed, kind(seed)).struck
        if faults <= struck.keys():
            return
    pytest.fail(f"in {SEEDS} worlds there was no {sorted(faults - struck.keys())}")


@pytest.mark.parametrize("kind", [drawn, moving, failing_over])
def test_nothing_of_the_new_kinds_befalls_a_world_of_the_old_ones(kind: Callable[[int], Options]) -> None:
    calm = Options()
    assert all(getattr(drawn, name) == getattr(calm, name) for drawn in map(kind, range(300)) for name in SWITCHES)


def test_every_switch_is_used_by_some_kind() -> None:
    calm = Options()
    used = {name for kind in KINDS_OF_FAULTS for name in SWITCHES if getattr(kind(0), name) != getattr(calm, name)}
    assert used == set(SWITCHES) <= {field.name for field in fields(Options)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        conflicting,
        contradicting,
        crossing,
        damaging,
        deciding,
        joining,
        mixed,
        scattering,
        telling,
        visiting,
        working,
    ],
)
def test_the_same_seed_is_the_same_history_in_other_kinds_of_worlds(kind: Callable[[int], Options]) -> None:
    first, second = lived(3, kind(3)), lived(3, kind(3))
    assert first.history.lines() == second.history.lines()
    assert first.scheduler.steps == second.scheduler.steps
    assert first.struck == second.struck


def test_what_is_lost_for_good_is_not_sent_by_the_repair() -> None:
    world = World(0, Options(days=1, links=Links(dropped=1.0)))
    world.set_up()
    world.network.calm = False
    created = world.sites["us-east-1"].use(
        lambda sandbox: sandbox.memolith.memories.create(
            world.call(), world.stores[0], path="/a", content="x", full=False
        )
    )
    world.scheduler.run()
    world.network.calm = True
    world.network.repair()
    world.scheduler.run()
    assert not world.network.broken
    assert world.struck["copy lost"] and world.struck["event lost"]
    [key] = world.buckets.page("us-east-1", "us-east-1/log/", None, 10).keys
    assert not world.buckets.versions("eu-west-1", key), created


def test_a_copy_that_was_lost_for_good_is_fetched_while_days_go_by() -> None:
    world = World(0, Options(days=1, links=Links(dropped=1.0)))
    world.set_up()
    for site in world.sites.values():
        world.tick(site)
    world.scheduler.run()
    world.network.calm = False
    world.sites["us-east-1"].use(
        lambda sandbox: sandbox.memolith.memories.create(
            world.call(), world.stores[0], path="/a", content="x", full=False
        )
    )
    world.scheduler.run()
    world.come_to_rest()
    [key] = world.buckets.page("us-east-1", "us-east-1/log/", None, 10).keys
    assert world.buckets.versions("eu-west-1", key)


def test_tables_are_emptied_without_a_word_and_the_region_finds_out_by_itself() -> None:
    world = World(0, Options(emptied=1))
    world.set_up()
    site = world.sites["us-east-1"]
    for _ in range(2):
        world.tick(site)
        world.scheduler.run()
    site.empty()
    control = site.control()
    assert control is not None and control.complete
    world.scheduler.now_us += 10_000_000
    world.tick(site)
    world.scheduler.run()
    control = site.control()
    assert control is not None and not control.complete


def test_processes_of_one_region_have_clocks_that_disagree_and_ticks_of_their_own() -> None:
    world = World(0, Options(apart_s=5.0, processes=1.0))
    clocks = [world.sites["us-east-1"].open().region.clock for _ in range(20)]
    shown = [clock.now_us() for clock in clocks]
    assert 1_000_000 < max(shown) - min(shown) <= 10_000_000
    assert len({clock.ticks_us() for clock in clocks}) == len(clocks)
    assert world.sites["us-east-1"].clock.highest_shown_us() == max(shown)


def test_an_answer_says_the_most_that_any_process_of_a_region_may_have_shown() -> None:
    world = lived(0, disagreeing(0))
    answered = [one for one in world.history.operations if one.returned is not None]
    widest = max(max(site.clock.processes_us) for site in world.sites.values())
    assert widest > 0 and answered
    assert world.defects == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [lambda _: Options(), crossing], ids=["homes stay", "homes move"])
def test_a_write_was_decided_by_a_home_of_its_store_wherever_it_landed(kind: Callable[[int], Options]) -> None:
    passed_on = 0
    for seed in range(SEEDS):
        world = lived(seed, kind(seed))
        homes = {id: {parse_epoch(epoch).home for epoch in world.operators.record(id).epochs} for id in world.stores}
        for one in world.history.operations:
            if one.kind in ("create", "update") and one.acknowledged:
                assert one.decided_by in homes[one.store_id], one
                passed_on += one.decided_by != one.region
    assert passed_on


@pytest.mark.slow
def test_redactions_come_while_a_new_home_takes_up_what_came_late() -> None:
    """An order given by the lost home after its store was taken over, and versions that the new home adopted."""
    for seed in searched([0]):
        world = World(seed, redacting(seed))
        evidence = world.run()
        began = min(world.operators.taken_over.values(), default=1 << 60)
        redacted = [one for one in world.history.operations if one.kind == "redact" and one.acknowledged]
        adopted = any(written.adopted for written in evidence.written.values())
        if adopted and any(one.invoked > began for one in redacted):
            return
    pytest.fail(f"in {SEEDS} worlds nobody redacted beside an adoption")


def assert_acknowledged(kind: Callable[[int], Options], likely: Sequence[int], wanted: set[str]) -> None:
    """In some worlds of a kind clients were acknowledged all this: what it was, or what was asked for by name."""
    found: set[str] = set()
    for seed in searched(likely):
        for one in lived(seed, kind(seed)).history.operations:
            if one.acknowledged:
                found |= {one.kind, *(f"{one.kind} {name}" for name in one.asked)}
        if wanted <= found:
            return
    pytest.fail(f"in {SEEDS} worlds there was no {sorted(wanted - found)}")


@pytest.mark.slow
def test_divergent_versions_are_restored_and_dismissed() -> None:
    assert_acknowledged(deciding, [9], {"divergent", "dismiss", "update restores"})


def test_clients_search_attend_sessions_and_bring_in_what_was_elsewhere() -> None:
    assert_acknowledged(visiting, [6], {"search", "session", "session session_id", "create brought"})


def test_conflicts_are_resolved_and_some_are_resolved_otherwise_already() -> None:
    """What the checkers of resolutions look at is there: decisions, callers who come second, and homes that moved."""
    found: set[str] = set()
    for seed in searched([8]):
        world = lived(seed, contradicting(seed))
        made = [one for one in world.history.operations if one.kind == "resolve"]
        decided = {one.asked["conflict_id"]: one for one in made if one.acknowledged}
        later = [one for one in made if one.refused and one.asked["conflict_id"] in decided]
        found |= {"resolved"} if decided else set()
        found |= {"resolved otherwise"} if any(one.answer.name == "InvalidRequest" for one in later) else set()
        found |= {"away from home"} if any(not one.home for one in decided.values()) else set()
        found |= {"taken over"} if decided and world.operators.taken_over else set()
        if len(found) == 4:
            return
    pytest.fail(f"in {SEEDS} worlds there was no more than {found}")


@pytest.mark.slow
def test_dreams_are_done_and_taken_up_again_and_their_texts_are_written_over() -> None:
    """What the checkers of jobs look at is there: ends, claims after a lost one, and edits of dreams and of others."""
    found: Counter[str] = Counter()
    for seed in searched([3]):
        worked = World(seed, working(seed)).run().worked
        found += Counter(one.body["event"] for one in worked.jobs)
        found["dreamt"] += sum(one.text.startswith(b"dreamt of ") for one in worked.written.values())
        found["conflicts"] += sum(one.body["conflicts"] for one in worked.runs)
        if found["claimed"] > found["done"] > 0 and found["dreamt"] and found["conflicts"]:
            return
    pytest.fail(f"in {SEEDS} worlds there was no more than {found}")


def test_what_stands_apart_is_gathered_of_every_store_whose_home_may_be_lost() -> None:
    """The workers' store too: its histories have gaps that only what stands apart explains."""
    world = lived(3, working(3))
    assert world.workers is not None
    assert set(gather(world).apart) == {*world.stores, world.workers.store_id}


def test_a_region_that_joins_ends_with_all_that_was_put_before() -> None:
    world = lived(0, joining(0))
    ours, theirs = (
        set(world.buckets.page(region, "us-east-1/", None, 1000).keys) for region in world.options.regions[1:]
    )
    assert ours and ours <= theirs
    control = world.sites[world.options.regions[-1]].control()
    assert control is not None and control.complete


@pytest.mark.parametrize(
    ("path", "calls", "ends_at"),
    [("/a", 2, "/a"), ("/c", 1, "/b")],
    ids=["it changes nothing until the memory has moved on", "it makes a version"],
)
def test_a_rename_that_arrives_twice_is_two_calls_where_the_copy_that_is_answered_made_no_version(
    path: str, calls: int, ends_at: str
) -> None:
    steps = (("create", "/a"), ("rename", path), ("rename", "/b"))
    plan = Plan("c0", "eu-west-1", tuple(Step(n, kind, 0, 1, at, None, False) for n, (kind, at) in enumerate(steps)))
    world = World(0, Options(clients=1), [plan])
    world.set_up()
    world.peers._passing = lambda: Passage(again_s=1.0)
    world.let_loose()
    world.come_to_rest()
    evidence = gather(world)
    assert sum(one.asked.get("path") == path for one in world.history.operations if one.kind == "update") == calls
    assert [one.path for one in evidence.final[world.stores[0]]["us-east-1"].listed] == [ends_at]
    assert not list(operations_are_linearizable(evidence))


def test_nobody_looks_into_a_region_that_joins_before_it_is_filled() -> None:
    """It may not know the keys yet, and remembers for a while which ones it did not."""
    options = replace(joining(0), day_s=30.0, sweep_s=0.5)
    world = World(0, options)
    joins, asked = options.regions[-1], list[bool]()
    see = world.sites[joins].use

    def use(act: Callable[[Sandbox], object]) -> object:
        if isinstance(act, partial) and act.func.__name__ == "_see":
            asked.append(joins in world.network.unfilled)
        return see(act)

    world.sites[joins].use = use  # type: ignore[method-assign,assignment]  # the test's own takes its place
    world.run()
    assert asked and not any(asked)


def test_at_rest_a_reconciler_ticks_less_often_than_its_processes_clocks_are_apart() -> None:
    """Each tick then writes how far it is, by whichever clock: a tick that follows another too soon writes nothing."""
    world = World(0, replace(drawn(0), apart_s=5.0))
    ticked: dict[str, list[int]] = {region: [] for region in world.options.regions}
    tick = world.tick

    def noted(site: Site) -> None:
        ticked[site.name].append(world.scheduler.now_us)
        tick(site)

    world.tick = noted  # type: ignore[method-assign]  # the test's own takes its place
    world.run()
    for times in ticked.values():
        assert min(after - before for before, after in pairwise(times[-WATCHES:])) > 10_000_000


def test_at_rest_a_failover_is_finished_whose_first_record_was_still_under_way_when_all_calls_had_ended() -> None:
    world = World(0, Options(clients=1))
    world.set_up()
    (store_id,) = world.stores
    _, taker = world.options.regions
    put = world.buckets.put

    def die_after_it(region: str, new: StoredObject, *, only_if_absent: bool) -> str:
        answer = put(region, new, only_if_absent=only_if_absent)
        if "/store/" in new.key:
            raise Crash
        return answer

    def fail_over_late() -> None:
        world.buckets.put = die_after_it  # type: ignore[method-assign]  # the test's own takes its place
        try:
            world.operators._ask(taker, {"call": "homes.fail_over", "store_id": store_id, "old": world.home(store_id)})
        finally:
            world.buckets.put = put  # type: ignore[method-assign]  # the test's own takes its place
        assert world.operators.record(store_id).state is StoreState.MOVING

    world.scheduler.spawn("late failover", fail_over_late, delay_s=1.0)
    world.come_to_rest()
    record = world.operators.record(store_id)
    assert (record.state, record.home) == (StoreState.ACTIVE, taker)
