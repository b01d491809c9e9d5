"""What a use case asks of its ports, in order, as text that a table can hold.

read control+keys+stores+memories      one batch of rows by key, with their tables
query paths · count paths              one query
write paths                            one conditional write of one row
transact journal+memories+versions     one transaction
put log · head log · get log · list log@eu-west-1   one S3 request; elsewhere where it says so
invoke peerwriter@us-east-1            one invocation
[read paths | query paths]             at once
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from memolith.adapters.layered import Call

T = TypeVar("T")


class Trace:
    """An interceptor and a `ports.parallel.Parallel`: what each region asked for since the last `clear`."""

    def __init__(self) -> None:
        self._steps: dict[str, list[str]] = {}
        self._group: list[str] | None = None

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        steps = self._steps.setdefault(call.origin, []) if self._group is None else self._group
        steps.append(_step(call))
        self._origin = call.origin
        return act()

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """One after the other, but noted as at once: a task that asked for nothing is no part of it."""
        self._group = []
        try:
            return [task() for task in tasks]
        finally:
            together, self._group = self._group, None
            if together:
                step = together[0] if len(together) == 1 else f"[{' | '.join(together)}]"
                self._steps.setdefault(self._origin, []).append(step)

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        """Noted where it is waited for."""
        return cache(task)

    def clear(self) -> None:
        self._steps.clear()

    def of(self, region: str) -> list[str]:
        """Everything that `region` asked for, in order."""
        return self._steps.get(region, [])


def _step(call: Call) -> str:
    port, _, method = call.name.partition(".")
    where = "" if call.target == call.origin else f"@{call.target}"
    if port == "index":
        tables = "+".join(sorted(set(call.subjects)))
        verb = method if method != "commit" else "write" if len(call.subjects) == 1 else "transact"
        return f"{verb} {tables}"
    if port == "peers":
        return f"invoke {call.subjects[0]}{where or '@' + call.target}"
    kind = call.subjects[0].split("/")[1] if "/" in call.subjects[0] else call.subjects[0]
    verb = {"put_if_absent": "put"}.get(method, method)
    return f"{verb} {kind}{where}"
