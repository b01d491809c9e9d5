"""A laptop's folder as agmi sees a memory store: its records are the versions of one memory, its check the audit.

agmi asks what the store itself says after each edit of its files and a restart: here `memolith audit verify`.
The edits are made in two ways, and the restart too: as a naive attacker, or with every hash in the edited file
recomputed; with the tables kept, or removed and made anew from the objects.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from agmi.adapters.base import MemoryAdapter, Record

from memolith.adapters.memory import ManualClock
from memolith.adapters.system import SystemRandomness, Unmeasured
from memolith.app.kernel.results import RequestContext
from memolith.app.operations.audit import make_audit
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.entry.compose_laptop import REGION, LocalSite, Machine, open_site, owner_key
from memolith.wire import auth
from tests.laptop import tampering
from tests.laptop.tampering import RawVersion


class LaptopFolder(MemoryAdapter):
    """One folder for each attack, below a temporary one; what seals it is beside it, out of the attacker's reach."""

    name = "Memolith on one machine"
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True
    detection_point = "audit"

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

    def read_all_raw(self) -> list[Record]:
        return self._records(self._store)

    def read_other_raw(self) -> list[Record]:
        return self._records(self._other)

    def _keys(self) -> list[str]:
        return tampering.versions_of(self._root, self._store)

    def _records(self, store: str) -> list[Record]:
        raw = [tampering.read_raw(self._root, key) for key in tampering.versions_of(self._root, store)]
        return [
            Record(seq, {"key": one.key, "metadata": dict(one.metadata), "body": one.body.decode()})
            for seq, one in enumerate(raw)
        ]

    def write_raw(self, record: Record) -> None:
        keys = self._keys()
        key = keys[record.seq] if record.seq < len(keys) else record.fields["key"]
        RawVersion(key, record.fields["metadata"], record.fields["body"].encode()).write(
            self._root, recomputed=self._recomputed
        )

    def delete_raw(self, seq: int) -> None:
        tampering.remove_raw(self._root, self._keys()[seq])

    def mutate_payload(self, record: Record) -> Record:
        record.fields["body"] += "  [TAMPERED]"
        return record

    def forge_record(self, template: Record) -> Record:
        made = tampering.forged(self._root, template.fields["key"])
        return Record(template.seq + 1, {"key": made.key, "metadata": dict(made.metadata), "body": made.body.decode()})

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        victim = self._keys()[victim_seq]
        replaced = replace(tampering.read_raw(self._root, donor.fields["key"]), key=victim)
        replaced.write(self._root, recomputed=self._recomputed)

    def read_meta(self, seq: int) -> dict[str, str]:
        return dict(tampering.read_raw(self._root, self._keys()[seq]).metadata)

    def write_meta(self, seq: int, meta: dict[str, str]) -> None:
        raw = tampering.read_raw(self._root, self._keys()[seq])
        replace(raw, metadata=meta).write(self._root, recomputed=self._recomputed)

    def snapshot_store(self) -> object:
        copy = self._folder / "copy"
        tampering.snapshot(self._root, copy)
        return copy

    def restore_store(self, token: object) -> None:
        assert isinstance(token, Path)
        tampering.put_back(self._root, token)

    def identity_of(self, record: Record) -> str:
        return str(record.fields["key"])

    def payload_of(self, record: Record) -> str:
        return str(record.fields["body"])

    def owner_of(self, record: Record) -> str | None:
        return str(record.fields["key"]).split("/")[2]
