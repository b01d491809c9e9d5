"""Where an entry of a log stands: epochs, slots, and the pair of a log and a slot.

A **log** is the versions of one path, oldest first: objects whose keys differ only in their **slot**. A slot is taken
once, for ever, by one conditional put, and a log has no holes within an epoch; those two facts are what every other
guarantee rests on.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

_LETTERS = string.ascii_lowercase


def epoch_number_text(number: int) -> str:
    """Return an epoch's number as keys carry it; the order of the texts is the order of the numbers.

    Four digits up to 9999. From there on a letter stands in front, which says how many digits follow (``a``: five,
    ``b``: six, ...): letters sort after digits, and a longer number after a shorter one.
    """
    digits = f"{number:04d}"
    return digits if len(digits) == 4 else f"{_LETTERS[len(digits) - 5]}{digits}"


def _epoch_number(text: str) -> int:
    """Return the number that `epoch_number_text` wrote. Raises ValueError for a text that it never writes."""
    number = int(text.lstrip(_LETTERS))
    if epoch_number_text(number) != text:
        raise ValueError(f"not an epoch's number: {text!r}")
    return number


@dataclass(frozen=True, slots=True, order=True)
class Epoch:
    """One home's term over a store. `attempt` tells apart two terms of one number that one home began.

    As text, epochs of different numbers sort as their numbers do; listings rely on it (`epoch_number_text`).
    """

    number: int
    home: str
    attempt: int = 0

    @property
    def key_part(self) -> str:
        """The epoch inside a key, where the home stands in front already: ``0001-0``."""
        return f"{epoch_number_text(self.number)}-{self.attempt}"

    def __str__(self) -> str:
        return f"{self.key_part}.{self.home}"

    @property
    def rank(self) -> tuple[int, bool, str, int]:
        """Which of two epochs is accepted: the greater. Of one number, a fail-over (attempt 0) before a move."""
        return (self.number, self.attempt == 0, self.home, self.attempt)

    @classmethod
    def parse(cls, text: str) -> Epoch:
        """Parse what `str` made. Raises ValueError."""
        return Slot.parse(f"{text}.0000000001").epoch


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One position of a log. Order is (epoch number, home, attempt, sequence); sequences start at 1 in each epoch."""

    epoch: Epoch
    sequence: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.sequence:010d}"

    @property
    def rank(self) -> tuple[tuple[int, bool, str, int], int]:
        """Which of two records of one store stands: the greater, in whichever regions they were written."""
        return (self.epoch.rank, self.sequence)

    @property
    def following(self) -> Slot:
        """The next position of the same epoch."""
        return Slot(self.epoch, self.sequence + 1)

    @property
    def preceding(self) -> Slot | None:
        """The position before it in the same epoch, or None for the first."""
        return Slot(self.epoch, self.sequence - 1) if self.sequence > 1 else None

    @classmethod
    def parse(cls, text: str) -> Slot:
        """Parse what `str` made. Raises ValueError."""
        match = _SLOT.fullmatch(text)
        if match is None:
            raise ValueError(f"not a slot: {text!r}")
        return cls(Epoch(_epoch_number(match[1]), match[3], int(match[2])), int(match[4]))


@dataclass(frozen=True, slots=True)
class LogRef:
    """One position of one log within a store: what a rename's two entries name each other by."""

    path_hash: str
    slot: Slot

    def __str__(self) -> str:
        return f"{self.path_hash}/{self.slot}"

    def key_in(self, store_id: str) -> LogKey:
        """Return the key of this entry in a store."""
        return LogKey(store_id, self.path_hash, self.slot)

    @classmethod
    def parse(cls, text: str) -> LogRef:
        """Parse what `str` made. Raises ValueError."""
        path_hash, _, slot = text.partition("/")
        return cls(path_hash, Slot.parse(slot))


@dataclass(frozen=True, slots=True)
class LogKey:
    """The key of one version of one memory."""

    store_id: str
    path_hash: str
    slot: Slot

    def __str__(self) -> str:
        epoch = self.slot.epoch
        return f"{epoch.home}/log/{self.store_id}/{self.path_hash}/{epoch.key_part}.{self.slot.sequence:010d}"


_NUMBER = r"(\d{4}|[a-z]\d{5,})"


_SLOT = re.compile(rf"{_NUMBER}-(\d+)\.([a-z0-9-]+)\.(\d{{10}})")
