"""What a contract test is given: adapters of one kind, and a way to look behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.erasing import S3ErasableObjects
from memolith.adapters.aws.index import DynamoIndex
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.objects import S3Objects
from memolith.adapters.aws.tables import DynamoTables
from memolith.adapters.layered import (
    InterceptedErasableObjects,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedTables,
    Interceptor,
)
from memolith.adapters.local import (
    Database,
    LocalBucket,
    LocalErasableObjects,
    LocalIndex,
    LocalObjects,
    LocalTables,
)
from memolith.adapters.memory import (
    ManualClock,
    MemoryBuckets,
    MemoryDatabase,
    MemoryErasableObjects,
    MemoryIndex,
    MemoryObjects,
    MemoryTables,
    SeededRandomness,
)
from memolith.ports.errors import ObjectNotFound
from memolith.ports.index import Index, Tables
from memolith.ports.objects import ErasableObjects, Objects, StoredObject
from tests.contract.moto_world import ABSENT, DEPLOYMENT, FAR, HOME, make_bucket, make_tables

WORLDS = ("memory", "layered", "local", "moto", "emulator")
COMPARING_BODIES = ("memory", "layered", "local", "emulator")
"""Moto stores a body that is not what its checksum says; what S3's BadDigest becomes is in tests/unit/adapters."""

TELLING_TYPES_APART = ("memory", "layered", "local", "emulator")
"""Moto takes True for 1 where it compares, as DynamoDB does not."""

HIDING = ("moto", "emulator")
"""Only S3 has delete markers."""


@dataclass(frozen=True, slots=True)
class ObjectsWorld:
    """Buckets in `HOME` and `FAR`, none in `ABSENT`.

    Attributes:
        objects, erasable: the adapters as seen from a region.
        versions: bodies of every version of a key in a region, oldest first.
        overwrite: puts without a condition, as nothing of Memolith's but the eraser does.
        keeps_versions: whether what is overwritten stays as an older version, as in S3's versioned buckets.
        hide: puts a delete marker over a key, as only a person does; None where there is no such thing.
    """

    objects: Callable[[str], Objects]
    erasable: Callable[[str], ErasableObjects]
    versions: Callable[[str, str], list[bytes]]
    overwrite: Callable[[str, str, bytes], object]
    keeps_versions: bool = True
    hide: Callable[[str, str], object] | None = None

    @property
    def here(self) -> Objects:
        return self.objects(HOME)


def memory_objects(interceptor: Interceptor | None = None) -> ObjectsWorld:
    """Buckets in memory, with or without somebody standing at every call."""
    buckets = MemoryBuckets([HOME, FAR])

    def objects(region: str) -> Objects:
        inner = MemoryObjects(buckets, region)
        return inner if interceptor is None else InterceptedObjects(inner, region, interceptor)

    def erasable(region: str) -> ErasableObjects:
        inner = MemoryErasableObjects(buckets, region)
        return inner if interceptor is None else InterceptedErasableObjects(inner, region, interceptor)

    return ObjectsWorld(
        objects,
        erasable,
        lambda region, key: [version.object.body for version in buckets.versions(region, key)],
        lambda region, key, body: buckets.put(region, StoredObject(key, body, {}, len(body)), only_if_absent=False),
    )


def aws_objects(clients: Clients) -> ObjectsWorld:
    """Buckets on what the clients talk to, which is empty."""
    for region in (HOME, FAR):
        make_bucket(clients, region)

    def versions(region: str, key: str) -> list[bytes]:
        bucket, s3 = DEPLOYMENT.bucket(region), clients.s3(region)
        listed = s3.list_object_versions(Bucket=bucket, Prefix=key).get("Versions", [])
        ids = [one["VersionId"] for one in listed if one["Key"] == key][::-1]
        return [s3.get_object(Bucket=bucket, Key=key, VersionId=version)["Body"].read() for version in ids]

    def overwrite(region: str, key: str, body: bytes) -> None:
        clients.s3(region).put_object(Bucket=DEPLOYMENT.bucket(region), Key=key, Body=body)

    return ObjectsWorld(
        lambda region: S3Objects(clients, seen_from(region)),
        lambda region: S3ErasableObjects(clients, seen_from(region)),
        versions,
        overwrite,
        hide=lambda region, key: clients.s3(region).delete_object(Bucket=DEPLOYMENT.bucket(region), Key=key),
    )


def local_objects(folder: Path) -> ObjectsWorld:
    """Buckets as folders, where what is overwritten is gone."""
    buckets = {region: LocalBucket(folder / region) for region in (HOME, FAR)}

    def versions(region: str, key: str) -> list[bytes]:
        try:
            return [buckets[region].read(key, whole=True).body]
        except ObjectNotFound:
            return []

    return ObjectsWorld(
        lambda region: LocalObjects(buckets, region),
        lambda region: LocalErasableObjects(buckets[region]),
        versions,
        lambda region, key, body: buckets[region].replace(StoredObject(key, body, {}, len(body))),
        keeps_versions=False,
    )


def seen_from(region: str) -> Deployment:
    """The deployment as another region sees it."""
    return Deployment(DEPLOYMENT.stage, DEPLOYMENT.account, DEPLOYMENT.regions, region)


@dataclass(frozen=True, slots=True)
class IndexWorld:
    """One region's tables, of generation 1, and a way to make and drop others.

    Attributes:
        lose: deletes a table outside the generations, as nobody of Memolith ever does.
        settle: lets global indexes catch up.
    """

    index: Index
    tables: Tables
    lose: Callable[[str], None]
    settle: Callable[[], None] = field(default=lambda: None)


def memory_index(interceptor: Interceptor | None = None, *, lagging: bool = False) -> IndexWorld:
    """Tables in memory."""
    database = MemoryDatabase(lagging=lagging)
    index, tables = MemoryIndex(database), MemoryTables(database)
    if interceptor is None:
        return IndexWorld(index, tables, database.lose, database.settle)
    around = (HOME, interceptor)
    return IndexWorld(
        InterceptedIndex(index, *around), InterceptedTables(tables, *around), database.lose, database.settle
    )


def local_index(folder: Path) -> IndexWorld:
    """Tables in SQLite."""
    database = Database(folder / "index.sqlite")
    tables = LocalTables(database)
    tables.make(1)

    def lose(table: str) -> None:
        with database.writing() as connection:
            connection.execute(f"DROP TABLE {table}")

    return IndexWorld(LocalIndex(database), tables, lose)


def aws_index(clients: Clients) -> IndexWorld:
    """Tables on what the clients talk to, which is empty."""
    make_tables(clients)
    clock = ManualClock()
    index = DynamoIndex(clients, DEPLOYMENT, clock, SeededRandomness())

    def lose(table: str) -> None:
        dynamodb, name = clients.dynamodb(HOME), DEPLOYMENT.table(table)
        dynamodb.update_table(TableName=name, DeletionProtectionEnabled=False)
        dynamodb.delete_table(TableName=name)

    return IndexWorld(index, DynamoTables(clients, DEPLOYMENT, clock), lose)


__all__ = [
    "ABSENT",
    "COMPARING_BODIES",
    "FAR",
    "HIDING",
    "HOME",
    "TELLING_TYPES_APART",
    "WORLDS",
    "IndexWorld",
    "ObjectsWorld",
    "aws_index",
    "aws_objects",
    "local_index",
    "local_objects",
    "memory_index",
    "memory_objects",
]
