"""Each exception of the checkers is needed: without it, a world in which no promise is broken is said to break one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call
from tests.simulation.bugs.worlds import vanishing
from tests.simulation.checkers import check
from tests.simulation.checkers.exceptions import EXCEPTIONS, without
from tests.simulation.kinds import deciding, redacting
from tests.simulation.options import Links, Options, Weights, failing_over, frozen, retaining
from tests.simulation.world import World

T = TypeVar("T")
MORE = 40
"""How many worlds are tried after the one that is named: a change of the product moves the seed, not the fact."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Where an exception was needed last, and which checker objects there without it."""

    options: Callable[[int], Options]
    seed: int
    checker: str
    world: type[World] = World

    def seeds(self) -> Iterator[int]:
        return chain((self.seed,), range(MORE))


class SlowPuts(World):
    """A world in which some puts into a log take longer than a planned move waits for leases to run out."""

    def _around(self, call: Call, act: Callable[[], T]) -> T:
        is_slow = call.name == "objects.put_if_absent" and any("/log/" in one for one in call.subjects)
        if is_slow and not self.calm and self.chance.random() < 0.3:
            return super()._around(call, lambda: self._slowly(act))
        return super()._around(call, act)

    def _slowly(self, act: Callable[[], T]) -> T:
        self.scheduler.sleep(self.chance.uniform(4.0, 9.0))
        return act()


def watched(seed: int) -> Options:
    """Homes that move and move, and mostly readers."""
    weights = Weights(create=1, write=8, rename=0, delete=0, read=16, list=0, redact=0, history=0)
    options = replace(frozen(seed), clients=6, operations=120, stall=0.0, paces=(1.0, 1.0), weights=weights)
    return replace(options, links=Links(delay_s=0.05, slow=0.0), think_s=0.6, moves=8, moved_s=40.0)


NEEDED = {
    "came_late": Needed(failing_over, 116, "a_region_never_goes_back"),
    "came_late_in_a_lost_term": Needed(failing_over, 284, "own_writes_are_in_the_history"),
    "has_late_versions": Needed(failing_over, 18, "a_listing_shows_each_path_once"),
    "stands_apart": Needed(failing_over, 101, "nothing_acknowledged_is_lost"),
    "deletion_came_late": Needed(deciding, 2, "a_region_never_goes_back"),
    "deletion_stands_apart": Needed(failing_over, 79, "an_acknowledged_deletion_is_kept"),
    "left_its_path_apart": Needed(failing_over, 71, "what_is_shown_is_what_the_history_ends_with"),
    "precedes_what_arrived": Needed(failing_over, 41, "history_has_no_gaps"),
    "shares_its_line_since_a_take_over": Needed(failing_over, 79, "one_memory_one_path"),
    "lists_a_path_and_its_ancestor": Needed(failing_over, 79, "operations_are_linearizable"),
    "was_shown_in_passing": Needed(watched, 0, "a_region_never_goes_back", SlowPuts),
    "tables_had_vanished": Needed(vanishing, 5, "a_region_never_goes_back"),
    "redacted_apart": Needed(redacting, 1, "redacted_text_is_nowhere"),
    "unknown_since_a_take_over": Needed(failing_over, 83, "a_demanded_read_is_no_older"),
    "answered_by_another_region": Needed(failing_over, 91, "a_region_never_goes_back"),
    "blanked_by_retention": Needed(retaining, 0, "nothing_acknowledged_is_lost"),
}


def test_every_exception_stands_in_the_list_with_its_argument() -> None:
    assert NEEDED.keys() == EXCEPTIONS.keys()
    assert all(len(one.argument) > 60 for one in EXCEPTIONS.values())


@pytest.mark.parametrize("name", NEEDED)
def test_an_exception_is_needed(name: str) -> None:
    needed = NEEDED[name]
    for seed in needed.seeds():
        evidence = needed.world(seed, needed.options(seed)).run()
        with without(name):
            objections = {one.checker for one in check(evidence)}
        if needed.checker in objections and not check(evidence):
            return
    pytest.fail(f"no checker objects without {name}: it lets nothing pass, and goes")
