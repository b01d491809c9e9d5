"""Queues of object keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Queue(Protocol):
    """At least once, in no order."""

    def send(self, messages: Sequence[str]) -> None:
        """Sends each; all of them or an error. Raises Unavailable, after which some may have been sent."""
