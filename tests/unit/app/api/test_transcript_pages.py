"""A page of a transcript is no larger than one answer may be, and the next one goes on after it."""

from __future__ import annotations

from itertools import islice

import pytest

from memolith.app.api import transcripts
from memolith.app.api.transcripts import PARTS_PER_PAGE
from memolith.core.object_keys import TranscriptKey
from memolith.core.objects.transcript import TranscriptPart
from tests.unit.app.api.test_transcripts import begin, pages, parts, record, said
from tests.unit.app.scene import HOME, Scene


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


def listed(scene: Scene, session: str, most: int, *, descending: bool) -> list[str]:
    """Return the texts of a session from `most` pages at most: a listing that never ends has too few of them."""
    found = islice(pages(scene, session, descending=descending), most)
    return [event.fields["content"][0]["text"] for page in found for event in page]


@pytest.mark.parametrize("descending", [False, True])
def test_a_listing_goes_on_through_more_parts_of_one_instant_than_a_page_reads(
    scene: Scene, session: str, descending: bool
) -> None:
    at = scene.clock.now_us() - 10_000_000
    expected = [f"event {number}" for number in range(2 * PARTS_PER_PAGE + 1)]
    for text in expected:
        record(scene, session, said(text, text, at))
    assert listed(scene, session, 3, descending=descending) == (expected[::-1] if descending else expected)


@pytest.mark.parametrize("descending", [False, True])
def test_a_listing_goes_on_through_more_parts_that_overlap_than_a_page_reads(
    scene: Scene, session: str, descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each part has the first and the last word of one subagent, and all of them worked at once."""
    now = scene.clock.now_us()
    monkeypatch.setattr(transcripts, "PARTS_PER_PAGE", 4)
    names = [f"{number:02d}" for number in range(21)]
    for number, name in enumerate(names):
        first = said(f"first {name}", f"f{name}", now - 9_000_000 + number)
        record(scene, session, first, said(f"last {name}", f"l{name}", now - 1_000_000 + number))
    expected = [f"first {name}" for name in names] + [f"last {name}" for name in names]
    assert listed(scene, session, 6, descending=descending) == (expected[::-1] if descending else expected)


@pytest.mark.parametrize("descending", [False, True])
def test_a_page_reads_no_more_parts_than_its_number_where_none_reaches_over_its_beginning(
    scene: Scene, session: str, descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = scene.clock.now_us() - 10_000_000
    for number in range(2 * PARTS_PER_PAGE + 1):
        record(scene, session, said(str(number), str(number), at + number // 7, type="agent.tool_use"))
    read: list[TranscriptKey] = []
    real = scene.at(HOME).transcripts._log.read

    def counted(key: TranscriptKey) -> TranscriptPart:
        read.append(key)
        return real(key)

    monkeypatch.setattr(scene.at(HOME).transcripts._log, "read", counted)
    counts = []
    for page in pages(scene, session, descending=descending, types=("user.message",)):
        assert page == []
        counts.append(len(read))
        assert len(counts) <= 3, "the listing ends"
    assert counts == [PARTS_PER_PAGE, 2 * PARTS_PER_PAGE, 2 * PARTS_PER_PAGE + 1]
