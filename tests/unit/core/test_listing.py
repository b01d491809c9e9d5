"""Listings against naive ones: every page, with memories coming and going, and claims lying about."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from memolith.app.kernel.results import Memory, MemoryPrefix
from memolith.core.rows.content import PathRow
from memolith.ports.index import Change
from tests.support.examples import examples
from tests.unit.app.scene import AWAY, HOME, Scene

SEGMENTS = ("a", "b", "a-b", "é", "\uffee", "~", "\U0010ffff", "\U0010ffff\U0010ffff")
"""Few, so that folders fill; and what sorts last, where a listing goes on after a folder."""

segments = st.sampled_from(SEGMENTS)
paths = st.lists(segments, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
prefixes = st.none() | st.just("/") | st.lists(segments, min_size=1, max_size=3).map(lambda some: f"/{'/'.join(some)}/")


def clear_of_each_other(some: list[str]) -> list[str]:
    """Those of which none is another's ancestor, the first ones first."""
    kept: list[str] = []
    for path in some:
        if not any(f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/") for other in kept):
            kept.append(path)
    return kept


def naive(live: list[str], prefix: str | None, depth: int) -> list[str]:
    """Every line of a listing, in byte order; a folder ends with a slash."""
    begins = prefix or "/"
    inside = [path for path in live if path.startswith(begins)]
    if depth == 0:
        return sorted(inside, key=str.encode)
    lines = set()
    for path in inside:
        head, slash, _ = path[len(begins) :].partition("/")
        lines.add(begins + head + slash)
    return sorted(lines, key=str.encode)


def walk(
    scene: Scene, prefix: str | None, depth: int, limit: int, between: Callable[[int], None] = lambda page: None
) -> list[str]:
    """The lines of every page, in the order they came."""
    lines: list[str] = []
    after: str | None = None
    for page_number in range(200):
        page = scene.page(path_prefix=prefix, depth=depth, limit=limit, after=after)
        assert len(page.items) <= limit
        for item in page.items:
            assert isinstance(item, MemoryPrefix) == item.path.endswith("/")
        lines += [item.path for item in page.items]
        after = page.next_after
        if after is None:
            return lines
        between(page_number)
    raise AssertionError("the listing does not end")


def claim(scene: Scene, path: str) -> None:
    """Somebody's claim, left behind."""
    row = PathRow(store_id=scene.store, path=path, claim_id="c", claim_position="0/0", claim_expires_at=0)
    key = PathRow.key(scene.store, path)
    scene.cloud.sites[HOME].region.index.commit([Change(key, None, row.to_attributes(), unconditional=True)])


@settings(max_examples=examples(30))
@given(
    st.lists(paths, max_size=30).map(clear_of_each_other),
    st.lists(paths, max_size=3),
    prefixes,
    st.sampled_from([0, 1]),
    st.integers(1, 5),
)
def test_pages_are_what_a_naive_listing_cuts(
    live: list[str], claims: list[str], prefix: str | None, depth: int, limit: int
) -> None:
    scene = Scene((HOME,))
    for path in live:
        scene.create(path)
    for path in claims:
        if path not in live:
            claim(scene, path)
    assert walk(scene, prefix, depth, limit) == naive(live, prefix, depth)


@settings(max_examples=examples(30))
@given(
    st.lists(paths, min_size=4, max_size=20).map(clear_of_each_other).filter(lambda some: len(some) > 2),
    st.lists(st.tuples(st.sampled_from(["delete", "rename", "create"]), st.integers(0, 20), paths), max_size=8),
    st.sampled_from([0, 1]),
    st.integers(1, 3),
    st.data(),
)
def test_what_stands_still_is_on_exactly_one_page_whatever_else_moves(
    live: list[str], moves: list[tuple[str, int, str]], depth: int, limit: int, data: st.DataObject
) -> None:
    scene = Scene((HOME,))
    memories = {path: scene.create(path) for path in live}
    still = set(data.draw(st.lists(st.sampled_from(live), min_size=1, max_size=3, unique=True)))
    restless = [path for path in live if path not in still]
    steps = list(moves)

    def meddle(page: int) -> None:
        if not steps:
            return
        operation, choice, path = steps.pop()
        chosen = restless[choice % len(restless)] if restless else None
        free = len(clear_of_each_other([*memories, path])) > len(memories)
        if operation == "create" and free:
            memories[path] = scene.create(path)
            restless.append(path)
        elif operation == "delete" and chosen is not None:
            scene.delete(memories.pop(chosen))
            restless.remove(chosen)
        elif operation == "rename" and chosen is not None and free:
            memories[path] = scene.update(memories.pop(chosen), path=path)
            restless.remove(chosen)
            restless.append(path)

    lines = walk(scene, None, depth, limit, meddle)
    assert len(set(lines)) == len(lines), "no line comes twice, though others move"
    assert lines == sorted(lines, key=str.encode)
    for path in naive(sorted(still), None, depth):
        assert lines.count(path) == 1


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(paths, st.integers(0, 102_400)), min_size=1, max_size=30), st.integers(1, 100))
def test_pages_with_content_are_short_enough_and_complete(sized: list[tuple[str, int]], limit: int) -> None:
    scene = Scene((HOME,))
    wanted = {path: size for path, size in sized if path in clear_of_each_other([path for path, _ in sized])}
    for path, size in wanted.items():
        scene.create(path, "x" * size)
    seen: list[Memory] = []
    after: str | None = None
    while True:
        page = scene.page(limit=limit, after=after, full=True)
        memories = [item for item in page.items if isinstance(item, Memory)]
        assert len(memories) <= min(limit, 20)
        assert sum(item.content_size_bytes for item in memories) <= 850_000
        seen += memories
        after = page.next_after
        if after is None:
            break
    assert [item.path for item in seen] == sorted(wanted, key=str.encode)
    assert all(len(item.content or "") == wanted[item.path] for item in seen)


@settings(max_examples=examples(30))
@given(st.lists(paths, max_size=8).map(clear_of_each_other), st.randoms(use_true_random=False))
def test_a_replica_lists_the_same_in_whatever_order_its_events_came(live: list[str], random: Random) -> None:
    scene = Scene()
    for path in live:
        scene.create(path)
    random.shuffle(scene.cloud.pending)
    scene.deliver()
    assert scene.paths(at=AWAY) == scene.paths(at=HOME) == naive(live, None, 0)
