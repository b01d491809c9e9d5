"""What a search of conversations returns."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.transcript import Event


@dataclass(frozen=True, slots=True)
class TranscriptHit:
    """An event that a search found, its session, and the place in it that answers best."""

    record: SessionRecord
    event: Event
    score: float
    excerpt: str


@dataclass(frozen=True, slots=True)
class TranscriptHits:
    """Events, the best first. `truncated`: not all that the caller may read was searched, only the newest."""

    hits: tuple[TranscriptHit, ...]
    sessions: int
    truncated: bool
