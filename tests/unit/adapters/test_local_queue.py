"""The queue of a laptop's folder: delays, leases, dead letters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.adapters.local import Database, LocalQueue
from memolith.adapters.local.queue import AHEAD_MAX_S
from memolith.adapters.memory import ManualClock
from tests.support.folders import quick_folder


@pytest.fixture
def root() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue(root: Path, clock: ManualClock) -> Iterator[LocalQueue]:
    database = Database(root / "queue.sqlite", durable=False)
    yield LocalQueue(database, clock)
    database.close()


def test_a_message_is_not_to_be_had_before_its_delay_is_over(queue: LocalQueue, clock: ManualClock) -> None:
    queue.send(["later"], delay_s=2)
    assert queue.take() == []
    clock.advance(2)
    assert [message.body for message in queue.take()] == ["later"]


def test_what_was_taken_comes_back_after_its_lease_unless_it_is_finished(queue: LocalQueue, clock: ManualClock) -> None:
    queue.send(["one", "two"])
    one, two = queue.take(lease_s=30)
    assert queue.take() == []
    queue.finish([one])
    clock.advance(30)
    assert [(message.body, message.taken) for message in queue.take()] == [("two", 2)]
    queue.finish([two])
    clock.advance(1_000)
    assert queue.take() == []


def test_messages_that_a_clock_sent_or_leased_ahead_are_to_be_had_once_it_is_set_back(
    queue: LocalQueue, clock: ManualClock
) -> None:
    clock.advance(86_400)
    queue.send(["leased"])
    assert [message.body for message in queue.take(lease_s=30)] == ["leased"]
    queue.send(["sent"], delay_s=1)
    clock.advance(-86_400)
    taken = queue.take()
    assert [(message.body, message.taken) for message in taken] == [("leased", 2), ("sent", 1)]
    assert queue.take() == [], "the lease is one of the clock that was set back"
    queue.finish(taken)
    clock.advance(31)
    assert queue.take() == []


def test_the_longest_delay_and_the_longest_lease_are_waited_for_and_longer_ones_refused(
    queue: LocalQueue, clock: ManualClock
) -> None:
    queue.send(["one"], delay_s=AHEAD_MAX_S)
    assert queue.take() == []
    clock.advance(AHEAD_MAX_S)
    assert [message.body for message in queue.take(lease_s=AHEAD_MAX_S)] == ["one"]
    assert queue.take() == []
    with pytest.raises(ValueError, match="at most 900 s, not 901"):
        queue.send(["two"], delay_s=AHEAD_MAX_S + 1)
    with pytest.raises(ValueError, match="at most 900 s, not 901"):
        queue.take(lease_s=AHEAD_MAX_S + 1)


def test_what_is_buried_stays_aside_with_its_reason(queue: LocalQueue, clock: ManualClock) -> None:
    queue.send(["bad"])
    queue.bury(queue.take()[0], "no such key")
    clock.advance(1_000)
    assert queue.take() == []
    assert queue.buried() == [("bad", "no such key")]


def test_a_new_queue_is_filled_once_however_many_fill_it(queue: LocalQueue, root: Path, clock: ManualClock) -> None:
    assert queue.refilled() == ""
    for _ in range(2):
        queue.refill(["one", "two"], "", "key 2")
    assert queue.refilled() == "key 2"
    for until in (None, "key 3"):
        queue.refill(["three"], "key 2", until)
    assert sorted(message.body for message in queue.take()) == ["one", "three", "two"]
    database = Database(root / "queue.sqlite", durable=False)
    assert LocalQueue(database, clock).refilled() is None
    database.close()
