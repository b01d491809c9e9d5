"""What a listing shows while the memories that it shows move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import Fault, Strike
from memolith.app.kernel.results import Memory, MemoryPrefix
from memolith.core.errors import InvalidRequest, Unavailable
from tests.unit.app.scene import Scene

T = TypeVar("T")


def between_the_reads_of(scene: Scene, act_between: Callable[[], object]) -> list[str]:
    """A listing's paths, when something happens after its query and before its rows of memories are read."""
    done: list[bool] = []

    def meddle(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "index.read" and call.subjects[0] == "memories" and not done:
            done.append(True)
            act_between()
        return act()

    with scene.intercepted_by(meddle):
        return scene.paths()


def test_a_memory_that_moves_meanwhile_is_not_shown_where_it_was(scene: Scene) -> None:
    moving, still = scene.create("/a"), scene.create("/b")
    assert between_the_reads_of(scene, lambda: scene.update(moving, path="/z")) == ["/b"]
    assert scene.paths() == [still.path, "/z"]


def test_a_memory_that_dies_meanwhile_is_not_shown(scene: Scene) -> None:
    dying = scene.create("/a")
    scene.create("/b")
    assert between_the_reads_of(scene, lambda: scene.delete(dying)) == ["/b"]


def test_a_memory_that_moves_between_two_queries_of_one_page_is_shown_once(scene: Scene) -> None:
    """The page asks once more, because two of the paths that it found are gone when it reads their memories."""
    moving, *dying = (scene.create(f"/{name}") for name in "abc")
    happening: list[Callable[[], object]] = [
        lambda: [scene.delete(one) for one in dying],
        lambda: scene.update(moving, path="/z"),
    ]

    def meddle(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "index.read" and call.subjects[0] == "memories" and len(happening) == 2:
            happening.pop(0)()
        if call.name == "index.query" and call.subjects[0] == "paths" and len(happening) == 1:
            happening.pop(0)()
        return act()

    with scene.intercepted_by(meddle):
        page = scene.page(limit=2)
    assert happening == []
    assert [item.path for item in page.items] == ["/a"]


def test_a_page_may_be_short_and_the_listing_still_goes_on(scene: Scene) -> None:
    memories = [scene.create(f"/{name}") for name in "abc"]
    page = scene.page(limit=1)
    scene.delete(memories[1])
    rest = scene.page(limit=5, after=page.next_after)
    assert [item.path for item in (*page.items, *rest.items)] == ["/a", "/c"]
    assert rest.next_after is None


def test_folders_and_memories_stand_in_one_order(scene: Scene) -> None:
    for path in ("/b/x", "/a", "/b.md", "/b/y/z", "/b0", "/c/d"):
        scene.create(path)
    items = scene.page(depth=1).items
    assert [item.path for item in items] == ["/a", "/b.md", "/b/", "/b0", "/c/"]
    assert [type(item) for item in items] == [Memory, Memory, MemoryPrefix, Memory, MemoryPrefix]
    assert [item.path for item in scene.page(path_prefix="/b/", depth=1).items] == ["/b/x", "/b/y/"]


def test_a_prefix_names_whole_segments(scene: Scene) -> None:
    for path in ("/notes/a", "/notes-archive/b"):
        scene.create(path)
    assert [item.path for item in scene.page(path_prefix="/notes/").items] == ["/notes/a"]
    with pytest.raises(InvalidRequest, match="path_prefix"):
        scene.page(path_prefix="/notes")


@pytest.mark.parametrize("name", ["index.query", "index.read"])
def test_a_listing_that_cannot_be_read_is_unavailable_and_never_short(scene: Scene, name: str) -> None:
    scene.create("/a")
    table = "paths" if name == "index.query" else "memories"
    with scene.struck_by(Strike(Fault.REFUSED, name, subject=table)), pytest.raises(Unavailable):
        scene.paths()


def test_a_full_listing_whose_content_cannot_be_read_is_unavailable(scene: Scene) -> None:
    scene.create("/a", "text")
    with scene.struck_by(Strike(Fault.REFUSED, "objects.get")), pytest.raises(Unavailable):
        scene.page(full=True)


MADE_UP = [
    "",
    "x",
    "/",
    "/" + "a" * 1_024,
    "9" * 20,
    "#",
    "0000000001",
    "0000000001#x",
    "\x00",
    "1" * 2_000,
    "²" * 20 + "#x",
]


@pytest.mark.parametrize("position", MADE_UP)
def test_a_position_that_no_listing_gave_is_refused(scene: Scene, position: str) -> None:
    made = scene.create("/a")
    for listing in (
        lambda: scene.stores(after=position),
        lambda: scene.versions(after=position),
        lambda: scene.versions(after=position, memory_id=made.id),
        lambda: scene.page(after=position),
    ):
        with pytest.raises(InvalidRequest, match="page"):
            listing()


def test_a_position_of_one_listing_is_none_of_another(scene: Scene) -> None:
    made = scene.create("/a")
    scene.update(made, "second")
    of_memory = scene.versions(memory_id=made.id, limit=1).next_after
    of_store = scene.versions(limit=1).next_after
    with pytest.raises(InvalidRequest, match="page"):
        scene.versions(after=of_memory)
    with pytest.raises(InvalidRequest, match="page"):
        scene.versions(after=of_store, memory_id=made.id)
