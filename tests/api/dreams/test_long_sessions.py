"""A dream reads a session whose transcript takes many pages, and looks between two pages whether to go on."""

from __future__ import annotations

import pytest

from memolith.app.api import transcripts
from memolith.app.api.transcripts import PARTS_PER_PAGE, EventDraft
from memolith.app.kernel.results import Page, RequestContext
from memolith.core.objects.transcript import Event
from tests.api.dreams.stage import Stage, tell

WORDS = "Please remember that the release branch is cut on Thursdays"


def tell_in_parts(stage: Stage, texts: list[str], at: int) -> str:
    """Record one part for each text, all of one instant; the session's id."""
    session_id = tell(stage)
    for text in texts:
        draft = EventDraft("user.message", {"content": [{"type": "text", "text": text}]}, text, at)
        stage.memolith.transcripts.record(stage.scene.call(), session_id, [draft])
    return session_id


def pages_read(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Return a list that gets the place after which each page of a transcript begins; the tenth ends the test."""
    read: list[str | None] = []
    real = transcripts.Transcripts.page

    def page(self: transcripts.Transcripts, call: RequestContext, session_id: str, **options: object) -> Page[Event]:
        assert len(read) < 10, "the transcript is listed without an end"
        after = options["after"]
        read.append(None if after is None else str(after))
        return real(self, call, session_id, **options)  # type: ignore[arg-type]  # keywords of more than one type

    monkeypatch.setattr(transcripts.Transcripts, "page", page)
    return read


def test_a_dream_shows_its_model_all_of_a_session_with_more_parts_of_one_instant_than_a_page_reads(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{WORDS}, {number:02d}." for number in range(PARTS_PER_PAGE + 1)]
    session_id = tell_in_parts(stage, texts, stage.scene.clock.now_us())
    read = pages_read(stage, monkeypatch)
    dream = stage.update(more=[{"type": "sessions", "session_ids": [session_id]}])
    assert stage.done(dream).status == "completed"
    assert len(read) == 2
    assert [text for text in texts if text not in stage.model.asks[0].turns[0].text] == []


def test_a_dream_that_is_canceled_while_it_reads_a_session_reads_no_other_page(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{WORDS}, {number:02d}." for number in range(PARTS_PER_PAGE + 1)]
    session_id = tell_in_parts(stage, texts, stage.scene.clock.now_us())
    dream = stage.update(more=[{"type": "sessions", "session_ids": [session_id]}])
    read = pages_read(stage, monkeypatch)
    real = transcripts.Transcripts.page

    def page_and_cancel(
        self: transcripts.Transcripts, call: RequestContext, session_id: str, **options: object
    ) -> Page[Event]:
        found = real(self, call, session_id, **options)  # type: ignore[arg-type]  # keywords of more than one type
        stage.client.beta.dreams.cancel(dream.id)
        return found

    monkeypatch.setattr(transcripts.Transcripts, "page", page_and_cancel)
    assert stage.done(dream).status == "canceled"
    assert (len(read), len(stage.model.asks)) == (1, 0)
