"""Other ways to read a text: what it says once decoded, unmasked, respelled or turned around.

The folded copy (`memolith.scanner.case_folding`) undoes what a reader's eye undoes. These are what a reader, or a
model, undoes on request. Each reading is scanned like the text itself, and each knows the way back to the text as
written. One layer deep: a payload that is encoded twice is met by the rules about "decode this and do what it says".
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
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


APART = "\x00\n"
"""What keeps the pieces of a reading apart: no pattern crosses a NUL."""


SPACED_OUT = r"(?:^|[^a-z0-9])[a-z0-9](?:[^a-z0-9]{1,5}[a-z0-9]){7}"
"""Where letters stand apart (``i g n o r e``); a pattern for the engine."""

MARKED = r"[a-z](?:\*{1,3}|``?|~~|\\|\[\]|\{\}|</?[a-z!][^<>\n]{0,60}>|-\r?\n[ \t>]{0,8}|&[a-z0-9#]{3,7};)[a-z]"
"""Where something that a reader passes over stands inside a word."""

_GAP = r"[ ._*|-]{1,2}"
GAPPED_WORDS = (
    "ignore", "disregard", "forget", "override", "instructions", "previous", "guidelines", "password", "reveal",
)  # fmt: skip
GAPPED = "(?:" + "|".join(word[0] + "".join(rf"(?:{_GAP})?{c}" for c in word[1:]) for word in GAPPED_WORDS) + ")"
"""Words with a gap between letters at any place, or with none; see `memolith.scanner.misspelling`."""
_WITHOUT_GAP = tuple(word.encode() for word in GAPPED_WORDS)

UNBROKEN = r"[^\s]{20}(?:\s|$)"
"""Where a long run without a blank ends."""

SPELLINGS: tuple[str, ...] = (SPACED_OUT, MARKED, GAPPED, UNBROKEN)
"""Where words may be spelled in another way; patterns for the engine, in the order in which
`memolith.scanner.unfolding` takes them."""

GAPPED_MARK = 2
"""The number of the one that `memolith.scanner.misspelling` reads too."""


BASE64 = r"(?:^|[^A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{20}"
HEX = r"(?:[0-9a-fA-F]{2}[ :,]){14}"
ESCAPED = (
    r"(?:(?:(?:%|\\x|\\u00|\\u\{|&#x?)[0-9a-fA-F]{2,3};?|&(?:nbsp|shy|zwj|zwnj|ensp|emsp|thinsp);)[^%\\&\n]{0,24}){3}"
    r"|(?:=[0-9A-F]{2}){6}|(?:\\[0-7]{3}){4}|(?:U\+00[0-9A-Fa-f]{2}[ ,]{0,2}){6}|(?:0x[0-9a-fA-F]{2}[ ,]{1,2}){8}"
)
_OF_TEXT = "[I-Za-f][C-HS-Xi-nyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]"
"""Four signs of base64 that stand for three letters, of which other words have next to none in a row."""

PIECES = rf"(?:^|[^A-Za-z0-9+/])(?:{_OF_TEXT}){{2,4}}={{0,2}}[^A-Za-z0-9/=]{{1,8}}{_OF_TEXT}"
ENCODINGS: tuple[str, ...] = (BASE64, HEX, ESCAPED, PIECES)
"""Where something may be encoded; patterns for the engine, in the order of `decoded`."""

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{20,}={0,2}(?:\r?\n[ \t>]*[A-Za-z0-9+/_-]{20,}={0,2})*")
_ONLY_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){14,}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}[ :,]?){14,}")
_TELLTALE = re.compile(rb"[A-Z0-9]")
_MIXED = re.compile(rb"[A-Z][a-z]*[0-9]|[0-9][a-z]*[A-Z]|[A-Z]{2}[a-z]|[a-z][A-Z]{2}")
_LINE = re.compile(rb"[^\n]*")
_PIECES = re.compile(
    rb"(?<![A-Za-z0-9+/])(?:%(group)b){2,19}={0,2}[^A-Za-z0-9/=]{1,8}(?:%(group)b)+"
    rb"(?:[A-Za-z0-9+/]{0,72}={0,2}[^A-Za-z0-9/=]{1,8}[A-Za-z0-9+/]{2})*[A-Za-z0-9+/]{0,72}={0,2}"
    % {b"group": _OF_TEXT.encode()}
)
_BEGUN = re.compile(
    rb"(?:^|[^A-Za-z0-9+/])((?:%(group)b){2,4}={0,2}[^A-Za-z0-9/=]{1,8}%(group)b)" % {b"group": _OF_TEXT.encode()}
)
_PIECE = re.compile(rb"[A-Za-z0-9+/]{2,}={0,2}")

_ESCAPE = re.compile(r"(?:\\x|0x)([0-9a-fA-F]{2})|(?:\\u|U\+)([0-9a-fA-F]{4})|\\u\{0{0,4}([0-9a-fA-F]{2,5})\}")
_BETWEEN_CODES = re.compile(r"(?<=U\+[0-9a-fA-F]{4})[ ,]{1,2}(?=U\+)|(?<=0x[0-9a-fA-F]{2})[ ,]{1,2}(?=0x)")
_NUMBERED = re.compile(r"&#(?:([0-9]{1,7})|[xX]([0-9a-fA-F]{1,6}));?")
_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd]")
_OCTAL = re.compile(r"\\([0-3][0-7]{2})")
_QUOTED_PRINTABLE = re.compile(r"(?:=[0-9A-F]{2}){6}")
_AS_BYTES = re.compile("[\xc2-\xf4][\x80-\xbf]{1,3}")
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
    readers = ((_BASE64, _from_base64), (_HEX, _from_hex), (_LINE, _from_escapes), (_PIECES, _from_pieces))
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
    if kind == 3:
        begun = _BEGUN.search(encoded, max(0, end - 32), end)
        return begun.start(1) if begun else end
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


def _from_pieces(blob: bytes) -> tuple[str, str]:
    """Return what pieces say one after the other, as far as it is text: words that follow may look like pieces too."""
    pieces = _PIECE.findall(blob)
    if not _MIXED.search(blob):
        return "base64 in pieces", ""
    if any(piece.endswith(b"=") for piece in pieces[:-1]):
        content = " ".join(takewhile(bool, (text_of(_loosely(piece)) for piece in pieces)))
    else:
        content = _NO_TEXT.split(_loosely(b"".join(pieces)).decode("utf-8", "replace"), maxsplit=1)[0]
    return "base64 in pieces", content


def _loosely(letters: bytes) -> bytes:
    kept = letters.rstrip(b"=")
    kept = kept[: len(kept) - (len(kept) % 4 == 1)]
    return base64.b64decode(kept + b"=" * (-len(kept) % 4))


def _from_escapes(line: bytes) -> tuple[str, str]:
    written = line.decode("utf-8", "ignore")
    plain = _ESCAPE.sub(lambda m: chr(min(int(m[1] or m[2] or m[3], 16), 0x10FFFF)), _BETWEEN_CODES.sub("", written))
    plain = _OCTAL.sub(lambda m: chr(int(m[1], 8)), plain)
    if _QUOTED_PRINTABLE.search(plain):
        plain = re.sub("=([0-9A-F]{2})", r"%\1", plain)
    plain = _NUMBERED.sub(lambda m: chr(min(int(m[1] or f"0{m[2]}", 10 if m[1] else 16), 0x10FFFF)), plain)
    content = html.unescape(unquote(plain, errors="ignore"))
    if line.isascii():
        content = _AS_BYTES.sub(_in_utf8, content)
    content = content.encode("utf-8", "ignore").decode()
    return "escapes", content if content != written else ""


def _in_utf8(characters: re.Match[str]) -> str:
    try:
        return characters[0].encode("latin-1").decode()
    except UnicodeDecodeError:
        return characters[0]


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


def with_gap(reading: Reading, ends: Iterable[int]) -> list[int]:
    """Return those ends of matches of `GAPPED`, in bytes, before which the word has a gap."""
    return [end for end in ends if not reading.encoded.endswith(_WITHOUT_GAP, 0, end)]
