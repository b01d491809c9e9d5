"""``memolith regions add`` of a region that was removed: the others keep what they have, and no old key opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from memolith.adapters.memory import MemoryDatabase, MemoryIndex
from memolith.app.kernel.results import Credentials
from memolith.clients.cli import regions
from memolith.clients.cli.failures import DoneInPart
from memolith.core.errors import Damaged, Unauthenticated
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from memolith.ports.objects import StoredObject
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.clients.test_regions import Checkout

BACK, STAYS = HOME, (AWAY, "ap-south-1")
SERVES = ControlRow(serving=1, complete=True).to_attributes()


class Aws:
    """What the command asks of AWS, with the scene's buckets; S3 copies from `BACK` once its rules are there."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.rules = False
        self.left: MemoryDatabase | None = None
        self.at_deployment: Callable[[], None] = lambda: None

    def head_bucket(self, Bucket: str) -> None:
        if BACK not in self.scene.cloud.regions:
            raise ClientError({"Error": {"Code": "404"}}, "HeadBucket")

    def get_bucket_replication(self, Bucket: str) -> Any:
        if not self.rules:
            raise ClientError({"Error": {"Code": "ReplicationConfigurationNotFoundError"}}, "GetBucketReplication")
        return {"ReplicationConfiguration": {}}

    def update_item(self, TableName: str, Key: Any, UpdateExpression: str, **_: Any) -> None:
        assert (TableName, UpdateExpression) == ("memolith-dev-control", "SET complete = :no")
        if self.left is None:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "UpdateItem")
        incomplete = ControlRow(serving=1, complete=False).to_attributes()
        MemoryIndex(self.left).commit([Change(ControlRow.KEY, None, incomplete, unconditional=True)])

    def deploy(self, *words: str) -> None:
        if words[0] != "deploy":
            return
        if BACK not in self.scene.cloud.regions:
            self.scene.cloud.bring_back(BACK)
        self.at_deployment()
        self.deliver()
        self.rules = self.rules or "--all" in words

    def deliver(self) -> None:
        """What was put arrives; while there are no rules, nothing of it in another region."""
        if not self.rules:
            cloud = self.scene.cloud
            cloud.pending[:] = [replace(one, replica=one.replica or one.region == BACK) for one in cloud.pending]
        self.scene.deliver()


@pytest.fixture
def scene() -> Scene:
    """Three regions, of which one was removed after its store had moved and all it had put had arrived."""
    scene = Scene(regions=(BACK, *STAYS))
    scene.create("/a")
    scene.deliver()
    scene.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": scene.store})
    scene.deliver()
    scene.cloud.remove(BACK)
    return scene


@pytest.fixture
def aws(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Aws:
    monkeypatch.chdir(tmp_path)
    Checkout(tmp_path)
    made = Aws(scene)
    clients = SimpleNamespace(s3=lambda region: made, dynamodb=lambda region: made)
    target = SimpleNamespace(
        account="111122223333",
        stage="dev",
        clients=clients,
        regions=(BACK, *STAYS),
        deployment=lambda region: SimpleNamespace(bucket=lambda: region),
        site=lambda region: scene.cloud.sites[region].region,
    )
    monkeypatch.setattr(regions, "find_target", lambda aws: target)
    monkeypatch.setattr(regions, "run_cdk", lambda said_on, *words: made.deploy(*words))
    monkeypatch.setattr("memolith.clients.cli.index.rebuilt", lambda *given, **more: 2)
    return made


def altered(scene: Scene, at: str) -> str:
    """Alter the text of the memory that the removed region wrote, in one region that stays; return its key."""
    [key] = [key for key in scene.log_keys(at) if key.startswith(f"{BACK}/")]
    found = scene.cloud.buckets.current(at, key)
    assert found is not None
    scene.cloud.buckets.damage(at, key, replace(found, body=b"falsified"))
    return key


def now(scene: Scene, at: str, key: str) -> tuple[StoredObject | None, int]:
    buckets = scene.cloud.buckets
    return buckets.current(at, key), len(buckets.versions(at, key))


@pytest.mark.parametrize(("false", "whole"), [STAYS, STAYS[::-1]])
def test_a_copy_that_one_region_altered_reaches_no_other_through_a_region_that_returns(
    scene: Scene, aws: Aws, false: str, whole: str
) -> None:
    key = altered(scene, false)
    before = now(scene, whole, key)
    regions.add(BACK, yes=True, aws=True)
    aws.deliver()
    assert now(scene, whole, key) == before
    assert len(scene.cloud.buckets.versions(BACK, key)) == 1


def lost(scene: Scene, aws: Aws) -> str:
    """The removed region is back, and later loses an object that it wrote; return its key."""
    regions.add(BACK, yes=True, aws=True)
    aws.deliver()
    [key] = [key for key in scene.log_keys(AWAY) if key.startswith(f"{BACK}/")]
    scene.cloud.buckets.damage(BACK, key, None)
    return key


@pytest.mark.parametrize("false", STAYS)
def test_a_copy_that_differs_from_another_does_not_fill_a_bucket_that_is_replicated(
    scene: Scene, aws: Aws, false: str
) -> None:
    key = lost(scene, aws)
    altered(scene, false)
    before = [now(scene, at, key) for at in STAYS]
    with pytest.raises(Damaged, match=f"1 that it wrote itself were not.*{key}.*memolith repair"):
        regions.fill(BACK, aws=True)
    aws.deliver()
    assert [now(scene, at, key) for at in STAYS] == before
    assert scene.cloud.buckets.current(BACK, key) is None


@pytest.mark.parametrize("lacks", [None, *STAYS])
def test_a_copy_that_every_region_agrees_on_comes_back_into_a_bucket_that_is_replicated(
    scene: Scene, aws: Aws, lacks: str | None
) -> None:
    key = lost(scene, aws)
    if lacks is not None:
        scene.cloud.buckets.damage(lacks, key, None)
    regions.fill(BACK, aws=True)
    aws.deliver()
    whole = scene.cloud.buckets.current(BACK, key)
    assert whole is not None
    assert [scene.cloud.buckets.current(at, key) for at in STAYS] == [whole, whole]


@pytest.fixture
def revoked(scene: Scene, aws: Aws) -> str:
    """A key that was revoked after a region had been removed, whose bucket and tables are there as it left them."""
    cloud = scene.cloud
    regions.add(BACK, yes=True, aws=True)
    key = cloud.key(region=AWAY)
    bucket, aws.left = cloud.buckets._buckets[BACK], cloud.sites[BACK].database
    MemoryIndex(aws.left).commit([Change(ControlRow.KEY, None, SERVES, unconditional=True)])
    cloud.remove(BACK)
    credentials = cloud.call(key).credentials
    assert isinstance(credentials, Credentials)
    ended = {"call": "keys.revoke", "workspace_id": WORKSPACE, "key_id": credentials.key_id}
    cloud.peers.call(AWAY, "keys", ended)
    aws.deliver()
    cloud.bring_back(BACK)
    cloud.pending.clear()
    cloud.buckets._buckets[BACK] = bucket
    cloud.sites[BACK].region.index = MemoryIndex(aws.left)
    aws.rules = False
    return key


def test_a_key_that_was_revoked_meanwhile_opens_no_region_that_returns_with_its_bucket_and_tables(
    scene: Scene, aws: Aws, revoked: str
) -> None:
    """Its functions begin to serve with the deployment, minutes before its index is rebuilt."""
    served = []

    def call() -> None:
        with pytest.raises(Unauthenticated, match="revoked"):
            scene.at(BACK).stores.retrieve(scene.call(revoked), scene.store)
        served.append(True)

    aws.at_deployment = call
    regions.add(BACK, yes=True, aws=True)
    assert served == [True, True], "everywhere, and once its index was rebuilt"


def test_a_region_that_returns_with_tables_and_without_a_bucket_is_refused(
    scene: Scene, aws: Aws, revoked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_gone(Bucket: str) -> None:
        raise ClientError({"Error": {"Code": "404"}}, "HeadBucket")

    monkeypatch.setattr(aws, "head_bucket", is_gone)
    aws.at_deployment = lambda: pytest.fail("it was deployed")
    with pytest.raises(DoneInPart, match="delete its tables memolith-dev-"):
        regions.add(BACK, yes=True, aws=True)
