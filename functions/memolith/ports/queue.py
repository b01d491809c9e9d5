"""Queues of object keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Queue(Protocol):
    """At least once, in no order."""

    def send(self, messages: Sequence[str]) -> None:
        """Send each; all of them or an error. Raises Unavailable, after which some may have been sent."""


class TakenMessages(Protocol):
    """Messages that a function was woken with, and that are not done."""

    def come_back(self, queue: str, receipt: str, seconds: int) -> None:
        """Show a message again so many seconds from now, instead of after the queue's own time-out.

        Args:
            queue: the queue's name.
            receipt: what the message was handed over with.
            seconds: at most 43,200 from when it was taken.

        Raises:
            Unavailable: it comes back when the queue's time-out says.
        """
