"""Listings of versions against naive ones, while the global indexes lag behind every write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memolith.app.kernel.results import Memory, Version
from tests.support.examples import examples
from tests.unit.app.scene import AWAY, HOME, Scene

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["create", "create", "update", "update", "rename", "delete", "redact", "settle", "wait"]),
        st.integers(0, 20),
        st.integers(0, 200),
    ),
    min_size=1,
    max_size=16,
)


@dataclass
class History:
    """What was written, and every version as it should be listed."""

    scene: Scene
    at: str
    live: dict[str, Memory] = field(default_factory=dict)
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    made: int = 0
    lagging_s: int = 0

    def play(self, some: list[Step]) -> None:
        for operation, choice, amount in some:
            getattr(self, f"_{operation}")(choice, amount)

    def _create(self, choice: int, amount: int) -> None:
        self.made += 1
        self._note(self.scene.create(f"/m/{self.made}", f"text {amount}", at=self.at), "created")

    def _update(self, choice: int, amount: int) -> None:
        if memory := self._pick(choice):
            self._note(self.scene.update(memory, f"{memory.version_id} {amount}", at=self.at), "modified")

    def _rename(self, choice: int, amount: int) -> None:
        if memory := self._pick(choice):
            self.made += 1
            self._note(self.scene.update(memory, path=f"/m/{self.made}", at=self.at), "modified")

    def _delete(self, choice: int, amount: int) -> None:
        if memory := self._pick(choice):
            self.scene.delete(memory, at=self.at)
            del self.live[memory.id]
            version = self._newest_by_id(memory.id)
            self.versions[version.id] = {"memory": memory.id, "operation": "deleted", "at": version.created_at}

    def _newest_by_id(self, memory_id: str) -> Version:
        """Each version names its parent, so the tombstone is the one of this memory that is not known yet."""
        listed = self.scene.versions(at=self.at, memory_id=memory_id, limit=1).items
        assert listed[0].operation == "deleted"
        return listed[0]

    def _redact(self, choice: int, amount: int) -> None:
        heads = {memory.version_id for memory in self.live.values()}
        old = sorted(set(self.versions) - heads)
        if old:
            self.scene.redact(old[choice % len(old)], at=self.at)

    def _settle(self, choice: int, amount: int) -> None:
        self.scene.cloud.sites[self.at].database.settle()
        self.lagging_s = 0

    def _wait(self, choice: int, amount: int) -> None:
        """Waiting longer than a minute lets the global indexes catch up: that is what is assumed of them."""
        self.scene.clock.advance(amount)
        self.lagging_s += amount
        if self.lagging_s >= 60:
            self._settle(choice, amount)

    def _pick(self, choice: int) -> Memory | None:
        some = sorted(self.live)
        return self.live[some[choice % len(some)]] if some else None

    def _note(self, memory: Memory, operation: str) -> None:
        self.live[memory.id] = memory
        self.versions[memory.version_id] = {"memory": memory.id, "operation": operation, "at": memory.updated_at}

    def naive(self, **filter: Any) -> list[str]:
        """Newest first, by instant and then by id."""
        kept = {
            id: facts
            for id, facts in self.versions.items()
            if filter.get("memory_id") in (None, facts["memory"])
            and filter.get("operation") in (None, facts["operation"])
            and facts["at"] >= (filter.get("created_at_gte") or 0)
            and facts["at"] <= (filter.get("created_at_lte") or facts["at"])
        }
        return sorted(kept, key=lambda id: (kept[id]["at"], id), reverse=True)


def walk(history: History, limit: int, **filter: Any) -> list[str]:
    listed: list[str] = []
    after: str | None = None
    for _ in range(300):
        page = history.scene.versions(at=history.at, limit=limit, after=after, **filter)
        assert len(page.items) <= limit
        listed += [version.id for version in page.items]
        after = page.next_after
        if after is None:
            return listed
    raise AssertionError("the listing does not end")


@settings(max_examples=examples(30))
@given(steps, st.sampled_from([HOME, AWAY]), st.integers(1, 7))
def test_every_write_is_listed_at_once_where_it_was_made(some: list[Step], at: str, limit: int) -> None:
    history = History(Scene(lagging=True), at)
    history.play(some)
    assert walk(history, limit) == history.naive()
    for memory_id in {facts["memory"] for facts in history.versions.values()}:
        assert walk(history, limit, memory_id=memory_id) == history.naive(memory_id=memory_id)


@settings(max_examples=examples(25))
@given(
    steps,
    st.integers(1, 5),
    st.sampled_from([None, "created", "modified", "deleted"]),
    st.none() | st.integers(0, 400),
    st.none() | st.integers(0, 400),
    st.booleans(),
)
def test_filters_show_what_a_naive_filter_keeps(
    some: list[Step], limit: int, operation: str | None, since: int | None, until: int | None, one: bool
) -> None:
    scene = Scene(lagging=True)
    start = scene.clock.now_us()
    history = History(scene, HOME)
    history.play(some)
    filter = {
        "operation": operation,
        "created_at_gte": None if since is None else start + since * 1_000_000,
        "created_at_lte": None if until is None else start + until * 1_000_000,
        "memory_id": sorted(history.live)[0] if one and history.live else None,
    }
    assert walk(history, limit, **filter) == history.naive(**filter)


@settings(max_examples=examples(30))
@given(steps, steps, st.integers(1, 4))
def test_pages_go_on_rightly_while_others_write(before: list[Step], meanwhile: list[Step], limit: int) -> None:
    """Every version that was there when the listing began is on exactly one page."""
    history = History(Scene(lagging=True), HOME)
    history.play(before)
    expected, listed, after = history.naive(), [], None
    for step in [*meanwhile, *[None] * 100]:
        page = history.scene.versions(limit=limit, after=after)
        listed += [version.id for version in page.items]
        after = page.next_after
        if after is None:
            break
        if step is not None:
            history.play([step])
    assert [id for id in listed if id in expected] == expected
    assert len(set(listed)) == len(listed)


@settings(max_examples=examples(30))
@given(steps, st.randoms(use_true_random=False))
def test_a_replica_lists_the_same_in_whatever_order_its_events_came(some: list[Step], random: Any) -> None:
    scene = Scene()
    history = History(scene, HOME)
    history.play(some)
    random.shuffle(scene.cloud.pending)
    scene.deliver()
    assert scene.versions(at=AWAY).items == scene.versions(at=HOME).items
