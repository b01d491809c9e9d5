"""A pack that arrives: it is looked at before its hash is known, and nothing is told that does not fit it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import OneByOne
from memolith.adapters.sqlite import SqlitePacks
from memolith.adapters.system import ThreadParallel
from memolith.app.search import arrival
from memolith.app.search.arrival import Digest
from memolith.core.errors import Unavailable
from memolith.core.objects.search_pack import PackKey
from memolith.ports.objects import StoredObject
from memolith.ports.parallel import Parallel
from tests.unit.app.scene import HOME
from tests.unit.app.searched import Searched

T = TypeVar("T")


@pytest.fixture(params=[OneByOne, ThreadParallel])
def parallel(request: pytest.FixtureRequest) -> Parallel:
    made: Parallel = request.param()
    return made


@pytest.fixture
def scene(parallel: Parallel) -> Searched:
    """A store with a pack, which no reader has."""
    made = Searched(parallel=parallel)
    made.create("/food.md", "The team orders pizza on Fridays.")
    made.create("/people/caroline.md", "Caroline leads the platform team.")
    made.deliver()
    made.pack()
    made.cold()
    return made


def newest(scene: Searched) -> StoredObject:
    stored = scene.cloud.buckets.current(HOME, scene.packs()[-1])
    assert stored is not None
    return stored


def exchange(scene: Searched, **changed: Any) -> None:
    """Put something else where the newest pack is."""
    scene.cloud.buckets.put(HOME, replace(newest(scene), **changed), only_if_absent=False)


def another_pack(scene: Searched) -> bytes:
    """A pack that can be opened and searched, and has other words for the same memories at the same versions."""
    pack = SqlitePacks().open(newest(scene).body)
    [food] = [one for one in pack.documents(list(pack.heads())) if one.path == "/food.md"]
    pack.change([replace(food, passages=("food", "zeppelin"))], [])
    return pack.to_bytes()


@contextmanager
def before(scene: Searched, name: str, meddle: Callable[[], object], *, after: bool = False) -> Iterator[None]:
    """Do something once, just before the first such call, or after it has been answered."""
    done: list[str] = []

    def around(call: PortCall, act: Callable[[], T]) -> T:
        first = call.name == name and not done
        if first:
            done.append(name)
        if first and not after:
            meddle()
        answered = act()
        if first and after:
            meddle()
        return answered

    with scene.intercepted_by(around):
        yield
    assert done


@pytest.mark.parametrize("size", [0, 1, arrival.BATCH_BYTES - 1, arrival.BATCH_BYTES, 3 * arrival.BATCH_BYTES + 7])
def test_the_digest_is_that_of_all_pieces(parallel: Parallel, size: int) -> None:
    body = bytes(range(256)) * (size // 256 + 1)
    body = body[:size]
    digest = Digest(parallel)
    for start in range(0, size, 300_000):
        digest.take(body[start : start + 300_000])
    digest.end()
    assert digest.hexdigest() == digest.hexdigest() == hashlib.sha256(body).hexdigest()


def test_of_a_large_body_little_waits_to_be_hashed(parallel: Parallel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival, "BATCH_BYTES", 1_000)
    digest = Digest(parallel)
    most = 0
    for _ in range(5_000):
        digest.take(bytes(1_000))
        most = max(most, len(digest._batches))
    digest.end()
    assert most <= arrival.WAITING_MAX
    assert digest.hexdigest() == hashlib.sha256(bytes(5_000_000)).hexdigest()


def test_of_a_pack_that_is_not_what_was_put_nothing_is_found_and_it_is_made_anew(scene: Searched) -> None:
    [key] = scene.packs()
    exchange(scene, body=another_pack(scene))
    assert scene.search("zeppelin") == [], "a word that only the wrong one has"
    assert scene.packs() == [str(PackKey.parse(key).following)]
    assert scene.search("pizza") == ["/food.md"]


@pytest.mark.parametrize("way", ["held", "pack"])
def test_what_does_not_search_is_shown_nothing_of_a_wrong_pack(
    scene: Searched, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    cache, accesses = scene.at(HOME)._pack_cache, list[Any]()
    held = cache.held

    def noted(access: Any) -> Any:
        accesses.append(access)
        return held(access)

    monkeypatch.setattr(cache, "held", noted)
    scene.search("pizza")
    monkeypatch.undo()
    exchange(scene, body=another_pack(scene))
    scene.cold()
    with getattr(cache, way)(accesses[0]) as pack:
        assert pack.frequencies(["zeppelin", "pizza"]) == {"pizza": 1}


@pytest.mark.parametrize("metadata", [{}, {"began-at": "soon", "count": "1", "sha256": "0"}])
def test_a_pack_that_does_not_say_what_it_is_is_made_anew(scene: Searched, metadata: dict[str, str]) -> None:
    [key] = scene.packs()
    exchange(scene, metadata=metadata)
    assert scene.search("pizza") == ["/food.md"]
    assert scene.packs() == [str(PackKey.parse(key).following)]


def test_where_what_was_made_anew_is_damaged_too_a_search_says_so_and_the_next_one_tries_again(scene: Searched) -> None:
    wrong = another_pack(scene)
    exchange(scene, body=wrong)
    with (
        before(scene, "peers.call", lambda: exchange(scene, body=wrong), after=True),
        pytest.raises(Unavailable, match="made anew"),
    ):
        scene.search("pizza")
    assert scene.search("pizza") == ["/food.md"]


def test_a_get_that_breaks_off_is_told_and_leaves_nothing_running(scene: Searched) -> None:
    def breaks_off() -> None:
        raise Unavailable("the connection was closed")

    before_it = threading.active_count()
    with before(scene, "objects.get", breaks_off, after=True), pytest.raises(Unavailable):
        scene.search("pizza")
    assert scene.search("pizza") == ["/food.md"]
    assert threading.active_count() <= before_it + 3, "the pool's own, which wait for nothing"


def test_a_pack_that_is_replaced_before_it_is_fetched_is_no_obstacle(scene: Searched) -> None:
    def replaced() -> None:
        scene.create("/new.md", "The zeppelin arrives at noon.")
        scene.pack()

    [key] = scene.packs()
    with before(scene, "objects.list", replaced, after=True):
        assert scene.search("zeppelin or pizza") == ["/new.md", "/food.md"]
    assert scene.packs() == [str(PackKey.parse(key).following)]


def test_what_came_since_a_pack_is_asked_for_while_it_arrives_and_found(scene: Searched) -> None:
    scene.create("/new.md", "The zeppelin arrives at noon.")
    calls: list[str] = []

    def noted(call: PortCall, act: Callable[[], T]) -> T:
        calls.append(call.name)
        return act()

    with scene.intercepted_by(noted):
        assert scene.search("zeppelin") == ["/new.md"]
    assert calls.count("index.query") == 1
    assert scene.search("pizza") == ["/food.md"]


def test_a_search_that_asked_for_what_came_since_fails_with_it_and_the_next_one_asks_again(scene: Searched) -> None:
    def fails() -> None:
        raise Unavailable("no answer")

    scene.create("/new.md", "The zeppelin arrives at noon.")
    with before(scene, "index.query", fails), pytest.raises(Unavailable):
        scene.search("zeppelin")
    scene.create("/newer.md", "A zeppelin leaves.")
    assert set(scene.search("zeppelin")) == {"/new.md", "/newer.md"}


def test_many_search_a_pack_that_arrives_and_none_is_told_of_a_wrong_one() -> None:
    scene = Searched(parallel=ThreadParallel())
    scene.create("/food.md", "The team orders pizza on Fridays.")
    scene.deliver()
    scene.pack()
    scene.cold()
    exchange(scene, body=another_pack(scene))
    found: list[list[str]] = []

    def ask(query: str) -> None:
        found.append(scene.search(query))

    threads = [threading.Thread(target=ask, args=(query,)) for query in ["pizza", "zeppelin"] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [[]] * 4 + [["/food.md"]] * 4
