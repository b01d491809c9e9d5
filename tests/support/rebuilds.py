"""A bucket that the tables know nothing of, and somebody who rebuilds them, and may be killed at it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from memolith.adapters.memory import MemoryObjects, MemoryQueue
from memolith.app.indexer.indexer import Indexer
from memolith.app.indexer.rebuild import BatchProjector, Rebuild
from memolith.app.indexer.rebuild_pages import Progress
from memolith.app.kernel.object_events import event_objects
from memolith.core.log_position import Epoch, LogKey, Slot
from memolith.core.objects.entry import Entry, Operation
from memolith.core.paths import path_hash
from memolith.core.rows.control import ControlRow
from tests.support.cloud import Cloud


def handled_event(indexer: Indexer, message: str) -> bool:
    """Whether a message is an event of the bucket, and not a batch of a rebuild; the indexer has its object then."""
    payload = json.loads(message)
    if "Records" not in payload:
        return False
    for key, _ in event_objects(payload):
        indexer.object_arrived(key)
    return True


class Killed(BaseException):
    """The command's process is gone."""


@dataclass
class Operator:
    """One machine that runs the rebuild; the indexer works in its pauses, `meanwhile` everybody else."""

    cloud: Cloud
    queue: MemoryQueue
    batches_a_pause: int = 1_000
    meanwhile: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.site = self.cloud.sites[self.cloud.regions[0]]
        self.folder = BatchProjector(self.site.region, self.site.indexing)
        self.progress: list[Progress] = []
        self.folded: list[str] = []

    def run(self) -> int:
        return Rebuild(
            self.site.region, self.site.indexing, self.cloud.tables(self.site.region.name), self.queue, 0
        ).run(self._report)

    def _report(self, progress: Progress) -> None:
        self.progress.append(progress)
        self.meanwhile()
        self.work()

    def work(self) -> None:
        for message in self.queue.take(self.batches_a_pause):
            if handled_event(self.site.indexing, message):
                continue
            batch = json.loads(message)["rebuild"]
            self.folder.fold(batch)
            if self.site.region.index.read([ControlRow.KEY])[ControlRow.KEY].get("run") == batch["run"]:
                self.folded += batch["keys"]


def fill(cloud: Cloud, store_id: str, count: int) -> None:
    """So many memories in the log, of which the tables know nothing. From then on nobody is told of what is put."""
    region = cloud.regions[0]
    objects = MemoryObjects(cloud.buckets, region)
    cloud.buckets.observers.clear()
    slot = Slot(Epoch(1, region), 1)
    salt = bytes.fromhex(str(cloud.rows(region, "stores")[store_id, "record"]["salt"]))
    for number in range(count):
        entry = Entry(
            key=LogKey(store_id, path_hash(salt, f"/{number}"), slot),
            operation=Operation.CREATED,
            version_id=f"memver_{number:026d}",
            memory_id=f"mem_{number:026d}",
            generation=1,
            arrived=slot,
            path=f"/{number}",
            content_sha256="0" * 64,
            content_size_bytes=0,
            created_at=number,
            memory_created_at=number,
        )
        objects.put_if_absent(str(entry.key), b"", entry.to_metadata())
