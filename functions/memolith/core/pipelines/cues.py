"""What a person said in a session that is worth keeping, found by cues alone, without a model.

Read are sentences of the user's own events (`speech`): what they asked to be remembered, rules, preferences, who they
are, decisions, corrections and confirmations, and how the things they work with are set up. Nothing else becomes a
note. Every note names the event that it stands in.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from memolith.core.pipelines import cue_patterns
from memolith.core.pipelines.cue_patterns import FEEDBACK, PERSON, PROJECT
from memolith.core.pipelines.speech import Sentence, own_sentences

USER_EVENT = "user.message"
NOTES_MAX = 12
SENTENCE_MIN_WORDS = 3
NAME_MAX_CHARS = 80
SLUG_MAX_CHARS = 60
DESCRIPTION_MAX_CHARS = 160
BODY_MAX_CHARS = 4_000
"""How long the text of a note may be, by the form of an answer."""

DATE_CHARS = len(" (2026-11-23)")

_RELATIVE = re.compile(r"\b(?P<word>today|yesterday|tomorrow)\b(?! \()", re.I)
_OFFSETS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_WORDS = re.compile(r"\w+", re.UNICODE)


def extracted(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to an extraction's document: notes by cues, at most `NOTES_MAX`, the newest kept.

    Of two notes with the same words the later event is the evidence.
    """
    found: dict[str, dict[str, Any]] = {}
    for event in document.get("events", ()):
        if event.get("type") != USER_EVENT:
            continue
        for note in _notes(str(event.get("text", "")), str(event["id"]), str(event.get("at", ""))):
            key = " ".join(_WORDS.findall(note["body"].lower()))
            found.pop(key, None)
            found[key] = note
    notes = list(found.values())[-NOTES_MAX:]
    return {
        "notes": notes,
        "summary": "\n".join(f"- {note['body']}" for note in notes)[:6_000],
        "slug": slug(notes[0]["name"]) if notes else None,
        "outcome": "uncertain",
    }


def slug(name: str) -> str:
    """Return a name as a part of a path: lower-case words and hyphens; a hash where no letter is left of it.

    A long one ends with a whole word.
    """
    words = re.findall(r"[a-z0-9]+", name.lower())
    whole = "-".join(words)
    if len(whole) > SLUG_MAX_CHARS:
        whole = whole[: SLUG_MAX_CHARS + 1].rpartition("-")[0] or whole[:SLUG_MAX_CHARS]
    return whole or hashlib.sha256(name.encode()).hexdigest()[:12]


def _notes(text: str, event_id: str, at: str) -> Iterator[dict[str, Any]]:
    for kind, said in _statements(list(own_sentences(text))):
        if len(_WORDS.findall(said)) < SENTENCE_MIN_WORDS:
            continue
        body = _dated(said[0].upper() + said[1:], at)
        is_ours = kind in (FEEDBACK, PROJECT)
        yield {
            "type": kind,
            "name": _cut(body.rstrip(".!"), NAME_MAX_CHARS),
            "description": _cut(body, DESCRIPTION_MAX_CHARS),
            "body": body,
            "why": f"The user said so{f' on {at[:10]}' if at else ''}." if is_ours else None,
            "how_to_apply": "Whenever it concerns the task." if is_ours else None,
            "evidence": [event_id],
            "update_of": None,
        }


def _statements(sentences: list[Sentence]) -> list[tuple[str, str]]:
    """Return what is to be kept, with its kind; a sentence that leans on the one before goes with it, where it fits."""
    found: list[tuple[str, str]] = []
    asked = ""
    joins = False
    for number, sentence in enumerate(sentences):
        text, before = sentence.text, sentences[number - 1] if number and not sentence.opens else None
        if cue_patterns.KEEP_ALL.match(text):
            asked = PROJECT
            if before is not None and before.teaches and not joins:
                found.append((PROJECT, before.text))
            joins = False
            continue
        if cue_patterns.CORRECTS.match(text):
            asked, joins = FEEDBACK, False
            continue
        kind, said = _cue(sentence) if sentence.teaches else ("", "")
        if not kind and asked and sentence.teaches:
            kind, said = asked, text
        leans = sentence.is_reason or (kind and sentence.is_dependent)
        fits = joins and _chars_dated(f"{found[-1][1]} {text}") <= BODY_MAX_CHARS
        if fits and before is not None and sentence.teaches and leans:
            found[-1] = (found[-1][0], f"{found[-1][1]} {text}")
        elif kind and sentence.is_dependent and before is not None and before.teaches and not asked:
            found.append((kind, f"{before.text} {text}"))
        elif kind:
            found.append((kind, said))
        joins, asked = bool(kind) or (fits and sentence.is_reason), ""
    return found


def _cue(sentence: Sentence) -> tuple[str, str]:
    text = sentence.text
    for kind, pattern in (
        (PROJECT, cue_patterns.KEEP),
        (FEEDBACK, cue_patterns.CORRECTED),
        (FEEDBACK, cue_patterns.CONFIRMED),
    ):
        match = pattern.match(text)
        if match:
            said = match["said"].strip()
            return (PERSON if re.match(r"(?:i|my|i'm)\b", said, re.I) else kind), said
    texts = dict.fromkeys((text, cue_patterns.ADVERBIAL.sub("", text)))
    for kind, pattern in cue_patterns.CUES:
        for one in texts:
            match = pattern.match(one) if pattern.match(cue_patterns.QUOTED.sub('""', one)) else None
            if match:
                return kind, (match.groupdict().get("said") or text).strip()
    text = cue_patterns.ADVERBIAL.sub("", text)
    if sentence.is_dependent or cue_patterns.PASSING.search(text):
        return "", ""
    is_setup = (
        cue_patterns.OWN.match(text)
        or cue_patterns.HABIT.match(text)
        or (cue_patterns.SETUP.match(text) and not cue_patterns.NO_SUBJECT.match(text))
    )
    return (PROJECT, sentence.text) if is_setup else ("", "")


def _chars_dated(text: str) -> int:
    """Return how long a text is at most once it has its dates."""
    return len(text) + DATE_CHARS * len(_RELATIVE.findall(text))


def _dated(text: str, at: str) -> str:
    """Return the text with the date beside each word that names a day relative to the event's."""
    try:
        day = datetime.fromisoformat(at).astimezone(UTC)
    except ValueError:
        return text

    def date(match: re.Match[str]) -> str:
        meant = day + timedelta(days=_OFFSETS[match["word"].lower()])
        return f"{match['word']} ({meant:%Y-%m-%d})"

    return _RELATIVE.sub(date, text)


def _cut(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def shingles(text: str, size: int = 5) -> frozenset[tuple[str, ...]]:
    """Return every run of `size` words of a text; all its words as one, where it has fewer."""
    words = tuple(word.lower() for word in _WORDS.findall(text))
    if len(words) <= size:
        return frozenset([words]) if words else frozenset()
    return frozenset(words[start : start + size] for start in range(len(words) - size + 1))


def overlap(first: Iterable[tuple[str, ...]], second: Iterable[tuple[str, ...]]) -> float:
    """Return how much of the smaller of two sets of shingles is in the other: 0 to 1."""
    one, other = frozenset(first), frozenset(second)
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0
