"""The search for an order of operations says the same as trying every order, on histories that are right and wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import pytest

from tests.simulation.checkers.linearizability import State, _after, _step, linearizable, sha256
from tests.simulation.history import Operation, Refusal, Seen

HISTORIES = 400
OPERATIONS = 5
PATHS = ("/a", "/b")
TEXTS = ("one", "two", "three")
UPDATE = {"memory_id": "m0", "path": None, "expected": None}


def in_some_order(operations: Sequence[Operation]) -> bool:
    """Tell whether any order of the answered operations, and of any of the others, is right. Tries every one."""
    steps = [_step(one, {}, None) for one in operations]
    told = [step for step in steps if not step.open]
    unknown = [step for step in steps if step.open]
    for size in range(len(unknown) + 1):
        for taken in combinations(unknown, size):
            for order in permutations([*told, *taken]):
                in_time = all(a.invoked <= b.returned for a, b in combinations(order, 2))
                if in_time and any(True for _ in _states_after(order)):
                    return True
    return False


def _states_after(order: Sequence[Any]) -> Iterator[State]:
    states: list[State] = [()]
    for step in order:
        states = [after for state in states for after in _after(state, step)]
    yield from states


def drawn_history(chance: random.Random) -> list[Operation]:
    """Draw operations that overlap, with answers some of which cannot be."""
    found = []
    for number in range(OPERATIONS):
        invoked = 2 * number + chance.randrange(4)
        if number and chance.random() < 0.25:
            found.append(drawn_adoption(chance, number, invoked))
            continue
        kind = "create" if not number else chance.choice(("create", "update", "update", "update", "delete", "read"))
        memory_id = chance.choice(("m0", "m0", "m0", "m1"))
        asked: dict[str, Any] = {"home": True, "expected": None, "memory_id": memory_id}
        if kind == "create":
            asked |= {"path": chance.choice(PATHS), "content": chance.choice(TEXTS)}
        elif kind == "update":
            asked |= {"path": chance.choice((None, None, *PATHS)), "content": chance.choice((None, *TEXTS))}
        if kind in ("update", "delete") and chance.random() < 0.3:
            asked["expected"] = sha256(chance.choice(TEXTS))
        answered = chance.random() < 0.7
        if kind == "update" and asked["content"] and not answered:
            asked["back"] = chance.choice((None, *PATHS))
        operation = Operation(number, "c", "r", "s", True, kind, asked, invoked)
        if answered:
            operation.returned = invoked + 1 + chance.randrange(8)
            operation.answer = drawn_answer(chance, kind, asked)
        found.append(operation)
    return found


def drawn_adoption(chance: random.Random, number: int, invoked: int) -> Operation:
    memory_id = chance.choice(("m0", "m0", "m1"))
    states = [(memory_id, path, sha256(text)) for path in PATHS for text in TEXTS]
    asked: dict[str, Any] = {"memory_id": memory_id, "state": chance.choice((None, *states))}
    if asked["state"] is None:
        asked["erases"] = chance.choice((None, *states))
    return Operation(number, "c", "r", "s", True, "adoption", asked, invoked)


def drawn_answer(chance: random.Random, kind: str, asked: dict[str, Any]) -> Any:
    if kind != "create" and chance.random() < 0.1:
        return Refusal("NotFound")
    if kind in ("create", "update") and chance.random() < 0.1:
        return Refusal("PathConflict", path=asked["path"] or "/a", memory_id=chance.choice(("m0", "m1")))
    if asked["expected"] is not None and chance.random() < 0.3:
        return Refusal("PreconditionFailed")
    memory_id = asked["memory_id"]
    if kind == "delete":
        return memory_id
    path, text = asked.get("path") or chance.choice(PATHS), asked.get("content") or chance.choice(TEXTS)
    return Seen(memory_id, "memver", path, sha256(text))


@pytest.mark.parametrize("seed", range(4))
def test_the_search_for_an_order_agrees_with_trying_every_order(seed: int) -> None:
    chance, found = random.Random(seed), list[bool]()
    for _ in range(HISTORIES):
        operations = drawn_history(chance)
        right = in_some_order(operations)
        found.append(right)
        assert linearizable(operations, {}) == right, [str(one) for one in operations]
    assert HISTORIES / 20 < sum(found) < HISTORIES


def adoption(number: int) -> Operation:
    """Return the adoption of a text of its own, of which nobody was told."""
    asked = {"memory_id": "m0", "state": ("m0", "/a", sha256(str(number)))}
    return Operation(number, "c", "r", "s", True, "adoption", asked, 0)


def told(kind: str, invoked: int, answer: Any, **asked: Any) -> Operation:
    given = {"memory_id": "m0", "home": True, "expected": None, **asked}
    return Operation(-1, "c", "r", "s", True, kind, given, invoked, invoked + 1, answer)


def test_each_of_two_adoptions_counts_where_a_read_saw_it() -> None:
    reads = [told("read", 2 * number + 1, Seen("m0", "memver", "/a", sha256(str(number)))) for number in range(2)]
    assert linearizable([adoption(0), adoption(1), *reads], {})
    assert not linearizable([adoption(0), *reads], {})


def test_an_order_that_comes_late_erases_the_version_that_it_names_and_no_other() -> None:
    live = [(("m0", "/a", sha256("before")),)]
    asked = {"memory_id": "m0", "state": None, "erases": ("m0", "/a", sha256("0"))}
    order = Operation(9, "c", "r", "s", True, "adoption", asked, 0)
    gone = told("read", 1, Refusal("NotFound"))
    assert linearizable([adoption(0), order, gone], {}, begin=live)
    assert not linearizable([adoption(1), order, gone], {}, begin=live)


def test_many_adoptions_that_nobody_was_told_of_are_decided_upon() -> None:
    refused = told("update", 1, Refusal("NotFound"), content="x", path=None)
    gone = told("read", 3, Refusal("NotFound"))
    live = [(("m0", "/a", sha256("before")),)]
    assert linearizable([*map(adoption, range(30)), refused, gone], {}, begin=[(), *live])
    assert not linearizable([*map(adoption, range(30)), refused, gone], {}, begin=live)


def test_many_updates_whose_outcome_nobody_knows_are_decided_upon() -> None:
    begin = [(("m0", "/a", sha256("before")),)]
    unknown = [
        Operation(number, "c", "r", "s", True, "update", {**UPDATE, "content": str(number)}, number)
        for number in range(30)
    ]
    seen = [told("read", 100, Seen("m0", "memver", "/a", sha256(text))) for text in ("7", "of nobody")]
    assert linearizable([*unknown, seen[0]], {}, begin=begin)
    assert not linearizable([*unknown, seen[1]], {}, begin=begin)


def test_many_updates_of_two_memories_that_may_have_moved_meanwhile_are_decided_upon() -> None:
    begin = [(("m0", "/a", sha256("before")), ("m1", "/b", sha256("before")))]
    asked: list[dict[str, Any]] = [{"memory_id": f"m{number % 2}", "content": str(number)} for number in range(24)]
    asked += [{"memory_id": f"m{number % 2}", "content": None, "path": f"/moved-{number}"} for number in range(4)]
    unknown = [Operation(0, "c", "r", "s", True, "update", {**UPDATE, **one}, 0) for one in asked]
    seen = [told("read", 100, Seen("m0", "memver", "/moved-2", sha256(text))) for text in ("8", "of nobody")]
    assert linearizable([*unknown, seen[0]], {}, begin=begin)
    assert not linearizable([*unknown, seen[1]], {}, begin=begin)


def test_an_update_of_unknown_outcome_explains_that_another_met_a_content_that_it_did_not_expect() -> None:
    begin = [(("m0", "/a", sha256("before")),)]
    unknown = Operation(0, "c", "r", "s", True, "update", {**UPDATE, "content": "of nobody"}, 0)
    refused = told("update", 1, Refusal("PreconditionFailed"), path=None, content="x", expected=sha256("before"))
    assert linearizable([unknown, refused], {}, begin=begin)
    assert not linearizable([refused], {}, begin=begin)


def test_each_of_two_updates_of_unknown_outcome_counts_where_another_expected_it() -> None:
    begin = [(("m0", "/a", sha256("before")),)]
    first = Operation(0, "c", "r", "s", True, "update", {**UPDATE, "content": "first"}, 0)
    second = {**UPDATE, "content": "second", "expected": sha256("first")}
    told_second = Operation(1, "c", "r", "s", True, "update", second, 1, 2, Seen("m0", "v", "/a", sha256("second")))
    assert linearizable([first, told_second], {}, begin=begin)
    assert not linearizable([told_second], {}, begin=begin)


def test_a_late_version_brings_a_memory_back_that_was_gone_where_its_path_is_free() -> None:
    """Another memory took the path of one whose newest version was erased; what followed came late."""
    lost = Operation(0, "c", "r", "s", True, "update", {**UPDATE, "content": "late", "back": "/a"}, 0)
    gone = told("delete", 1, "m0")
    taken = told("create", 3, Seen("m1", "v", "/a", sha256("taken")), path="/a", content="taken")
    freed = told("delete", 5, "m1", memory_id="m1")
    seen = told("read", 7, Seen("m0", "v", "/a", sha256("late")))
    begin = [(("m0", "/a", sha256("before")),)]
    assert linearizable([lost, gone, taken, freed, seen], {}, begin=begin)
    assert not linearizable([lost, gone, taken, seen], {}, begin=begin)
    for asked in ({**lost.asked, "back": None}, {**lost.asked, "back": "/b"}):
        assert not linearizable([replace(lost, asked=asked), gone, taken, freed, seen], {}, begin=begin)


def test_a_late_version_that_brought_its_memory_back_does_not_do_so_again() -> None:
    begin = [(("m0", "/a", sha256("before")),)]
    lost = Operation(0, "c", "r", "s", True, "update", {**UPDATE, "content": "late", "back": "/a"}, 0)
    gone = [told("delete", number, "m0") for number in (1, 5)]
    seen = [told("read", number, Seen("m0", "v", "/a", sha256("late"))) for number in (3, 7)]
    assert linearizable([lost, gone[0], seen[0], gone[1]], {}, begin=begin)
    assert not linearizable([lost, gone[0], seen[0], gone[1], seen[1]], {}, begin=begin)


def test_an_update_that_may_bring_a_memory_back_counts_though_another_overwrites_it() -> None:
    lost = Operation(0, "c", "r", "s", True, "update", {**UPDATE, "content": "late", "back": "/a"}, 0)
    over = told("update", 1, Seen("m0", "v", "/a", sha256("over")), path=None, content="over")
    assert linearizable([lost, over], {})
