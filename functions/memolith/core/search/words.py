"""The words of a text, in any script: what stands between blanks, and what stands for words where no script parts them.

A memory and a query are taken apart by these rules alike, or they would not meet. Whoever changes what a text yields
has to raise the number of the packs' format with it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

WORD_MAX_CHARS = 40
"""What is longer is a hash or a blob, which no one types; it is cut, so that it still finds itself."""

ELIDED_MAX_CHARS = 2
"""``l'``, ``d'``, ``O'``, ``qu'``: what stands before an apostrophe and is no longer says nothing by itself."""

COMPOUND_MAX_PARTS = 3
"""``api-gateway`` is found as ``apigateway`` too, but a whole path or a date with its hyphens is no word."""

CONTRACTED = frozenset(("s", "t", "d", "m", "ll", "re", "ve"))
"""What English hangs on a word. After any other apostrophe stands the word itself: ``l'école``, ``O'Brien``."""

_MARK_RANGES = (
    (0x0300, 0x036F), (0x0483, 0x0487), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2), (0x05C4, 0x05C5),
    (0x05C7, 0x05C7), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC), (0x06DF, 0x06E4),
    (0x06E7, 0x06E8), (0x06EA, 0x06ED), (0x0900, 0x0903), (0x093A, 0x093C), (0x093E, 0x094F), (0x0951, 0x0957),
    (0x0962, 0x0963), (0x0981, 0x0983), (0x09BC, 0x09BC), (0x09BE, 0x09CD), (0x0A01, 0x0A03), (0x0A3C, 0x0A4D),
    (0x0A81, 0x0A83), (0x0ABC, 0x0ABC), (0x0ABE, 0x0ACD), (0x0B3C, 0x0B3C), (0x0B3E, 0x0B4D), (0x0BBE, 0x0BCD),
    (0x0C00, 0x0C04), (0x0C3E, 0x0C4D), (0x0C81, 0x0C83), (0x0CBC, 0x0CBC), (0x0CBE, 0x0CCD), (0x0D00, 0x0D03),
    (0x0D3E, 0x0D4D), (0x0DCA, 0x0DDF), (0x0E31, 0x0E31), (0x0E34, 0x0E3A), (0x0E47, 0x0E4E), (0x0EB1, 0x0EBC),
    (0x0EC8, 0x0ECD), (0x102B, 0x103E), (0x17B4, 0x17D3), (0x20D0, 0x20F0), (0x3099, 0x309A), (0xFE20, 0xFE2F),
)  # fmt: skip
MARKS = "".join(f"{chr(first)}-{chr(last)}" for first, last in _MARK_RANGES)
"""Marks that belong to the letter before them: accents that stand alone, and vowels of Arabic, Hebrew, Hindi, Thai."""

_SILENT = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]")
"""Marks that a writer may leave out: accents; the vowels and the stretched line of Arabic and Hebrew."""

SINGLE = "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
"""Scripts one character of which can be a word: Chinese characters, and the syllables of Korean."""

PAIRED = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u1000-\u102a\u1780-\u17b3"
    f"\u3005\u3040-\u3098\u309b-\u30ff{SINGLE}"
)
"""Scripts that do not part their words, or hang particles on them: two characters at a time stand for words."""

_RUN = f"[{PAIRED}][{PAIRED}{MARKS}]*"
_LETTERS = f"(?:(?![{PAIRED}])[^\\W_ʼʻ][{MARKS}]*)+"
_PLAIN = f"[A-Za-z0-9]++(?![^\\W_]|['’ʼʻ{MARKS}])"
"""Most words, so that they are found at once: as `_LETTERS` finds them, where nothing behind goes on with the word."""
_WORD = re.compile(f"{_PLAIN}|{_RUN}|{_LETTERS}(?:['’ʼʻ]{_LETTERS})*")
_ONE_RUN = re.compile(_RUN)
_ALONE = re.compile(f"[{SINGLE}]")
_MARK = re.compile(f"[{MARKS}]")
_APOSTROPHE = re.compile("['’ʼʻ]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")


class Word(NamedTuple):
    """One word of a text: as it stands there; folded; and where. A tuple, for a store has millions of them to make.

    Attributes:
        extra: it is made of words, or of a part of one, that are yielded as well: ``apigateway`` of ``api-gateway``,
            ``user`` of ``getUserById``, 猫 beside 猫咪. A query does without it where the word itself is there.
    """

    text: str
    lower: str
    start: int
    end: int
    extra: bool = False


def words(text: str) -> Iterator[Word]:
    """Yield the words of a text in order; what is made of a word, or of several, right behind it."""
    compound: list[Word] = []
    for match in _WORD.finditer(text):
        found, start, end = match[0], match.start(), match.end()
        if compound and not _goes_on(text, compound[-1], start):
            if len(compound) > 1:
                yield from _joined(compound)
            compound = []
        if found.isascii() and found.isalnum():
            word = Word(found, found.lower()[:WORD_MAX_CHARS], start, end)
            yield word
            compound.append(word)
            if not found.islower() and CAMEL.search(found):
                yield from _humps(found, start)
        elif _ONE_RUN.match(found):
            yield from _pairs(found, start)
        else:
            parts = list(_parted(found, start))
            yield from parts
            compound += parts if len(parts) == 1 else []
    yield from _joined(compound)


def _goes_on(text: str, before: Word, start: int) -> bool:
    return start == before.end + 1 and text[before.end] in "-_\u2010\u2011"


def _joined(parts: list[Word]) -> Iterator[Word]:
    """Yield ``apigateway`` of ``api-gateway``."""
    if 1 < len(parts) <= COMPOUND_MAX_PARTS and not all(part.lower.isdecimal() for part in parts):
        whole = "".join(part.lower for part in parts)[:WORD_MAX_CHARS]
        yield Word(whole, whole, parts[0].start, parts[-1].end, extra=True)


def _humps(word: str, start: int) -> Iterator[Word]:
    """Yield ``get``, ``user``, ``by``, ``id`` of ``getUserById``."""
    for hump in _HUMP.finditer(word):
        lower = hump[0].lower()[:WORD_MAX_CHARS]
        yield Word(lower, lower, start + hump.start(), start + hump.end(), extra=True)


def _parted(found: str, start: int) -> Iterator[Word]:
    """Yield what of a word with apostrophes says something: ``don`` of ``don't``, ``école`` of ``l'école``."""
    parts: list[tuple[str, int]] = []
    for part in _APOSTROPHE.split(found):
        parts.append((part, start))
        start += len(part) + 1
    if len(parts) > 1 and folded(parts[-1][0]) in CONTRACTED:
        parts.pop()
    if len(parts) > 1:
        parts = [part for part in parts if len(part[0]) > ELIDED_MAX_CHARS] or parts[-1:]
    for part, at in parts:
        yield Word(part, folded(part), at, at + len(part))


def _pairs(run: str, start: int) -> Iterator[Word]:
    """Yield a run two letters at a time, each with its marks; and one by one where one is a word."""
    at = [place for place, character in enumerate(run) if not _MARK.match(character)]
    ends = [*at[1:], len(run)]
    if len(at) == 1:
        yield Word(run, folded(run), start, start + len(run))
        return
    for first, end in zip(at, ends[1:], strict=False):
        pair = run[first:end]
        yield Word(pair, folded(pair), start + first, start + end)
    for first, end in zip(at, ends, strict=True):
        if _ALONE.match(run[first]):
            yield Word(run[first:end], folded(run[first:end]), start + first, start + end, extra=True)


def silenced(text: str) -> str:
    """Leave out what a writer may leave out: accents that stand alone; vowel marks of Arabic and Hebrew."""
    return _SILENT.sub("", text)


def folded(word: str) -> str:
    """Fold a word to lower case, without what a writer may leave out, and not longer than `WORD_MAX_CHARS`.

    Accents are left out, and the vowel marks of Arabic and Hebrew; Japanese, Korean, Thai and Hindi keep their marks,
    which make other letters of them.
    """
    if word.isascii():
        return word.lower()[:WORD_MAX_CHARS]
    if _ONE_RUN.match(word):
        plain = unicodedata.normalize("NFKC", word)
    else:
        plain = _SILENT.sub("", unicodedata.normalize("NFKD", word.casefold()))
    kept = "".join(character for character in plain if character.isalnum() or _MARK.match(character))
    return (kept or word.casefold())[:WORD_MAX_CHARS]
