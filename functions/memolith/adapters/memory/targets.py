"""Targets of gateways, in memory."""

from __future__ import annotations

from memolith.ports.errors import Unavailable
from memolith.ports.targets import Target


class MemoryTargets:
    """`ports.targets.Targets`.

    Attributes:
        known: by name; a test adds to it.
        unavailable: whether to answer no call.
    """

    def __init__(self, known: dict[str, Target] | None = None) -> None:
        self.known = dict(known or {})
        self.unavailable = False

    def find(self, name: str) -> Target | None:
        """Return the target. See the port."""
        if self.unavailable:
            raise Unavailable("the targets cannot be read")
        return self.known.get(name)
