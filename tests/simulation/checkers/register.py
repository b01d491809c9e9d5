"""The register of exceptions: how each is entered with its argument, and switched off."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Excepted:
    """One exception: its name, and why what it lets pass breaks no promise."""

    name: str
    argument: str


EXCEPTIONS: dict[str, Excepted] = {}
_switched_off: set[str] = set()


def exception(argument: str) -> Callable[[Callable[P, bool]], Callable[P, bool]]:
    """Enters a predicate into the list. While it is switched off, it lets nothing pass."""

    def enter(predicate: Callable[P, bool]) -> Callable[P, bool]:
        name = predicate.__name__
        EXCEPTIONS[name] = Excepted(name, argument)

        @functools.wraps(predicate)
        def ask(*args: P.args, **kwargs: P.kwargs) -> bool:
            return name not in _switched_off and predicate(*args, **kwargs)

        return ask

    return enter


@contextmanager
def without(name: str) -> Iterator[None]:
    """Meanwhile the checkers do not know the exception."""
    assert name in EXCEPTIONS, name
    _switched_off.add(name)
    try:
        yield
    finally:
        _switched_off.discard(name)
