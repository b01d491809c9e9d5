"""A scene in which somebody looks again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memolith.adapters.memory import MemoryGuardrail
from memolith.app.indexer.rebuild import BatchProjector
from memolith.app.kernel.results import UNSET, Memory
from memolith.app.safety.deep_scan import DeepScanResult
from memolith.app.safety.verdicts import Verdicts
from memolith.core import verdicts
from memolith.core.errors import Unavailable
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import VerdictRow
from memolith.ports.index import Change
from tests.unit.app.looking import Looking
from tests.unit.app.scene import HOME, Scene


class Looked(Scene):
    """A scene in which somebody looks again."""

    def __init__(self, guardrail: MemoryGuardrail | None = None) -> None:
        self.looking = Looking()
        self.guardrail = guardrail
        super().__init__(deep_scanner=self.looking, guardrail=guardrail)

    def govern(self, **scan: Any) -> None:
        """The store's policy and allow-list."""
        unset = {"name": UNSET, "description": UNSET, "metadata": UNSET}
        self.at(HOME).stores.update(self.call(), self.store, **unset, scan_policy=scan)
        self.deliver()

    def write(self, path: str, content: str) -> Memory:
        """A memory, looked at."""
        memory = self.create(path, content)
        self.deliver()
        return memory

    def verdicts(self) -> list[VerdictRecord]:
        """Every verdict there is, as objects at home."""
        keys = self.cloud.buckets.page(HOME, f"{HOME}/verdict/", None, 1_000).keys
        found = [self.cloud.buckets.current(HOME, key) for key in keys]
        return [VerdictRecord.from_json(one.body) for one in found if one is not None]

    def rules(self) -> list[tuple[VerdictOutcome, tuple[str, ...]]]:
        return [(one.outcome, one.rules) for one in self.verdicts()]

    def store_row(self) -> StoreRow:
        row = self.cloud.rows(HOME, "stores")[(self.store, "record")]
        return StoreRow.from_attributes(row)

    def withheld(self, region: str, memory: Memory) -> bool:
        """Whether a region knows that the memory's text is not to be shown."""
        hmac = Verdicts.hmac(self.store_row(), memory.content_sha256)
        row = self.cloud.rows(region, "verdicts").get((self.store, hmac))
        return bool(verdicts.withholdings(None if row is None else VerdictRow.from_attributes(row)))

    def release(self, memory: Memory) -> None:
        """A person lets the text of a memory through."""
        (last,) = [one for one in self.verdicts() if one.version_id == memory.version_id][-1:]
        decided = VerdictRecord(
            last.store_id, last.version_id, last.position, last.content_hmac, VerdictOutcome.RELEASE, 9, "api_key:a"
        )
        Verdicts(self.cloud.sites[HOME].region).put(decided)
        self.deliver()

    def rebuild(self, region: str) -> None:
        """The region's tables anew, from a listing of its bucket, as `app.indexer.rebuild` has it done."""
        site = self.cloud.sites[region]
        generation = site.region.index.generation + 1
        building = ControlRow(serving=generation - 1, complete=False, building=generation, run="run_1").to_attributes()
        self.cloud.tables(region).make(generation)
        site.region.index.commit([Change(ControlRow.KEY, None, building, unconditional=True)])
        keys = self.cloud.buckets.page(region, "", None, 1_000).keys
        batch = {"generation": generation, "run": "run_1", "batch": 0, "keys": keys}
        assert BatchProjector(site.region, site.indexing).fold(batch) == []
        served = ControlRow(serving=generation, complete=True).to_attributes()
        site.region.index.commit([Change(ControlRow.KEY, None, served, unconditional=True)])
        site.region.view()

    def inspect(self, memory: Memory) -> DeepScanResult:
        """One message more for the memory's first version."""
        inspecting = self.cloud.sites[HOME].inspecting
        assert inspecting is not None
        return inspecting.inspect(self.log_key(memory))

    def inspect_batch(self, memories: Sequence[Memory]) -> list[bool]:
        """One batch of messages, for the memories' first versions; whether each is done, or is to come again."""
        inspecting = self.cloud.sites[HOME].inspecting
        assert inspecting is not None
        keys = [self.log_key(memory) for memory in memories]
        ahead, done = inspecting.read_ahead(keys), []
        for key in keys:
            try:
                inspecting.inspect(key, ahead)
                done.append(True)
            except Unavailable as error:
                assert "guardrail" in str(error)
                done.append(False)
        return done

    def log_key(self, memory: Memory) -> str:
        (row,) = [row for key, row in self.cloud.rows(HOME, "versions").items() if key[1] == memory.version_id]
        path_hash, _, _ = row["position"].partition("/")
        (key,) = [
            key
            for key in self.cloud.buckets.page(HOME, f"{HOME}/log/{self.store}/{path_hash}/", None, 1_000).keys
            if self._version_at(key) == memory.version_id
        ]
        return key

    def _version_at(self, key: str) -> str:
        found = self.cloud.buckets.current(HOME, key)
        assert found is not None
        return found.metadata["id"]
