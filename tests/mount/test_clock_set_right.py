"""A mount whose machine had a clock that was ahead, once that was set right."""

from __future__ import annotations

from tests.mount.conftest import Desk
from tests.mount.test_backups import displaced
from tests.mount.test_freshness import asked_since
from tests.mount.test_in_doubt import silently

__all__ = ["displaced"]

MONTH_S = 30 * 24 * 3600


def set_right(desk: Desk) -> None:
    """The clock is right again, and the mount does what it does every few seconds."""
    desk.backend.clock.advance(-MONTH_S)
    desk.copy.refresh()
    desk.copy.commit_waiting()


def test_an_edit_that_waits_is_committed(desk: Desk) -> None:
    desk.backend.clock.advance(MONTH_S)
    desk.network.swallowed = 2
    silently(desk, "one\n", append=False)
    set_right(desk)
    assert desk.stored() == {"/log.md": "one\n"}


def test_a_file_with_the_name_of_a_temporary_one_that_was_left_alone_is_committed(desk: Desk) -> None:
    desk.backend.clock.advance(MONTH_S)
    desk.save("/plan.tmp", "one\n")
    assert desk.stored() == {}
    set_right(desk)
    assert desk.stored() == {"/plan.tmp": "one\n"}


def test_the_whole_store_is_listed_again(desk: Desk) -> None:
    desk.backend.clock.advance(MONTH_S)
    desk.copy.refresh()
    desk.copy.refresh()
    before = len(desk.requests())
    set_right(desk)
    assert [one for one in desk.requests()[before:] if "/memories?" in one]


def test_a_region_that_says_that_it_is_complete_beyond_now_is_asked_for_what_came_lately(desk: Desk) -> None:
    desk.network.headers = {
        "x-memolith-complete-until": "2026-12-22T05:00:00.000000Z",
        "date": "Sun, 22 Nov 2026 05:01:00 GMT",
    }
    desk.copy.refresh()
    desk.copy.refresh()
    assert asked_since(desk) == "2026-11-22T04:59:00.000000Z"


def test_a_file_that_an_editor_moved_away_and_never_wrote_again_comes_back(displaced: Desk) -> None:
    assert "log.md" not in displaced.names()
    displaced.backend.clock.advance(-MONTH_S)
    displaced.copy.refresh()
    assert "log.md" in displaced.names()
