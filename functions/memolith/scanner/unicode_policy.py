"""Which invisible, reordering and imitating characters a memory may hold.

Contextual throughout: a zero-width joiner holds an emoji family together and a Persian word apart, and hides a letter
of ``ignore`` just as well. A ban of the characters flags a third of legitimate multilingual text; these rules look at
the neighbours. Each is one regular expression, tried only if its characters occur at all.

Sources: UTS 39 (mixed script), UTR 36 and UTS 55 (bidirectional controls in source text), UTS 51 (emoji and flag
sequences), UAX 44 (default-ignorable code points).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from memolith.scanner.case_folding import SCRIPTS
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import Family, Severity

LETTER = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
ZERO_WIDTH = "\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2060\u3164\ufeff\uffa0"
HAN = "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
HANGUL = "\u1100-\u115e\u1161-\u11ff\u3130-\u3163\u3165-\u318f\ua960-\ua97f\uac00-\ud7ff"
RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
BIDI = "\u202a-\u202e\u2066-\u2069"
SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
TAGS = "\U000e0001\U000e0020-\U000e007f"
FILLERS = "\u115f\u1160\u3164\uffa0"

MOST_FINDINGS = 5
"""Of one rule in one text; the rest would only repeat it."""

MOST_WORDS = 2_000
"""Places of mixed letters that are looked at in one text, so that a text of nothing else stays cheap."""


@dataclass(frozen=True)
class UnicodeRule:
    """One rule about characters.

    Attributes:
        id: what an allow-list names.
        severity: of its findings.
        reason: one line for the person who reads a rejection.
        remedy: what that person can change.
        pattern: confirms a hit where one of the characters stands; looks at the neighbours.
        chars: the characters that it is about, as a set of one.
    """

    id: str
    severity: Severity
    reason: str
    remedy: str
    pattern: re.Pattern[str]
    chars: re.Pattern[str]


def _rule(identifier: str, severity: Severity, reason: str, remedy: str, pattern: str, chars: str) -> UnicodeRule:
    return UnicodeRule(identifier, severity, reason, remedy, re.compile(pattern), re.compile(f"[{chars}]"))


_REMOVE = "Remove the invisible characters; type the text again if you cannot see them."

RULES: tuple[UnicodeRule, ...] = (
    _rule(
        "unicode-tag-characters",
        Severity.HIGH,
        "tag characters carry text that nobody sees (outside a flag emoji)",
        _REMOVE,
        f"(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{{3,6}}\U000e007f|(?P<hit>[{TAGS}]+)",
        TAGS,
    ),
    _rule(
        "unicode-bidi-override",
        Severity.HIGH,
        "an override makes text read in another order than it is stored (trojan source)",
        "Remove U+202D and U+202E; right-to-left text needs neither.",
        "(?P<hit>[\u202d\u202e])",
        "\u202d\u202e",
    ),
    _rule(
        "unicode-invisible-operator",
        Severity.HIGH,
        "invisible operators, deprecated format characters or annotation marks",
        _REMOVE,
        "(?P<hit>[\u2061-\u2064\u206a-\u206f\ufff9-\ufffb]+)",
        "\u2061-\u2064\u206a-\u206f\ufff9-\ufffb",
    ),
    _rule(
        "unicode-variation-selectors",
        Severity.HIGH,
        "variation selectors in a row, or on a letter that has no variants, carry hidden bytes",
        _REMOVE,
        f"(?P<hit>[{SELECTORS}]{{2,}}|(?<![{HAN}])[\U000e0100-\U000e01ef]|(?<=[A-Za-z])[\ufe00-\ufe0f]"
        f"|(?<=['\"`])[{SELECTORS}](?=['\"`]))",
        SELECTORS,
    ),
    _rule(
        "unicode-zero-width",
        Severity.HIGH,
        "zero-width characters inside a Latin word, in a row, or alone between quotes hide or split text",
        _REMOVE,
        f"(?P<hit>(?<=[{LETTER}])[{ZERO_WIDTH}]+(?=[{LETTER}])|[{ZERO_WIDTH}]{{3,}}"
        f"|(?<=['\"`])[{ZERO_WIDTH}\u00ad\u2800]+(?=['\"`]))",
        ZERO_WIDTH + "\u00ad\u2800",
    ),
    _rule(
        "unicode-filler",
        Severity.HIGH,
        "a Hangul filler away from Hangul looks like nothing and counts as a letter",
        _REMOVE,
        f"(?P<hit>(?<![{HANGUL}{FILLERS}])[{FILLERS}](?![{HANGUL}{FILLERS}]))",
        FILLERS,
    ),
    _rule(
        "unicode-noncharacter",
        Severity.HIGH,
        "a code point that is not a character",
        "Remove it; the text was damaged on its way here.",
        "(?P<hit>[\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0010fffe\U0010ffff])",
        "\ufdd0-\ufdef\ufffe\uffff\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0010fffe\U0010ffff",
    ),
    _rule(
        "unicode-control",
        Severity.MEDIUM,
        "control characters that a terminal obeys and a reader does not see",
        "Remove control characters other than tab and line break.",
        "(?P<hit>[\x00-\x08\x0b\x0e-\x1f\x7f]+)",
        "\x00-\x08\x0b\x0e-\x1f\x7f",
    ),
    _rule(
        "unicode-control-c1",
        Severity.LOW,
        "C1 control characters, mostly the remains of a wrong decoding",
        "Decode the text anew, or remove U+0080 to U+009F.",
        "(?P<hit>[\x80-\x84\x86-\x9f]+)",
        "\x80-\x84\x86-\x9f",
    ),
)

BIDI_UNBALANCED = _rule(
    "unicode-bidi-unbalanced",
    Severity.HIGH,
    "a bidirectional control is left open, or stands on a line with nothing to reorder (trojan source)",
    "Remove U+202A to U+202C and U+2066 to U+2069, or close each on its own line.",
    f"(?P<hit>[{BIDI}])",
    BIDI,
)
MIXED_SCRIPT = _rule(
    "unicode-mixed-script",
    Severity.HIGH,
    "a word mixes alphabets so that it reads as a Latin word and is not one",
    "Write the word in one alphabet.",
    f"(?P<hit>[A-Za-z][{SCRIPTS}]|[{SCRIPTS}][A-Za-z])",
    SCRIPTS,
)
SURROGATE = _rule(
    "unicode-surrogate",
    Severity.HIGH,
    "a lone surrogate is no character and cannot be stored as UTF-8",
    "Encode the text as valid UTF-8.",
    "(?P<hit>[\ud800-\udfff])",
    "\ud800-\udfff",
)
BY_ID = {rule.id: rule for rule in (*RULES, BIDI_UNBALANCED, MIXED_SCRIPT, SURROGATE)}

_LINE_WITH_BIDI = re.compile(f"[^\n\u2029]*[{BIDI}][^\n\u2029]*")
_RIGHT_TO_LEFT = re.compile(f"[{RIGHT_TO_LEFT}]")
_BIDI_CHAR = re.compile(f"[{BIDI}]")
_WORD = re.compile(f"[A-Za-z0-9_{SCRIPTS}]{{1,64}}")
_OPENS_EMBEDDING = "\u202a\u202b\u202d\u202e"
_OPENS_ISOLATE = "\u2066\u2067\u2068"


def find_spots(text: str, present: str, skeleton: Callable[[str], str]) -> Iterator[Spot]:
    """Every place where a rule of this module applies.

    Args:
        text: as written.
        present: see `memolith.scanner.case_folding.distinct`; with a surrogate if the text has one.
        skeleton: a word as the ASCII letters that it imitates.

    Yields:
        At most `MOST_FINDINGS` hits a rule. Costs nothing for a rule whose characters do not occur.
    """
    for rule in RULES:
        if rule.chars.search(present):
            yield from _first(rule, text, present)
    if SURROGATE.chars.search(present):
        yield from _first(SURROGATE, text, present)
    if BIDI_UNBALANCED.chars.search(present):
        yield from _bidi(text)
    if MIXED_SCRIPT.chars.search(present):
        yield from _mixed_script(text, skeleton)


def _spot(rule: UnicodeRule, start: int, end: int) -> Spot:
    return Spot(rule.id, Family.UNICODE, rule.severity, rule.reason, rule.remedy, start, end)


def _first(rule: UnicodeRule, text: str, present: str) -> Iterator[Spot]:
    """Go from one of the rule's characters to the next, and look at the neighbours of each."""
    occurring = re.compile(f"[{''.join(map(re.escape, rule.chars.findall(present)))}]")
    found, position = 0, 0
    while found < MOST_FINDINGS and (char := occurring.search(text, position)):
        hit = rule.pattern.match(text, char.start())
        position = hit.end() if hit else char.end()
        if hit and hit["hit"] is not None:
            yield _spot(rule, hit.start("hit"), hit.end("hit"))
            found += 1


def _bidi(text: str) -> Iterator[Spot]:
    found = 0
    for line in _LINE_WITH_BIDI.finditer(text):
        first = _BIDI_CHAR.search(line[0])
        if first and (not _RIGHT_TO_LEFT.search(line[0]) or not _balanced(line[0])):
            yield _spot(BIDI_UNBALANCED, line.start() + first.start(), line.start() + first.end())
            found += 1
            if found == MOST_FINDINGS:
                return


def _balanced(line: str) -> bool:
    """Whether every embedding and isolate of a line is closed, in order, on that line."""
    opened: list[str] = []
    for char in _BIDI_CHAR.findall(line):
        if char in _OPENS_EMBEDDING:
            opened.append("\u202c")
        elif char in _OPENS_ISOLATE:
            opened.append("\u2069")
        elif not opened or opened.pop() != char:
            return False
    return not opened


def _mixed_script(text: str, skeleton: Callable[[str], str]) -> Iterator[Spot]:
    found, seen, done = 0, set[str](), 0
    for match in islice(MIXED_SCRIPT.pattern.finditer(text), MOST_WORDS):
        if match.start() < done:
            continue
        start = _word_start(text, match.start())
        word = _WORD.match(text, start)
        if word is None:
            return
        done = word.end()
        if word[0] in seen:
            continue
        seen.add(word[0])
        if len(word[0]) >= 4 and skeleton(word[0]).isascii():
            yield _spot(MIXED_SCRIPT, start, done)
            found += 1
            if found == MOST_FINDINGS:
                return


def _word_start(text: str, position: int) -> int:
    start = position
    while start > 0 and position - start < 32 and _WORD.match(text[start - 1]):
        start -= 1
    return start
