"""Paths at their longest: DynamoDB's conditions on keys may be no longer than its keys, which are as long as paths."""

from __future__ import annotations

import pytest

from memolith.core.errors import InvalidRequest, PathConflict
from memolith.core.limits import PATH_MAX_BYTES
from tests.unit.app.scene import Scene

LONGEST = "/" + "a" * (PATH_MAX_BYTES - 1)


@pytest.mark.parametrize("spare_bytes", [0, 1, 2, 3])
def test_a_memory_at_the_longest_path_is_made_and_listed(scene: Scene, spare_bytes: int) -> None:
    path = LONGEST[: PATH_MAX_BYTES - spare_bytes]
    scene.create(path)
    assert scene.paths() == [path]


@pytest.mark.parametrize("segment", ["\U0001f600", "\uffee", "é", "x"])
def test_listings_go_on_past_the_longest_folder(scene: Scene, segment: str) -> None:
    folder = LONGEST[: PATH_MAX_BYTES - len(segment.encode()) - 1]
    scene.create(f"{folder}/{segment}")
    scene.create("/b")
    first = scene.page(depth=1, limit=1)
    items, after = list(first.items), first.next_after
    while after is not None:
        page = scene.page(depth=1, limit=1, after=after)
        items, after = [*items, *page.items], page.next_after
    assert [item.path for item in items] == [f"{folder}/", "/b"]
    assert [item.path for item in scene.page(path_prefix=f"{folder}/").items] == [f"{folder}/{segment}"]


def test_a_descendant_of_the_longest_possible_parent_is_seen(scene: Scene) -> None:
    parent = LONGEST[: PATH_MAX_BYTES - 2]
    scene.create(f"{parent}/b")
    with pytest.raises(PathConflict):
        scene.create(parent)


def test_nothing_is_below_a_folder_as_long_as_a_path(scene: Scene) -> None:
    assert scene.page(path_prefix=f"{LONGEST}/").items == ()
    assert scene.page(path_prefix=f"{LONGEST[:-1]}/").items == ()


def test_a_longer_path_is_refused(scene: Scene) -> None:
    with pytest.raises(InvalidRequest, match="at most"):
        scene.create(f"{LONGEST}a")
