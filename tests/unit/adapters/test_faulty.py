"""Planted faults do what they say, and nothing that the port would not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memolith.adapters.layered import (
    Crash,
    Fault,
    FaultRates,
    FaultSource,
    Faulty,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedPeers,
    InterceptedQueue,
    RandomFaults,
    ScriptedFaults,
    Strike,
)
from memolith.adapters.memory import (
    MemoryBuckets,
    MemoryDatabase,
    MemoryIndex,
    MemoryObjects,
    MemoryPeers,
    MemoryQueue,
    SeededRandomness,
)
from memolith.core.rows.base import RowKey
from memolith.ports.errors import PORT_FAILURES, Contended, ObjectExists, OutcomeUnknown, Unavailable
from memolith.ports.index import Change

HOME = "us-east-1"
KEY = f"{HOME}/log/a"
PUT = "objects.put_if_absent"


def objects_struck_by(source: FaultSource) -> tuple[InterceptedObjects, MemoryBuckets]:
    buckets = MemoryBuckets([HOME])
    return InterceptedObjects(MemoryObjects(buckets, HOME), HOME, Faulty(source)), buckets


@pytest.mark.parametrize(
    ("fault", "error", "done"),
    [
        (Fault.REFUSED, Unavailable, False),
        (Fault.LOST_REQUEST, OutcomeUnknown, False),
        (Fault.LOST_REPLY, OutcomeUnknown, True),
        (Fault.CONTENDED, Contended, False),
        (Fault.CRASH_BEFORE, Crash, False),
        (Fault.CRASH_AFTER, Crash, True),
    ],
)
def test_a_put_is_done_exactly_when_the_fault_says_so(fault: Fault, error: type[BaseException], done: bool) -> None:
    script = ScriptedFaults(Strike(fault, PUT))
    objects, buckets = objects_struck_by(script)
    with pytest.raises(error):
        objects.put_if_absent(KEY, b"text", {})
    assert (buckets.current(HOME, KEY) is not None) is done
    assert not script.pending


def test_a_lost_refusal_is_as_unknown_as_a_lost_success() -> None:
    objects, _ = objects_struck_by(ScriptedFaults(Strike(Fault.LOST_REPLY, PUT, occurrence=2)))
    objects.put_if_absent(KEY, b"one", {})
    with pytest.raises(OutcomeUnknown):
        objects.put_if_absent(KEY, b"two", {})
    with pytest.raises(ObjectExists):
        objects.put_if_absent(KEY, b"three", {})


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.LOST_REQUEST, Fault.REFUSED])
def test_a_read_is_never_of_unknown_outcome(fault: Fault) -> None:
    objects, _ = objects_struck_by(ScriptedFaults(Strike(fault, "objects.get")))
    with pytest.raises(Unavailable):
        objects.get(KEY)


def test_a_queue_is_unavailable_even_where_the_message_was_sent() -> None:
    queue = MemoryQueue()
    struck = InterceptedQueue(queue, HOME, Faulty(ScriptedFaults(Strike(Fault.LOST_REPLY, "queue.send"))))
    with pytest.raises(Unavailable):
        struck.send(["a"])
    assert queue.take() == ["a"]


def test_a_peer_may_have_run_although_its_reply_was_lost() -> None:
    peers = MemoryPeers()
    asked: list[Mapping[str, Any]] = []

    def writer(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(payload)
        return {}

    peers.register(HOME, "writer", writer)
    struck = InterceptedPeers(peers, HOME, Faulty(ScriptedFaults(Strike(Fault.LOST_REPLY, "peers.call"))))
    with pytest.raises(OutcomeUnknown):
        struck.call(HOME, "writer", {"call": "write"})
    assert asked == [{"call": "write"}]


def test_contention_cannot_be_planted_where_the_port_has_none() -> None:
    objects, _ = objects_struck_by(ScriptedFaults(Strike(Fault.CONTENDED, "objects.get")))
    with pytest.raises(ValueError, match="never contended"):
        objects.get(KEY)


def test_a_strike_waits_for_its_occurrence_and_its_subject() -> None:
    script = ScriptedFaults(Strike(Fault.REFUSED, PUT, occurrence=2, subject=f"{KEY}2"))
    objects, _ = objects_struck_by(script)
    objects.put_if_absent(KEY, b"", {})
    objects.put_if_absent(f"{KEY}2", b"", {})
    assert script.pending
    with pytest.raises(Unavailable):
        objects.put_if_absent(f"{KEY}2", b"", {})
    assert not script.pending


def test_an_index_in_another_generation_is_struck_too() -> None:
    database = MemoryDatabase(generations=(1, 2))
    index = InterceptedIndex(
        MemoryIndex(database), HOME, Faulty(ScriptedFaults(Strike(Fault.LOST_REPLY, "index.commit")))
    )
    key = RowKey("paths", "s", "/a")
    with pytest.raises(OutcomeUnknown):
        index.at(2).commit([Change(key, None, {"memory_id": "m"})])
    assert MemoryIndex(database, 2).read([key])


def outcomes(seed: int, rates: FaultRates) -> list[str]:
    objects, _ = objects_struck_by(RandomFaults(rates, SeededRandomness(seed)))
    seen = []
    for number in range(200):
        try:
            objects.put_if_absent(f"{KEY}{number}", b"", {})
            seen.append("done")
        except (*PORT_FAILURES, Crash) as error:
            seen.append(type(error).__name__)
    return seen


def test_a_seed_repeats_its_faults_and_another_seed_does_not() -> None:
    rates = FaultRates(0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
    assert outcomes(1, rates) == outcomes(1, rates) != outcomes(2, rates)


def test_every_rate_strikes_about_as_often_as_it_says() -> None:
    seen = outcomes(3, FaultRates(refused=0.25, contended=0.25, crash_after=0.25))
    for name in ("Unavailable", "Contended", "Crash", "done"):
        assert 30 <= seen.count(name) <= 70


def test_random_contention_passes_over_reads() -> None:
    objects, _ = objects_struck_by(RandomFaults(FaultRates(contended=1.0), SeededRandomness()))
    assert objects.list("").keys == ()


def test_calls_may_be_exempt() -> None:
    source = RandomFaults(FaultRates(refused=1.0), SeededRandomness(), applies=lambda call: call.name != PUT)
    objects, _ = objects_struck_by(source)
    objects.put_if_absent(KEY, b"", {})
    with pytest.raises(Unavailable):
        objects.get(KEY)


@pytest.mark.parametrize("rates", [{"refused": -0.1}, {"refused": 0.6, "contended": 0.6}])
def test_rates_that_are_no_fractions_are_refused(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="at most 1"):
        FaultRates(**rates)
