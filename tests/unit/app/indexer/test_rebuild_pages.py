"""A rebuild of many objects: by pages, taken up where it stopped, with little in memory and a count of the work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from memolith.adapters.layered import CallCounts, InterceptedIndex, InterceptedObjects, InterceptedQueue
from memolith.adapters.memory import MemoryQueue
from memolith.app.indexer.rebuild import Rebuild
from memolith.app.indexer.rebuild_pages import BATCHES_PER_PAGE, PAUSE_S, SEND_AGAIN_AFTER_US, Progress
from tests.support.rebuilds import Killed, Operator, fill
from tests.unit.app.scene import HOME, Scene

KEYS_A_BATCH = 10
PAGE = KEYS_A_BATCH * BATCHES_PER_PAGE


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred objects are a page and not a thousand: how many pages there are is what is told apart here."""
    monkeypatch.setattr("memolith.app.indexer.rebuild_pages.KEYS_PER_BATCH", KEYS_A_BATCH)


def memories(scene: Scene) -> int:
    scene.cloud.sites[HOME].region.view()
    return len(scene.cloud.rows(HOME, "memories"))


def notes(scene: Scene) -> list[str]:
    """What is left in the control table of a rebuild."""
    return [pk + sk for pk, sk in scene.cloud.rows(HOME, "control") if "rebuild" in pk + sk]


@pytest.mark.slow
@pytest.mark.usefixtures("small_pages")
def test_ten_pages_of_memories_killed_again_and_again_beside_writes_are_folded_about_once(scene: Scene) -> None:
    """Each time it goes on, on another machine, and repeats no more than the pages that were under way."""
    fill(scene.cloud, scene.store, 10 * PAGE)
    queue = MemoryQueue()
    target = scene.create("/written").id
    written: list[str] = []
    noted: list[int] = []
    operators: list[Operator] = []

    def kill_after(pauses: int) -> Iterator[None]:
        for _ in range(pauses):
            written.append(scene.update(target, f"text {len(written)}").version_id)
            yield
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memolith.app.indexer.rebuild_pages.PAGES_AT_ONCE", 2)
        for pauses in (0, 1, 3, 5, 6, 8, 100_000):
            life = kill_after(pauses)
            operator = Operator(scene.cloud, queue, batches_a_pause=15, meanwhile=lambda life=life: next(life))  # type: ignore[misc]  # a lambda with a default has no type
            operators.append(operator)
            try:
                assert operator.run() == 2
            except Killed:
                attributes = scene.cloud.rows(HOME, "control").get(("control", "rebuild"))
                noted.append(0 if attributes is None else int(attributes["folded"]))
    assert noted == sorted(noted) and noted[-1] > 5 * PAGE, "each goes on where the last one was"
    folded = sum(len(operator.folded) for operator in operators)
    assert folded < 10 * PAGE + 6 * 2 * PAGE, "and repeats the two pages that were under way at most"
    assert memories(scene) == 10 * PAGE + 1
    assert len(written) > 20 and scene.history(target) == ["modified"] * len(written) + ["created"]
    assert scene.read(target).content == f"text {len(written) - 1}"
    assert notes(scene) == []


def calls_of(count: int) -> tuple[CallCounts, int]:
    """The calls that the driver of a rebuild makes for so many memories, and how many messages were ever waiting."""
    scene, counts = Scene(), CallCounts()
    fill(scene.cloud, scene.store, count)
    operator, waiting = Operator(scene.cloud, MemoryQueue()), 0
    site = operator.site
    driving = replace(
        site.region,
        objects=InterceptedObjects(site.region.objects, HOME, counts),
        index=InterceptedIndex(site.region.index, HOME, counts),
    )

    def report(_: Progress) -> None:
        nonlocal waiting
        waiting = max(waiting, len(operator.queue.messages))
        operator.work()

    queue = InterceptedQueue(operator.queue, HOME, counts)
    assert Rebuild(driving, scene.cloud.sites[HOME].indexing, scene.cloud.tables(HOME), queue, 0).run(report) == 2
    assert memories(scene) == count
    return counts, waiting


@pytest.mark.slow
def test_a_thousand_objects_more_are_a_handful_of_calls_more_and_no_more_in_the_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a million objects are 7,000 calls, and an hour of polling 15,000, with as little memory as these."""
    monkeypatch.setattr("memolith.app.indexer.rebuild_pages.PAGES_AT_ONCE", 2)
    few, many = calls_of(2_000), calls_of(4_000)
    thousands = 2
    more = {name: many[0].calls[name] - few[0].calls[name] for name in many[0].calls}
    assert more.pop("objects.list") == 2 * thousands, "once to fold, once to count ahead"
    assert more.pop("queue.send") == thousands
    assert more.pop("index.commit") == thousands
    assert more.pop("index.query") <= 2 * thousands, "each page's batches; and one for every poll"
    assert more.pop("index.count") <= 2 * thousands
    assert more.pop("index.read") <= thousands
    assert not any(more.values())
    assert few[1] == many[1] == 2 * BATCHES_PER_PAGE


@pytest.mark.usefixtures("small_pages")
def test_a_batch_that_was_lost_is_sent_again_and_no_other(scene: Scene) -> None:
    fill(scene.cloud, scene.store, 3 * PAGE)
    operator = Operator(scene.cloud, MemoryQueue())
    lost: list[str] = []

    def lose() -> None:
        if not lost and operator.queue.messages:
            lost.extend(operator.queue.take(1))

    operator.meanwhile = lose
    assert operator.run() == 2
    again = [key for key in operator.folded if operator.folded.count(key) > 1]
    assert lost and again == []
    assert memories(scene) == 3 * PAGE
    assert sum(scene.clock.paused_s) > SEND_AGAIN_AFTER_US / 1_000_000


@pytest.mark.usefixtures("small_pages")
def test_a_rebuild_reports_how_far_it_is_how_fast_and_how_long_it_will_take(scene: Scene) -> None:
    fill(scene.cloud, scene.store, 5 * PAGE)
    operator = Operator(scene.cloud, MemoryQueue(), batches_a_pause=10)
    operator.run()
    folding = [progress for progress in operator.progress if progress.stage == "folding"]
    folded = [progress.folded for progress in folding]
    whole = folding[-1].found
    assert folded == sorted(folded) and len(set(folded)) > 5 and whole >= 5 * PAGE
    assert all(progress.found == whole for progress in folding if progress.counted)
    later = folding[-2]
    assert later.per_s == pytest.approx(10 * KEYS_A_BATCH / PAUSE_S, rel=0.5)
    assert later.left_s == pytest.approx((whole - later.folded) / (later.per_s or 0))
    assert Progress("folding", folded=1, found=2, counted=False, per_s=1.0).left_s is None
    assert Progress("folding", folded=1, found=2, counted=True).left_s is None


@pytest.mark.usefixtures("small_pages")
def test_one_that_is_taken_up_goes_on_counting_where_the_last_stopped(scene: Scene) -> None:
    fill(scene.cloud, scene.store, 3 * PAGE)
    queue = MemoryQueue()
    first = Operator(scene.cloud, queue, batches_a_pause=25)
    pauses = iter(range(100))

    def stop() -> None:
        if next(pauses) == 4:
            raise Killed

    first.meanwhile = stop
    with pytest.raises(Killed):
        first.run()
    second = Operator(scene.cloud, queue, batches_a_pause=25)
    second.run()
    folding = [progress for progress in second.progress if progress.stage == "folding"]
    assert folding[0].folded >= PAGE, "what the first had folded counts"
    assert folding[-1].found < 3 * PAGE + 20
    assert "waiting for calls under way to end" not in {progress.stage for progress in second.progress}
    assert len(second.folded) < 3 * PAGE - PAGE + 20
