"""When an object is due, decided without threads or an endpoint; and what settings are taken."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from scripts.local_cloud.replication.ledger import ObjectVersion, Owed
from scripts.local_cloud.replication.links import HELD_BACK_MS, SECOND_COPY_WITHIN_MS, Link
from scripts.local_cloud.replication.settings import BadSettings, Settings


def link(count: int, **settings: Any) -> Link:
    """A link that owes ``count`` objects, written a millisecond apart from 1000 ms on."""
    made = Link(Random(7))
    made.use(Settings(**settings))
    for number in range(count):
        made.add(Owed(number, ObjectVersion("source", f"key{number}", "v", 1000 + number), "destination"))
    return made


def drain(made: Link) -> list[tuple[float, int]]:
    """Take each object the moment it is due; returns when that was, and its number."""
    taken = []
    now_ms = 1000.0
    while (next_due_ms := made.next_due_ms()) is not None:
        now_ms = max(now_ms, next_due_ms)
        due = made.take(now_ms)
        if due is not None:
            taken.append((now_ms, due.owed.sequence))
    return taken


def test_an_object_is_due_when_it_is_as_old_as_the_lag() -> None:
    made = link(1, lag_ms=500)
    assert made.take(1499.9) is None
    due = made.take(1500)
    assert due is not None
    assert due.owed.sequence == 0
    assert len(made) == 0


def test_jitter_adds_up_to_its_amount_and_differs_between_objects() -> None:
    delays = [when - 1000 - number for when, number in drain(link(200, lag_ms=10, jitter_ms=1000, reorder=1e-9))]
    assert min(delays) >= 10
    assert max(delays) <= 1010
    assert len({round(delay) for delay in delays}) > 100


def test_jitter_alone_lets_nothing_overtake() -> None:
    assert [number for _, number in drain(link(100, jitter_ms=1000))] == list(range(100))


def test_a_reordered_object_is_held_back_beyond_its_turn_and_the_others_are_not() -> None:
    taken = drain(link(200, reorder=0.3))
    held = [when - 1000 - number for when, number in taken if when > 1000 + number]
    assert 30 < len(held) < 90
    assert all(HELD_BACK_MS / 2 <= delay <= HELD_BACK_MS for delay in held)
    assert [number for _, number in taken] != list(range(200))


def test_new_settings_apply_to_what_waits_already() -> None:
    made = link(3, lag_ms=60_000)
    assert made.take(5000) is None
    made.use(Settings())
    assert [number for _, number in drain(made)] == [0, 1, 2]


def test_duplicate_asks_for_a_second_copy_of_that_share_and_never_for_a_third() -> None:
    made = link(1000, duplicate=0.25)
    again = 0
    while (due := made.take(1e6)) is not None:
        assert not (due.is_duplicate and due.again)
        again += due.again
        if due.again:
            made.add_second_copy(due.owed, 1e6 - SECOND_COPY_WITHIN_MS)
    assert 200 < again < 300


def test_a_failed_copy_is_put_off_without_holding_up_the_others() -> None:
    made = link(3)
    first = made.take(1e6)
    assert first is not None
    made.add(first.owed, not_before_ms=2e6)
    assert [number for _, number in drain(made)] == [1, 2, 0]
    assert made.next_due_ms() is None


def test_the_same_seed_draws_the_same_faults() -> None:
    assert drain(link(50, jitter_ms=500, reorder=0.5)) == drain(link(50, jitter_ms=500, reorder=0.5))


def test_a_pair_is_paused_in_the_direction_named_and_a_star_names_every_region() -> None:
    settings = Settings().changed({"pause": [["us-east-1", "eu-west-1"], ["*", "ap-south-1"]]})
    assert settings.paused("us-east-1", "eu-west-1")
    assert not settings.paused("eu-west-1", "us-east-1")
    assert settings.paused("eu-west-1", "ap-south-1")


def test_what_is_held_stays_behind_while_others_overtake_and_comes_when_it_is_let_go() -> None:
    made = link(3, hold=frozenset({"key1"}))
    assert [number for _, number in drain(made)] == [0, 2]
    assert (len(made), made.next_due_ms()) == (1, None)
    made.use(Settings())
    assert [number for _, number in drain(made)] == [1]


def test_a_change_keeps_the_settings_it_does_not_name() -> None:
    before = Settings(lag_ms=5, pause=frozenset({("a", "b")}), hold=frozenset({"a/log/"}))
    assert before.changed({"duplicate": True}) == replace(before, duplicate=1.0)
    assert Settings().changed(before.as_json()) == before


@pytest.mark.parametrize(
    "wanted",
    [
        {"lag": 5},
        {"lag_ms": -1},
        {"lag_ms": "5"},
        {"lag_ms": True},
        {"jitter_ms": float("nan")},
        {"duplicate": 1.5},
        {"reorder": None},
        {"pause": "us-east-1:eu-west-1"},
        {"pause": [["us-east-1"]]},
        {"pause": [[1, 2]]},
        {"hold": "us-east-1/log/"},
        {"hold": [""]},
        {"hold": [1]},
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_with_its_name(wanted: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match=next(iter(wanted))):
        Settings().changed(wanted)
