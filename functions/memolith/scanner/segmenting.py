"""Words that run together, taken apart: ``ignoreallpreviousinstructions``.

The cheapest way to read a run of letters as words of the lexicon, where a word costs little, a short one more, and a
letter of none most. Linear in the run: no word is longer than `_LONGEST`.
"""

from __future__ import annotations

from memolith.scanner.lexicon import STEM, Lexicon

_LONGEST = 16
_UNKNOWN, _STRANGER = 1.9, 1.5
"""What a letter of no word costs, and what such letters cost more where they begin."""

_ENDING, _WITH_ENDING, _OF_ENDING = 5, 1.7, 0.65
"""Letters that may follow a word as its ending, what such a word costs, and what each of these letters does."""

_OF_LENGTH = (0.0, 3.2, 2.4, 2.0, 1.3, 1.1)
"""What words cost by their length; longer ones as the last."""

_OF_ONE_LETTER = frozenset("aeiouywz")

LONGEST_RUN = 240
"""Letters that are taken apart together."""


def words_in(run: str, lexicon: Lexicon) -> tuple[float, list[str]]:
    """Return what it costs to read a run of letters as words, and the words, what is no word among them.

    There are no words if the run mostly has none.
    """
    run = run[:LONGEST_RUN]
    best: list[tuple[float, int, bool]] = [(0.0, 0, True)]
    for end in range(1, len(run) + 1):
        best.append(min(_steps(run, end, best, lexicon)))
    words: list[str] = []
    known = 0
    end = len(run)
    strange = False
    while end:
        _, start, is_word = best[end]
        if is_word or not strange:
            words.append(run[start:end])
        else:
            words[-1] = run[start:end] + words[-1]
        strange = not is_word
        known += (end - start) * (is_word and end - start > 1)
        end = start
    read = known * 10 >= len(run) * 6 and len(words) > 1
    return best[-1][0], words[::-1] if read else []


def _steps(run: str, end: int, best: list[tuple[float, int, bool]], lexicon: Lexicon) -> list[tuple[float, int, bool]]:
    """Return the ways to read the run to there: its cost, where the last step began, and whether that is a word."""
    before, _, was_word = best[end - 1]
    steps = [(before + _UNKNOWN + _STRANGER * was_word, end - 1, False)]
    words, stems, begun = lexicon.words, lexicon.stems, lexicon.begun
    for start in range(max(0, end - _LONGEST), end):
        piece = run[start:end]
        length = end - start
        if piece in words and (length > 1 or piece in _OF_ONE_LETTER):
            steps.append((best[start][0] + _OF_LENGTH[min(length, 5)], start, True))
        elif length > STEM and piece[:STEM] in stems:
            cut = next(
                (cut for cut in range(length - 1, max(STEM, length - _ENDING) - 1, -1) if piece[:cut] in begun), 0
            )
            if cut:
                steps.append((best[start][0] + _WITH_ENDING + _OF_ENDING * (length - cut), start, True))
    return steps
