"""The deeper look: rules and readings that are too slow, or too eager, for the write path.

It runs after a write was committed, so it may take a hundred times as long, and what it finds withholds a text that is
already there. It adds to what `Scanner.scan` finds:

- rules of their own (``rules/deep``): orders that carry no override phrase, and that only a text which is read by
  agents, and by nobody else, has no reason to hold;
- every reading of a text that somebody could ask a model to make: several layers of encoding, ciphers, words put
  together from list items, string literals or initial letters (`cairn.scanner.layers`, `cairn.scanner.rejoining`);
- what people do not see (`cairn.scanner.hidden`), where neither quotation marks nor a fence excuse an order;
- a bar that rises less with the length of the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from cairn.scanner.context import Context
from cairn.scanner.disguises import reading_of
from cairn.scanner.engine import Engine
from cairn.scanner.folding import Folder, distinct
from cairn.scanner.hidden import Ranges, hidden_ranges, prose_blocks
from cairn.scanner.language import hits_in
from cairn.scanner.weighing import Hit, bar

DEEP_BAR = 8.5
"""The points that make a finding high in a long text; in a short one, the write path's own bar is lower still."""

HIDDEN_WEIGHT = 1.75
"""What an order weighs that stands where people do not look."""


MANY_TERMS = 3
"""Different terms of attack and defence from which a text counts as being about them."""


class DeepContext(Context):
    """Surroundings as the deeper look judges them: what is hidden from people is said to the reader."""

    def __init__(self, text: str, terms: int) -> None:
        """See `Context`."""
        super().__init__(text, terms)
        object.__setattr__(self, "_hidden", Ranges(hidden_ranges(text)))
        object.__setattr__(self, "_prose", Ranges(prose_blocks(text)))

    _hidden: Ranges
    _prose: Ranges

    def discount(self, start: int, end: int, negatable: bool = True) -> float:
        """See `Context.discount`. A text about attacks, which has many of their terms, may hide its examples."""
        if self.terms < MANY_TERMS:
            if self._hidden.enclose(start, end):
                return HIDDEN_WEIGHT
            if self._prose.enclose(start, end):
                return 1.0
        return super().discount(start, end, negatable)


def deep_bar(length: int) -> float:
    """The points that make a finding high, for a text of so many characters."""
    return min(bar(length), DEEP_BAR)


class DeepLook:
    """Finds what the write path's rules do not look for. Composed once a process, on the first deep scan."""

    def __init__(self, folder: Folder, usual: Engine, deep: Engine) -> None:
        """Take the write path's engine of rules about language, and that of the deeper ones."""
        self._folder = folder
        self._engines = (usual, deep)

    def hits(self, text: str, encoded: bytes) -> Iterator[Hit]:
        """Every match of the deeper rules in the text, and of all rules in its other readings.

        Args:
            text: without surrogates.
            encoded: the same in UTF-8.
        """
        plain = reading_of(self._folder.fold(text, encoded, distinct(encoded)))
        yield from hits_in(plain, self._engines[1])
