"""Rules about language, tried on every reading of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memolith.scanner.budget import Budget
from memolith.scanner.case_folding import CaseFolder, Folded, distinct
from memolith.scanner.checks import CHECKS
from memolith.scanner.disguises import GAPPED_MARK, Reading, decoded, reading_of, reading_of_pieces
from memolith.scanner.engine import Engine, Located, Match
from memolith.scanner.misspelling import corrected
from memolith.scanner.scoring import Hit
from memolith.scanner.signs import Signs
from memolith.scanner.unfolding import DEPTH, FLIPPED, LEAST_FLIPPED, Unfolder
from memolith.scanner.words import Words

STRONG = 8.0
"""Rules of fewer points are not looked for in corrected readings, where words come about by accident."""


@dataclass(frozen=True)
class Readers:
    """What reads a text for its language.

    Attributes:
        engine: compiled from the rules about language.
        signs: weighs sentences that no rule may hold.
        folder: makes the folded copy.
        unfolder: undoes disguises.
    """

    engine: Engine
    signs: Signs
    folder: CaseFolder
    unfolder: Unfolder


@dataclass(frozen=True)
class _Read:
    """A reading that the rules were tried on, its words, and what was located in it."""

    reading: Reading
    words: Words
    located: Located


def find_hits(
    text: str, encoded: bytes, present: str, encodings: dict[int, list[int]], readers: Readers, budget: Budget
) -> list[Hit]:
    """Match the rules in the folded copy and in every other reading for which there is a hint.

    Args:
        text: as written, without surrogates.
        encoded: the same in UTF-8.
        present: see `memolith.scanner.case_folding.distinct`.
        encodings: where something may be encoded; see `memolith.scanner.disguises.decoded`.
        readers: what reads it.
        budget: what it may cost; other readings are left out when it is spent.
    """
    folded = readers.folder.fold(text, encoded, present)
    hits: list[Hit] = []
    undone: list[_Read] = []
    level: Iterable[Reading] = _whole(folded, present, encoded, encodings, readers)
    for depth in range(DEPTH + 1):
        read: list[_Read] = []
        for reading in level:
            if budget.spent() and (hits or undone or read):
                return hits
            read.append(_read(reading, readers, budget, hits))
        undone += read
        if depth == 0:
            hits += _misspelled(read, readers.engine, budget)
        if depth < DEPTH:
            level = (view for each in read for view in _views(each, text, readers, budget))
    hits += _misspelled(undone[1:], readers.engine, budget)
    return hits


def _read(reading: Reading, readers: Readers, budget: Budget, hits: list[Hit]) -> _Read:
    """Try the rules and the signs on a reading, and add what they find."""
    words = readers.signs.words(reading.text, reading.encoded)
    located = readers.engine.scan(reading.text, reading.encoded, budget)
    hits += _confirmed(reading, located.matches)
    hits += _orders(reading, words, readers.signs, budget)
    return _Read(reading, words, located)


def _views(read: _Read, written: str, readers: Readers, budget: Budget) -> Iterator[Reading]:
    return readers.unfolder.unfold(read.reading, read.words, read.located.marks, written, budget)


def _orders(reading: Reading, words: Words, signs: Signs, budget: Budget) -> Iterator[Hit]:
    """Yield the sentences of a reading whose signs add up to an order, a few of the heaviest said in the reason."""
    for order in signs.find(words, budget):
        how = f"signs: {', '.join(order.signs)}"
        yield Hit(order.rule, *reading.origin(order.start, order.end), f"{reading.how}; {how}" if reading.how else how)


def _misspelled(read: Iterable[_Read], engine: Engine, budget: Budget) -> Iterator[Hit]:
    """Yield what stands in the places of misspelled order words, corrected."""
    for each in read:
        if budget.spent():
            return
        ends = each.located.marks.get(GAPPED_MARK, ())
        words = each.words
        reading = corrected(each.reading, words.suspects(), ends)
        if reading is not None:
            yield from hits_in(reading, engine, budget, STRONG)


def _whole(
    folded: Folded, present: str, encoded: bytes, encodings: dict[int, list[int]], readers: Readers
) -> Iterator[Reading]:
    """Yield the text, with its look-alike letters as Latin ones, on its feet, and what stands in it encoded."""
    plain = reading_of(folded)
    yield plain
    unmasked = readers.folder.unmask(folded)
    if unmasked is not None:
        yield reading_of(unmasked, "look-alike letters")
    if len(FLIPPED.intersection(present)) >= LEAST_FLIPPED:
        yield readers.unfolder.flipped(plain)

    def fold(text: str) -> Folded:
        raw = text.encode()
        return readers.folder.fold(text, raw, distinct(raw))

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
