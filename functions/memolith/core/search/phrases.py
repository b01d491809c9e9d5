"""Phrases of a query: what stands in quotation marks there has to stand in the text, word for word.

Capitals, accents and what parts the words make no difference; forms of a word do. In a question (``Who likes "The Four
Seasons"?``) the marks are round a name, which the text that answers need not repeat: there they demand nothing, and its
words favor texts in which they stand side by side, as all words do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from memolith.core.search.words import PAIRED, SINGLE, Word, silenced, words

PHRASES_MAX = 4
"""How many phrases a query has; further ones are words like any others."""

PHRASE_MAX_WORDS = 30

_QUOTED = re.compile('"([^"\n]+)"|“([^“”\n]+)”|„([^„“”\n]+)[“”]|«([^«»\n]+)»')
_ASKED = re.compile(r"[?？؟]\s*$")
_PARTS = re.compile(r"[^\W_]+")
_IN_PAIRS, _ALONE = re.compile(f"[{PAIRED}]"), re.compile(f"[{SINGLE}]")
_NOT_BEHIND, _NOT_BEFORE = f"(?<![^\\W_{PAIRED}])", f"(?![^\\W_{PAIRED}])"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand side by side: as a text is looked up in the index by, and as it is then read.

    `groups` are words that the index has near each other. Behind a run of Chinese or Japanese it has each character of
    the whole run, of which a text may have more than the phrase: what follows is a group of its own.
    """

    groups: tuple[tuple[str, ...], ...]
    pattern: re.Pattern[str]

    def is_in(self, plain: str) -> bool:
        """Tell whether a text that `plain_text` made has it. Linear in the text."""
        return self.pattern.search(plain) is not None


def phrases_of(query: str) -> tuple[Phrase, ...]:
    """Return the phrases that a text has to have; a mark without its other half makes none, nor does a question."""
    found: list[Phrase] = []
    if _ASKED.search(query) and _PARTS.search(_QUOTED.sub("", query)):
        return ()
    for match in _QUOTED.finditer(query):
        quoted = next(part for part in match.groups() if part is not None)
        parts = _PARTS.findall(plain_text(quoted))[:PHRASE_MAX_WORDS]
        found_by = [word for word in words(quoted) if not word.extra][:PHRASE_MAX_WORDS]
        if parts and found_by:
            spaced = r"[\W_]+".join(map(re.escape, parts))
            found.append(
                Phrase(
                    _groups(found_by),
                    re.compile(_edge(parts[0][0], _NOT_BEHIND) + spaced + _edge(parts[-1][-1], _NOT_BEFORE)),
                )
            )
    return tuple(found[:PHRASES_MAX])


def plain_text(text: str) -> str:
    """Return a text in small letters, without what a writer may leave out.

    What is left is composed again: a Korean syllable stays one character, which a particle may follow.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", silenced(unicodedata.normalize("NFKD", text.casefold())))


def have_all(text: str, phrases: Sequence[Phrase]) -> bool:
    """Tell whether a text has every phrase."""
    plain = plain_text(text)
    return all(phrase.is_in(plain) for phrase in phrases)


def _groups(found_by: Sequence[Word]) -> tuple[tuple[str, ...], ...]:
    """Part the words of a phrase behind each run of a script whose words the index has in pairs.

    A single character that is no word of its own there is left out: a text may have it in pairs only.
    """
    groups: list[list[str]] = [[]]
    end, paired = 0, False
    for word in found_by:
        if paired and word.start >= end:
            groups.append([])
        end, paired = word.end, _IN_PAIRS.match(word.text) is not None
        if not paired or _ALONE.match(word.text) or len(_IN_PAIRS.findall(word.text)) > 1:
            groups[-1].append(word.lower)
    return tuple(map(tuple, filter(None, groups)))


def _edge(character: str, boundary: str) -> str:
    """Return where a word has to end: nowhere in a script that does not part its words, nor beside one."""
    return "" if re.match(f"[{PAIRED}]", character) else boundary
