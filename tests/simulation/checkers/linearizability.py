"""Operations of one store are linearizable in its home region.

The search of Wing and Gong, with memoisation: is there an order of the operations that keeps to real time, and in
which each answer is the one that the API's rules give? An operation whose outcome nobody knows stays open: it may have
taken effect at any moment after it began, or never. Writes run at home wherever they were called; reads count where
they were made in the home region, and those that demanded the home's answer wherever they were made. What was answered
with Busy or Unavailable did nothing, a demand that was refused says nothing of the memory, and both are left out here.

Source: Wing and Gong, "Testing and Verifying Concurrent Objects" (1993); Lowe, "Testing for Linearizability" (2017).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.simulation.history import NEVER, Operation, Refusal, Seen

NOTHING_DONE = frozenset({"Busy", "Unavailable"})
STATES_MAX = 400_000

Memory = tuple[str, str, str]
"""A live memory: id, path, hash of its content."""

State = tuple[Memory, ...]
"""Every live memory of the store, sorted."""

Optional = tuple[str, str]
"""``all`` or the ``content`` of a memory, and its id: what an operation that may never have been has changed."""


class Undecided(Exception):
    """Too many orders to try: the history is neither shown right nor wrong."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation as the search sees it.

    `returned` is NEVER for an open one; `id` is the created memory's; `caught` means under way as the tables vanished.
    """

    operation: Operation
    invoked: int
    returned: int
    id: str
    caught: bool

    @property
    def open(self) -> bool:
        return self.returned == NEVER

    @property
    def changes_nothing(self) -> bool:
        """Whether its answer is one of a read or a refusal; an update may be told what was there, and have put it."""
        return not self.open and (self.operation.kind == "read" or self.operation.refused)

    @property
    def memory_id(self) -> str:
        """The memory that it changes."""
        return self.id or str(self.operation.asked["memory_id"])

    @property
    def optional(self) -> Optional | None:
        """What it alone changes and may leave unchanged: it may have taken effect, or never."""
        asked, kind = self.operation.asked, self.operation.kind
        if self.open and kind == "adoption":
            return ("all", self.memory_id)
        if self.open and kind == "update" and asked["path"] is None and asked.get("back") is None:
            return ("content", self.memory_id)
        return None

    def overwrites(self, optional: Optional) -> bool:
        """Whether its answer and what it leaves are the same without what was changed of the same memory before it."""
        asked, kind = self.operation.asked, self.operation.kind
        if kind == "create":
            return False
        if kind == "adoption":
            return asked.get("erases") is None
        blind = asked.get("expected") is None
        writes = kind == "delete" or (kind == "update" and asked["content"] is not None)
        return optional[0] == "content" and blind and writes


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def linearizable(
    operations: Sequence[Operation],
    created: Mapping[str, str],
    wiped: int | None = None,
    begin: Sequence[State] = ((),),
) -> bool:
    """Whether the operations of one store fit together.

    Args:
        operations: of every client, in every region.
        created: the id of a memory by its first content's hash.
        wiped: when the home lost its tables. Reads that demanded nothing do not count then, since what it still knows
            it serves; and of a path and its ancestor whose creators were both under way in that moment, both can stay.
        begin: the states that the store may be in before them; empty, unless others are given.

    Raises:
        Undecided: after `STATES_MAX` states.
    """
    counted = [_step(one, created, wiped) for one in operations if _counts(one, wiped is None)]
    steps = sorted(_without_needless(counted), key=lambda step: step.invoked)
    must = sum(1 << number for number, step in enumerate(steps) if not step.open)
    seen: set[tuple[int, State, frozenset[Optional]]] = set()
    stack: list[tuple[int, State, frozenset[Optional]]] = [(0, state, frozenset()) for state in begin]
    while stack:
        done, state, unseen = stack.pop()
        if done & must == must:
            return True
        if (done, state, unseen) in seen:
            continue
        seen.add((done, state, unseen))
        if len(seen) > STATES_MAX:
            raise Undecided(f"more than {STATES_MAX} states of {len(steps)} operations")
        undone = [(number, step) for number, step in enumerate(steps) if not done >> number & 1]
        deadline = min(step.returned for _, step in undone)
        ready = [(number, step) for number, step in undone if step.invoked <= deadline]
        ready.sort(key=lambda one: one[1].returned, reverse=True)  # tried last comes first: what has to be soon
        # What can change nothing, and is answered as this state has it, may come next in whatever order there is.
        for number, step in ready:
            if step.changes_nothing and state in _after(state, step):
                stack.append((done | 1 << number, state, _unseen(unseen, step)))
                break
        else:
            for number, step in ready:
                # What it overwrites before anybody has seen it may as well never have been.
                if not any(step.overwrites(one) for one in unseen if one[1] == step.memory_id):
                    left = _unseen(unseen, step)
                    stack.extend((done | 1 << number, after, left) for after in _after(state, step))
    return False


def _without_needless(steps: list[Step]) -> list[Step]:
    """Leave out the open updates of a content that no other operation knows: an order with one is right without it.

    No answer shows the content, no operation expects or erases it; and no answer says of the memory that its content
    was another than the expected one, which any content explains.
    """
    refused = {step.memory_id for step in steps if _is_refused_its_content(step.operation)}
    known = {sha for step in steps for sha in _known_contents(step.operation)}
    needed = [
        step
        for step in steps
        if step.optional != ("content", step.memory_id)
        or step.memory_id in refused
        or sha256(step.operation.asked["content"] or "") in known
    ]
    return needed if len(needed) == len(steps) else _without_needless(needed)


def _is_refused_its_content(operation: Operation) -> bool:
    return isinstance(operation.answer, Refusal) and operation.answer.name == "PreconditionFailed"


def _known_contents(operation: Operation) -> Iterator[str]:
    """The hashes of the contents that an operation was shown, expected, or erases."""
    if isinstance(operation.answer, Seen):
        yield operation.answer.sha256
    if operation.asked.get("expected") is not None:
        yield operation.asked["expected"]
    if operation.asked.get("erases") is not None:
        yield operation.asked["erases"][2]


def _unseen(unseen: frozenset[Optional], step: Step) -> frozenset[Optional]:
    """What nobody has seen after a step. Of another memory it may see the path, and never the content."""
    others = {one for one in unseen if one[1] != step.memory_id and one[0] == "content"}
    return frozenset(others if step.optional is None else {*others, step.optional})


def _counts(operation: Operation, reads: bool) -> bool:
    if operation.refused and operation.answer.name in NOTHING_DONE:
        return False
    if operation.kind == "read":
        if operation.refused and operation.answer.name == "InvalidRequest":
            return False
        demanded = operation.asked.get("home") is not None
        return operation.returned is not None and (demanded or (reads and operation.home))
    return operation.kind in ("create", "update", "delete", "adoption")


def _step(operation: Operation, created: Mapping[str, str], wiped: int | None) -> Step:
    id = ""
    if operation.kind == "create":
        answer = operation.answer
        unknown = operation.asked.get("memory_id") or created.get(
            sha256(operation.asked["content"]), f"new {operation.number}"
        )
        id = answer.memory_id if isinstance(answer, Seen) else unknown
    returned = NEVER if operation.returned is None else operation.returned
    caught = wiped is not None and operation.invoked < wiped < returned
    return Step(operation, operation.invoked, returned, id, caught)


# ---- the rules of the API -----------------------------------------------------------------------------------------


def _after(state: State, step: Step) -> Iterator[State]:
    """The states after the operation, if it may happen here with the answer it got; an open one changes something."""
    operation = step.operation
    rule = {"create": _create, "update": _update, "delete": _delete, "read": _read, "adoption": _adopt}[operation.kind]
    for answer, after in rule(state, operation, step):
        if step.open:
            if after != state:
                yield after
        elif _agrees(answer, operation.answer):
            yield after


Answer = Memory | Refusal | str | None
"""What the rules answer: a memory, a refusal, or the id of what was deleted."""


def _create(state: State, operation: Operation, step: Step) -> Iterator[tuple[Answer, State]]:
    path = operation.asked["path"]
    holders = _in_the_way(state, path, None)
    if not _decisive(holders, path, step):
        memory = (step.id, path, sha256(operation.asked["content"]))
        yield memory, _sorted(*state, memory)
    for holder in holders:
        yield Refusal("PathConflict", path=holder[1], memory_id=holder[0]), state


def _update(state: State, operation: Operation, step: Step) -> Iterator[tuple[Answer, State]]:
    asked = operation.asked
    memory = _live(state, asked["memory_id"])
    if memory is None:
        yield Refusal("NotFound"), state
        yield from _come_back(state, operation)
        return
    id, path, sha = memory
    wanted = (id, asked["path"] or path, sha if asked["content"] is None else sha256(asked["content"]))
    if wanted == memory:
        yield memory, state
    elif asked["expected"] not in (None, sha):
        yield Refusal("PreconditionFailed"), state
    else:
        holders = _in_the_way(state, wanted[1], id) if wanted[1] != path else []
        if not _decisive(holders, wanted[1], step):
            yield wanted, _sorted(*(one for one in state if one[0] != id), wanted)
        for holder in holders:
            yield Refusal("PathConflict", path=holder[1], memory_id=holder[0]), state


def _come_back(state: State, operation: Operation) -> Iterator[tuple[Answer, State]]:
    """What came late after an erased version becomes the memory again, at its path, if that is free by then."""
    path = operation.asked.get("back")
    if path is not None and not _in_the_way(state, path, None):
        memory = (operation.asked["memory_id"], path, sha256(operation.asked["content"]))
        yield memory, _sorted(*state, memory)


def _delete(state: State, operation: Operation, _: Step) -> Iterator[tuple[Answer, State]]:
    memory = _live(state, operation.asked["memory_id"])
    if memory is None:
        yield Refusal("NotFound"), state
    elif operation.asked["expected"] not in (None, memory[2]):
        yield Refusal("PreconditionFailed"), state
    else:
        yield memory[0], tuple(one for one in state if one[0] != memory[0])


def _read(state: State, operation: Operation, _: Step) -> Iterator[tuple[Answer, State]]:
    memory = _live(state, operation.asked["memory_id"])
    yield (Refusal("NotFound") if memory is None else memory), state


def _adopt(state: State, operation: Operation, _: Step) -> Iterator[tuple[Answer, State]]:
    """A version that came late becomes the memory, or ends it; an order that came late erases what it then is."""
    adopted, others = operation.asked["state"], [one for one in state if one[0] != operation.asked["memory_id"]]
    if operation.asked.get("erases") in (None, *state):
        yield None, _sorted(*others, *(() if adopted is None else (adopted,)))


def _live(state: State, memory_id: str) -> Memory | None:
    return next((one for one in state if one[0] == memory_id), None)


def _in_the_way(state: State, path: str, moving_id: str | None) -> list[Memory]:
    """A path and its ancestors cannot be memories at once; what is being moved is not in its own way."""
    return [one for one in state if one[0] != moving_id and _related(one[1], path)]


def _decisive(holders: list[Memory], path: str, step: Step) -> bool:
    """Whether somebody is in the way for certain: of ancestors, one caught as the tables vanished may not know."""
    return any(holder[1] == path or not step.caught for holder in holders)


def _related(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _sorted(*memories: Memory) -> State:
    return tuple(sorted(memories))


def _agrees(expected: Answer, given: object) -> bool:
    if isinstance(expected, Refusal):
        if not isinstance(given, Refusal) or given.name != expected.name:
            return False
        return given.name != "PathConflict" or (
            given.path == expected.path and given.memory_id in ("", expected.memory_id)
        )
    if isinstance(expected, tuple):
        return isinstance(given, Seen) and expected == (given.memory_id, given.path, given.sha256)
    return expected == given
