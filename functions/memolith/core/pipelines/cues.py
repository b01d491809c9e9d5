"""What a person said in a session that is worth keeping, found by cues alone, without a model.

Read are sentences of the user's own events: what they asked to be remembered, always or never to be done, what they
prefer, what they use, and corrections and confirmations. Nothing else becomes a note, and a sentence that asks
something is none. Every note names the event that it stands in.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

USER_EVENT = "user.message"
NOTES_MAX = 12
SENTENCE_MAX_CHARS = 600
SENTENCE_MIN_WORDS = 3
NAME_MAX_CHARS = 80
SLUG_MAX_CHARS = 60
DESCRIPTION_MAX_CHARS = 160

_CUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("feedback", re.compile(r"^(?:no|nope|wrong|that's wrong|not like that)[,.:;!]\s*(?P<said>\S.*)", re.I)),
    ("feedback", re.compile(r"^yes,?\s+(?:exactly|perfect|that's right)[,.:;!]?\s*(?P<said>.*)", re.I)),
    ("feedback", re.compile(r"^(?P<said>(?:please\s+)?keep doing\b.*)", re.I)),
    ("feedback", re.compile(r"^(?:from now on|in future|in the future|going forward)[,:]?\s*(?P<said>\S.*)", re.I)),
    ("feedback", re.compile(r"^(?P<said>(?:please\s+)?(?:always|never)\s+\S.*)", re.I)),
    ("feedback", re.compile(r"^(?P<said>(?:please\s+)?(?:don't|do not|stop)\s+\S.*)", re.I)),
    ("user", re.compile(r"^(?:please\s+)?remember(?:\s+that|:)?\s+(?P<said>(?:i|my|i'm|i am)\b.*)", re.I)),
    ("user", re.compile(r"^(?P<said>(?:i|we)\s+(?:always\s+|really\s+)?(?:prefer|like|want|hate|dislike)\b.*)", re.I)),
    ("user", re.compile(r"^(?P<said>(?:my|our)\s+(?:name|role|time zone|timezone|team|job)\b.*)", re.I)),
    ("project", re.compile(r"^(?:please\s+)?(?:remember|note)(?:\s+that|:)?\s+(?P<said>\S.*)", re.I)),
    (
        "project",
        re.compile(r"^(?P<said>(?:we|our team|this project)\s+(?:always\s+|now\s+)?(?:use|uses|deploy)\b.*)", re.I),
    ),
    ("project", re.compile(r"^(?P<said>(?:we|the team)\s+(?:have\s+)?(?:decided|agreed|switched|moved)\b.*)", re.I)),
)
_TASK = re.compile(r"\b(?:right now|for now|this time|just this once|in this session|currently)\b", re.I)
_END = re.compile(r"(?<=[.!?])\s+|\n+")
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


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of a text outside of fences, without list marks."""
    outside = re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.DOTALL)
    for part in _END.split(outside):
        sentence = part.strip().lstrip("-*> ").strip()
        if sentence:
            yield sentence


def _notes(text: str, event_id: str, at: str) -> Iterator[dict[str, Any]]:
    for sentence in sentences(text):
        if len(sentence) > SENTENCE_MAX_CHARS or sentence.endswith("?") or _TASK.search(sentence):
            continue
        kind, said = _cue(sentence.replace("’", "'"))
        if kind and len(_WORDS.findall(said)) >= SENTENCE_MIN_WORDS:
            body = _dated(said[0].upper() + said[1:], at)
            yield {
                "type": kind,
                "name": _cut(body.rstrip(".!"), NAME_MAX_CHARS),
                "description": _cut(body, DESCRIPTION_MAX_CHARS),
                "body": body,
                "why": f"The user said so{f' on {at[:10]}' if at else ''}."
                if kind in ("feedback", "project")
                else None,
                "how_to_apply": "Whenever it concerns the task." if kind in ("feedback", "project") else None,
                "evidence": [event_id],
                "update_of": None,
            }


def _cue(sentence: str) -> tuple[str, str]:
    for kind, pattern in _CUES:
        match = pattern.match(sentence)
        if match:
            return kind, match["said"].strip()
    return "", ""


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
