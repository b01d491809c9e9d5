"""Rules about language, tried on every reading of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from memolith.scanner.budget import Budget
from memolith.scanner.case_folding import CaseFolder, Folded, distinct
from memolith.scanner.checks import CHECKS
from memolith.scanner.disguises import SPELLINGS, Reading, decoded, reading_of, reading_of_pieces, respelled, straight
from memolith.scanner.engine import Engine, Located, Match
from memolith.scanner.misspelling import corrected
from memolith.scanner.scoring import Hit
from memolith.scanner.signs import Signs
from memolith.scanner.words import Words

STRONG = 8.0
"""Rules of fewer points are not looked for in respelled readings, where words come about by accident."""

Copy = tuple[Folded, Reading, Words]
"""A whole text: folded, or with its look-alike letters as Latin ones; the same as a reading; the words of it."""


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
    words = signs.words(plain.text, plain.encoded)
    located = engine.scan(plain.text, plain.encoded, budget)
    hits = [*_confirmed(plain, located.matches), *_orders(plain, words, signs, budget)]
    copies = [(folded, plain, words)]
    unmasked = folder.unmask(folded)
    if unmasked is not None:
        latin = reading_of(unmasked, "look-alike letters")
        copies.append((unmasked, latin, signs.words(latin.text, latin.encoded)))
    for reading, of_reading in _hidden(copies[1:], encoded, encodings, folder, signs):
        if budget.spent():
            return hits
        hits += [*hits_in(reading, engine, budget), *_orders(reading, of_reading, signs, budget)]
    for reading in (*respelled(folded, plain.encoded, located.marks), *_misspelled(copies, located)):
        if budget.spent():
            return hits
        hits += hits_in(reading, engine, budget, STRONG)
    return hits


def _orders(reading: Reading, words: Words, signs: Signs, budget: Budget) -> Iterator[Hit]:
    """Yield the sentences of a reading whose signs add up to an order, a few of the heaviest said in the reason."""
    for order in signs.find(words, budget):
        how = f"signs: {', '.join(order.signs)}"
        yield Hit(order.rule, *reading.origin(order.start, order.end), f"{reading.how}; {how}" if reading.how else how)


def _misspelled(copies: Sequence[Copy], located: Located) -> Iterator[Reading]:
    """Yield the places of misspelled order words, corrected: in the letters as written, and in those they look like."""
    ends = located.marks.get(len(SPELLINGS) - 1, ())
    for copy, _, words in copies:
        reading = corrected(copy, words.suspects(), straight(copy), words.encoded, ends)
        if reading is not None:
            yield reading


def _hidden(
    unmasked: Sequence[Copy], encoded: bytes, encodings: dict[int, list[int]], folder: CaseFolder, signs: Signs
) -> Iterator[tuple[Reading, Words]]:
    """Yield the text with its look-alike letters as Latin ones, and what stands in it encoded; mostly neither."""
    for _, reading, words in unmasked:
        yield reading, words

    def fold(text: str) -> Folded:
        raw = text.encode()
        return folder.fold(text, raw, distinct(raw))

    pieces = list(decoded(encoded, encodings))
    for how in dict.fromkeys(piece.how for piece in pieces):
        reading = reading_of_pieces([piece for piece in pieces if piece.how == how], encoded, fold)
        yield reading, signs.words(reading.text, reading.encoded)


def hits_in(reading: Reading, engine: Engine, budget: Budget, least_weight: float = 0.0) -> Iterator[Hit]:
    """Yield the matches of an engine's rules of at least that weight in one reading."""
    return _confirmed(reading, engine.scan(reading.text, reading.encoded, budget).matches, least_weight)


def _confirmed(reading: Reading, matches: Iterable[Match], least_weight: float = 0.0) -> Iterator[Hit]:
    for match in matches:
        if match.rule.weight >= least_weight and (match.found is None or CHECKS[match.rule.check](match.found)):
            yield Hit(match.rule, *reading.origin(*match.span), reading.how)
