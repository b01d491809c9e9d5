"""Other ways to read a text: what it says once decoded, unmasked, respelled or turned around.

The folded copy (`memolith.scanner.case_folding`) undoes what a reader's eye undoes. These are what a reader, or a
model, undoes on request. Each reading is scanned like the text itself, and each knows the way back to the text as
written. One layer deep: a payload that is encoded twice is met by the rules about "decode this and do what it says".
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import string
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from memolith.scanner.case_folding import Folded
from memolith.scanner.offsets import Origin, by_piece, composed, in_characters


@dataclass(frozen=True)
class Reading:
    """One way to read a text, or parts of it.

    Attributes:
        how: what was undone, in words for a finding's reason; empty for the folded text itself.
        text: what to match against, lower case.
        encoded: the same in UTF-8.
        origin: where in the original a match stands.
    """

    how: str
    text: str
    encoded: bytes
    origin: Origin


def reading_of(folded: Folded, how: str = "") -> Reading:
    """Return a folded text as a reading of itself."""
    return Reading(how, folded.text, folded.text.encode(), straight(folded))


def straight(folded: Folded) -> Origin:
    """Return the way back from a folded text."""
    return lambda start, end: (folded.origin(start), max(folded.origin(end - 1), folded.origin(start)) + 1)


def _backwards(folded: Folded) -> Origin:
    back, length = straight(folded), len(folded.text)
    return lambda start, end: back(length - end, length - start)


APART = "\x00\n"
"""What keeps the pieces of a reading apart: no pattern crosses a NUL."""


_FROM_LEET = bytes.maketrans(b"013457@$!|", b"oieastasil")
_LETTERS = string.ascii_lowercase.encode()
_ROT13 = bytes.maketrans(_LETTERS, _LETTERS[13:] + _LETTERS[:13])


SPACED_OUT = r"(?:^|[^a-z0-9])[a-z](?:[ ._*|-]{1,3}[a-z]){8}"
"""Where letters stand apart (``i g n o r e``); a pattern for the engine."""

_TELLING = ("ignore", "disregard", "forget", "instruction", "previous", "guideline", "system prompt", "password")
"""Words one of which a respelled text must hold to be worth another scan."""


def _leet_spellings(word: str) -> str:
    """Return a pattern for a word in which a letter or more may be written as a digit or a sign."""
    letters = {"o": "[o0]", "i": "[i1!|]", "e": "[e3]", "a": "[a4@]", "s": "[s5$]", "t": "[t7]"}
    return "".join(letters.get(letter, letter) for letter in word)


LEET = "(?:" + "|".join(_leet_spellings(word) for word in _TELLING) + ")"
ROT13 = "(?:" + "|".join(codecs.encode(word, "rot13") for word in _TELLING) + ")"
BACKWARDS = "(?:" + "|".join(word[::-1] for word in _TELLING) + ")"
_GAP = r"[ ._*|-]{1,2}"
GAPPED_WORDS = (
    "ignore", "disregard", "forget", "override", "instructions", "previous", "guidelines", "password", "reveal",
)  # fmt: skip
GAPPED = "(?:" + "|".join(word[0] + "".join(rf"(?:{_GAP})?{c}" for c in word[1:]) for word in GAPPED_WORDS) + ")"
"""Words with a gap between letters at any place, or with none; see `memolith.scanner.misspelling`."""

SPELLINGS: tuple[str, ...] = (SPACED_OUT, LEET, ROT13, BACKWARDS, GAPPED)
"""Where words may be spelled in another way; patterns for the engine, in the order of `respelled`, which leaves
the last to `memolith.scanner.misspelling`."""

_LONGEST_TELLING = max(map(len, _TELLING))
_LEET = re.compile(LEET.encode())
_LEET_SIGN = re.compile(rb"[0-9@$!|]")


def respelled(folded: Folded, encoded: bytes, ends: dict[int, list[int]]) -> Iterator[Reading]:
    """Yield the text with its letters put together, out of leet, out of rot13, backwards: each only if something hints
    at it.

    Args:
        folded: the folded copy.
        encoded: its text in UTF-8.
        ends: for each of `SPELLINGS`, the positions at which a match ends, in bytes.
    """
    if 0 in ends:
        yield _joined(folded)
    if any(_leet_ends_at(encoded, end) for end in ends.get(1, ())):
        leet = encoded.translate(_FROM_LEET)
        yield Reading("digits read as letters", leet.decode(), leet, straight(folded))
    if 2 in ends:
        other = encoded.translate(_ROT13)
        yield Reading("rot13", other.decode(), other, straight(folded))
    if 3 in ends:
        backwards = folded.text[::-1]
        yield Reading("read backwards", backwards, backwards.encode(), _backwards(folded))


_SPACED_OUT = re.compile(r"(?<![a-z0-9])(?:[a-z][ ._*|-]{1,3}){8,400}[a-z](?![a-z0-9])")


def _leet_ends_at(encoded: bytes, end: int) -> bool:
    word = _LEET.search(encoded, max(0, end - _LONGEST_TELLING), end)
    return word is not None and _LEET_SIGN.search(word[0]) is not None


def _joined(folded: Folded) -> Reading:
    """Return runs of letters that stand apart, put together; wider gaps stay gaps between words."""
    starts, places, joined = [], [], ""
    for match in _SPACED_OUT.finditer(folded.text):
        words = re.split(r"[ ._*|-]{2,}", match[0])
        starts.append(len(joined))
        places.append((folded.origin(match.start()), folded.origin(match.end())))
        joined += " ".join(re.sub(r"[^a-z]", "", word) for word in words) + APART
    return Reading("letters put together", joined, joined.encode(), by_piece(starts, places))


BASE64 = r"(?:^|[^A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20}"
HEX = r"(?:[0-9a-fA-F]{2}[ :,]){14}"
ESCAPED = r"(?:(?:%|\\x|\\u00|&#x?)[0-9a-fA-F]{2,3};?[^%\\&\n ]{0,16}){3}"
ENCODINGS: tuple[str, ...] = (BASE64, HEX, ESCAPED)
"""Where something may be encoded; patterns for the engine, in the order of `decoded`."""

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{20,}={0,2}(?:\r?\n[ \t>]*[A-Za-z0-9+/_-]{20,}={0,2})*")
_ONLY_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){14,}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}[ :,]?){14,}")
_TELLTALE = re.compile(rb"[A-Z0-9]")
_MIXED = re.compile(rb"[A-Z][a-z]*[0-9]|[0-9][a-z]*[A-Z]|[A-Z]{2}[a-z]|[a-z][A-Z]{2}")
_LINE = re.compile(rb"[^\n]*")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4}))")
_MOST_DECODED = 40_000
WORDS = re.compile(r"[a-z]{2}[^a-z]{1,3}[a-z]{2}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A piece of the text that was encoded: how, what it says, and the bytes that it came from."""

    how: str
    content: str
    start: int
    end: int


def decoded(encoded: bytes, ends: dict[int, list[int]], worth: re.Pattern[str] = WORDS) -> Iterator[Decoded]:
    """Yield what the text holds in base64, hexadecimal, percent signs, HTML entities or backslashes, if it is text
    itself.

    Args:
        encoded: the text as written, in UTF-8.
        ends: for each of `ENCODINGS`, the positions at which a match ends, in bytes.
        worth: what decoded text must hold to be given.
    """
    readers = ((_BASE64, _from_base64), (_HEX, _from_hex), (_LINE, _from_escapes))
    for kind, (shape, read) in enumerate(readers):
        done = 0
        for end in sorted(ends.get(kind, ())):
            if end <= done or (kind == 0 and not _TELLTALE.search(encoded, end - 20, end)):
                continue
            start = max(_start(encoded, end, kind), done)
            match = shape.match(encoded, start, start + _MOST_DECODED)
            if match is None:
                continue
            done = match.end()
            how, content = read(match[0])
            if content and worth.search(content):
                yield Decoded(how, content, match.start(), match.end())


def reading_of_pieces(pieces: Sequence[Decoded], encoded: bytes, fold: Callable[[str], Folded]) -> Reading:
    """Return decoded pieces as one reading, kept apart by NULs, which no pattern crosses."""
    starts, joined = [], ""
    for piece in pieces:
        starts.append(len(joined))
        joined += piece.content + APART
    folded = fold(joined.encode("utf-8", "replace").decode())
    place = in_characters(encoded, (position for piece in pieces for position in (piece.start, piece.end)))
    origin = by_piece(starts, [(place[piece.start], place[piece.end]) for piece in pieces])
    return Reading(pieces[0].how, folded.text, folded.text.encode(), composed(straight(folded), origin))


def _start(encoded: bytes, end: int, kind: int) -> int:
    if kind == 0:
        return end - 20
    if kind == 1:
        return max(0, end - 42)
    return encoded.rfind(b"\n", 0, end - 1) + 1


def _from_base64(blob: bytes) -> tuple[str, str]:
    if _ONLY_HEX.fullmatch(blob):
        return _from_hex(blob)
    if not _MIXED.search(blob):
        return "base64", ""
    compact = re.sub(rb"[\s>=]", b"", blob).translate(bytes.maketrans(b"-_", b"+/"))
    compact = compact[: len(compact) - (len(compact) % 4 == 1)]
    try:
        return "base64", text_of(base64.b64decode(compact + b"=" * (-len(compact) % 4)))
    except binascii.Error:
        return "base64", ""


def _from_hex(blob: bytes) -> tuple[str, str]:
    return "hexadecimal", text_of(bytes.fromhex(re.sub(rb"[ :,]", b"", blob).decode()))


def _from_escapes(line: bytes) -> tuple[str, str]:
    written = line.decode("utf-8", "ignore")
    plain = _ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16)), written)
    content = html.unescape(unquote(plain, errors="ignore")).encode("utf-8", "ignore").decode()
    return "escapes", content if content != written else ""


def text_of(raw: bytes) -> str:
    """Return decoded bytes if they are text, else nothing."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            content = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if sum(char.isprintable() or char.isspace() for char in content) == len(content):
            return content
    return ""
