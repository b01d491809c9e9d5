"""A laptop's folder under agmi's edits: the file of each object is changed, and the folder opened anew.

The edits are made in two ways, and the restart too: as a naive attacker, or with every hash in the edited file
recomputed; with the tables kept, or removed and made anew from the objects.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from memolith.adapters.memory import ManualClock
from memolith.adapters.system import SystemRandomness, Unmeasured
from memolith.app.kernel.results import RequestContext
from memolith.app.operations.audit import make_audit
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.entry.compose_laptop import REGION, LocalSite, Machine, open_site, owner_key
from memolith.wire import auth
from tests.interop.agmi.versions import VersionRecords
from tests.laptop import tampering
from tests.laptop.tampering import RawVersion


class LaptopFolder(VersionRecords):
    """One folder for each attack, below a temporary one; what seals it is beside it, out of the attacker's reach."""

    name = "Memolith on one machine"

    def __init__(self, *, recomputed: bool, rebuilt: bool) -> None:
        self._recomputed = recomputed
        self._rebuilt = rebuilt

    def setup(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="memolith-agmi-"))
        self._root = self._folder / "root"
        self._clock = ManualClock()
        site = self._opened()
        self._call = RequestContext(auth.of_key(owner_key(self._root, site.region)))
        site.close()

    def teardown(self) -> None:
        shutil.rmtree(self._folder)

    # ---- through the API ----------------------------------------------------------------------------------------

    def seed(self, n: int) -> None:
        self._store, self._memory = self._written("notes", n)

    def seed_other(self, n: int) -> None:
        self._other, _ = self._written("others", n)

    def append_genuine(self) -> None:
        site = self._opened()
        self._clock.pause(60)
        self._update(site, self._store, self._memory, "one more")
        site.close()

    def reload(self) -> None:
        if self._rebuilt:
            tampering.forget_tables(self._root)
        self._opened().close()

    def verify(self) -> bool:
        site = self._opened()
        try:
            report = make_audit(site.region, site.sealing, site.seal_memory, site.bucket.raw).run(REGION)
        finally:
            site.close()
        self.verify_detail = ", ".join(sorted({finding.flaw.value for finding in report.findings}))
        return report.is_intact

    def _opened(self) -> LocalSite:
        machine = Machine(self._clock, SystemRandomness(), Unmeasured(), self._folder / "seals")
        return open_site(self._root, LettingAllThrough(), machine)

    def _written(self, name: str, n: int) -> tuple[str, str]:
        site = self._opened()
        store = site.memolith.stores.create(self._call, name=name, description="", metadata={}).id
        memory = site.memolith.memories.create(self._call, store, path="/a", content=f"{name} 0", full=False).id
        for number in range(1, n):
            self._update(site, store, memory, f"{name} {number}")
        site.close()
        return store, memory

    def _update(self, site: LocalSite, store: str, memory: str, content: str) -> None:
        site.memolith.memories.update(
            self._call, store, memory, content=content, path=None, expected_content_sha256=None, full=False
        )

    # ---- behind its back ----------------------------------------------------------------------------------------

    def _keys(self, store_id: str) -> list[str]:
        return tampering.versions_of(self._root, store_id)

    def _read(self, key: str) -> RawVersion:
        return tampering.read_raw(self._root, key)

    def _write(self, raw: RawVersion) -> None:
        raw.write(self._root, recomputed=self._recomputed)

    def _remove(self, key: str) -> None:
        tampering.remove_raw(self._root, key)

    def snapshot_store(self) -> object:
        copy = self._folder / "copy"
        tampering.snapshot(self._root, copy)
        return copy

    def restore_store(self, token: object) -> None:
        assert isinstance(token, Path)
        tampering.put_back(self._root, token)
