"""A page of a transcript is no larger than one answer may be."""

from __future__ import annotations

import pytest

from memolith.app.api import transcripts
from tests.unit.app.api.test_transcripts import begin, pages, parts, record, said
from tests.unit.app.scene import Scene


@pytest.fixture
def session(scene: Scene) -> str:
    return begin(scene)


def test_a_page_ends_before_its_events_take_more_than_one_answer_may_and_has_one_at_least(
    scene: Scene, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = scene.clock.now_us()
    drafts = [said(letter * 1_000, letter, now - 10 + number) for number, letter in enumerate("abcdefg")]
    record(scene, session, *drafts)
    [whole] = pages(scene, session)
    sizes = {event.size_bytes for event in whole}
    assert len(sizes) == 1
    [size] = sizes
    for most, each in ((3 * size, [3, 3, 1]), (3 * size - 1, [2, 2, 2, 1]), (1, [1] * 7)):
        monkeypatch.setattr(transcripts, "SENT_MAX_BYTES", most)
        for descending in (False, True):
            found = list(pages(scene, session, descending=descending))
            assert [len(page) for page in found] == each
            shown = [event for page in found for event in page]
            assert shown == (whole[::-1] if descending else whole)


def test_the_size_of_an_event_is_what_it_takes_in_its_part(scene: Scene, session: str) -> None:
    record(scene, session, said('Ж\x01"', "a"), said("plain"))
    [body] = parts(scene, session).values()
    [page] = pages(scene, session)
    assert sorted(event.size_bytes for event in page) == sorted(len(line) + 1 for line in body.split(b"\n")[1:-1])
