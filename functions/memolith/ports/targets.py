"""What a gateway's calls may touch, for those that carry no credentials of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Target:
    """One store, and what opens it: an API key or a session's token."""

    memory_store_id: str
    token: str = field(repr=False)


class Targets(Protocol):
    """The targets that an operator has set up, each under the name that its gateway gives it."""

    def find(self, name: str) -> Target | None:
        """Return the target of that name; remembered for some minutes. One that is new is found within ten seconds.

        Raises:
            Unavailable: what was set up cannot be read, or is not of the shape it should have.
        """
