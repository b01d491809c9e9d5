"""Rules about language, tried on every reading of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memolith.scanner.budget import Budget
from memolith.scanner.case_folding import CaseFolder, Folded, distinct
from memolith.scanner.checks import CHECKS
from memolith.scanner.disguises import SPELLINGS, Reading, decoded, reading_of, reading_of_pieces, respelled, straight
from memolith.scanner.engine import Engine, Located, Match
from memolith.scanner.misspelling import corrected
from memolith.scanner.scoring import Hit
from memolith.scanner.signs import Signs

STRONG = 8.0
"""Rules of fewer points are not looked for in respelled readings, where words come about by accident."""


def find_hits(
    text: str,
    encoded: bytes,
    present: str,
    encodings: dict[int, list[int]],
    engine: Engine,
    signs: Signs,
    folder: CaseFolder,
    budget: Budget,
) -> list[Hit]:
    """Match the rules in the folded copy and in every other reading for which there is a hint.

    Args:
        text: as written, without surrogates.
        encoded: the same in UTF-8.
        present: see `memolith.scanner.case_folding.distinct`.
        encodings: where something may be encoded; see `memolith.scanner.disguises.decoded`.
        engine: compiled from the rules about language.
        signs: weighs sentences that no rule may hold.
        folder: makes the folded copy.
        budget: what it may cost; other readings are left out when it is spent.
    """
    folded = folder.fold(text, encoded, present)
    plain = reading_of(folded)
    located = engine.scan(plain.text, plain.encoded, budget)
    hits = [*_confirmed(plain, located.matches), *_orders(plain, signs, budget)]
    for reading in _hidden(folded, encoded, encodings, folder):
        if budget.spent():
            return hits
        hits += [*hits_in(reading, engine, budget), *_orders(reading, signs, budget)]
    for reading in (*respelled(folded, plain.encoded, located.marks), *_misspelled(folded, plain, located, folder)):
        if budget.spent():
            return hits
        hits += hits_in(reading, engine, budget, STRONG)
    return hits


def _orders(reading: Reading, signs: Signs, budget: Budget) -> Iterator[Hit]:
    """Yield the sentences of a reading whose signs add up to an order, a few of the heaviest said in the reason."""
    for order in signs.find(reading.text, reading.encoded, budget):
        how = f"signs: {', '.join(order.signs)}"
        yield Hit(order.rule, *reading.origin(order.start, order.end), f"{reading.how}; {how}" if reading.how else how)


def _misspelled(folded: Folded, plain: Reading, located: Located, folder: CaseFolder) -> Iterator[Reading]:
    """Yield the places of misspelled order words, corrected: in the letters as written, and in those they look like."""
    ends = located.marks.get(len(SPELLINGS) - 1, ())
    unmasked = folder.unmask(folded)
    for copy in (folded, unmasked):
        if copy is not None:
            encoded = plain.encoded if copy is folded else copy.text.encode()
            reading = corrected(copy, encoded, straight(copy), ends)
            if reading is not None:
                yield reading


def _hidden(folded: Folded, encoded: bytes, encodings: dict[int, list[int]], folder: CaseFolder) -> Iterator[Reading]:
    """Yield the text with its look-alike letters as Latin ones, and what stands in it encoded; mostly neither."""
    unmasked = folder.unmask(folded)
    if unmasked is not None:
        yield reading_of(unmasked, "look-alike letters")

    def fold(text: str) -> Folded:
        raw = text.encode()
        return folder.fold(text, raw, distinct(raw))

    pieces = list(decoded(encoded, encodings))
    for how in dict.fromkeys(piece.how for piece in pieces):
        yield reading_of_pieces([piece for piece in pieces if piece.how == how], encoded, fold)


def hits_in(reading: Reading, engine: Engine, budget: Budget, least_weight: float = 0.0) -> Iterator[Hit]:
    """Yield the matches of an engine's rules of at least that weight in one reading."""
    return _confirmed(reading, engine.scan(reading.text, reading.encoded, budget).matches, least_weight)


def _confirmed(reading: Reading, matches: Iterable[Match], least_weight: float = 0.0) -> Iterator[Hit]:
    for match in matches:
        if match.rule.weight >= least_weight and (match.found is None or CHECKS[match.rule.check](match.found)):
            yield Hit(match.rule, *reading.origin(*match.span), reading.how)
