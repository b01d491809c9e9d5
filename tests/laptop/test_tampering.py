"""Every class of tampering is reported by its name: with tables kept or made anew, naive or with recomputed hashes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memolith.adapters.memory import ManualClock
from memolith.adapters.system import SystemRandomness, Unmeasured
from memolith.app.kernel.results import RequestContext
from memolith.app.operations.audit import make_audit
from memolith.app.operations.audit_report import AuditReport
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.audit import Flaw
from memolith.entry.compose_laptop import REGION, LocalSite, Machine, open_site, owner_key
from memolith.wire import auth
from tests.laptop import tampering


class Folder:
    """A laptop's folder with five versions of one memory, and another store with five of its own."""

    def __init__(self, path: Path) -> None:
        self.root = path / "root"
        self.seals = path / "seals"
        self.clock = ManualClock()
        with_site = self.opened()
        self.key = owner_key(self.root, with_site.region)
        self.store, self.other = (self._store(with_site, name) for name in ("notes", "others"))
        with_site.close()

    def opened(self) -> LocalSite:
        machine = Machine(self.clock, SystemRandomness(), Unmeasured(), self.seals)
        return open_site(self.root, LettingAllThrough(), machine)

    @property
    def call(self) -> RequestContext:
        return RequestContext(auth.of_key(self.key))

    def _store(self, site: LocalSite, name: str) -> str:
        store = site.memolith.stores.create(self.call, name=name, description="", metadata={}).id
        memory = site.memolith.memories.create(self.call, store, path="/a", content=f"{name}: limit 40", full=False)
        for number in range(41, 45):
            self.update(site, store, memory.id, f"{name}: limit {number}")
        return store

    def update(self, site: LocalSite, store: str, memory_id: str, content: str) -> None:
        site.memolith.memories.update(
            self.call, store, memory_id, content=content, path=None, expected_content_sha256=None, full=False
        )

    def keys(self) -> list[str]:
        return tampering.versions_of(self.root, self.store)

    def audited(self, *, rebuilt: bool = False) -> AuditReport:
        """The folder is opened once more, as after a restart, and audited."""
        if rebuilt:
            tampering.forget_tables(self.root)
        site = self.opened()
        try:
            return make_audit(site.region, site.sealing, site.seal_memory, site.bucket.raw).run(REGION)
        finally:
            site.close()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


Attack = Callable[[Folder, bool], object]


def tamper(folder: Folder, recomputed: bool) -> None:
    middle = tampering.read_raw(folder.root, folder.keys()[2])
    replace(middle, body=middle.body + b" [TAMPERED]").write(folder.root, recomputed=recomputed)


def truncate(folder: Folder, recomputed: bool) -> None:
    for key in folder.keys()[-2:]:
        tampering.remove_raw(folder.root, key)


def delete_middle(folder: Folder, recomputed: bool) -> None:
    tampering.remove_raw(folder.root, folder.keys()[2])


def reorder(folder: Folder, recomputed: bool) -> None:
    first, second = folder.keys()[1:3]
    there = tampering.copied_over(folder.root, first, second)
    back = tampering.copied_over(folder.root, second, first)
    there.write(folder.root, recomputed=recomputed)
    back.write(folder.root, recomputed=recomputed)


def reorder_texts_alone(folder: Folder, recomputed: bool) -> None:
    first, second = (tampering.read_raw(folder.root, key) for key in folder.keys()[1:3])
    replace(first, body=second.body).write(folder.root, recomputed=recomputed)
    replace(second, body=first.body).write(folder.root, recomputed=recomputed)


def forge(folder: Folder, recomputed: bool) -> None:
    last = tampering.read_raw(folder.root, folder.keys()[-1])
    tampering.forged(last).write(folder.root, recomputed=recomputed)


def cross_replay(folder: Folder, recomputed: bool) -> None:
    donor = tampering.versions_of(folder.root, folder.other)[-1]
    tampering.copied_over(folder.root, folder.keys()[-1], donor).write(folder.root, recomputed=recomputed)


def cross_replay_of_the_text_alone(folder: Folder, recomputed: bool) -> None:
    donor = tampering.read_raw(folder.root, tampering.versions_of(folder.root, folder.other)[-1])
    victim = tampering.read_raw(folder.root, folder.keys()[-1])
    replace(victim, body=donor.body).write(folder.root, recomputed=recomputed)


def rollback_replay(folder: Folder, recomputed: bool) -> None:
    keys = folder.keys()
    tampering.copied_over(folder.root, keys[-1], keys[0]).write(folder.root, recomputed=recomputed)


def rollback_replay_of_the_text_alone(folder: Folder, recomputed: bool) -> None:
    keys = folder.keys()
    oldest, newest = tampering.read_raw(folder.root, keys[0]), tampering.read_raw(folder.root, keys[-1])
    replace(newest, body=oldest.body).write(folder.root, recomputed=recomputed)


def metadata_tamper(folder: Folder, recomputed: bool) -> None:
    middle = tampering.read_raw(folder.root, folder.keys()[2])
    changed = {**middle.metadata, "tr": "u", "by": "user:user_somebody"}
    replace(middle, metadata=changed).write(folder.root, recomputed=recomputed)


def metadata_added(folder: Folder, recomputed: bool) -> None:
    middle = tampering.read_raw(folder.root, folder.keys()[2])
    replace(middle, metadata={**middle.metadata, "approved": "1"}).write(folder.root, recomputed=recomputed)


def snapshot_rollback(folder: Folder, recomputed: bool) -> None:
    copy = folder.root.parent / "copy"
    tampering.snapshot(folder.root, copy)
    site = folder.opened()
    folder.clock.pause(120)
    memory = site.memolith.memories.create(folder.call, folder.store, path="/b", content="one more", full=False)
    assert memory.id
    site.close()
    tampering.put_back(folder.root, copy)


ATTACKS: list[tuple[Attack, Flaw]] = [
    (tamper, Flaw.ALTERED),
    (truncate, Flaw.TRUNCATED),
    (delete_middle, Flaw.MISSING),
    (reorder, Flaw.REORDERED),
    (reorder_texts_alone, Flaw.REORDERED),
    (forge, Flaw.UNACKNOWLEDGED),
    (cross_replay, Flaw.REPLAYED),
    (cross_replay_of_the_text_alone, Flaw.REPLAYED),
    (rollback_replay, Flaw.ROLLED_BACK),
    (rollback_replay_of_the_text_alone, Flaw.ROLLED_BACK),
    (metadata_tamper, Flaw.METADATA_CHANGED),
    (metadata_added, Flaw.METADATA_CHANGED),
    (snapshot_rollback, Flaw.ROLLED_BACK),
]


@pytest.mark.slow
@pytest.mark.parametrize("rebuilt", [False, True], ids=["tables kept", "tables made anew"])
def test_what_nobody_touched_is_intact_after_a_restart(folder: Folder, rebuilt: bool) -> None:
    report = folder.audited(rebuilt=rebuilt)
    assert report.findings == []
    assert (report.looked_at >= 12, report.unsealed) == (True, 0)
    assert report.sealed_until_us is not None


@pytest.mark.slow
@pytest.mark.parametrize("rebuilt", [False, True], ids=["tables kept", "tables made anew"])
@pytest.mark.parametrize("recomputed", [False, True], ids=["naive", "hashes recomputed"])
@pytest.mark.parametrize(("attack", "flaw"), ATTACKS, ids=[attack.__name__ for attack, _ in ATTACKS])
def test_tampering_with_a_folder_is_reported_by_its_name(
    folder: Folder, attack: Attack, flaw: Flaw, recomputed: bool, rebuilt: bool
) -> None:
    attack(folder, recomputed)
    report = folder.audited(rebuilt=rebuilt)
    assert {finding.flaw for finding in report.findings} == {flaw}


def test_a_folder_that_was_put_back_is_reported_also_where_it_was_moved_to(folder: Folder) -> None:
    snapshot_rollback(folder, True)
    folder.root = folder.root.rename(folder.root.with_name("moved"))
    for path in ("/c", "/d"):
        assert {finding.flaw for finding in folder.audited().findings} == {Flaw.ROLLED_BACK}
        site = folder.opened()
        site.memolith.memories.create(folder.call, folder.store, path=path, content="more", full=False)
        folder.clock.pause(120)
        site.close()
        folder.key = owner_key(folder.root, site.region)


def test_an_intact_folder_is_intact_where_it_was_moved_to_and_what_was_remembered_moves_along(folder: Folder) -> None:
    folder.root = folder.root.rename(folder.root.with_name("moved"))
    site = folder.opened()
    assert site.seal_memory.record() is not None and not site.seal_memory.path.exists()
    folder.clock.pause(120)
    site.memolith.memories.create(folder.call, folder.store, path="/c", content="more", full=False)
    site.close()
    assert not folder.audited().findings
    assert [path.name for path in (folder.seals / "seals").glob("*.json")] == [site.seal_memory.path.name]


def test_a_folder_that_was_put_back_stays_reported_after_more_was_written(folder: Folder) -> None:
    snapshot_rollback(folder, True)
    for _ in range(3):
        site = folder.opened()
        site.memolith.memories.create(
            folder.call, folder.store, path=f"/{folder.clock.now_us()}", content="x", full=False
        )
        folder.clock.pause(120)
        site.close()
    assert {finding.flaw for finding in folder.audited().findings} == {Flaw.ROLLED_BACK}
