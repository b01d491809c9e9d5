"""Keyed fingerprints: by what one text of a store is recognised in another, without either being kept.

A fingerprint is an HMAC, under the store's salt, of a secret's value or of the beginning of a phrase that a rule
found. It says nothing without the salt, which is blanked with the store, and it names the memory in which
it was seen, never a path. Pure.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

DIGEST_CHARACTERS = 32
"""128 bits: two phrases of one store do not share a fingerprint by accident."""

SECRET_MIN_CHARACTERS = 8
WORD_MAX_CHARACTERS = 24
"""A run of letters that is as long as this is no word any more."""

PHRASE_CHARACTERS = 48
PHRASE_MIN_CHARACTERS = 16
"""Letters and digits of a phrase, folded; a shorter one is what many texts begin with."""

_LOOKED_AT = 6 * PHRASE_CHARACTERS
_TOKEN = re.compile(r"[^\s\"'`<>(){}\[\],;|]+")
_INNER = re.compile(r"[=:@]+|//")
_EDGES = "=.:-*_#!?"
_KEY_BLOCK = re.compile(r"-----BEGIN[A-Z ]{0,40}-----\s+([A-Za-z0-9+/=]{40,})")


class Kind(StrEnum):
    """What a fingerprint is of."""

    SECRET = "secret"  # noqa: S105 - the name of a kind
    PHRASE = "phrase"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One sighting: of what, how bad it was where it was seen, and in which memory.

    Kept as one line of text, ``secret#9f2c…#mem_…#high``, in the verdict that told of it.
    """

    kind: Kind
    digest: str
    memory_id: str
    severity: str

    def __str__(self) -> str:
        return f"{self.kind}#{self.digest}#{self.memory_id}#{self.severity}"

    @classmethod
    def parse(cls, text: str) -> Fingerprint:
        """Parse what `str` made. Raises ValueError."""
        kind, digest, memory_id, severity = text.split("#")
        return cls(Kind(kind), digest, memory_id, severity)


def digest_of(salt: bytes, kind: Kind, text: str) -> str:
    """Return the salted digest that identifies a text. It covers the kind, so that no phrase passes for a secret."""
    return hmac.new(salt, f"{kind}\0{text}".encode(), hashlib.sha256).hexdigest()[:DIGEST_CHARACTERS]


def secret_at(text: str, position: int) -> str | None:
    """Return the secret that begins at a position, as far as it can be recognised; None if it cannot.

    Of a key block, return the first line of the key itself: the block's head is the same in every one.
    """
    block = _KEY_BLOCK.match(text, position)
    if block is not None:
        return block[1].strip(_EDGES)
    token = _TOKEN.match(text, position)
    value = "" if token is None else token[0].strip(_EDGES)
    return value if _tells(value) else None


def secrets_in(text: str) -> Iterator[str]:
    """Yield everything in a text that could be a known secret: its words, and the parts that they consist of."""
    for token in _TOKEN.finditer(text):
        for part in {token[0], *_INNER.split(token[0])}:
            value = part.strip(_EDGES)
            if _tells(value):
                yield value


def _tells(value: str) -> bool:
    """Tell whether only a secret is likely to be written like this: no short word, and no plain one."""
    return len(value) >= SECRET_MIN_CHARACTERS and (len(value) >= WORD_MAX_CHARACTERS or not value.isalpha())


def phrase_at(text: str, position: int) -> str | None:
    """Return the first letters and digits from a position on, however written or spaced; None if they are too few."""
    folded = unicodedata.normalize("NFKC", text[position : position + _LOOKED_AT]).casefold()
    phrase = "".join(filter(str.isalnum, folded))[:PHRASE_CHARACTERS]
    return phrase if len(phrase) >= PHRASE_MIN_CHARACTERS else None


def offset_of(text: str, line: int, column: int) -> int:
    """Return the offset of a 1-based line and column; only line feeds end lines."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start + column - 1
