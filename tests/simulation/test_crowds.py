"""Many at once: two creators of a path and its ancestor, hundreds of renames among a few paths."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.simulation.checkers import CHECKERS, Violation, operations_are_linearizable
from tests.simulation.evidence import Evidence
from tests.simulation.options import Options, drawn
from tests.simulation.plans import Plan, Step
from tests.simulation.shrinking import Case, run

ROUNDS = 40

TEN_PATHS = ("/a", "/a/b", "/a/b/c", "/b", "/b/a", "/c", "/d", "/e", "/e/f", "/g")


def creation(number: int, path: str) -> Step:
    return Step(number, "create", store=0, pick=0, path=path, shared=None, careful=False)


@pytest.mark.slow
def test_of_a_path_and_its_ancestor_created_at_once_never_both_are_alive() -> None:
    """In calm worlds and in every other, from one region and from two."""
    both_tried = 0
    for number in range(ROUNDS):
        options = Options() if number % 4 == 0 else replace(drawn(number), stores=1, wipes=0, clients=2, think_s=0.0)
        regions = [options.regions[0], options.regions[number % 2]]
        plans = (Plan("c0", regions[0], (creation(0, "/a"),)), Plan("c1", regions[1], (creation(1, "/a/b"),)))
        failure = run(Case(number, options, plans, schedule=number))
        assert failure is None, f"round {number}: {failure}"
        both_tried += 1
    assert both_tried == ROUNDS


def rename(number: int, chance: random.Random) -> Step:
    path = chance.choice(TEN_PATHS)
    return Step(number, "rename", store=0, pick=chance.randrange(10_000), path=path, shared=None, careful=False)


def movers(seed: int, renames: int, clients: int) -> tuple[Plan, ...]:
    """Each client creates one memory at first, then renames whatever it knows to wherever it likes."""
    chance = random.Random(f"movers {seed}")
    regions = ("us-east-1", "eu-west-1")
    steps = [[creation(number, TEN_PATHS[number % len(TEN_PATHS)])] for number in range(clients)]
    for number in range(renames):
        steps[number % clients].append(rename(clients + number, chance))
    return tuple(Plan(f"c{number}", regions[number % 2], tuple(steps[number])) for number in range(clients))


def all_but_linearizability(evidence: Evidence) -> list[Violation]:
    """The search for an order is for short histories."""
    return [
        Violation(checker.__name__, text)
        for checker in CHECKERS
        if checker is not operations_are_linearizable
        for text in checker(evidence)
    ]


def crowd(seed: int) -> Case:
    options = replace(drawn(seed), regions=("us-east-1", "eu-west-1"), stores=1, wipes=0, rebuilds=0, think_s=0.0)
    return Case(seed, options, movers(seed, 100, 8))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_after_a_hundred_renames_among_ten_paths_every_id_is_at_one_path(seed: int) -> None:
    failure = run(crowd(seed), all_but_linearizability)
    assert failure is None, str(failure)


@pytest.mark.slow
def test_after_a_thousand_renames_among_ten_paths_every_id_is_at_one_path() -> None:
    failure = run(Case(0, Options(), movers(0, 1_000, 20)), all_but_linearizability)
    assert failure is None, str(failure)
