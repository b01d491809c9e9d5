"""What every adapter of `ports.clock`, `ports.ids`, `ports.parallel` and `ports.metrics` promises."""

from __future__ import annotations

import threading
from functools import partial
from queue import SimpleQueue

import pytest

from memolith.adapters.memory import ManualClock, OneByOne, RecordingMetrics, SeededRandomness
from memolith.adapters.system import SystemClock, SystemRandomness, ThreadParallel
from memolith.ports.clock import Clock
from memolith.ports.errors import Unavailable
from memolith.ports.ids import Randomness
from memolith.ports.parallel import Parallel

YEAR_2026_US, YEAR_2100_US = 1_767_225_600_000_000, 4_102_444_800_000_000


@pytest.fixture(params=[ManualClock, SystemClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


@pytest.fixture(params=[SeededRandomness, SystemRandomness])
def randomness(request: pytest.FixtureRequest) -> Randomness:
    made: Randomness = request.param()
    return made


@pytest.fixture(params=[OneByOne, ThreadParallel])
def parallel(request: pytest.FixtureRequest) -> Parallel:
    made: Parallel = request.param()
    return made


def test_time_is_microseconds_since_1970(clock: Clock) -> None:
    assert YEAR_2026_US < clock.now_us() < YEAR_2100_US


def test_after_a_pause_it_is_later(clock: Clock) -> None:
    before = clock.now_us()
    clock.pause(0.01)
    assert clock.now_us() >= before + 9_000


def test_ticks_go_on_in_a_pause_and_never_back(clock: Clock) -> None:
    before = clock.ticks_us()
    clock.pause(0.01)
    assert clock.ticks_us() >= before + 9_000


def test_a_manual_clock_that_is_set_back_ticks_on() -> None:
    clock = ManualClock()
    clock.advance(2)
    clock.advance(-1)
    assert clock.ticks_us() == 2_000_000


def test_a_manual_clock_moves_when_it_is_told_to_and_says_what_it_was_asked() -> None:
    clock = ManualClock(5)
    clock.advance(2)
    assert clock.now_us() == 2_000_005
    clock.advance(-1)
    clock.pause(0.5)
    assert (clock.now_us(), clock.paused_s) == (1_500_005, [0.5])


def test_bytes_are_as_many_as_asked_for_and_other_ones_each_time(randomness: Randomness) -> None:
    assert [len(randomness.bytes(count)) for count in (0, 1, 16, 32)] == [0, 1, 16, 32]
    assert len({randomness.bytes(16) for _ in range(100)}) == 100


def test_fractions_fill_the_range_from_0_to_below_1(randomness: Randomness) -> None:
    drawn = [randomness.fraction() for _ in range(1_000)]
    assert 0 <= min(drawn) < 0.1
    assert 0.9 < max(drawn) < 1


def test_a_seed_repeats_and_another_does_not() -> None:
    assert SeededRandomness(1).bytes(16) == SeededRandomness(1).bytes(16) != SeededRandomness(2).bytes(16)


@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_results_come_in_the_order_of_their_tasks(parallel: Parallel, count: int) -> None:
    tasks = [partial(pow, number, 2) for number in range(count)]
    assert parallel.run(tasks) == [number * number for number in range(count)]


def test_the_first_error_is_raised_once_all_tasks_have_ended(parallel: Parallel) -> None:
    ended = []

    def task(number: int) -> int:
        ended.append(number)
        if number in (1, 3):
            raise Unavailable(f"task {number}")
        return number

    with pytest.raises(Unavailable, match="task 1"):
        parallel.run([partial(task, number) for number in range(5)])
    assert sorted(ended) == [0, 1, 2, 3, 4]


def test_an_error_of_the_callers_own_task_waits_for_the_others_too(parallel: Parallel) -> None:
    ended = []

    def fails() -> None:
        raise Unavailable("the first")

    with pytest.raises(Unavailable, match="the first"):
        parallel.run([fails, lambda: ended.append(1)])
    assert ended == [1]


def test_a_task_that_was_begun_is_waited_for_and_may_need_what_its_caller_does_until_then(parallel: Parallel) -> None:
    given: SimpleQueue[int] = SimpleQueue()
    ran = []

    def task() -> int:
        ran.append("once")
        return given.get(timeout=10)

    wait = parallel.begin(task)
    given.put(7)
    assert (wait(), wait()) == (7, 7)
    assert ran == ["once"]


def test_what_a_task_raises_that_was_begun_is_raised_where_it_is_waited_for(parallel: Parallel) -> None:
    def task() -> int:
        raise Unavailable("not now")

    wait = parallel.begin(task)
    with pytest.raises(Unavailable, match="not now"):
        wait()


def test_a_thread_begins_a_task_at_once() -> None:
    begun = threading.Event()
    wait = ThreadParallel().begin(begun.set)
    assert begun.wait(10)
    wait()


def test_threads_do_run_at_once() -> None:
    gate = threading.Barrier(3)
    assert sorted(ThreadParallel().run([lambda: gate.wait(10)] * 3)) == [0, 1, 2]


def test_what_was_counted_and_measured_can_be_asked_for() -> None:
    metrics = RecordingMetrics()
    metrics.count("writes", outcome="created")
    metrics.count("writes", 2, outcome="refused", region="us-east-1")
    metrics.milliseconds("write", 1.5)
    metrics.milliseconds("write", 2.5)
    assert metrics.total("writes") == 3
    assert metrics.counts["writes", (("outcome", "refused"), ("region", "us-east-1"))] == 2
    assert metrics.durations_ms["write", ()] == [1.5, 2.5]
