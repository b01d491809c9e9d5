"""How many examples a property is tried with: few in `make test`, whose runs draw others each time.

Seeds count as examples too: a test that tries a range of them tries a shorter one in `make test`.
"""

from __future__ import annotations

import os

TIMES = float(os.environ.get("MEMOLITH_EXAMPLES_TIMES", "0.5"))


def examples(count: int) -> int:
    """Return half of `count` for `make test`, or as many times `count` as `make properties` asks for."""
    return int(count * TIMES)
