"""Any text as one segment of a path, and back: what a path may not have is UTF-8 in hexadecimal, `a/b` is `a=2Fb`.

Not percent-encoding, though every client reads it: the scanner decodes that in paths, and refuses what comes out.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

SIGN = "="
_KEPT = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "/%&\\~" + SIGN)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_DOTS = re.compile(r"^\.+|\.{2,}")
"""Dots that begin a text or follow each other: they would hide it, or lead out of its folder."""


def escaped(text: str) -> str:
    """Escape a text for a path, in NFC; two texts are never escaped to the same. The empty text stays empty."""
    light = "".join(character if _is_legal(character) else _encoded(character) for character in text)
    light = _DOTS.sub(lambda found: f"{SIGN}2E" * len(found[0]), light)
    if unicodedata.is_normalized("NFC", light):
        return light
    return _NOT_ASCII.sub(lambda found: _encoded(found[0]), light)


def _is_legal(character: str) -> bool:
    if character.isascii():
        return character in _KEPT
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _encoded(character: str) -> str:
    return "".join(f"{SIGN}{byte:02X}" for byte in character.encode(errors="surrogatepass"))


def unescaped(text: str) -> str:
    """Undo `escaped`. Raises UnicodeDecodeError for text that `escaped` did not make."""
    return unquote(text.replace("%", "%25").replace(SIGN, "%"), errors="surrogatepass")
