"""Layers: what a text says after it was decoded, and decoded again. For the deeper look only.

The write path undoes one layer of base64, hexadecimal and escapes (`memolith.scanner.disguises`). Here every layer is
looked through for these and for what is rarer: base32, binary digits, character codes, Morse, compressed bytes. Each
layer is the pieces of the one above that turned out to be text, kept apart by NULs, which no pattern crosses.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from memolith.scanner.disguises import APART, WORDS, decoded, text_of
from memolith.scanner.offsets import Origin, by_piece, composed, in_characters

DEPTH = 3
"""Layers that are undone, one more than anybody writes by hand."""

_WORTH = re.compile(rf"{WORDS.pattern}|[!-~]{{16}}", re.IGNORECASE)
"""Words, or what could be encoded once more."""

MOST_PIECES = 2_000
MOST_INFLATED_BYTES = 200_000
"""What all the compressed bytes of one text may count together, whatever layer they stand in."""

_LEAST_INFLATED = 64
_MOST_COMPRESSED = 40
"""Compressed pieces of one text that are looked at."""

Encodings = Callable[[str, bytes], dict[int, list[int]]]
"""Where a text may be encoded; see `memolith.scanner.disguises.decoded`."""


@dataclass(frozen=True)
class Layer:
    """A text that was made from the one as written.

    Attributes:
        how: what was undone, in words for a finding's reason; empty for the text as written.
        text: what it says.
        origin: where in the text as written a range of it came from.
    """

    how: str
    text: str
    origin: Origin


@dataclass
class Inflating:
    """What is left of `MOST_INFLATED_BYTES` and of the pieces that may be inflated, for one text."""

    bytes_left: int = MOST_INFLATED_BYTES
    pieces_left: int = _MOST_COMPRESSED

    def inflate(self, packed: bytes) -> bytes:
        """Return the bytes unpacked, as far as the allowance reaches.

        Raises:
            zlib.error: they are not compressed.
        """
        if self.bytes_left < _LEAST_INFLATED or self.pieces_left <= 0:
            return b""
        self.pieces_left -= 1
        raw = zlib.decompressobj(wbits=47).decompress(packed, self.bytes_left)
        self.bytes_left -= len(raw)
        return raw


@dataclass(frozen=True, slots=True)
class _Piece:
    how: str
    content: str
    start: int
    end: int


def layers_below(layer: Layer, encodings: Encodings, inflating: Inflating, depth: int = DEPTH) -> Iterator[Layer]:
    """Yield what a layer holds encoded, and what that holds, to a depth. Each layer is at most as long as the one
    above.

    But for compressed bytes, which count `MOST_INFLATED_BYTES` at most in all the layers of a text.
    """
    if depth == 0:
        return
    pieces = sorted(_pieces(layer.text, encodings, inflating), key=lambda piece: (piece.how, piece.start))
    for how, group in groupby(pieces[:MOST_PIECES], key=lambda piece: piece.how):
        below = _joined(layer, how, list(group))
        yield below
        yield from layers_below(below, encodings, inflating, depth - 1)


def _joined(layer: Layer, how: str, pieces: list[_Piece]) -> Layer:
    starts, joined = [], []
    length = 0
    for piece in pieces:
        starts.append(length)
        joined.append(piece.content + APART)
        length += len(joined[-1])
    origin = by_piece(starts, [(piece.start, piece.end) for piece in pieces])
    return Layer(f"{layer.how}, then {how}" if layer.how else how, "".join(joined), composed(origin, layer.origin))


def _pieces(text: str, encodings: Encodings, inflating: Inflating) -> Iterator[_Piece]:
    encoded = text.encode("utf-8", "replace")
    found = list(decoded(encoded, encodings(encoded.decode(), encoded), _WORTH))
    place = in_characters(encoded, (position for piece in found for position in (piece.start, piece.end)))
    for piece in found:
        yield _Piece(piece.how, piece.content, place[piece.start], place[piece.end])
    for how, shape, read in _READERS:
        for match in shape.finditer(text):
            content = read(match[0])
            if content and _WORTH.search(content):
                yield _Piece(how, content, match.start(), match.end())
    for match in _COMPRESSED.finditer(text):
        content = _from_compressed(match[0], inflating)
        if content and _WORTH.search(content):
            yield _Piece("compressed", content, match.start(), match.end())


def _from_binary(digits: str) -> str:
    bits = re.sub(r"[^01]", "", digits)
    return text_of(bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits) - 7, 8)))


def _from_codes(written: str) -> str:
    return text_of(bytes(code for code in map(int, re.findall(r"\d+", written)) if code < 256))


def _from_base32(blob: str) -> str:
    letters = blob.rstrip("=")
    try:
        return text_of(base64.b32decode(letters + "=" * (-len(letters) % 8)))
    except binascii.Error:
        return ""


def _from_compressed(blob: str, inflating: Inflating) -> str:
    try:
        return text_of(inflating.inflate(base64.b64decode(blob + "=" * (-len(blob) % 4))))
    except (binascii.Error, zlib.error):
        return ""


_MORSE = {
    ".-": "a", "-...": "b", "-.-.": "c", "-..": "d", ".": "e", "..-.": "f", "--.": "g", "....": "h", "..": "i",
    ".---": "j", "-.-": "k", ".-..": "l", "--": "m", "-.": "n", "---": "o", ".--.": "p", "--.-": "q", ".-.": "r",
    "...": "s", "-": "t", "..-": "u", "...-": "v", ".--": "w", "-..-": "x", "-.--": "y", "--..": "z",
}  # fmt: skip


def _from_morse(written: str) -> str:
    words = re.split(r"\s*/\s*|\s{2,}", written.replace("·", ".").replace("−", "-").strip())
    spelled = [[_MORSE.get(letter, "") for letter in word.split()] for word in words]
    return " ".join("".join(letters) for letters in spelled) if all(all(letters) for letters in spelled) else ""


_READERS: tuple[tuple[str, re.Pattern[str], Callable[[str], str]], ...] = (
    ("binary digits", re.compile(r"(?<![01])[01]{8}(?:[ ,_-]?[01]{8}){7,4000}"), _from_binary),
    ("character codes", re.compile(r"(?<!\d)\d{2,3}(?:[ ,;]{1,2}\d{2,3}){15,4000}(?!\d)"), _from_codes),
    ("base32", re.compile(r"(?<![A-Z2-7])[A-Z2-7]{32,40000}={0,6}(?![A-Za-z0-9])"), _from_base32),
    ("Morse", re.compile(r"(?<![.·−-])[.·−-]{1,4}(?:(?: {1,3}| ?/ ?)[.·−-]{1,4}){15,4000}(?![.·−-])"), _from_morse),
)
_COMPRESSED = re.compile(r"(?<![A-Za-z0-9+/])(?:H4sI|eJ|eN|eA)[A-Za-z0-9+/]{30,40000}={0,2}")
"""What the write path does not look for. Every shape is linear: nothing in it can be read in two ways."""
