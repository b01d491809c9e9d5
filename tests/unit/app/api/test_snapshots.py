"""A store as of an instant is what it was then: against copies that were made as it happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from memolith.app.kernel.results import Memory
from memolith.core.errors import InvalidRequest, NotFound, PathConflict
from tests.unit.app.scene import AWAY, HOME, Scene

PATHS = ("/a", "/n/a", "/n/b", "/n/b/c")
Shown = dict[str, tuple[str, str | None, str, bool]]
"""By memory: path, content, version and whether blank."""


@dataclass
class Copies:
    """The store with everything that it was, copied after every step."""

    scene: Scene = field(default_factory=lambda: Scene(lagging=True))
    now: Shown = field(default_factory=dict)
    then: list[tuple[int, Shown]] = field(default_factory=list)

    def step(self, kind: str, pick: int, path: str, pause_us: int) -> None:
        self.scene.clock.advance(pause_us / 1_000_000)
        ids = sorted(self.now)
        memory_id = ids[pick % len(ids)] if ids else ""
        text = f"text {len(self.then)}"
        try:
            if kind == "create":
                self._shows(self.scene.create(path, text, full=True))
            elif kind == "write" and ids:
                self._shows(self.scene.update(memory_id, text, full=True, at=(HOME, AWAY)[pick % 2]))
            elif kind == "rename" and ids:
                self._shows(self.scene.update(memory_id, path=path, full=True))
            elif kind == "delete" and ids:
                self.scene.delete(memory_id)
                del self.now[memory_id]
        except PathConflict:
            return
        self.scene.deliver()
        instant = self.scene.clock.now_us()
        self.then.append((instant, dict(self.now)))
        self.scene.clock.advance(0.000_050)

    def _shows(self, memory: Memory) -> None:
        self.now[memory.id] = (memory.path, memory.content, memory.version_id, False)

    def redact(self, pick: int) -> None:
        """Erases a version, if it may be; from then on every copy shows it as blank."""
        versions = sorted({shown[2] for _, copy in self.then for shown in copy.values()})
        if not versions:
            return
        chosen = versions[pick % len(versions)]
        try:
            self.scene.redact(chosen)
        except InvalidRequest:
            return
        self.scene.deliver()
        for _, copy in self.then:
            for memory_id, (_, _, version_id, _) in list(copy.items()):
                if version_id == chosen:
                    copy[memory_id] = ("", None, chosen, True)

    def listed(self, region: str, instant: int, prefix: str | None, limit: int, full: bool) -> Shown:
        found: Shown = {}
        after: str | None = None
        while True:
            page = self.scene.at(region).snapshots.page(
                self.scene.call(),
                self.scene.store,
                path_prefix=prefix,
                limit=limit,
                after=after,
                full=full,
                as_of=instant,
            )
            for item in page.items:
                assert isinstance(item, Memory)
                assert item.id not in found
                found[item.id] = (item.path, item.content, item.version_id, item.blank)
            after = page.next_after
            if after is None:
                return found

    def retrieved(self, region: str, instant: int) -> Shown:
        found: Shown = {}
        for memory_id in {id for _, copy in self.then for id in copy}:
            try:
                one = self.scene.at(region).snapshots.retrieve(
                    self.scene.call(), self.scene.store, memory_id, full=True, as_of=instant
                )
            except NotFound:
                continue
            found[memory_id] = (one.path, one.content, one.version_id, one.blank)
        return found


KINDS = st.sampled_from(["create", "create", "write", "write", "rename", "delete"])
STEPS = st.lists(st.tuples(KINDS, st.integers(0, 9), st.sampled_from(PATHS), st.sampled_from([0, 1, 999, 70_000_000])))


@given(steps=STEPS, redactions=st.lists(st.integers(0, 99), max_size=2), limit=st.integers(1, 3))
def test_a_snapshot_is_the_copy_that_was_made_then(
    steps: list[tuple[str, int, str, int]], redactions: list[int], limit: int
) -> None:
    copies = Copies()
    began = copies.scene.clock.now_us() - 1
    for step in steps:
        copies.step(*step)
    for pick in redactions:
        copies.redact(pick)
    copies.scene.clock.advance(61)
    copies.then.append((began, {}))
    for region in (HOME, AWAY):
        copies.scene.cloud.claim_complete(region, copies.scene.clock.now_us())
        for instant, copy in copies.then:
            assert copies.listed(region, instant, None, limit, full=True) == copy
            assert copies.retrieved(region, instant) == copy
            below = {id: (shown[0], None, *shown[2:]) for id, shown in copy.items() if shown[0].startswith("/n/")}
            assert copies.listed(region, instant, "/n/", limit, full=False) == below
