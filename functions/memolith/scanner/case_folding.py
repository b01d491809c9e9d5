"""The folded copy: one text as a reader sees it, for matching only.

An attacker writes ``ignore`` with a zero-width space in it, in full-width letters, with a Cyrillic letter that looks
like its ``o``, with accents strewn over it. The fold takes all of that away, and keeps a way back, so that a finding
names the line and column of the text as written.

1. Characters that show nothing are dropped; compatibility forms become what they stand for (NFKC); Latin and Greek
   letters lose their accents; look-alikes of Latin that belong to no living script become Latin; quotes, dashes and
   blanks become ASCII. Each character is folded by itself, so the fold has no context, and the way back is a sum of
   lengths.
2. Lower case.
3. A second copy, only where some word mixes Latin with Cyrillic, Greek, Armenian or Cherokee or consists of such
   letters that all look Latin: every letter becomes the Latin one it imitates (UTS 39 skeleton, and a short list for
   those that the table leaves out). Real Russian or Greek is still read in the first copy.

Plain ASCII costs one copy. Source: UTS 39 (confusables), UAX 15 (NFKC).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

_UNREMARKABLE = bytes(code for code in range(128) if code >= 0x20 and code != 0x7F) + b"\t\n\r\x0c"


def distinct(encoded: bytes) -> str:
    """Return the characters of a text that are worth a look, each once: all beyond ASCII, and controls.

    Args:
        encoded: the text in UTF-8. Costs one pass that drops everything else.
    """
    return "".join(set(encoded.translate(None, _UNREMARKABLE).decode()))


INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default-ignorable code points (Unicode `DerivedCoreProperties`), as the inside of a character class."""

SCRIPTS = "\u0370-\u03ff\u0400-\u052f\u0531-\u0587\u13a0-\u13ff\u1f00-\u1fff\u1c80-\u1c8f\ua640-\ua69f\uab70-\uabbf"
"""Letters of the scripts that are mixed with Latin to imitate it, as the inside of a character class."""

_PLAIN = re.compile(
    "[\u0400-\u052f\u0531-\u05ea\u0620-\u063f\u0641-\u064a\u0660-\u06d5\u0900-\u0eff\u1000-\u10ff\u1780-\u17b3\u2190-\u23ff"
    "\u2500-\u27bf\u3041-\u30fe\u3400-\u9fff\uac00-\ud7a3\U0001f300-\U0001f64f\U0001f680-\U0001faff]"
)
"""Characters that fold to themselves: whole living scripts (but for their case), arrows, boxes, emoji."""

_BY_HAND = {
    "ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th",
    "ŋ": "n", "ƒ": "f", "ɡ": "g", "ɩ": "i", "ɪ": "i", "ɢ": "g", "ɴ": "n", "ʀ": "r", "ʟ": "l", "ʏ": "y", "ʜ": "h",
    "ʙ": "b", "ᴀ": "a", "ᴄ": "c", "ᴅ": "d", "ᴇ": "e", "ᴊ": "j", "ᴋ": "k", "ᴍ": "m", "ᴏ": "o", "ᴘ": "p", "ᴛ": "t",
    "ᴜ": "u", "ᴠ": "v", "ᴡ": "w", "ᴢ": "z", "ꜰ": "f", "ꜱ": "s", "ǝ": "e", "ə": "e", "ɐ": "a", "ɔ": "c",
    "ɟ": "f", "ƃ": "g", "ɥ": "h", "ᴉ": "i", "ɾ": "j", "ʞ": "k", "ɯ": "m", "ɹ": "r", "ʇ": "t", "ʌ": "v", "ʍ": "w",
    "ʎ": "y",
    "’": "'", "‘": "'", "‚": "'", "‛": "'", "′": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"',
    "»": '"', "‹": "'", "›": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-", "…": "...",
    "·": ".", "•": "*", "。": ".", "、": ",", "⁄": "/", "∕": "/", "¦": "|", "\u0085": "\n", "\u2028": "\n",
    "\u2029": "\n", "\u0640": "",
}  # fmt: skip
"""Where NFKD and the UTS 39 table leave a letter that reads as Latin, and punctuation for the patterns' sake."""

LOOKALIKES = {
    "к": "k", "м": "m", "н": "h", "т": "t", "в": "b", "п": "n", "г": "r", "ь": "b", "я": "r", "и": "u", "л": "n",
    "з": "3", "ё": "e", "ї": "i", "й": "u", "ω": "w", "κ": "k", "τ": "t", "η": "n", "ε": "e", "μ": "u", "β": "b",
    "χ": "x", "θ": "o", "π": "n", "σ": "o", "ς": "c", "λ": "a", "δ": "d", "ζ": "z", "ϲ": "c", "ά": "a", "έ": "e",
    "ί": "i", "ό": "o", "ύ": "u", "ή": "n", "ώ": "w", "ո": "n", "ս": "u", "ա": "w", "ե": "t", "գ": "q", "ք": "p",
}  # fmt: skip
"""Letters that imitate Latin ones and are not in the UTS 39 table; used inside mixed words only."""

_SCRIPT = re.compile(f"[{SCRIPTS}]")
_LATIN = frozenset("abcdefghijklmnopqrstuvwxyz")
_LATIN_WORD = re.compile("[a-z]{3}")


@dataclass(frozen=True)
class Folded:
    """A folded text, and the way back to the one it was made from.

    Attributes:
        text: what the rules are matched against.
        original: the text as written.
        shrunk: the characters of the original whose fold has another length than one, and that length.
        imitating: the letters in it of scripts that can imitate Latin, each once, in lower case.
    """

    text: str
    original: str
    shrunk: Mapping[str, int] = field(default_factory=dict)
    imitating: str = ""

    def origin(self, index: int) -> int:
        """Return where in the original a position of the folded text is. One pass over the text, the first time."""
        if not self.shrunk:
            return min(index, len(self.original))
        folded, drift = self._drift
        return min(max(index + drift[bisect_right(folded, index) - 1], 0), len(self.original))

    @cached_property
    def _drift(self) -> tuple[list[int], list[int]]:
        positions, drifts, drift = [0], [0], 0
        for place, char in self._shrunk_places():
            drift += 1 - self.shrunk[char]
            positions.append(place + 1 - drift)
            drifts.append(drift)
        return positions, drifts

    def _shrunk_places(self) -> Iterator[tuple[int, str]]:
        if len(self.shrunk) <= _FEW:
            found = re.compile(f"[{re.escape(''.join(self.shrunk))}]").finditer(self.original)
            return ((match.start(), match[0]) for match in found)
        return ((place, char) for place, char in enumerate(self.original) if char in self.shrunk)


class CaseFolder:
    """Folds texts. Holds the UTS 39 table and a memo of what each character folds to; the memo changes no answer."""

    def __init__(self, confusables: Mapping[str, str]) -> None:
        """Take the UTS 39 table: single characters and the ASCII letter or digit that each imitates."""
        self._confusables = confusables
        imitating = {char.lower(): latin.lower() for char, latin in confusables.items() if _SCRIPT.match(char)}
        self._unmasking = str.maketrans({**LOOKALIKES, **imitating})
        self._look_latin = frozenset(imitating)
        self._memo: dict[str, str] = {}

    def fold(self, text: str, encoded: bytes, present: str) -> Folded:
        """Fold a text.

        Args:
            text: without surrogates.
            encoded: the same in UTF-8.
            present: see `distinct`.

        Returns:
            The folded copy. Costs one pass over an ASCII text, a few over any other.
        """
        if text.isascii():
            return Folded(text.lower(), text)
        changes = {char: char.lower() for char in present if char.isupper()}
        changes |= {char: self._fold_char(char) for char in _PLAIN.sub("", present)}
        changes = {char: to for char, to in changes.items() if to != char}
        shrunk = {char: len(to) for char, to in changes.items() if len(to) != 1}
        imitating = "".join(_SCRIPT.findall(present.lower()))
        return Folded(_replace(encoded.lower().decode(), changes), text, shrunk, imitating)

    def unmask(self, folded: Folded) -> Folded | None:
        """Return the same with letters that imitate Latin ones as Latin letters, if any word here seems to imitate.

        That is a word that mixes scripts, or one of at least three letters that all look Latin, among Latin words.
        One letter becomes one letter. None when there is no such word: then nothing was hidden that way.
        """
        if not folded.imitating or not _LATIN_WORD.search(folded.text) or not self._imitates(folded):
            return None
        return Folded(folded.text.translate(self._unmasking), folded.original, folded.shrunk)

    def _imitates(self, folded: Folded) -> bool:
        text = f" {folded.text} "
        for match in re.finditer(f"[{re.escape(folded.imitating)}]+", text):
            if text[match.start() - 1] in _LATIN or text[match.end()] in _LATIN:
                return True
            if match.end() - match.start() >= 3 and self._look_latin.issuperset(match[0]):
                return True
        return False

    def skeleton(self, word: str) -> str:
        """Return the word with every letter that is in the UTS 39 table as the ASCII letter it imitates."""
        return "".join(self._confusables.get(char, char) for char in word)

    def _fold_char(self, char: str) -> str:
        known = self._memo.get(char)
        if known is None:
            known = self._memo[char] = self._fold_char_anew(char).lower()
        return known

    def _fold_char_anew(self, char: str) -> str:
        if _INVISIBLE_CHAR.match(char):
            return ""
        by_hand = _BY_HAND.get(char.lower())
        if by_hand is not None:
            return by_hand
        latin = _letter_in_a_box(char)
        if latin:
            return latin
        parts = unicodedata.normalize("NFKD", char)
        base = "".join(c for c in parts if not 0x300 <= ord(c) <= 0x36F)
        if base.isascii() or not base:
            return base
        if _GREEK.match(char):
            return base
        category = unicodedata.category(char)
        if category == "Zs":
            return " "
        if category == "Me" or (category == "Mn" and _OVERLAY.match(char)):
            return ""
        if not _SCRIPT.match(char) and char in self._confusables:
            return self._confusables[char]
        return unicodedata.normalize("NFKC", char).replace("İ", "i")


_GREEK = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
_INVISIBLE_CHAR = re.compile(f"[{INVISIBLE}]")
_OVERLAY = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
)
_FEW = 12


def _replace(text: str, changes: Mapping[str, str]) -> str:
    if len(changes) <= _FEW:
        for char, to in changes.items():
            text = text.replace(char, to)
        return text
    return text.translate({ord(char): to for char, to in changes.items()})


_BOXES = ((0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189), (0x1F1E6, 0x1F1FF))


def _letter_in_a_box(char: str) -> str:
    """Squared, negative circled and regional indicator letters, which NFKC leaves alone."""
    code = ord(char)
    return next((chr(ord("a") + code - first) for first, last in _BOXES if first <= code <= last), "")


def read_confusables() -> dict[str, str]:
    """Return the UTS 39 table as single characters and the ASCII letter or digit each imitates.

    Reads one packaged file of `confusable_homoglyphs` (0.9 MB, about 20 ms): at load only, never while scanning.
    """
    from confusable_homoglyphs.confusables import confusables_data

    table: dict[str, str] = {}
    for char, entries in confusables_data.items():
        if len(char) != 1 or char.isascii():
            continue
        for entry in entries:
            imitated = entry["c"]
            if len(imitated) == 1 and imitated.isascii() and imitated.isalnum():
                table[char] = imitated
    return table
