"""A store with some of everything, to be rebuilt in small batches."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.core.limits import CLAIM_LIFETIME_US
from memolith.core.objects.verdict_record import VerdictOutcome
from tests.unit.app.indexer.rebuilds.rebuilding import Pauses
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few keys a message, so that a small bucket makes many."""
    monkeypatch.setattr("memolith.app.indexer.rebuild_pages.KEYS_PER_BATCH", 3)


@pytest.fixture
def scene() -> Scene:
    """A store with some of everything: updates, renames, deletions, void entries, redactions, verdicts, keys."""
    scene = Scene()
    clock = Pauses()
    for site in scene.cloud.sites.values():
        site.region.clock = clock
    scene.clock = scene.cloud.clock = clock
    memories = [scene.create(f"/n/{number}", f"text {number}") for number in range(6)]
    for number, memory in enumerate(memories[:4]):
        scene.update(memory, f"more {number}")
    scene.update(memories[0], path="/moved")
    scene.update(memories[1], "both", path="/n/0")
    scene.delete(memories[2])
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent")):
        scene.create("/claimed/x", "never")
    scene.clock.advance(CLAIM_LIFETIME_US / 1_000_000 + 1)
    scene.create("/claimed", "there", at=AWAY)
    scene.redact(memories[3].version_id)
    scene.redact(memories[2].version_id, at=AWAY)
    for outcome in (VerdictOutcome.WITHHOLD, VerdictOutcome.FLAG, VerdictOutcome.RELEASE):
        scene.judge(memories[4], outcome)
    scene.judge(memories[5])
    archived = scene.create_store("archived", at=AWAY)
    scene.at(AWAY).stores.archive(scene.call(), archived.id)
    scene.at(HOME).stores.delete(scene.call(), scene.create_store("deleted").id)
    scene.cloud.key("read")
    said = [scene.create(f"/{name}.md", f"- [port] [[Gateway]]: the port is {name}\n") for name in (80, 90)]
    scene.deliver()
    [conflict] = scene.at(HOME).conflicts.page(
        scene.call(), scene.store, path_prefix=None, superseded=False, limit=1
    ).items  # fmt: skip
    versions = [one.version_id for one in said]
    scene.at(AWAY).conflict_resolutions.resolve(
        scene.call(), scene.store, conflict.id, version_ids=versions, keep="both"
    )
    scene.deliver()
    return scene
