"""What happens to an event before it is kept: its secrets are taken out, and it is believed less where it gives orders.

Neither ever refuses an event: a transcript that lacks what was said is no transcript.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memolith.app.safety.write_gate import TextScanner
from memolith.core.transcripts import trust_of
from memolith.core.trust import TOOL_EXTERNAL, rank
from memolith.scanner import Family, Severity

OMITTED_MEDIA = "[OMITTED_MEDIA]"
"""Stands for the bytes of an image or document: they are of no use to memory, and a secret in them is not found."""

READ_MAX_CHARS = 100_000
"""Of an event's texts that are read for planted instructions at once; a longer one is read in parts."""

READ_TWICE_CHARS = 2_000
"""By how much these parts overlap: an instruction that two of them divide is whole in one, unless it is longer."""

NAMED_MAX_CHARS = 500
"""Of a value that is read together with the name of its field."""

_PLANTED = frozenset((Family.INJECTION, Family.PERSONA, Family.EXFILTRATION))
_SECRET_NAME = re.compile(r"(?i)pass|pwd|secret|token|key|auth|cred|private|bearer|dsn|cookie")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What is kept of an event: its fields, how many secrets were taken out of them, and its class."""

    fields: Mapping[str, Any]
    redactions: int
    trust: str | None


class TranscriptGate:
    """Reads events before they are kept."""

    def __init__(self, scanner: TextScanner) -> None:
        self._scanner = scanner

    def clean(self, events: Sequence[tuple[str, Mapping[str, Any]]], writer: str | None) -> list[Cleaned]:
        """Return what is kept of events, each a type and its fields. `writer` is the class of what the caller writes.

        Raises:
            Unavailable: this function does not scan.
        """
        texts: list[str] = []
        for _, fields in events:
            _rewritten(fields, _collect(texts))
        redacted = iter(self._scanner.redact_each(texts))
        cleaned = []
        for type, fields in events:
            counts: list[int] = []
            kept = _rewritten(fields, _take(redacted, counts))
            cleaned.append(Cleaned(kept, sum(counts), self._trust(type, kept, writer)))
        return cleaned

    def _trust(self, type: str, fields: Mapping[str, Any], writer: str | None) -> str | None:
        trust = trust_of(type, writer, suspicious=False)
        if rank(trust) <= rank(TOOL_EXTERNAL):
            return trust
        planted = any(
            one.family in _PLANTED and one.severity is not Severity.LOW
            for part in _parts("\n".join(_texts(fields)))
            for one in self._scanner.scan(part).findings
        )
        return trust_of(type, writer, suspicious=planted)


_Rewrite = Callable[[str, str], str]
"""Returns what stands in the place of a text, given the name of its field."""


def _collect(texts: list[str]) -> _Rewrite:
    """Note each text that is to be read; with the name of its field, where that says that it is a secret."""

    def rewrite(name: str, text: str) -> str:
        texts.append(f"{name}={text}" if _is_named(name, text) else text)
        return text

    return rewrite


def _take(redacted: Iterator[Any], counts: list[int]) -> _Rewrite:
    """Put in the place of each text what is left of it."""

    def rewrite(name: str, text: str) -> str:
        one = next(redacted)
        counts.append(one.count)
        kept = str(one.text)
        return kept.removeprefix(f"{name}=") if _is_named(name, text) else kept

    return rewrite


def _is_named(name: str, text: str) -> bool:
    return len(text) <= NAMED_MAX_CHARS and "\n" not in text and _SECRET_NAME.search(name) is not None


def _rewritten(value: Any, rewrite: _Rewrite, name: str = "") -> Any:
    """Return JSON with each of its texts rewritten, the names of fields too, and without the bytes of media."""
    if isinstance(value, str):
        return rewrite(name, _SURROGATE.sub("\ufffd", value))
    if isinstance(value, Mapping):
        is_media = value.get("type") == "base64" and isinstance(value.get("data"), str)
        return {
            rewrite("", key): OMITTED_MEDIA if is_media and key == "data" else _rewritten(one, rewrite, key)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_rewritten(one, rewrite, name) for one in value]
    return value


def _parts(text: str) -> Iterator[str]:
    """Yield all of a text. Models are shown the beginning and the end of a long one, and searches any place."""
    for start in range(0, max(len(text) - READ_TWICE_CHARS, 1), READ_MAX_CHARS - READ_TWICE_CHARS):
        yield text[start : start + READ_MAX_CHARS]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
