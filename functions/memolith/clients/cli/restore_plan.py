"""Bringing a store back to what it was: what is to be done, and doing it, by ordinary writes with preconditions.

Nothing is written that a caller of the API could not write, and each write is conditional on what the plan was made of:
what another client has changed meanwhile stays as it is, and is reported. A memory that was deleted comes back under a
new id. Planning again after a stop finds what is left, because a plan is made of what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from memolith.clients.api.client import ApiClient, ApiStaged, address
from memolith.clients.api.http import ApiRefused
from memolith.core.paths import ancestors

Kind = Literal["delete", "update", "create", "none"]

NOT_FOUND, CONFLICT = 404, 409
RENAMED = "another client renamed it meanwhile"


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory as a listing shows it; `path` and `sha256` are None where its text has been erased since."""

    id: str
    path: str | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Action:
    """One write. `now` is what it is conditional on, `then` what is to be; `reason` says why nothing can be done."""

    kind: Kind
    now: Seen | None
    then: Seen | None
    reason: str = ""

    @property
    def path(self) -> str:
        """The path at which it will be seen."""
        return next((one.path for one in (self.then, self.now) if one is not None and one.path is not None), "?")

    @property
    def moves(self) -> bool:
        """Whether a live memory changes its path."""
        return self.now is not None and self.then is not None and self.now.path != self.then.path


@dataclass(frozen=True, slots=True)
class Done:
    """What became of an action: ``restored``, or ``kept`` as it was, with the reason."""

    action: Action
    restored: bool
    reason: str = ""

    def row(self) -> dict[str, Any]:
        """Return the row that is shown."""
        memory = self.action.now or self.action.then
        return {
            "action": self.action.kind,
            "path": self.action.path,
            "memory": None if memory is None else memory.id,
            "result": "restored" if self.restored else "kept",
            "reason": self.reason or None,
        }


def plan(then: Iterable[Seen], now: Iterable[Seen], prefix: str = "/") -> list[Action]:
    """Plan what turns `now` into `then`, for every memory that is, or was, below `prefix`.

    A memory is the same one if it has the same id, or, where that id is not live any more, if it is at its path: it was
    created again, perhaps by an earlier run.
    """
    live = {one.id: one for one in now}
    past = {one.id: one for one in then}
    heirs = {one.path: one for one in live.values() if one.id not in past}
    pairs: list[tuple[Seen | None, Seen | None]] = []
    for one in past.values():
        counterpart = live.pop(one.id, None) or (None if one.path is None else heirs.get(one.path))
        if counterpart is not None:
            live.pop(counterpart.id, None)
        pairs.append((counterpart, one))
    pairs += [(one, None) for one in live.values()]
    actions = [_action(was, is_now) for is_now, was in pairs if _concerned(prefix, is_now, was) or _left(is_now, was)]
    return sorted((one for one in actions if one is not None), key=lambda one: one.path)


def _concerned(prefix: str, *memories: Seen | None) -> bool:
    paths = [one.path for one in memories if one is not None]
    return any(prefix == "/" if path is None else path.startswith(prefix) for path in paths)


def _left(now: Seen | None, then: Seen | None) -> bool:
    """Tell whether a run that stopped has left it out of the way of others."""
    return now is not None and then is not None and now.path == _aside(now.id)


def _action(then: Seen | None, now: Seen | None) -> Action | None:
    if then is None:
        return Action("delete", now, None)
    if then.path is None:
        return Action("none", now, then, "its text of that time has been erased")
    if now is None:
        return Action("create", None, then)
    return None if (now.path, now.sha256) == (then.path, then.sha256) else Action("update", now, then)


class Restorer:
    """Carries plans out on one store.

    Args:
        as_of: the instant, as the API takes it.
        tell: called with each action as it is done, or given up.
    """

    def __init__(self, client: ApiClient, store_id: str, as_of: str, tell: Callable[[Done], None]) -> None:
        self._client = client.repeating_writes()
        self._memories = self._client.memories
        self._store_id = store_id
        self._as_of = as_of
        self._tell = tell

    def then(self) -> list[Seen]:
        """Return the store as it was. As many calls as it has pages."""
        pages = self._memories.list(self._store_id, limit=100, as_of=self._as_of)
        return [Seen(row.id, row.path, row.content_sha256) for row in pages if row.type == "memory"]

    def now(self) -> list[Seen]:
        """Return the store as its home knows it. As many calls as it has pages."""
        pages = self._memories.list(self._store_id)
        return [Seen(row.id, row.path, row.content_sha256) for row in pages if row.type == "memory"]

    def carry_out(self, actions: Iterable[Action]) -> list[Done]:
        """Delete, then move and change, then create; a move waits until its place is free.

        Two calls an action, one more for another text, and one more for a creation that conflicts. A refused action is
        reported and skipped; an address that does not answer ends the run.

        Raises:
            ApiUnanswered; ApiRefused: 401, 403 and 5xx.
        """
        by_kind: dict[Kind, list[Action]] = {"delete": [], "update": [], "create": [], "none": []}
        for action in actions:
            by_kind[action.kind].append(action)
        done = [self._told(Done(action, False, action.reason)) for action in by_kind["none"]]
        done += [self._told(self._do(action)) for action in by_kind["delete"]]
        done += self._change_all(by_kind["update"])
        done += [self._told(self._do(action)) for action in by_kind["create"]]
        return done

    def _change_all(self, waiting: list[Action]) -> list[Done]:
        """Repeat while one of them gets its place; if none does, move one that waits in a circle out of the way."""
        done: list[Done] = []
        aside: set[str] = set()
        while waiting:
            blocked: list[Done] = []
            for action in waiting:
                result = self._do(action)
                if _blocked(result):
                    blocked.append(result)
                else:
                    done.append(self._settled(result, aside))
            if len(blocked) == len(waiting) and not self._step_aside(waiting, aside):
                return done + [self._settled(one, aside) for one in blocked]
            waiting = [one.action for one in blocked]
        return done

    def _step_aside(self, waiting: list[Action], aside: set[str]) -> bool:
        """Move one of those that wait in a circle to a temporary path of its own. It would not help any other."""
        for memory in _in_circles([one for one in waiting if one.now is not None and one.now.id not in aside]):
            if self._attempt(partial(self._set_aside, memory)) is None:
                aside.add(memory.id)
                return True
        return False

    def _set_aside(self, memory: Seen) -> None:
        """Move a memory to its temporary path. Where that waits for a person, it is withdrawn: it would help nobody."""
        try:
            self._move(memory, _aside(memory.id))
        except ApiStaged as staged:
            self._client.post(address(self._store_id, "proposals", staged.id, "withdraw"))
            raise

    def _settled(self, result: Done, aside: set[str]) -> Done:
        """Tell the result. A memory that is kept, and was moved out of the way, goes back to where it was; not so one
        that another client has renamed since.
        """
        now = result.action.now
        if not result.restored and now is not None and now.path is not None and now.id in aside:
            back = now.path
            refused = self._attempt(lambda: self._move(now, back))
            if refused not in (None, RENAMED):
                where = f"it is at {_aside(now.id)} now, and cannot go back to {back} ({refused}): move it yourself"
                result = replace(result, reason=f"{result.reason}; {where}")
        return self._told(result)

    def _move(self, memory: Seen, path: str) -> None:
        self._require_path(memory)
        self._memories.update(memory.id, memory_store_id=self._store_id, path=path)

    def _require_path(self, now: Seen) -> None:
        """Check at the home that a memory is where the plan, or a step aside, has it.

        The API takes no path as a precondition: a rename between this read and the write that follows goes unnoticed.

        Raises:
            _Kept: another client has renamed it. ApiRefused: it is gone.
        """
        path = self._memories.retrieve(now.id, memory_store_id=self._store_id, view="basic").path
        if path not in (now.path, _aside(now.id)):
            raise _Kept(RENAMED)

    def _do(self, action: Action) -> Done:
        refused = self._attempt(lambda: self._write(action))
        return Done(action, refused is None, refused or "")

    def _attempt(self, write: Callable[[], None]) -> str | None:
        """Run the write. Return None if it was done, else why it was not: the API refused it, or a person decides."""
        try:
            write()
        except _Kept as kept:
            return str(kept)
        except ApiStaged as staged:
            return f"staged for approval as {staged.id}"
        except ApiRefused as error:
            if error.status in (400, NOT_FOUND, CONFLICT, 413):
                return f"{error.kind}: {error.message}"
            raise
        return None

    def _write(self, action: Action) -> None:
        store, now, then = self._store_id, action.now, action.then
        if then is None and now is not None:
            self._delete(now)
            return
        if then is None or then.path is None:
            return
        if now is not None and now.sha256 == then.sha256:
            self._require_path(now)
            self._memories.update(now.id, memory_store_id=store, path=then.path, precondition=_still(now))
            return
        was = self._memories.retrieve(then.id, memory_store_id=store, as_of=self._as_of)
        content = was.content
        if content is None:
            raise _Kept("its text of that time cannot be read any more")
        if now is None:
            self._create(then, then.path, content)
        else:
            self._require_path(now)
            self._memories.update(
                now.id, memory_store_id=store, content=content, path=then.path, precondition=_still(now)
            )

    def _delete(self, now: Seen) -> None:
        """Delete a memory. One that is gone is done: a deletion was repeated after its answer was lost."""
        try:
            self._require_path(now)
            self._memories.delete(now.id, memory_store_id=self._store_id, expected_content_sha256=now.sha256 or "")
        except ApiRefused as error:
            if error.status != NOT_FOUND:
                raise

    def _create(self, then: Seen, path: str, content: str) -> None:
        """Create a memory. One that has its text is done: its creation was repeated after its answer was lost, and
        conflicts with itself.
        """
        try:
            self._memories.create(self._store_id, path=path, content=content)
        except ApiRefused as error:
            if error.status != CONFLICT:
                raise
            there = self._memories.at(self._store_id, path)
            if there is None or there.content_sha256 != then.sha256:
                raise

    def _told(self, done: Done) -> Done:
        self._tell(done)
        return done


class _Kept(Exception):
    """Why a memory is kept as it is."""


def _still(now: Seen) -> Any:
    return {"type": "content_sha256", "content_sha256": now.sha256}


def _aside(memory_id: str) -> str:
    """Return the path at which a memory is out of the way of others."""
    return f"/{memory_id}.restoring"


def _in_circles(waiting: Sequence[Action]) -> list[Seen]:
    """Return the memories that wait for each other in circles: one has the path that another is to have, or a path
    above or below it. None of them gets its place until one has stepped aside.
    """
    moves = [
        (one.now, one.now.path, one.then.path)
        for one in waiting
        if one.moves and one.now and one.then and one.now.path and one.then.path
    ]
    while True:
        in_the_way, waited_for = _meeting({now for _, now, _ in moves}), _meeting({then for _, _, then in moves})
        left = [one for one in moves if in_the_way(one[2]) and waited_for(one[1])]
        if len(left) == len(moves):
            return [memory for memory, _, _ in moves]
        moves = left


def _meeting(paths: set[str]) -> Callable[[str], bool]:
    """Return what tells whether a path is one of these, or above or below one."""
    above = paths.union(*map(ancestors, paths))
    return lambda path: path in above or not paths.isdisjoint(ancestors(path))


def _blocked(done: Done) -> bool:
    return done.action.moves and done.reason.startswith("memory_path_conflict_error")
