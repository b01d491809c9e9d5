"""Where LangGraph's items stand in a store: namespace ("users", "ada") and key "prefs" <-> `/users/ada/prefs.json`.

A label of a namespace is a folder and never has a period (LangGraph refuses one); an item always ends in `.json`: so
that no item can stand where a folder is. What a path may not have is written as UTF-8 in percent-encoding, and `%`
itself always is, so that each place stands for exactly one namespace and key, and reads as itself wherever it can.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote

SUFFIX = ".json"

_PRINTED = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "/%")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def folder_of(namespace: tuple[str, ...]) -> str:
    """The path prefix of a namespace and all that are under it, with its slash; that of the empty one is ``/``."""
    return "/" + "".join(f"{_escaped(label)}/" for label in namespace)


def place_of(namespace: tuple[str, ...], key: str) -> str:
    """The path of an item. Whether the store takes it (20 segments, 1,024 bytes) the store itself says."""
    return f"{folder_of(namespace)}{_escaped(key)}{SUFFIX}"


def item_at(path: str) -> tuple[tuple[str, ...], str] | None:
    """Namespace and key of the item at a path; None where only somebody else can have put a memory."""
    *folders, name = path[1:].split("/")
    if not name.endswith(SUFFIX) or any("." in folder for folder in folders):
        return None
    try:
        namespace = tuple(_unescaped(folder) for folder in folders)
        key = _unescaped(name.removesuffix(SUFFIX))
    except UnicodeDecodeError:
        return None
    return (namespace, key) if place_of(namespace, key) == path else None


def _escaped(text: str) -> str:
    """Legal in a path, and NFC; two texts are never escaped to the same."""
    light = "".join(character if _is_legal(character) else _encoded(character) for character in text)
    if unicodedata.is_normalized("NFC", light):
        return light
    return _NOT_ASCII.sub(lambda found: _encoded(found[0]), light)


def _is_legal(character: str) -> bool:
    if character.isascii():
        return character in _PRINTED
    return unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _encoded(character: str) -> str:
    return quote(character, safe="", errors="surrogatepass")


def _unescaped(text: str) -> str:
    return unquote(text, errors="surrogatepass")
