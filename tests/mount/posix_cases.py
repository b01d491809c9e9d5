"""The cases of POSIX that a mount is held to, by name. `test_posix` does them, and says which are known to fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Case = Callable[[Path], None]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def number_of(call: Callable[[], object]) -> int:
    """The errno of a call that fails; 0 for one that does not."""
    try:
        call()
    except OSError as error:
        return error.errno or -1
    return 0
