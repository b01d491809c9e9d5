"""What a queue has set aside, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Depths:
    """How much stands where; approximate, as queues count.

    Attributes:
        waiting: messages that no receiver works on yet.
        in_flight: messages that a receiver works on.
        set_aside: dead letters.
    """

    waiting: int
    in_flight: int
    set_aside: int


class DeadLetters(Protocol):
    """A queue's dead-letter queue."""

    def depths(self) -> Depths:
        """Count what is in the queue and in the dead-letter queue. Raises Unavailable."""

    def look(self, limit: int) -> Sequence[str]:
        """Return up to `limit` of the dead letters, as they were sent; they stay where they are. Raises Unavailable.

        There may be more than a look finds. It takes each of them out for a moment, so that two looks at once see
        different ones.
        """

    def send_back(self) -> Iterator[int]:
        """Move to the queue what was dead-lettered when it began; yield how many it has moved so far.

        It sends each letter before it removes it, so that one may arrive twice and none is lost, whenever this stops. A
        letter that fails again comes back meanwhile: it moves no more than there were at the beginning.

        Raises:
            Unavailable: some may have been moved; do it again.
        """
