"""Each exception of the checkers is needed: without it, a world in which no promise is broken is said to break one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pytest

from tests.simulation import test_documented_windows, test_home_cuts, test_home_terms, test_refused_adoptions
from tests.simulation.bugs.worlds import vanishing
from tests.simulation.checkers import check
from tests.simulation.checkers.register import EXCEPTIONS, without
from tests.simulation.kinds import damaging, deciding, emptied, redacting, visiting, working
from tests.simulation.kinds_of_homes import failing_over
from tests.simulation.options import PACES, Links, Options, Weights, remembering, retaining
from tests.simulation.world import World

MORE = 40
"""How many worlds are tried after the one that is named: a change of the product moves the seed, not the fact."""


def crowded_families(seed: int) -> Options:
    """A store that fails over while paths and their ancestors are taken in turns, and copies travel slowly."""
    return replace(
        failing_over(seed),
        paths=("/a", "/a/b", "/c", "/c/d", "/e", "/f", "/g", "/h"),
        weights=Weights(create=6, write=0, rename=8, delete=1, read=0, list=0, redact=0, history=0),
        links=Links(delay_s=1.0, slow=0.5, slow_s=30.0),
        stores=1,
        moves=0,
        failovers=1,
        lost_s=12.0,
        wipes=0,
        rebuilds=0,
        two_regions=False,
    )


def remembering_where_the_home_is_lost(seed: int) -> Options:
    """A lost home is cut off for minutes, and its own clients ask it how the store was a minute ago."""
    return replace(remembering(seed), moves=0, failovers=2, moved_s=120.0, lost_s=240.0, paces=PACES, day_s=0.0)


def remembering_where_writers_die(seed: int) -> Options:
    """Writers die once their put is done, and copies and events take minutes, or are lost until all is repaired."""
    options = remembering(seed)
    links = replace(options.links, dropped=0.3, slow=0.3, slow_s=300.0)
    return replace(options, links=links, rates=replace(options.rates, crash_after=0.03))


def working_where_the_home_is_lost(seed: int) -> Options:
    """The home in which two workers do dreams is lost in every world, and another region goes on with them."""
    return replace(working(seed), moves=0, failovers=1)


@dataclass(frozen=True, slots=True)
class Needed:
    """Where an exception was needed last, and which checker objects there without it."""

    options: Callable[[int], Options]
    seed: int
    checker: str

    def seeds(self) -> Iterator[int]:
        return chain((self.seed,), range(MORE))


NEEDED = {
    "came_late": Needed(failing_over, 5, "redacted_text_is_nowhere"),
    "came_late_in_a_lost_term": Needed(deciding, 9, "a_region_never_goes_back"),
    "landed_without_an_answer": Needed(remembering_where_writers_die, 60, "a_snapshot_is_what_the_history_says"),
    "was_written_in_a_term_unheard_of": Needed(
        remembering_where_the_home_is_lost, 118, "a_snapshot_is_what_the_history_says"
    ),
    "has_late_versions": Needed(failing_over, 60, "a_listing_shows_each_path_once"),
    "stands_apart": Needed(failing_over, 101, "nothing_acknowledged_is_lost"),
    "deletion_came_late": Needed(deciding, 37, "a_region_never_goes_back"),
    "deletion_stands_apart": Needed(failing_over, 102, "an_acknowledged_deletion_is_kept"),
    "left_its_path_apart": Needed(crowded_families, 1, "what_is_in_order_is_what_the_history_ends_with"),
    "precedes_what_arrived": Needed(failing_over, 318, "history_has_no_gaps"),
    "lists_a_path_and_its_ancestor": Needed(crowded_families, 65, "operations_are_linearizable"),
    "was_redacted_before_what_came_late": Needed(redacting, 866, "a_region_never_goes_back"),
    "was_imported_with_an_old_time": Needed(visiting, 332, "a_history_of_the_store_is_whole"),
    "lacks_an_abort_entry": Needed(emptied, 1600593, "replicas_converge"),
    "was_dismissed_and_counts": Needed(deciding, 244, "a_head_is_never_blanked"),
    "tables_had_vanished": Needed(vanishing, 5, "a_region_never_goes_back"),
    "redacted_apart": Needed(redacting, 1, "redacted_text_is_nowhere"),
    "was_put_behind": Needed(damaging, 650, "redacted_text_is_nowhere"),
    "unknown_since_a_take_over": Needed(failing_over, 972, "a_demanded_read_is_no_older"),
    "answered_by_another_region": Needed(failing_over, 743, "a_region_never_goes_back"),
    "was_done_by_the_lost_home": Needed(working_where_the_home_is_lost, 18, "one_run_of_a_watermark_counts"),
    "blanked_by_retention": Needed(retaining, 0, "nothing_acknowledged_is_lost"),
}


BY_SCENARIO = {
    "brings_its_memory_back": (test_refused_adoptions.test_a_late_text_of_an_erased_memory_is_seen_at_its_path_again),
    "is_gone_by_a_cut": (
        test_home_cuts.test_a_memory_that_a_cut_knows_to_be_deleted_is_not_shown_where_it_was_shown_before
    ),
    "is_shown_before_its_adoption": (
        test_home_cuts.test_a_version_that_comes_after_the_listing_of_a_fail_over_may_be_read_for_a_while_and_nothing_is_built_on_it
    ),
    "stays_beside_its_ancestor": (
        test_documented_windows.test_a_path_and_its_ancestor_both_stay_where_the_departure_from_the_path_came_late
    ),
    "tables_were_rebuilt": (
        test_documented_windows.test_a_region_whose_tables_were_rebuilt_shows_an_older_version_until_the_newer_one_has_arrived
    ),
    "was_shown_in_passing": (
        test_home_terms.test_what_a_writer_puts_after_its_term_is_in_order_until_the_move_is_known_and_then_adopted_or_apart
    ),
}
"""Exceptions that no draw has needed lately: the exact schedule in which what they excuse happens."""


def test_every_exception_stands_in_the_list_with_its_argument() -> None:
    assert NEEDED.keys() | BY_SCENARIO.keys() == EXCEPTIONS.keys()
    assert all(len(one.argument) > 60 for one in EXCEPTIONS.values())


@pytest.mark.guards
@pytest.mark.parametrize("name", NEEDED)
def test_an_exception_is_needed(name: str) -> None:
    needed = NEEDED[name]
    for seed in needed.seeds():
        evidence = World(seed, needed.options(seed)).run()
        with without(name):
            objections = {one.checker for one in check(evidence)}
        if needed.checker in objections and not check(evidence):
            return
    pytest.fail(f"no checker objects without {name}: it lets nothing pass, and goes")
