"""A store of many memories, brought into a running local cloud in a minute instead of most of an hour.

The product's own code writes the memories and makes their pack, in this process, over adapters in memory. Their rows
and the pack are then put to the emulator as they are, so that a search there finds what it would find had each memory
come over HTTP. The texts' own objects are not: ten thousand events would keep the indexers busy for half an hour, and a
search reads texts of this size from the pack. So such a store is for measuring searches, and for nothing else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from memolith.adapters.aws.clients import Clients, local_clients
from memolith.adapters.aws.expressions import to_item
from memolith.adapters.memory import ManualClock
from memolith.core.objects.search_pack import PackKey
from memolith.core.rows.base import RowKey, mark_key
from memolith.ports.objects import StoredObject
from scripts.bench.search import REGION, Texts
from tests.support.cloud import Cloud

DEV_FILE = Path(".memolith/dev.json")
AGE_S = 86_400
"""How old the newest memory is: no version came after the pack, as on a quiet day."""

TABLES = ("memories", "logs", "paths", "versions", "verdicts", "stores")
ROWS_PER_PUT = 25
AT_ONCE = 4


class MadeStore(Texts):
    """A store of `count` memories with its pack, in this process."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        clock = ManualClock(round((time.time() - AGE_S - count) * 1_000_000))
        self._cloud = Cloud((REGION,), clock=clock, memories_per_store=max(count, 1))
        memolith, call = self._cloud.sites[REGION].memolith, self._cloud.call(self._cloud.key())
        self.id = memolith.stores.create(call, name="bench", description="", metadata={}).id
        for number, text in enumerate(self.texts):
            memolith.memories.create(call, self.id, path=f"/notes/{number}.md", content=text, full=False)
            clock.advance(1)
        self._cloud.pending.clear()
        answer = self._cloud.peers.call(REGION, "packer", {"call": "pack", "store_id": self.id})
        if "error" in answer:
            raise SystemExit(str(answer))

    @property
    def pack(self) -> StoredObject:
        """Its pack, as it is stored."""
        [key] = self._cloud.buckets.page(REGION, PackKey.prefix(self.id), None, 10).keys
        stored = self._cloud.buckets.current(REGION, key)
        if stored is None:
            raise SystemExit("the pack is gone")
        return stored

    def rows(self, table: str) -> Iterator[tuple[RowKey, Mapping[str, Any]]]:
        """Yield the rows of a table, without the mark of the tables that they come from."""
        for (pk, sk), (_, _, row) in self._cloud.sites[REGION].database.table(table, 1).order.rows.items():
            if RowKey(table, pk, sk) != mark_key(table):
                yield RowKey(table, pk, sk), row


class LocalCloud:
    """The local cloud that runs, and its first region."""

    def __init__(self, dev_file: Path = DEV_FILE) -> None:
        """Read what describes it. Raises SystemExit where none runs."""
        if not dev_file.exists():
            raise SystemExit("no local cloud is running: memolith dev up --regions us-east-1 --enforce-iam")
        dev = json.loads(dev_file.read_text())
        if next(iter(dev["regions"])) != REGION:
            raise SystemExit(f"the first region of the local cloud has to be {REGION}")
        self.facts: dict[str, Any] = dev["regions"][REGION]
        self.api_key: str = dev["api_key"]
        self.endpoint: str = dev["endpoint"]
        self.clients: Clients = local_clients(self.endpoint)

    def bring_in(self, store: MadeStore) -> None:
        """Put the store's rows into the region's tables, and its pack into the bucket."""
        batches = [
            (table, rows[start : start + ROWS_PER_PUT])
            for table in TABLES
            for rows in [list(store.rows(table))]
            for start in range(0, len(rows), ROWS_PER_PUT)
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda one: self._put(*one), batches))
        pack = store.pack
        self.clients.s3(REGION).put_object(
            Bucket=self.facts["bucket"], Key=pack.key, Body=pack.body, Metadata=dict(pack.metadata), IfNoneMatch="*"
        )

    def _put(self, table: str, rows: list[tuple[RowKey, Mapping[str, Any]]]) -> None:
        puts: Any = [{"PutRequest": {"Item": to_item(key, row)}} for key, row in rows]
        answer = self.clients.dynamodb(REGION).batch_write_item(RequestItems={self.facts["tables"][table]: puts})
        if answer.get("UnprocessedItems"):
            raise SystemExit("the emulator left rows unwritten")
