"""A backup of the deployed cloud brings a store back that is gone from every region, or to where nothing is.

The bucket is of another account of the emulator, which the deployment's own credentials do not reach.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from anthropic import Anthropic
from botocore.config import Config

from memolith.adapters.aws.clients import Clients
from memolith.core.tables import PARTITION_KEY, SORT_KEY
from tests.e2e.conftest import ROOT, knows, until
from tests.laptop.processes import environment, serving

pytestmark = pytest.mark.e2e


def _is_gone(client: Anthropic, store_id: str) -> bool:
    return not knows(client, store_id)


TOLD = ("id", "memory_id", "operation", "path", "content", "created_at")


def _has(client: Anthropic, store_id: str, expected: list[dict[str, Any]]) -> bool:
    return history(client, store_id) == expected


def history(client: Anthropic, store_id: str) -> list[dict[str, Any]]:
    listed = client.beta.memory_stores.memory_versions.list(store_id, view="full")
    return [{name: row[name] for name in TOLD} for row in (version.to_dict(mode="json") for version in listed)]


DEPLOYMENT, BACKUPS = "000000000000", "210987654321"
"""Two accounts of the emulator; an access key of twelve digits is that of an account's root."""

PLACES = ("folder", "bucket")


def run(*words: str, url: str = "", key: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run ``memolith backup``."""
    asked = ["--api-url", url, "--api-key", key] if url else []
    command = [sys.executable, "-m", "memolith.clients.cli", "backup", *words, *asked, "--json"]
    return subprocess.run(command, env=environment() | settings, capture_output=True, text=True, timeout=300)


def memolith(*words: str, url: str = "", key: str = "", **settings: str) -> Any:
    """Run ``memolith backup``; its answer, as JSON."""
    done = run(*words, url=url, key=key, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


class Account:
    """One of the emulator's accounts, and profiles of the AWS configuration files with its credentials."""

    def __init__(self, endpoint: str, account: str, folder: Path) -> None:
        self._session = boto3.Session(account, "test", region_name="us-east-1")
        self._endpoint = endpoint
        self._file = folder / "credentials"
        self.settings = {
            "AWS_SHARED_CREDENTIALS_FILE": str(self._file),
            "AWS_CONFIG_FILE": str(folder / "config"),
            "AWS_ENDPOINT_URL": endpoint,
        }
        self._profile("root", account, "test", "")

    def client(self, service: str) -> Any:
        config = Config(s3={"addressing_style": "path"})
        return self._session.client(service, endpoint_url=self._endpoint, config=config)  # type: ignore[call-overload]  # the service is a variable

    def acting(self, role: str) -> Any:
        """A client of S3 with the credentials of a role."""
        read = ConfigParser()
        read.read(self._file)
        config, credentials = Config(s3={"addressing_style": "path"}), cast(Any, dict(read[role]))
        return boto3.client("s3", "us-east-1", endpoint_url=self._endpoint, config=config, **credentials)

    def role(self, name: str, policy: str) -> None:
        """A role that has this policy alone, as a profile of its name."""
        iam = self.client("iam")
        trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
        trusting = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=trusting)["Role"]["Arn"]
        iam.put_role_policy(RoleName=name, PolicyName="backups", PolicyDocument=policy)
        found = self.client("sts").assume_role(RoleArn=arn, RoleSessionName="backing-up")["Credentials"]
        self._profile(name, found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])

    def drop_role(self, name: str) -> None:
        iam = self.client("iam")
        iam.delete_role_policy(RoleName=name, PolicyName="backups")
        iam.delete_role(RoleName=name)

    def _profile(self, name: str, key: str, secret: str, token: str) -> None:
        lines = [f"[{name}]", f"aws_access_key_id={key}", f"aws_secret_access_key={secret}"]
        with self._file.open("a") as file:
            print(*lines, *([f"aws_session_token={token}"] if token else []), sep="\n", file=file)


def drop_bucket(s3: Any, name: str) -> None:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=name):
        for one in page.get("Contents", ()):
            s3.delete_object(Bucket=name, Key=one["Key"])
    s3.delete_bucket(Bucket=name)


@dataclass(frozen=True, slots=True)
class Saved:
    """A store with versions of every kind, its history, and a place with its backup.

    Attributes:
        settings: of the environment of who reaches the place.
    """

    store_id: str
    history: list[dict[str, Any]]
    place: str
    settings: dict[str, str] = field(default_factory=dict)

    def restore(self, url: str, key: str) -> Any:
        return memolith("restore", self.place, url=url, key=key, **self.settings)["stores"]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, dev: dict[str, Any], tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A place for a backup, and the settings that reach it."""
    if request.param == "folder":
        yield str(tmp_path / "backup"), {}
        return
    account = Account(dev["endpoint"], BACKUPS, tmp_path)
    bucket = f"kept-{uuid.uuid4().hex[:12]}"
    account.client("s3").create_bucket(Bucket=bucket)
    yield f"s3://{bucket}/memolith/today", {**account.settings, "AWS_PROFILE": "root"}
    kept = account.client("s3").list_objects_v2(Bucket=bucket, Prefix="memolith/today/backup.json")
    assert kept["KeyCount"] == 1, "the backup is in the bucket, and in no folder of that name"
    drop_bucket(account.client("s3"), bucket)


@pytest.fixture
def saved(
    sdk: dict[str, Anthropic],
    dev: dict[str, Any],
    regions: tuple[str, ...],
    store_id: str,
    place: tuple[str, dict[str, str]],
) -> Saved:
    memories, (where, settings) = sdk[regions[0]].beta.memory_stores.memories, place
    made = memories.create(store_id, path="/a.md", content="one")
    memories.update(made.id, memory_store_id=store_id, content="two", path="/b/a.md")
    gone = memories.create(store_id, path="/gone.md", content="not for long")
    memories.delete(gone.id, memory_store_id=store_id)
    before = history(sdk[regions[0]], store_id)
    there = {"url": dev["regions"][regions[0]]["api_url"], "key": dev["api_key"]}
    memolith("create", where, "--store", store_id, "--records", **there, **settings)
    memolith("verify", where, **settings)
    return Saved(store_id, before, where, settings)


def destroy(aws: Clients, dev: dict[str, Any], region: str, store_id: str) -> tuple[int, int]:
    """Remove, past Memolith, every S3 version and every row that names a store; how many there were."""
    s3, dynamo, here = aws.s3(region), aws.dynamodb(region), dev["regions"][region]
    objects = rows = 0
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=here["bucket"]):
        for one in (*page.get("Versions", ()), *page.get("DeleteMarkers", ())):
            if store_id in one["Key"]:
                s3.delete_object(Bucket=here["bucket"], Key=one["Key"], VersionId=one["VersionId"])
                objects += 1
    for table in here["tables"].values():
        for found in dynamo.get_paginator("scan").paginate(TableName=table):
            for row in (row for row in found["Items"] if store_id in repr(row)):
                dynamo.delete_item(TableName=table, Key={name: row[name] for name in (PARTITION_KEY, SORT_KEY)})
                rows += 1
    return objects, rows


def test_a_store_that_was_erased_everywhere_is_restored_from_a_backup_with_every_version(
    sdk: dict[str, Anthropic], dev: dict[str, Any], regions: tuple[str, ...], saved: Saved
) -> None:
    home, away = sdk[regions[0]], sdk[regions[1]]
    home.beta.memory_stores.delete(saved.store_id)
    for client in (home, away):
        until(partial(_is_gone, client, saved.store_id))
    [stored] = saved.restore(dev["regions"][regions[1]]["api_url"], dev["api_key"])
    assert stored["from"] == saved.store_id
    assert history(away, stored["store"]) == saved.history
    until(lambda: knows(home, stored["store"]))


@pytest.mark.parametrize("place", ["bucket"], indirect=True)
def test_what_was_destroyed_in_every_bucket_and_table_is_restored_from_a_bucket_in_another_account(
    sdk: dict[str, Anthropic], dev: dict[str, Any], aws: Clients, regions: tuple[str, ...], saved: Saved
) -> None:
    """Whoever destroys it has every right in the deployment's account, and none in that of the backups."""
    name = saved.place.removeprefix("s3://").partition("/")[0]
    with pytest.raises(aws.s3(regions[0]).exceptions.ClientError, match=r"Access ?Denied"):
        aws.s3(regions[0]).list_objects_v2(Bucket=name)
    until(lambda: all(knows(client, saved.store_id) for client in sdk.values()))
    for region in regions:
        objects, rows = destroy(aws, dev, region, saved.store_id)
        assert (objects > 4, rows > 4) == (True, True), f"{region} had {objects} objects and {rows} rows of it"
    for client in sdk.values():
        until(partial(_is_gone, client, saved.store_id))
    assert [destroy(aws, dev, region, saved.store_id) for region in regions] == [(0, 0)] * len(regions)
    [stored] = saved.restore(dev["regions"][regions[0]]["api_url"], dev["api_key"])
    for client in sdk.values():
        until(partial(knows, client, stored["store"]))
        until(partial(_has, client, stored["store"], saved.history))


def test_a_backup_fills_an_empty_deployment_with_every_version(saved: Saved, tmp_path: Path) -> None:
    """A deployment of one process, because to deploy a second cloud takes minutes; it has its own key and no store."""
    with serving(tmp_path / "empty") as empty:
        stores = empty.client().beta.memory_stores
        assert list(stores.list()) == []
        [stored] = saved.restore(empty.url, empty.api_key)
        assert [one.id for one in stores.list()] == [stored["store"]]
        assert history(empty.client(), stored["store"]) == saved.history


@pytest.mark.parametrize("place", ["bucket"], indirect=True)
def test_a_destroyed_deployment_is_restored_from_a_bucket_with_all_its_stores(
    place: tuple[str, dict[str, str]], tmp_path: Path
) -> None:
    """A deployment of one process, of which nothing is left: neither the process, nor its folder, nor its key."""
    where, settings = place
    with serving(tmp_path / "doomed") as doomed:
        stores, before = doomed.client().beta.memory_stores, {}
        for name in ("One", "Two"):
            made = stores.create(name=name).id
            stores.memories.create(made, path="/a.md", content=f"of {name}")
            before[made] = history(doomed.client(), made)
        memolith("create", where, url=doomed.url, key=doomed.api_key, **settings)
    shutil.rmtree(tmp_path / "doomed")
    with serving(tmp_path / "anew") as anew:
        assert list(anew.client().beta.memory_stores.list()) == []
        restored = memolith("restore", where, url=anew.url, key=anew.api_key, **settings)["stores"]
        assert {one["from"]: history(anew.client(), one["store"]) for one in restored} == before


# ---- rights ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def documented(dev: dict[str, Any], tmp_path: Path) -> Iterator[Account]:
    """The bucket and the two roles of docs/operations/backups.md, in one account: the emulator lets no other one in."""
    account = Account(dev["endpoint"], DEPLOYMENT, tmp_path)
    text = (ROOT / "docs/operations/backups.md").read_text().replace("123456789012", DEPLOYMENT)
    of_bucket, backing_up, restoring = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    s3 = account.client("s3")
    s3.create_bucket(Bucket="my-backups")
    s3.put_bucket_policy(Bucket="my-backups", Policy=of_bucket)
    account.role("memolith-backup", backing_up)
    account.role("memolith-restore", restoring)
    yield account
    account.drop_role("memolith-backup")
    account.drop_role("memolith-restore")
    s3.delete_bucket_policy(Bucket="my-backups")
    drop_bucket(s3, "my-backups")


def test_the_documented_policies_let_one_role_back_up_and_another_restore_and_neither_more(
    documented: Account, dev: dict[str, Any], regions: tuple[str, ...], store_id: str
) -> None:
    where = "s3://my-backups/memolith/today"
    there = {"url": dev["regions"][regions[0]]["api_url"], "key": dev["api_key"]}
    memolith("create", where, "--profile", "memolith-backup", "--store", store_id, **there, **documented.settings)
    [stored] = memolith("verify", where, "--profile", "memolith-restore", **documented.settings)
    assert stored["store"] == store_id
    for words, right in (
        (["verify", where, "--profile", "memolith-backup"], "s3:GetObject"),
        (["create", f"{where}-2", "--profile", "memolith-restore", "--store", store_id], "s3:PutObject"),
        (["create", "s3://my-backups/other", "--profile", "memolith-backup", "--store", store_id], "s3:ListBucket"),
    ):
        denied = run(*words, **(there if words[0] == "create" else {}), **documented.settings)
        assert (denied.returncode, right in denied.stderr) == (7, True), denied.stderr
    s3 = documented.acting("memolith-backup")
    key = f"memolith/today/{store_id}.tar.gz"
    for act in (
        partial(s3.put_object, Bucket="my-backups", Key=key, Body=b"mine"),
        partial(s3.delete_object, Bucket="my-backups", Key=key),
        partial(s3.put_object, Bucket="my-backups", Key=key, Body=b"mine", IfNoneMatch="*"),
    ):
        with pytest.raises(s3.exceptions.ClientError, match=r"AccessDenied|PreconditionFailed"):
            act()
