"""A deployed home under agmi's edits: objects in its bucket are changed as the account's root, past every policy.

Each attack has stores of its own, so that sixteen run beside each other on one deployment; in the end each object is as
it was. The audit is `memolith audit verify` of the home, by a process of its own; of what it finds, an attack is told
what concerns its store or the history. One audit, one checkpoint and one rebuild are for all that came to wait for it.

An object that is put while the bucket tells the indexer of it is taken for one of a writer that died after its put, and
is acknowledged. So a version is forged at rest, while nobody is told of it; every other edit is made in live traffic.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

from anthropic import Anthropic
from botocore.exceptions import ReadTimeoutError

from memolith.adapters.aws.clients import local_clients
from memolith.adapters.aws.sealing import KmsSealing
from memolith.clients.cli.deployment_target import find_target
from memolith.core.object_keys import CheckpointKey, parse_key
from memolith.core.objects.checkpoint import Checkpoint
from memolith.core.objects.witness import witness_prefix
from scripts.agents import client
from tests.interop.agmi.versions import VersionRecords
from tests.laptop.tampering import RawVersion

ROOT = Path(__file__).resolve().parents[3]
WAIT_S = 180.0
"""For what the functions do once a minute, on a machine that is busy with sixteen attacks."""
REBUILD_S = 600.0
WRITERS = threading.Semaphore(2)
"""Calls of the API beside each other: each may start a process of a function."""
T = TypeVar("T")


class Shared(Generic[T]):
    """Does something that takes long, once for all threads that asked before it began."""

    def __init__(self, act: Callable[[], T]) -> None:
        self._act = act
        self._turn = threading.Lock()
        self._asked = count(1)
        self._last = 0
        self._done: tuple[int, T] | None = None

    def __call__(self) -> T:
        number = self._last = next(self._asked)
        with self._turn:
            if self._done is None or self._done[0] < number:
                begun = self._last
                self._done = (begun, self._act())
            return self._done[1]


@dataclass
class Cloud:
    """The running local cloud, as all attacks of a run share it.

    Attributes:
        home: the region whose bucket is edited.
        away: another one, which keeps what it saw of the home.
        rebuilding: where attacks wait for each other to have the home's tables made anew, once for all of them.
    """

    dev: Mapping[str, Any]
    rebuilding: threading.Barrier | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.seal, self.audit = Shared(self._seal), Shared(self._audit)
        self.home, self.away = list(self.dev["regions"])[:2]
        self.clients = local_clients(self.dev["endpoint"])
        self.s3 = self.clients.s3(self.home)
        self.bucket = self.dev["regions"][self.home]["bucket"]

    def sdk(self) -> Anthropic:
        return client(self.dev["regions"][self.home]["api_url"], self.dev["api_key"]).with_options(timeout=60)

    def keys(self, prefix: str) -> list[str]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return sorted(one["Key"] for page in pages for one in page.get("Contents", []))

    def last_period(self) -> int:
        parsed = [parse_key(key) for key in self.keys(f"{self.home}/checkpoint/")]
        return max((key.period for key in parsed if isinstance(key, CheckpointKey)), default=0)

    def _seal(self) -> None:
        """Has the home seal what was acknowledged before, without waiting for its minute."""
        acknowledged_us = time.time_ns() // 1_000
        self.until(lambda: self.tick(self.home) and self._sealed_until() > acknowledged_us)

    def _sealed_until(self) -> int:
        """Return up to when the home's last checkpoint names what was acknowledged, in microseconds; 0 without one."""
        last = self.last_period()
        return Checkpoint.from_json(self.read(str(CheckpointKey(self.home, last))).body).until if last else 0

    def sealed(self) -> set[str]:
        """Return the keys of everything that the home's checkpoints have a digest of."""
        return {name.key for one in self.checkpoints() for name in one.names if name.digest is not None}

    def checkpoints(self) -> list[Checkpoint]:
        """Return the home's checkpoints, without their parts."""
        keys = [key for key in self.keys(f"{self.home}/checkpoint/") if isinstance(parse_key(key), CheckpointKey)]
        return [Checkpoint.from_json(self.read(key).body) for key in keys]

    def _audit(self) -> list[dict[str, Any]]:
        """Return what an operator's audit of the home finds."""
        told = run("audit", "verify", "--region", self.home, "--json")
        assert told.returncode in (0, 1), told.stderr
        (report,) = json.loads(told.stdout)
        assert (told.returncode == 0) == report["intact"] == (not report["findings"])
        return list(report["findings"])

    def witness(self) -> None:
        """Has the other region fold what is sealed, and keep what it saw: none of what names nothing."""
        wanted = max(one.period for one in self.checkpoints() if one.names or one.parts)
        self.until(lambda: self.tick(self.away) and self.last_witnessed() >= wanted)

    def last_witnessed(self) -> int:
        """Return the last period of the home that the other region keeps what it saw of; 0 for none."""
        bucket, s3 = self.dev["regions"][self.away]["bucket"], self.clients.s3(self.away)
        found = s3.list_objects_v2(Bucket=bucket, Prefix=witness_prefix(self.home)).get("Contents", [])
        return max((int(one["Key"].rpartition("/")[2]) for one in found), default=0)

    def tick(self, region: str) -> bool:
        """Does what the schedule does every minute, beside it; False where it did not get through."""
        name = self.dev["regions"][region]["functions"]["reconciler"]
        try:
            answer = self.clients.functions(region).invoke(FunctionName=name, Payload=b'{"call": "tick"}')
        except ReadTimeoutError:  # on a busy machine it takes longer than a call may wait, and goes on all the same
            return False
        return bool(json.load(answer["Payload"])["failures"] == [])

    @staticmethod
    def until(holds: Any) -> None:
        deadline = time.monotonic() + WAIT_S
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not so within {WAIT_S} s")
            time.sleep(0.5)

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """The home's bucket tells nobody of what is put meanwhile."""
        with self._turn:
            answer = self.s3.get_bucket_notification_configuration(Bucket=self.bucket)
            told: Any = {name: value for name, value in answer.items() if name != "ResponseMetadata"}
            self.s3.put_bucket_notification_configuration(Bucket=self.bucket, NotificationConfiguration={})
            try:
                yield
            finally:
                self.s3.put_bucket_notification_configuration(Bucket=self.bucket, NotificationConfiguration=told)

    def read(self, key: str) -> RawVersion:
        found = self.s3.get_object(Bucket=self.bucket, Key=key)
        return RawVersion(key, found["Metadata"], found["Body"].read())

    def put(self, raw: RawVersion) -> None:
        self.s3.put_object(
            Bucket=self.bucket,
            Key=raw.key,
            Body=raw.body,
            Metadata={name: str(value) for name, value in raw.metadata.items()},
            ContentType="text/plain; charset=utf-8",
            ChecksumSHA256=base64.b64encode(hashlib.sha256(raw.body).digest()).decode(),
        )

    @contextmanager
    def forked(self) -> Iterator[str]:
        """The home tells another history since the last minute that the other region saw, and its own key signs it."""
        self.witness()
        key = str(CheckpointKey(self.home, self.last_witnessed()))
        later = [self.read(one) for one in self.keys(f"{self.home}/checkpoint/") if one > key + "/~"]
        true = self.read(key)
        checkpoint = Checkpoint.from_json(true.body)
        other = replace(checkpoint, until=checkpoint.until + 1)
        seal = KmsSealing(self.clients, find_target(aws=False).deployment(self.home)).sign(other.statement)
        for raw in later:
            self.s3.delete_object(Bucket=self.bucket, Key=raw.key)
        self.put(RawVersion(key, true.metadata, replace(other, seal=seal).to_json()))
        try:
            yield key
        finally:
            stands = self.keys(f"{self.home}/checkpoint/")
            for raw in (true, *(one for one in later if one.key not in stands)):
                self.put(raw)

    def rebuild(self) -> None:
        """Has the home's tables made anew from its bucket: once for all attacks that have come to wait for it."""
        if self.rebuilding is None:
            self._rebuild()
        elif self.rebuilding.wait(REBUILD_S) == 0:
            self._rebuild()
            self.rebuilding.wait(REBUILD_S)
        else:
            self.rebuilding.wait(REBUILD_S)

    def _rebuild(self) -> None:
        told = run("index", "rebuild", "--region", self.home, "--settle-s", "3")
        assert told.returncode == 0, told.stderr


def store_of(key: str) -> str | None:
    """Return the store that an object belongs to; None for what is of the whole home."""
    return getattr(parse_key(key), "store_id", None)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command line, as an operator does in this folder."""
    command = [sys.executable, "-m", "memolith.clients.cli", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=REBUILD_S)


class CloudHome(VersionRecords):
    """The objects of two stores in the bucket of their home."""

    name = "Memolith in two regions"

    def __init__(self, cloud: Cloud, *, recomputed: bool, rebuilt: bool) -> None:
        self._cloud = cloud
        self._recomputed = recomputed
        self._rebuilt = rebuilt
        self._before: dict[str, RawVersion | None] = {}

    def setup(self) -> None:
        self._stores = self._cloud.sdk().beta.memory_stores

    def teardown(self) -> None:
        for key, raw in self._before.items():
            if raw is None:
                self._cloud.s3.delete_object(Bucket=self._cloud.bucket, Key=key)
            else:
                self._cloud.put(raw)

    # ---- through the API ----------------------------------------------------------------------------------------

    def seed(self, n: int) -> None:
        self._store, self._memory = self._written("notes", n)

    def seed_other(self, n: int) -> None:
        self._other, _ = self._written("others", n)

    def append_genuine(self) -> None:
        with WRITERS:
            self._stores.memories.update(self._memory, memory_store_id=self._store, content="one more")
        self._cloud.seal()
        self._cloud.witness()

    def reload(self) -> None:
        if self._rebuilt:
            self._cloud.rebuild()

    def verify(self) -> bool:
        found = {one["flaw"] for one in self._cloud.audit() if store_of(one["key"]) in (None, self._store)}
        self.verify_detail = ", ".join(sorted(found))
        return not found

    def _written(self, name: str, n: int) -> tuple[str, str]:
        with WRITERS:
            store = self._stores.create(name=name).id
            memory = self._stores.memories.create(store, path="/a", content=f"{name} 0").id
            for number in range(1, n):
                self._stores.memories.update(memory, memory_store_id=store, content=f"{name} {number}")
        self._cloud.seal()
        assert set(self._keys(store)) <= self._cloud.sealed(), "an audit cannot tell what was never sealed"
        return store, memory

    # ---- behind its back ----------------------------------------------------------------------------------------

    def _keys(self, store_id: str) -> list[str]:
        return self._cloud.keys(f"{self._cloud.home}/log/{store_id}/")

    def _read(self, key: str) -> RawVersion:
        return self._cloud.read(key)

    def _write(self, raw: RawVersion) -> None:
        """Puts it: with the hash and size that its metadata had, or recomputed. S3 sums it in any case."""
        if self._recomputed and "sha" in raw.metadata:
            computed = {"sha": hashlib.sha256(raw.body).hexdigest(), "size": str(len(raw.body))}
            raw = replace(raw, metadata={**raw.metadata, **computed})
        if raw.key in self._keys(raw.key.split("/")[2]):
            self._before.setdefault(raw.key, self._read(raw.key))
            self._cloud.put(raw)
            return
        self._before[raw.key] = None
        with self._cloud.at_rest():
            self._cloud.put(raw)

    def _remove(self, key: str) -> None:
        self._before.setdefault(key, self._read(key))
        self._cloud.s3.delete_object(Bucket=self._cloud.bucket, Key=key)

    def snapshot_store(self) -> object:
        """All that the home has. Each object is put once, so that its key is enough."""
        return self._cloud.keys(f"{self._cloud.home}/")

    def restore_store(self, token: object) -> None:
        assert isinstance(token, list)
        for key in set(self._cloud.keys(f"{self._cloud.home}/")) - set(token):
            self._remove(key)
