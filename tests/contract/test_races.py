"""Promises that only hold if they hold between threads.

On moto they hold by the lock of `moto_world`, on the emulator by its own making. So on both they show that the adapters
ask for the right thing, not that S3 or DynamoDB is atomic: that is their own promise.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from memolith.core.rows.content import PathRow
from memolith.ports.errors import Contended, ObjectExists
from memolith.ports.index import Change
from tests.contract.worlds import HOME, IndexWorld, ObjectsWorld

THREADS = 48
KEY = f"{HOME}/log/memstore_1/0001-0.0000000001"

pytestmark = pytest.mark.usefixtures("restless_threads")


def at_once(count: int, act: Callable[[int], None]) -> None:
    """Runs `act` in so many threads, all let go at one moment. Fails if any of them did, or does not end."""
    gate = threading.Barrier(count)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        gate.wait(30)
        try:
            act(number)
        except BaseException as error:  # noqa: BLE001 - raised below, in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


@pytest.mark.slow
def test_of_48_puts_of_one_key_exactly_one_wins_and_stays(world: ObjectsWorld) -> None:
    """Four keys one after another, because the first moment may pass without anybody meeting."""
    keys = [f"{KEY}/{number}" for number in range(4)]
    won: dict[str, list[int]] = {key: [] for key in keys}

    def put(number: int) -> None:
        for key in keys:
            while True:
                try:
                    world.here.put_if_absent(key, f"body {number}".encode(), {"id": str(number)})
                except Contended:
                    continue
                except ObjectExists:
                    break
                won[key].append(number)
                break

    at_once(THREADS, put)
    for key in keys:
        (winner,) = won[key]
        found = world.here.get(key)
        assert (found.body, dict(found.metadata)) == (f"body {winner}".encode(), {"id": str(winner)})
        assert len(world.versions(HOME, key)) == 1


@pytest.mark.slow
def test_a_log_written_by_many_has_no_hole_and_no_slot_twice(world: ObjectsWorld) -> None:
    """Each writer appends three times, always to the first slot it finds free."""
    writers = 8
    taken: list[tuple[int, str]] = []

    def append(number: int) -> None:
        slot = 1
        for turn in range(3):
            while True:
                try:
                    world.here.put_if_absent(f"{HOME}/log/{slot:010d}", f"{number}/{turn}".encode(), {})
                    break
                except ObjectExists:
                    slot += 1
            taken.append((slot, f"{number}/{turn}"))

    at_once(writers, append)
    assert sorted(slot for slot, _ in taken) == list(range(1, 3 * writers + 1))
    for slot, text in taken:
        assert world.here.get(f"{HOME}/log/{slot:010d}").body.decode() == text


def test_erasing_by_many_at_once_leaves_blanks_alone_and_the_slot_taken(world: ObjectsWorld) -> None:
    world.here.put_if_absent(KEY, b"secret", {})

    def erase(_: int) -> None:
        world.erasable(HOME).erase(KEY, b"{}", {})

    at_once(6, erase)
    assert set(world.versions(HOME, KEY)) == {b"{}"}
    world.erasable(HOME).delete_older(KEY)
    assert world.versions(HOME, KEY) == [b"{}"]


def retried(rows: IndexWorld, make: Callable[[], list[Change]]) -> None:
    """Reads and commits until nobody comes between."""
    while True:
        try:
            rows.index.commit(make())
            return
        except Contended:
            continue


@pytest.mark.slow
def test_no_update_of_one_row_is_lost(rows: IndexWorld) -> None:
    key = PathRow.key("memstore_1", "/counter")
    rows.index.commit([Change(key, None, {"n": 0})])

    def count() -> list[Change]:
        before = rows.index.read([key])[key]
        return [Change(key, before, {"n": before["n"] + 1})]

    def count_to_four(_: int) -> None:
        for _ in range(4):
            retried(rows, count)

    at_once(8, count_to_four)
    assert rows.index.read([key]) == {key: {"n": 32}}


@pytest.mark.slow
def test_what_moves_between_rows_is_neither_lost_nor_doubled(rows: IndexWorld) -> None:
    """Two rows a transaction, in either order; the sum stays."""
    keys = [PathRow.key("memstore_1", f"/{number}") for number in range(3)]
    rows.index.commit([Change(key, None, {"n": 100}) for key in keys])

    def move(number: int) -> None:
        source, target = keys[number % 3], keys[(number + 1) % 3]

        def one() -> list[Change]:
            found = rows.index.read([source, target])
            return [
                Change(source, found[source], {"n": found[source]["n"] - 1}),
                Change(target, found[target], {"n": found[target]["n"] + 1}),
            ]

        for _ in range(3):
            retried(rows, one)

    at_once(7, move)
    found = rows.index.read(keys)
    assert [found[key]["n"] for key in keys] == [97, 103, 100]


def test_of_many_that_make_one_row_exactly_one_does(rows: IndexWorld) -> None:
    key = PathRow.key("memstore_1", "/claimed")
    outcomes: Counter[str] = Counter()
    lock = threading.Lock()

    def claim(number: int) -> None:
        try:
            rows.index.commit([Change(key, None, {"claim_id": str(number)})])
            outcome = f"won by {number}"
        except Contended:
            outcome = "lost"
        with lock:
            outcomes[outcome] += 1

    at_once(16, claim)
    assert outcomes["lost"] == 15
    assert outcomes[f"won by {rows.index.read([key])[key]['claim_id']}"] == 1


def test_a_check_in_a_transaction_is_no_older_than_its_writes(rows: IndexWorld) -> None:
    """Of two that each check the other's row absent and make their own, at most one succeeds."""
    pairs = [[PathRow.key(f"memstore_{number}", path) for path in ("/notes", "/notes/todo")] for number in range(6)]

    def create(number: int) -> None:
        mine, other = pairs[number // 2] if number % 2 else reversed(pairs[number // 2])
        try:
            rows.index.commit([Change(mine, None, {"n": number}), Change(other, None, None)])
        except Contended:
            return

    at_once(12, create)
    assert [len(rows.index.read(pair)) for pair in pairs] == [1] * len(pairs)
