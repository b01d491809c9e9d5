"""How many examples a property is tried with: few in `make test`, whose runs draw others each time."""

from __future__ import annotations

import os

TIMES = int(os.environ.get("MEMOLITH_EXAMPLES_TIMES", "1"))


def examples(count: int) -> int:
    """As many as `make test` draws, or as many times more as `make properties` asks for."""
    return count * TIMES
