"""Others' writes come; asking for them costs one request while nothing changes; texts come when they are read."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from memolith.clients.working_copy.store_client import Head
from tests.mount.conftest import Desk

MEMORIES = 90


def fill(desk: Desk, folders: int = 1) -> None:
    for number in range(MEMORIES):
        desk.memories.create(desk.store_id, path=f"/d{number % folders}/f{number:03}.md", content=f"text {number}\n")


def test_what_others_create_change_rename_and_delete_shows_after_a_refresh(desk: Desk) -> None:
    for name in "abc":
        desk.save(f"/{name}.md", name)
    desk.others_write("/a.md", "changed")
    desk.others_rename("/b.md", "/moved/b.md")
    desk.others_delete("/c.md")
    desk.others_write("/new.md", "new")
    assert desk.copy.refresh() == {"/a.md", "/b.md", "/moved/b.md", "/c.md", "/new.md"}
    assert desk.names() == ["a.md", "moved", "new.md"]
    assert desk.read("/a.md") == "changed"
    assert desk.read("/new.md") == "new"


def test_two_that_change_places_are_both_shown_where_they_are(desk: Desk) -> None:
    desk.save("/a.md", "a")
    desk.save("/b.md", "b")
    desk.others_rename("/a.md", "/c.md")
    desk.others_rename("/b.md", "/a.md")
    desk.others_rename("/c.md", "/b.md")
    desk.copy.refresh()
    assert (desk.read("/a.md"), desk.read("/b.md")) == ("b", "a")


def test_while_nothing_changes_a_refresh_is_one_request(desk: Desk) -> None:
    fill(desk)
    desk.copy.refresh()
    desk.copy.refresh()
    before = len(desk.requests())
    assert desk.copy.refresh() == set()
    assert len(desk.requests()) == before + 1


def asked_since(desk: Desk) -> str:
    """The instant that the last refresh asked from."""
    return parse_qs(urlsplit(desk.requests()[-1].split()[1]).query)["created_at[gte]"][0]


def test_what_came_since_the_region_was_complete_is_asked_for_with_a_margin_for_writes_under_way(desk: Desk) -> None:
    desk.network.headers = {
        "x-memolith-complete-until": "2026-11-22T05:00:00.000000Z",
        "date": "Sun, 22 Nov 2026 05:01:00 GMT",
    }
    desk.copy.refresh()
    desk.copy.refresh()
    assert asked_since(desk) == "2026-11-22T04:58:00.000000Z"


def test_a_watermark_that_sticks_makes_no_refresh_dear_and_this_machines_clock_does_not_matter(desk: Desk) -> None:
    desk.network.headers = {
        "x-memolith-complete-until": "2026-11-21T05:00:00.000000Z",
        "date": "Sun, 22 Nov 2026 05:01:00 GMT",
    }
    desk.copy.refresh()
    desk.copy.refresh()
    assert asked_since(desk) == "2026-11-22T04:46:00.000000Z"


def test_a_listing_shows_names_and_sizes_and_fetches_no_text(desk: Desk) -> None:
    fill(desk)
    desk.copy.refresh()
    before = len(desk.requests())
    assert len(desk.names("/d0")) == MEMORIES
    assert desk.copy.stat("/d0/f007.md").size_bytes == len("text 7\n")
    assert len(desk.requests()) == before


def test_a_text_is_fetched_when_it_is_first_read_and_never_again(desk: Desk) -> None:
    fill(desk)
    desk.copy.refresh()
    before = len(desk.requests())
    for _ in range(3):
        assert desk.read("/d0/f007.md") == "text 7\n"
    assert len(desk.requests()) == before + 1


def test_who_reads_on_gets_many_texts_with_each_request(desk: Desk) -> None:
    fill(desk, folders=3)
    desk.copy.refresh()
    before = len(desk.requests())
    for number in range(MEMORIES):
        assert desk.read(f"/d{number % 3}/f{number:03}.md") == f"text {number}\n"
    assert len(desk.requests()) - before <= 3


def test_who_reads_on_gets_many_texts_with_each_request_however_slow_the_store_is(desk: Desk) -> None:
    fill(desk)
    desk.copy.refresh()
    text = desk.copy.client.text

    def slow(memory_id: str) -> tuple[Head, bytes]:
        desk.backend.clock.advance(5)
        return text(memory_id)

    desk.copy.client.text = slow  # type: ignore[method-assign]  # the test's own takes its place
    before = len(desk.requests())
    for number in range(MEMORIES):
        assert desk.read(f"/d0/f{number:03}.md") == f"text {number}\n"
    assert len(desk.requests()) - before <= 3


@pytest.mark.slow
@pytest.mark.parametrize("reads_on", [True, False])
def test_a_text_that_came_with_others_since_it_was_looked_for_is_not_asked_for_again(
    desk: Desk, reads_on: bool
) -> None:
    """Without `reads_on` they have all come by then: no fetch is under way, and the count of misses began again."""
    fill(desk)
    desk.copy.refresh()
    fetcher = desk.copy.state.texts
    goes_on = fetcher._goes_on

    def come_meanwhile() -> bool:
        fetcher._fetch_everything()
        return goes_on() or reads_on

    fetcher._goes_on = come_meanwhile  # type: ignore[method-assign]  # the test's own takes its place
    before = len(desk.requests())
    assert desk.read("/d0/f000.md") == "text 0\n"
    assert [one for one in desk.requests()[before:] if one.startswith("GET") and "/memories/" in one] == []


def test_who_reads_now_and_then_gets_what_he_reads(desk: Desk) -> None:
    fill(desk)
    desk.copy.refresh()
    before = len(desk.requests())
    for number in range(6):
        desk.backend.clock.advance(5)
        assert desk.read(f"/d0/f{number:03}.md") == f"text {number}\n"
    assert len(desk.requests()) - before == 6


def test_who_reads_on_where_little_of_the_store_is_missing_gets_the_folders_that_are(desk: Desk) -> None:
    fill(desk, folders=5)
    desk.copy.refresh()
    for path, text in desk.stored().items():
        if not path.startswith("/d3/"):
            desk.copy.contents.put((text or "").encode())
    before = len(desk.requests())
    for number in range(3, MEMORIES, 5):
        assert desk.read(f"/d3/f{number:03}.md") == f"text {number}\n"
    asked = desk.requests()[before:]
    assert len(asked) <= 4
    assert any("path_prefix=%2Fd3%2F" in one or "path_prefix=/d3/" in one for one in asked)


def test_texts_that_the_store_has_no_more_leave_this_machine(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_write("/a.md", "two")
    desk.copy.refresh()
    desk.read("/a.md")
    assert [place.read_text() for place in (desk.folder / "contents").glob("??/*")] == ["two"]
    desk.copy.close()
    desk.others_delete("/a.md")
    desk.start()
    assert list((desk.folder / "contents").glob("??/*")) == []


def test_an_answer_that_began_before_a_write_of_our_own_does_not_take_it_back(desk: Desk) -> None:
    desk.save("/a.md", "one")
    table = desk.copy.state.table
    changes = desk.copy.client.changes

    def slow(since_us: int) -> object:
        answer = changes(since_us)
        desk.save("/a.md", "two")
        desk.save("/b.md", "b")
        desk.copy.unlink("/b.md")
        return answer

    desk.copy.client.changes = slow  # type: ignore[method-assign,assignment]  # the test's own takes its place
    table.refresh()
    assert desk.read("/a.md") == "two"
    assert desk.names() == ["a.md"]
