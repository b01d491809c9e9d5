"""What a statement claims, so that two that contradict each other meet: the same words, but for one value.

    - [limit] The timeout of [[Gateway]] is 30 s      of Gateway: limit, "timeout is … s"   30
    - [limit] The timeout of [[Gateway]] is 60 s      of Gateway: limit, "timeout is … s"   60

A claim is about the notes that the statement links to, or else about its own. Whether two claims of one key and with
different values contradict each other, their validity decides (`valid_time.overlap`). These are rules of form: they
know no meanings, and what they miss is not thereby consistent.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memolith.core.graph.grammar import LINKS_TO, Observation, Relation
from memolith.core.graph.names import Rank, note_keys, target_key
from memolith.core.search.date_words import MONTHS, WEEKDAYS

WORDS_MAX = 24
"""A longer statement is prose; two of them are never equal but for one word."""

SLOTS_MAX = 4
PROPERTY_MAX_WORDS = 4
"""Of ``name: value``, on either side."""

_TOKEN = re.compile(r"[^\W_]+(?:[.,:'’/_-][^\W_]+)*%?|[=:]")
_LINK = re.compile(
    r"(?:\b(?:of|for|in|at|on|by|with|von|für|bei|de|pour|para)\s+)?\[\[([^\[\]]{1,500})\]\](?:['’]s\b)?"
)
"""With what ties it to the rest: ``the timeout of [[Gateway]]`` is what Gateway's own note calls ``the timeout``."""

_TAG = re.compile(r"(?:^|\s)#\S+")
_NUMBER = re.compile(r"v?\d+(?:[.,:/-]\d+)*%?")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
_WITH_UNIT = re.compile(r"(\d+(?:[.,]\d+)*)([a-zµ]{1,3})")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ARTICLES = _set("the a an our der die das le la les el los")
_NEGATIONS = _set("not never no cannot nicht kein keine keinen nie niemals pas jamais nunca")
_CONTRACTED = re.compile(r"(\w+?)n['’]t")
_EMPTY_VERBS = _set("do doe does did ca wo")
"""What is left of ``doesn't use`` beside the verb, where ``uses`` has nothing."""

_BEFORE_VALUE = _set(
    "is are was were be = : to of at on every within about for than costs cost takes take has have needs "
    "need by until from under over below above port version ist sind auf bis von est sont de es son"
)
_UNITS = _set(
    "s sec second min minute h hour day week month year time ms kb mb gb tb kib mib gib percent eur euro "
    "usd dollar user request person people worker replica retrie retry token character char byte line "
    "row"
)
_SWITCHES = {
    **dict.fromkeys(("true", "enabled", "active"), "yes"),
    **dict.fromkeys(("false", "disabled", "inactive"), "no"),
}
_SWITCHES_LAST = {"yes": "yes", "on": "yes", "no": "no", "off": "no"}
"""Elsewhere than at the end these are other words."""

_LABELS = _set(
    "note tip hint example todo see warning caution idea question answer source fix step why how next e.g i.e"
)
"""``Tip: …`` is a label, which many statements have."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A value for a key, which says what it is a value of.

    `subject` is the key of the note that it is about (`names`). `free`: the value is any text, as of ``name: value``,
    so that a note which gives several of them gives a list.
    """

    subject: str
    key: str
    value: str
    free: bool = False


def of_observation(one: Observation, subjects: Sequence[str]) -> Iterator[Claim]:
    """Yield what an observation claims; `subjects` are the keys of its own note, where it links to no other."""
    linked = tuple(dict.fromkeys(target_key(target) for target in _LINK.findall(one.text)))
    text = _TAG.sub(" ", _LINK.sub(" ", one.text))
    tokens = [token for token in _tokens(text) if token not in _ARTICLES]
    tokens = tokens[1:] if tokens[:1] == [":"] else tokens  # [[Gateway]]: …
    if not 0 < len(tokens) <= WORDS_MAX:
        return
    category = _folded(one.category or "")
    for subject in linked or subjects:
        for key, value, free in _claimed(tokens):
            yield Claim(subject, f"{category}|{key}", value, free)


def of_relation(one: Relation, subjects: Sequence[str]) -> Iterator[Claim]:
    """Yield what a relation claims: that its note has it, or, where its type is negated, that it has not."""
    if one.type == LINKS_TO:
        return
    tokens = _tokens(one.type.replace("_", " ").replace("-", " "))
    if tokens:
        positive, negated = _unnegated(tokens)
        for subject in subjects:
            yield Claim(subject, f"->{' '.join(positive)}|{target_key(one.target)}", str(negated))


def own_subjects(path: str, title: str, permalink: str | None) -> list[str]:
    """Return the keys by which a note is a subject: not its file's name alone, which many notes share."""
    return [key for key, rank in note_keys(path, title, permalink).items() if rank is not Rank.STEM]


def _claimed(tokens: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Yield keys, values and whether these are free: of a property; else for each value, all else being equal."""
    positive, negated = _unnegated(tokens)
    yield " ".join(positive), f"negated {negated}", False
    place = next((at for at, token in enumerate(tokens) if token in (":", "=")), None)
    slots = [(at, value) for at in range(len(tokens)) if (value := _value(tokens, at)) is not None]
    if place is not None:
        name, rest = tokens[:place], tokens[place + 1 :]
        if 0 < len(name) <= PROPERTY_MAX_WORDS and 0 < len(rest) <= PROPERTY_MAX_WORDS and name[-1] not in _LABELS:
            typed = any(at > place for at, _ in slots)
            yield f"{' '.join(name)} :", " ".join(rest), not typed
        return
    for at, value in slots[:SLOTS_MAX]:
        yield " ".join((*tokens[:at], "…", *tokens[at + 1 :])), value, False


def _value(tokens: Sequence[str], at: int) -> str | None:
    """Return what a word is a value as; None where it is none: a number of which nothing says what it counts is a name
    (``step 3``).
    """
    token, last = tokens[at], at == len(tokens) - 1
    if token in WEEKDAYS:
        return f"day {WEEKDAYS[token]}"
    if token in _SWITCHES or (last and at > 0 and token in _SWITCHES_LAST):
        return _SWITCHES.get(token) or _SWITCHES_LAST[token]
    if _DATE.fullmatch(token):
        return token
    if _NUMBER.fullmatch(token) or _WITH_UNIT.fullmatch(token):
        before = tokens[at - 1] if at else ""
        after = "" if last else tokens[at + 1]
        if before in _BEFORE_VALUE or after in _UNITS or after in MONTHS or token.endswith("%"):
            return token
    return None


def _unnegated(tokens: Sequence[str]) -> tuple[list[str], bool]:
    """Return the words without what negates them, and whether they were negated."""
    kept: list[str] = []
    negations = 0
    for at, token in enumerate(tokens):
        contracted = _CONTRACTED.fullmatch(token)
        if token in _NEGATIONS:
            negations += 1
        elif contracted is not None:
            negations += 1
            kept += [] if contracted[1] in _EMPTY_VERBS else [contracted[1]]
        elif not (token in _EMPTY_VERBS or (tokens[max(at - 1, 0) : at + 1] == ["no", "longer"])):
            kept.append(token)
    return kept, negations % 2 == 1


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    for match in _TOKEN.finditer(unicodedata.normalize("NFC", text).casefold().replace("can not", "cannot")):
        token = match[0]
        with_unit = _WITH_UNIT.fullmatch(token)
        found += [with_unit[1], with_unit[2]] if with_unit else [_singular(token)]
        if len(found) > WORDS_MAX:
            break
    return found


def _singular(token: str) -> str:
    """Fold ``Thursdays`` and ``uses`` to what they have in common with ``Thursday`` and ``use``."""
    return token[:-1] if len(token) > 3 and token.endswith("s") and not token.endswith("ss") else token


def _folded(text: str) -> str:
    return " ".join(_tokens(text))
