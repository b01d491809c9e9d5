"""``memolith sync`` killed where it touches the disk or the network: nothing is lost, and the next finishes.

Some of the points stand here; all of them are tried end to end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.killed_sync import finished_by_the_next, touches, written_on_afterwards


def test_a_pass_has_more_points_than_are_tried_here(tmp_path: Path) -> None:
    assert touches(tmp_path) > max(POINTS)


POINTS = (8, 14, 19, 20, 25, 31, 36, 41)


@pytest.mark.slow
@pytest.mark.parametrize("at", POINTS)
def test_a_sync_that_is_killed_is_finished_by_the_next(tmp_path: Path, at: int) -> None:
    finished_by_the_next(tmp_path, at)


@pytest.mark.parametrize("at", POINTS[::2])
def test_what_is_written_on_either_side_after_a_sync_was_killed_is_not_lost(tmp_path: Path, at: int) -> None:
    written_on_afterwards(tmp_path, at)
