"""Further disguises of a text: what a reader, or a model, still reads, and no rule has in it as it stands.

Beside those of `scripts.scanner_cases.disguises`. `TUNED` are what the decoding readings were developed on. `HELD_OUT`
were written before any of that, and are only measured, as one sum.
"""

from __future__ import annotations

import base64
import codecs
import random
import re
import unicodedata
from collections.abc import Callable

Disguise = Callable[[random.Random, str], str]

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPSIDE_DOWN = str.maketrans(_LOWER, "ɐqɔpǝɟƃɥᴉɾʞlɯuodbɹsʇnʌʍxʎz")
_SMALL_CAPITALS = str.maketrans(_LOWER, "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫʀꜱᴛᴜᴠᴡxʏᴢ")
_SYMBOLS = str.maketrans("aioestAIOEST", "@!0€$+@!0€$+")
_DIGITS = str.maketrans("aeiostbgzAEIOSTBGZ", "431057892431057892")
_NATO = """
alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo sierra
tango uniform victor whiskey xray yankee zulu
""".split()  # noqa: SIM905 - a list of so many quoted words is hard to read
_VOWELS = re.compile("[aeiou]")


def plain(text: str) -> str:
    """Return the text without accents: for ciphers and spellings that know 26 letters."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c)).replace("ł", "l")


def caesar(text: str, shift: int) -> str:
    """Return the text with every letter shifted."""
    turned = _LOWER[shift:] + _LOWER[:shift]
    return plain(text).translate(str.maketrans(_LOWER + _LOWER.upper(), turned + turned.upper()))


def shuffled(chooser: random.Random, word: str) -> str:
    """Return a word with its inner letters in another order."""
    inner = list(word[1:-1])
    chooser.shuffle(inner)
    return word[0] + "".join(inner) + word[-1]


def each_word(text: str, made: Callable[[str], str], least: int = 1) -> str:
    """Return the text with every word of at least so many letters made into another."""
    return re.sub(rf"[^\W\d_]{{{least},}}", lambda word: made(word[0]), text)


def inside(text: str, mark: str, after: int = 2, least: int = 4) -> str:
    """Return the text with something inside every longer word."""
    return each_word(text, lambda word: word[:after] + mark + word[after:], least)


def _pig(word: str) -> str:
    begun = re.match("[^aeiou]+", word)
    return word + "way" if begun is None else word[begun.end() :] + begun[0] + "ay"


def _starred(chooser: random.Random, word: str) -> str:
    places = [place for place, letter in enumerate(word[1:], 1) if letter in "aeiou"]
    if not places:
        return word
    place = chooser.choice(places)
    return word[:place] + "*" + word[place + 1 :]


def _stretched(chooser: random.Random, word: str) -> str:
    place = chooser.randrange(len(word))
    return word[:place] + word[place] * 3 + word[place + 1 :]


def _in_pieces(text: str, length: int, glue: str) -> str:
    packed = base64.b64encode(text.encode()).decode()
    return glue.join(packed[start : start + length] for start in range(0, len(packed), length))


def _spelled(text: str) -> str:
    return " / ".join(
        " ".join(_NATO[_LOWER.index(letter)] for letter in word)
        for word in re.findall("[a-z]+", plain(text).lower())
    )  # fmt: skip


HELD_OUT: dict[str, Disguise] = {
    "slashes between letters": lambda chooser, text: "  ".join("/".join(word) for word in text.split()),
    "shifted by 7": lambda chooser, text: caesar(text, 7),
    "each word backwards": lambda chooser, text: each_word(text, lambda word: word[::-1]),
    "a vowel starred": lambda chooser, text: each_word(text, lambda word: _starred(chooser, word), 4),
    "mirrored alphabet": lambda chooser, text: (
        plain(text).lower().translate(str.maketrans(_LOWER, _LOWER[::-1]))
    ),
    "signs for letters": lambda chooser, text: text.translate(_SYMBOLS),
    "base64 word for word": lambda chooser, text: " ".join(
        base64.b64encode(word.encode()).decode() for word in text.split()
    ),
    "tags inside words of mixed case": lambda chooser, text: inside(
        "".join(chooser.choice((letter.upper(), letter.lower())) for letter in text), "<span>", 3
    ),
}  # fmt: skip
"""Written before the readings that undo disguises; looked at as one sum only."""

TUNED: dict[str, Disguise] = {
    "letters apart, words not": lambda chooser, text: " ".join(text.replace(" ", "")),
    "letters apart by dots": lambda chooser, text: "  ".join(".".join(word) for word in text.split()),
    "letters apart by underscores": lambda chooser, text: " ".join("_".join(word) for word in text.split()),
    "letters on lines": lambda chooser, text: "\n".join(text.replace(" ", "")),
    "letters apart by bullets": lambda chooser, text: "   ".join(" • ".join(word) for word in text.split()),
    "run together": lambda chooser, text: text.replace(" ", "").lower(),
    "camel case": lambda chooser, text: "".join(word[:1].upper() + word[1:] for word in text.split()),
    "snake case": lambda chooser, text: text.lower().replace(" ", "_"),
    "hyphens for blanks": lambda chooser, text: text.replace(" ", "-"),
    "dots for blanks": lambda chooser, text: text.replace(" ", "."),
    "emoji for blanks": lambda chooser, text: text.replace(" ", "👏"),
    "equals signs for blanks": lambda chooser, text: text.replace(" ", "="),
    "shifted by 3": lambda chooser, text: caesar(text, 3),
    "shifted by 19": lambda chooser, text: caesar(text, 19),
    "capitals, shifted by 13": lambda chooser, text: codecs.encode(plain(text).upper(), "rot13"),
    "backwards, capitals": lambda chooser, text: text.upper()[::-1],
    "words in reverse order, each backwards": lambda chooser, text: " ".join(
        word[::-1] for word in reversed(plain(text).split())
    ),
    "all digits for letters": lambda chooser, text: plain(text).translate(_DIGITS),
    "one letter a word a digit": lambda chooser, text: each_word(
        text, lambda word: re.sub("[aeio]", lambda m: "4310"["aeio".index(m[0])], word, count=1), 3
    ),
    "small capitals": lambda chooser, text: plain(text).lower().translate(_SMALL_CAPITALS),
    "upside down": lambda chooser, text: plain(text).lower().translate(_UPSIDE_DOWN),
    "upside down, turned around": lambda chooser, text: plain(text).lower().translate(_UPSIDE_DOWN)[::-1],
    "regional indicators": lambda chooser, text: each_word(
        plain(text).lower(), lambda word: " ".join(chr(0x1F1E6 + ord(c) - 97) for c in word)
    ).replace("  ", "   "),
    "heaps of accents": lambda chooser, text: "".join(
        c + "".join(chr(chooser.randrange(0x300, 0x36F)) for _ in range(4)) if c.isalpha() else c for c in text
    ),
    "entities, hexadecimal": lambda chooser, text: "".join(f"&#x{ord(c):x};" for c in text),
    "entities for blanks": lambda chooser, text: text.replace(" ", "&nbsp;"),
    "one entity a word": lambda chooser, text: each_word(text, lambda word: f"&#{ord(word[0])};{word[1:]}", 3),
    "escapes of four digits": lambda chooser, text: "".join(f"\\u{ord(c):04x}" for c in text),
    "escapes in braces": lambda chooser, text: "".join(f"\\u{{{ord(c):x}}}" for c in text),
    "one escape a word": lambda chooser, text: each_word(text, lambda word: f"\\u{ord(word[0]):04x}{word[1:]}", 3),
    "octal escapes": lambda chooser, text: "".join(f"\\{b:03o}" for b in text.encode()),
    "quoted printable": lambda chooser, text: "".join(f"={b:02X}" for b in text.encode()),
    "code points": lambda chooser, text: " ".join(f"U+{ord(c):04X}" for c in text),
    "base64 in lines of 16": lambda chooser, text: _in_pieces(text, 16, "\n"),
    "base64 in quoted pieces": lambda chooser, text: '"' + _in_pieces(text, 12, '" + "') + '"',
    "base64 in pieces of 8": lambda chooser, text: _in_pieces(text, 8, " "),
    "base64 in a sentence": lambda chooser, text: f"The value is {_in_pieces(text, 999, '')}, see there.",
    "bold inside": lambda chooser, text: inside(text, "**"),
    "bold around a part": lambda chooser, text: each_word(text, lambda word: f"{word[:2]}**{word[2:]}**", 5),
    "underscores inside": lambda chooser, text: inside(text, "_", 3),
    "backticks inside": lambda chooser, text: inside(text, "``"),
    "comments inside": lambda chooser, text: inside(text, "<!-- -->", 3, 5),
    "soft hyphens as entities": lambda chooser, text: inside(text, "&shy;", 3, 5),
    "backslashes inside": lambda chooser, text: inside(text, "\\", 3, 5),
    "brackets inside": lambda chooser, text: inside(text, "[]", 3, 5),
    "hyphen at a line's end": lambda chooser, text: inside(text, "-\n", 4, 7),
    "letters doubled": lambda chooser, text: each_word(text, lambda word: "".join(c + c for c in word)),
    "a letter stretched": lambda chooser, text: each_word(text, lambda word: _stretched(chooser, word), 3),
    "pig latin": lambda chooser, text: each_word(plain(text).lower(), _pig),
    "no vowels": lambda chooser, text: each_word(plain(text), lambda word: word[0] + _VOWELS.sub("", word[1:]), 4),
    "no vowels at all": lambda chooser, text: each_word(plain(text).lower(), lambda word: _VOWELS.sub("", word), 4),
    "vowels starred": lambda chooser, text: each_word(plain(text), lambda word: _VOWELS.sub("*", word)),
    "inner letters shuffled": lambda chooser, text: each_word(text, lambda word: shuffled(chooser, word), 5),
    "spelled by the telephone": lambda chooser, text: _spelled(text),
    "digits for letters, letters apart": lambda chooser, text: "  ".join(
        " ".join(word) for word in plain(text).translate(_DIGITS).split()
    ),
    "shifted by 13, then base64": lambda chooser, text: base64.b64encode(
        codecs.encode(plain(text), "rot13").encode()
    ).decode(),
    "backwards, digits for letters": lambda chooser, text: plain(text).translate(_DIGITS)[::-1],
    "run together, wide letters": lambda chooser, text: "".join(
        chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text.replace(" ", "")
    ),
    "run together, backwards": lambda chooser, text: plain(text).replace(" ", "")[::-1],
    "run together, shifted by 13": lambda chooser, text: codecs.encode(plain(text).replace(" ", ""), "rot13"),
    "imitating letters, apart": lambda chooser, text: "  ".join(
        " ".join(word) for word in text.replace("o", "о").replace("e", "е").replace("a", "а").split()
    ),
}  # fmt: skip
"""What the readings were developed on."""
