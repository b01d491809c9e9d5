"""Checkers and exceptions, on evidence made by hand: what they object to, and what they let pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.kernel.results import Version
from memolith.core.log_position import Epoch, LogRef, Slot
from memolith.core.rows.content import VersionRow
from tests.simulation.checkers.exceptions import (
    deletion_stands_apart,
    is_shown_before_its_adoption,
    was_imported_with_an_old_time,
    was_written_in_a_term_unheard_of,
)
from tests.simulation.checkers.jobs import one_run_of_a_watermark_counts
from tests.simulation.checkers.promises import (
    events_that_come_again_change_nothing,
    what_is_acknowledged_is_in_a_checkpoint,
)
from tests.simulation.checkers.readers import who_is_refused_can_read_why
from tests.simulation.checkers.snapshots import a_snapshot_is_what_the_history_says
from tests.simulation.checkers.watermarks import the_watermark_never_claims_what_is_missing
from tests.simulation.evidence import Apart, Evidence, Final, Written
from tests.simulation.evidence_by_hand import ADOPTED, HOME, LOST, MEMORY, ORIGINAL, STORE, VERSION, evidence_with
from tests.simulation.gathering import tables_of
from tests.simulation.history import NEVER, Claim, History, Operation, Refusal, Seen, Snapshot
from tests.simulation.moving_stage import AWAY, MovingStage
from tests.simulation.take_overs import logged
from tests.simulation.test_crashes import PAST_A_CLAIM_S
from tests.simulation.test_home_scenarios import PUT
from tests.simulation.workers import Kept, Worked


def _evidence(lost: frozenset[Epoch], late: dict[str, str]) -> Evidence:
    """One region adopted a late version at time 10; another says later that it has all of that region's up to 20."""
    adopter = Claim("ap-south-1", 1, {}, frozenset({VERSION}), {VERSION: ADOPTED}, shown_us=10)
    other = Claim("eu-west-1", 2, {"ap-south-1": 20}, frozenset({VERSION}), {}, late)
    late_key = VersionRow.late_key(STORE, VERSION)
    return replace(
        evidence_with(History(claims=[adopter, other]), {"eu-west-1": {"versions": {(STORE, late_key.sk): {}}}}),
        written={VERSION: Written("us-east-1", ORIGINAL, adopted=True, stands=ADOPTED, put_at=1)},
        lost_terms={STORE: lost},
    )


def test_the_late_original_is_enough_of_what_was_adopted_in_a_term_that_does_not_count() -> None:
    assert not list(the_watermark_never_claims_what_is_missing(_evidence(frozenset({LOST}), {VERSION: ORIGINAL})))


@pytest.mark.parametrize(
    ("lost", "late"),
    [(frozenset[Epoch](), {VERSION: ORIGINAL}), (frozenset({LOST}), dict[str, str]())],
    ids=["the term counts and the late original alone is here", "the term does not count and nothing is here"],
)
def test_a_claim_without_what_was_adopted_is_objected_to(lost: frozenset[Epoch], late: dict[str, str]) -> None:
    (objection,) = the_watermark_never_claims_what_is_missing(_evidence(lost, late))
    assert f"lacks {VERSION}" in objection


def _named(lost: frozenset[Epoch], *positions: str) -> list[str]:
    """What is objected to where a version was acknowledged and adopted later, and checkpoints name these positions."""
    create = Operation(
        0, "c0", HOME, STORE, True, "create", {"path": "/a"}, 1, 2, Seen(MEMORY, VERSION, "/a", "sha")
    )  # fmt: skip
    named = {
        home: {one for one in positions if LogRef.parse(one).slot.epoch.home == home} for home in (HOME, LOST.home)
    }
    evidence = replace(
        evidence_with(History([create])),
        final={STORE: {"eu-west-1": Final()}},
        homes={STORE: "eu-west-1"},
        written={VERSION: Written(HOME, ORIGINAL, adopted=True, stands=ADOPTED, put_at=1)},
        lost_terms={STORE: lost},
        named=named,
    )
    return list(what_is_acknowledged_is_in_a_checkpoint(evidence))


@pytest.mark.parametrize("position", [ORIGINAL, ADOPTED], ids=["the late original", "the copy"])
def test_a_checkpoint_names_the_late_original_or_the_copy_that_was_adopted_in_a_term_that_does_not_count(
    position: str,
) -> None:
    """The adopter died before it logged its copy, and the copy's event came once its term did not count any more."""
    assert not _named(frozenset({LOST}), position)


@pytest.mark.parametrize(
    ("lost", "positions"),
    [(frozenset[Epoch](), (ORIGINAL,)), (frozenset({LOST}), ())],
    ids=["the term counts and the late original alone is named", "the term does not count and nothing is named"],
)
def test_an_acknowledged_version_that_no_checkpoint_names_is_objected_to(
    lost: frozenset[Epoch], positions: tuple[str, ...]
) -> None:
    (objection,) = _named(lost, *positions)
    assert f"no checkpoint of ap-south-1 names {VERSION}" in objection


def _acknowledged(by: str, until: dict[str, int], complete: int | None = None) -> Evidence:
    """An answer in ap-south-1 names a version that us-east-1 has put, at 10 by every clock; `by` is who decided it.

    What us-east-1 says of itself then, `until` and `complete`, it says without that version.
    """
    answer = Seen(MEMORY, VERSION, "/a", "sha")
    update = Operation(
        0, "c0", "ap-south-1", STORE, True, "update", {"memory_id": MEMORY, "path": "/a"}, 1, 2, answer,
        shown_us={"us-east-1": 10, "ap-south-1": 10}, decided_by=by,
    )  # fmt: skip
    return replace(
        evidence_with(History([update], [Claim("us-east-1", 3, until, frozenset({VERSION}), {}, complete=complete)])),
        written={VERSION: Written("us-east-1", ORIGINAL, adopted=False, stands=ORIGINAL, put_at=0)},
    )


def test_the_lost_home_need_not_have_what_a_new_home_acknowledged_of_which_it_has_not_heard() -> None:
    """It had put the version and told nobody, and claims what it told itself: the new home is not in its record."""
    assert not list(the_watermark_never_claims_what_is_missing(_acknowledged("ap-south-1", {"us-east-1": 20})))


def test_a_home_has_what_was_passed_on_to_it_and_acknowledged_elsewhere() -> None:
    assert list(the_watermark_never_claims_what_is_missing(_acknowledged("us-east-1", {"us-east-1": 20})))


@pytest.mark.parametrize(
    ("until", "complete", "objected"),
    [({"ap-south-1": 11}, None, True), ({"ap-south-1": 10}, None, False), ({}, 11, True), ({}, 10, False)],
    ids=["of the new home", "of the new home before it", "of all homes", "of all homes before it"],
)
def test_who_has_heard_of_a_new_home_needs_what_that_acknowledged_whoever_had_put_it(
    until: dict[str, int], complete: int | None, objected: bool
) -> None:
    """A region that has the store's new record says no more of it than what it has of every home in that record."""
    evidence = _acknowledged("ap-south-1", {"us-east-1": 20, **until}, complete)
    objections = list(the_watermark_never_claims_what_is_missing(evidence))
    assert bool(objections) is objected


@pytest.mark.parametrize(("until_of_the_last", "objected"), [(10, False), (11, True)])
def test_a_region_need_not_have_what_a_new_home_answers_with_until_it_claims_as_much_of_who_put_it(
    until_of_the_last: int, objected: bool
) -> None:
    """Of a store it tells the least that it has of any of its homes: what the one that put it told is not all here."""
    evidence = _acknowledged("ap-south-1", {"us-east-1": until_of_the_last, "ap-south-1": 20})
    (claim,) = evidence.history.claims
    evidence = replace(evidence, history=replace(evidence.history, claims=[replace(claim, region="eu-west-1")]))
    assert bool(list(the_watermark_never_claims_what_is_missing(evidence))) is objected


def _deletion(answer: str | None, two_regions: bool) -> Evidence:
    """A store was taken over, and one deletion of a memory is divergent since."""
    asked = {"memory_id": MEMORY}
    deletion = Operation(0, "c0", "us-east-1", STORE, True, "delete", asked, 1, None if answer is None else 2, answer)
    return replace(
        evidence_with(History(operations=[deletion])),
        two_regions=two_regions,
        taken_over={STORE: 1},
        apart={STORE: (Apart(VERSION, MEMORY, 3, "deleted", "/a", None),)},
    )


@pytest.mark.parametrize(
    ("answer", "two_regions", "excepted"),
    [(None, True, True), (MEMORY, True, False), (MEMORY, False, True), (None, False, True)],
)
def test_a_divergent_deletion_is_excepted_in_two_regions_only_if_nobody_was_told_of_it(
    answer: str | None, two_regions: bool, excepted: bool
) -> None:
    assert deletion_stands_apart(_deletion(answer, two_regions), STORE, MEMORY) is excepted


@pytest.mark.parametrize(
    ("adopted", "since", "demanded", "excepted"),
    [(True, 5, None, True), (True, 3, None, False), (False, NEVER, None, True), (True, 5, True, False)],
    ids=["before it was adopted", "after it was adopted", "never adopted", "demanded of the home"],
)
def test_a_late_version_is_excepted_in_plain_reads_alone_and_until_it_was_adopted(
    adopted: bool, since: int, demanded: bool | None, excepted: bool
) -> None:
    shown = Seen(MEMORY, VERSION, "/a", "text")
    read = Operation(0, "c0", "eu-west-1", STORE, True, "read", {"memory_id": MEMORY, "home": demanded}, 1, 4, shown)
    evidence = replace(
        evidence_with(History(operations=[read])),
        written={VERSION: Written(HOME, ORIGINAL, adopted, ADOPTED if adopted else ORIGINAL, 1, since)},
        taken_over={STORE: 1},
        apart={STORE: () if adopted else (Apart(VERSION, MEMORY, 1, "created", "/a", None),)},
    )
    assert is_shown_before_its_adoption(evidence, read) is excepted


@pytest.mark.parametrize(
    ("heard", "second", "excused"),
    [(1, Epoch(2, "eu-west-1"), True), (2, Epoch(2, "eu-west-1"), False), (1, Epoch(2, "eu-west-1", 1), False)],
    ids=["had not heard of a failover", "had heard of it", "had not heard of a planned move"],
)
def test_a_snapshot_may_lack_what_a_new_home_wrote_only_where_nobody_had_heard_of_the_failover(
    heard: int, second: Epoch, excused: bool
) -> None:
    past = Operation(0, "c0", HOME, STORE, True, "past", {"as_of": 9, "term": heard}, 1, 2, Snapshot(()))
    evidence = replace(
        evidence_with(History(operations=[past])),
        epochs={STORE: (Epoch(1, HOME), second)},
        written={
            VERSION: Written(second.home, str(LogRef("ec2d", Slot(second, 1))), adopted=False, stands="", put_at=1)
        },
    )
    assert was_written_in_a_term_unheard_of(evidence, past, VERSION) is excused


@pytest.mark.parametrize("told", [False, True])
def test_what_a_refusal_was_for_may_still_be_shown_only_where_nobody_was_told_of_the_late_version(told: bool) -> None:
    """It was put after the drain of a planned move, and is shown until the region has indexed the move."""
    late, at = Seen(MEMORY, VERSION, "/a", "late"), str(LogRef("ec2d", Slot(Epoch(1, HOME), 2)))
    asked = {"memory_id": MEMORY, "path": None, "content": "x", "expected": None}
    write = Operation(0, "c0", HOME, STORE, True, "update", asked, 1, 2 if told else NEVER, late if told else None)
    reads = [
        Operation(number, "c1", HOME, STORE, True, "read", {"memory_id": MEMORY}, 3 * number, 3 * number + 1, late)
        for number in (1, 3)
    ]
    refusal = Refusal("PreconditionFailed")
    refused = Operation(2, "c1", HOME, STORE, True, "update", {**asked, "expected": "late"}, 6, 7, refusal)
    row = {"version_id": VERSION, "memory_id": MEMORY}
    evidence = replace(
        evidence_with(History(operations=[write, *reads, refused]), {HOME: {"versions": {(STORE, VERSION): row}}}),
        final={STORE: {HOME: Final(versions={})}},
        homes={STORE: HOME},
        epochs={STORE: (Epoch(1, HOME), Epoch(2, "eu-west-1", 2))},
        written={VERSION: Written(HOME, at, adopted=False, stands=at, put_at=1)},
        apart={STORE: (Apart(VERSION, MEMORY, 2, "modified", "/a", "late"),)},
    )
    assert len(list(who_is_refused_can_read_why(evidence))) == int(told)


@pytest.mark.parametrize("stands_apart", [True, False])
def test_a_snapshot_may_show_a_memory_that_has_no_history_only_where_its_version_stands_apart(
    stands_apart: bool,
) -> None:
    """Its only version is divergent: a home that was taken over and did not know it had shown it until then."""
    shown = Seen(MEMORY, VERSION, "/a", "text")
    past = Operation(0, "c0", HOME, STORE, True, "past", {"as_of": 9, "term": 1}, 1, 2, Snapshot((shown,)))
    evidence = replace(
        evidence_with(History(operations=[past])),
        final={STORE: {HOME: Final(versions={})}},
        homes={STORE: HOME},
        epochs={STORE: (Epoch(1, HOME), LOST)},
        taken_over={STORE: 1},
        apart={STORE: (Apart(VERSION, MEMORY, 1, "created", "/a", None),) if stands_apart else ()},
    )
    objections = list(a_snapshot_is_what_the_history_says(evidence))
    assert len(objections) == (0 if stands_apart else 1)


@pytest.mark.parametrize(("brought", "excused"), [(VERSION, True), ("memver_other", False)])
def test_an_imported_version_is_excused_in_a_history_whoever_was_answered_with_it(brought: str, excused: bool) -> None:
    """An update that changes nothing is answered with the version that stands; no time of its own is in the index."""
    seen = Seen(MEMORY, VERSION, "/a", "sha")
    asked = {"path": "/a", "content": "x", "brought": brought}
    creation = Operation(0, "c0", "us-east-1", STORE, True, "create", asked, 1, 2, seen)
    update = Operation(1, "c1", "us-east-1", STORE, True, "update", {"memory_id": MEMORY, "path": "/a"}, 3, 4, seen)
    version = Version(VERSION, MEMORY, STORE, "created", 0, None, "/a", "sha", 1, None, None, imported=True)
    evidence = replace(
        evidence_with(History(operations=[creation, update])),
        final={STORE: {"us-east-1": Final(versions={MEMORY: (version,)})}},
    )
    assert was_imported_with_an_old_time(evidence, update, "us-east-1") is excused


@pytest.mark.parametrize(
    ("lossy", "comes", "objected"),
    [(True, "void", False), (False, "void", True), (True, "created", True)],
    ids=["an abort whose event was lost for good", "an abort whose event was not", "a creation whose event was"],
)
def test_of_events_that_are_lost_for_good_after_a_failover_only_an_aborts_may_change_rows_later(
    lossy: bool, comes: str, objected: bool
) -> None:
    """The home before the last has every object. One event did not come to it, and comes once it is at rest.

    A rename to ``/a`` died before its first put. The creation of ``/a/b`` aborted the slot that it had claimed.
    """
    stage = MovingStage()
    memory = stage.create("/d")
    stage.deliver()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.deliver()
    stage.actor(lambda: stage.update(memory.id, path="/a", region=AWAY)).until(PUT, "/log/").die()
    stage.clock.advance(PAST_A_CLAIM_S)
    stage.create("/a/b", region=AWAY)
    put = {stage.cloud.buckets.versions(AWAY, key)[-1].object.metadata["op"]: key for key in logged(stage)}
    assert sorted(put) == ["created", "void"]
    lost = put.pop(comes)
    stage.reach(HOME, *put.values())
    stage.copy(lost, HOME)
    before = tables_of(stage.cloud.sites[HOME].database, 1)
    stage.index(lost, HOME)
    again = tables_of(stage.cloud.sites[HOME].database, 1)
    assert before["logs"] != again["logs"]
    evidence = replace(evidence_with(History(), {HOME: before}), again={HOME: again}, lossy=lossy)
    assert any(": logs " in one for one in events_that_come_again_change_nothing(evidence)) is objected


def test_two_homes_that_took_over_at_once_may_each_do_a_dream_and_one_home_does_it_once() -> None:
    done = {"event": "done", "epoch": 2, "run_id": "drm_a", "at": 1, "watermark": 1}
    evidence = evidence_with(History())
    evidence.worked = Worked(jobs=(Kept("eu-west-1", done, 1), Kept("ap-south-1", done, 1)), lost=True)
    assert list(one_run_of_a_watermark_counts(evidence)) == []
    evidence.worked = Worked(jobs=(Kept(HOME, done, 1), Kept(HOME, done, 1)), lost=True)
    assert len(list(one_run_of_a_watermark_counts(evidence))) == 1
