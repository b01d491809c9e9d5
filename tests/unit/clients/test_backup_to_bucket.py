"""``memolith backup`` with a bucket: what it puts there is what a folder has, and nothing there is overwritten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from memolith.adapters.aws.backup_bucket import BackupBucket
from memolith.clients.cli.failures import Exit
from memolith.clients.transfer import backup
from tests.api.loopback import serving
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_backup import elsewhere, restored_at, stopping
from tests.unit.clients.test_history import history, live, lived

KEPT = "s3://kept/daily/2026-11-22"


class Bucket:
    """The objects of a bucket, of somebody else's account as far as the deployment goes."""

    def __init__(self, s3: Any) -> None:
        self._s3 = s3
        s3.create_bucket(Bucket="kept")

    def objects(self, prefix: str = "daily/2026-11-22/") -> dict[str, bytes]:
        keys = [one["Key"] for one in self._s3.list_objects_v2(Bucket="kept", Prefix=prefix).get("Contents", ())]
        return {key.removeprefix(prefix): self.get(key) for key in keys}

    def get(self, key: str) -> bytes:
        return bytes(self._s3.get_object(Bucket="kept", Key=key)["Body"].read())

    def put(self, key: str, body: bytes) -> None:
        self._s3.put_object(Bucket="kept", Key=key, Body=body)

    def delete(self, key: str) -> None:
        self._s3.delete_object(Bucket="kept", Key=key)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    with mock_aws():
        yield Bucket(boto3.client("s3", "us-east-1"))


@pytest.mark.slow
def test_a_destroyed_deployment_is_restored_from_a_bucket_with_every_store_and_version(
    desk: Desk, bucket: Bucket
) -> None:
    lived(desk)
    desk.json("sessions", "begin", desk.store)
    other = desk.json("stores", "create", "Archived")["id"]
    desk.ok("put", other, "/x.md", typed=b"kept")
    desk.ok("stores", "archive", other, "--yes")
    before = {store: (history(desk, store), live(desk, store)) for store in (desk.store, other)}
    report = desk.json("backup", "create", KEPT, "--records")
    assert report["target"] == KEPT
    files = {f"{store}.{kind}.gz" for store in before for kind in ("tar", "records")}
    assert set(bucket.objects()) == files | {"backup.json"}
    verified = desk.json("backup", "verify", KEPT)
    assert {row["store"]: row["records"] for row in verified} == {desk.store: 1, other: 0}
    made, report = elsewhere(desk, KEPT)
    assert (report["source"], set(made)) == (KEPT, set(before))
    for old, new in made.items():
        assert (history(desk, new), live(desk, new)) == before[old]
    assert desk.backend.client().beta.memory_stores.retrieve(made[other]).archived_at is not None


@pytest.mark.slow
def test_a_store_that_was_erased_comes_back_into_its_deployment_from_a_bucket(desk: Desk, bucket: Bucket) -> None:
    lived(desk)
    before = history(desk, desk.store)
    desk.ok("backup", "create", KEPT, "--store", desk.store)
    desk.ok("stores", "delete", desk.store, "--yes")
    [row] = json.loads(desk.ok("backup", "restore", f"{KEPT}/", "--json"))["stores"]
    assert row["from"] == desk.store != row["store"]
    assert history(desk, row["store"]) == before


@pytest.mark.slow
def test_a_copy_of_a_folder_in_a_bucket_is_a_backup_and_the_other_way_round(desk: Desk, bucket: Bucket) -> None:
    lived(desk)
    before = history(desk, desk.store)
    desk.ok("backup", "create", "saved", "--records")
    for path in Path("saved").iterdir():
        bucket.put(f"copied/{path.name}", path.read_bytes())
    assert desk.json("backup", "verify", "s3://kept/copied") == desk.json("backup", "verify", "saved")
    desk.ok("backup", "create", KEPT, "--records")
    Path("fetched").mkdir()
    for name, body in bucket.objects().items():
        Path("fetched", name).write_bytes(body)
    assert desk.json("backup", "verify", "fetched") == desk.json("backup", "verify", KEPT)
    for source in ("fetched", "s3://kept/copied"):
        made, _ = elsewhere(desk, source)
        assert history(desk, next(iter(made.values()))) == before


@pytest.mark.slow
def test_an_altered_a_missing_and_an_additional_object_are_named(desk: Desk, bucket: Bucket) -> None:
    desk.put("/a.md", "one")
    desk.ok("backup", "create", KEPT)
    key = f"daily/2026-11-22/{desk.store}.tar.gz"
    whole = bucket.get(key)
    bucket.put("daily/2026-11-22/more/x.txt", b"whose?")
    code, out, err = desk.run("backup", "verify", KEPT, "--json")
    assert (code, json.loads(out)[0]["versions"]) == (Exit.IN_PART, 1), "the backup itself is whole"
    assert f"not of the backup, and never restored: {KEPT}/more/x.txt" in err
    bucket.put(key, whole[:40] + bytes((whole[40] ^ 1,)) + whole[41:])
    for command in ("verify", "restore"):
        err = desk.fails(Exit.USAGE, "backup", command, KEPT)
        assert f"s3://kept/{key} is damaged: its SHA-256 or its size" in err
    bucket.delete(key)
    assert f"s3://kept/{key} is damaged: it is missing" in desk.fails(Exit.USAGE, "backup", "verify", KEPT)
    assert len(desk.json("stores", "list")) == 1


@pytest.mark.slow
def test_what_is_altered_between_verification_and_restoration_is_not_restored(desk: Desk, bucket: Bucket) -> None:
    desk.put("/a.md", "one")
    desk.ok("backup", "create", KEPT)
    key = f"daily/2026-11-22/{desk.store}.tar.gz"
    verify = backup.verify

    def then_altered(*given: Any) -> list[str]:
        found = verify(*given)
        bucket.put(key, bucket.get(key)[:-1] + b"x")
        return found

    desk.patch.setattr(backup, "verify", then_altered)
    code, _, err = restored_at(desk, KEPT)
    assert (code, f"{key} is damaged" in err) == (Exit.USAGE, True)


@pytest.mark.slow
def test_a_prefix_with_another_backup_is_refused_and_stays_as_it_is(desk: Desk, bucket: Bucket) -> None:
    desk.put("/a.md", "one")
    desk.ok("backup", "create", KEPT)
    before = bucket.objects()
    desk.put("/b.md", "two")
    assert f"{KEPT} has another backup" in desk.fails(Exit.USAGE, "backup", "create", KEPT)
    assert bucket.objects() == before
    desk.ok("backup", "create", f"{KEPT}-2")
    bucket.put("mine/notes.txt", b"mine")
    assert "must be new or empty" in desk.fails(Exit.USAGE, "backup", "create", "s3://kept/mine")


@pytest.mark.slow
def test_two_backups_at_once_into_one_prefix_overwrite_nothing_of_each_other(desk: Desk, bucket: Bucket) -> None:
    """The second one looks when nothing is there yet, and puts when the first one is done."""
    desk.put("/a.md", "one")
    names = BackupBucket.names

    def then_another(place: BackupBucket) -> Iterator[tuple[str, int]]:
        found = list(names(place))
        desk.patch.setattr(BackupBucket, "names", names)
        desk.ok("backup", "create", KEPT)
        return iter(found)

    desk.patch.setattr(BackupBucket, "names", then_another)
    err = desk.run("backup", "create", KEPT)[2]
    assert f"{KEPT}/{desk.store}.tar.gz was put there meanwhile, by another backup" in err
    assert len(desk.json("backup", "verify", KEPT)) == 1


@pytest.mark.slow
def test_a_backup_that_was_killed_is_none_and_is_repeated_at_another_prefix(desk: Desk, bucket: Bucket) -> None:
    desk.put("/a.md", "one")
    desk.json("stores", "create", "Second")
    put, left = BackupBucket.put_if_absent, [1]

    def killed(*given: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        put(*given)

    desk.patch.setattr(BackupBucket, "put_if_absent", killed)
    code, _, err = desk.run("backup", "create", KEPT)
    assert code != 0
    assert f"{KEPT} has a part of a backup now, and is none without backup.json" in err
    desk.patch.setattr(BackupBucket, "put_if_absent", put)
    assert len(bucket.objects()) == 1
    assert "interrupted one" in desk.fails(Exit.USAGE, "backup", "verify", KEPT)
    assert "a backup that was interrupted" in desk.fails(Exit.USAGE, "backup", "create", KEPT)
    desk.ok("backup", "create", f"{KEPT}-again")
    assert len(desk.json("backup", "verify", f"{KEPT}-again")) == 2


@pytest.mark.slow
def test_a_restoration_from_a_bucket_that_stops_says_how_to_go_on(desk: Desk, bucket: Bucket) -> None:
    lived(desk)
    before = history(desk, desk.store)
    desk.ok("backup", "create", KEPT)
    desk.patch.setattr("memolith.clients.transfer.history.IMPORT_MAX_VERSIONS", 1)
    with serving(stopping(desk.backend)) as port:
        err = desk.run(
            "backup", "restore", KEPT, "--api-url", f"http://127.0.0.1:{port}", "--bucket-owner", "123456789012"
        )[2]
    goes_on = err.partition("to go on: memolith ")[2].split("\n")[0].split()
    assert goes_on[2:5] == [KEPT, "--bucket-owner", "123456789012"]
    assert "then:" not in err
    assert goes_on[-2:] == ["--api-url", f"http://127.0.0.1:{port}"]
    [stored] = desk.json(*goes_on[:-2])["stores"]
    assert history(desk, stored["store"]) == before
    assert len(desk.json("stores", "list")) == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["verify", "s3://absent/x"], Exit.NOT_FOUND, ["region=us-east-1", "object=s3://absent/x", "NoSuchBucket"]),
        (["create", "s3://absent/x"], Exit.NOT_FOUND, ["no such bucket", "docs/operations/backups.md"]),
        (["create", KEPT, "--profile", "nobody"], Exit.KEY, ["no such profile", "list-profiles"]),
        (["verify", KEPT, "--bucket-region", "not a region"], Exit.NOT_FOUND, ["InvalidRegionError", "options"]),
        (["verify", KEPT, "--endpoint-url", "localhost:4566"], Exit.USAGE, ["--endpoint-url", "http://"]),
        (["verify", "s3://kept/nothing/here"], Exit.USAGE, ["s3://kept/nothing/here is no backup"]),
        (["verify", "s3://Kept/x"], Exit.USAGE, ["s3://BUCKET/PREFIX"]),
        (["verify", "s3://kept/a//b"], Exit.USAGE, ["s3://BUCKET/PREFIX"]),
        (["create", "saved", "--kms-key", "alias/x"], Exit.USAGE, ["--kms-key", "bucket"]),
        (["restore", KEPT, "--into", "memstore_x"], Exit.USAGE, ["--into", "exactly one --store"]),
    ],
)
def test_a_place_that_cannot_be_used_is_told_with_what_to_do(
    desk: Desk, bucket: Bucket, words: list[str], code: Exit, said: list[str]
) -> None:
    err = desk.fails(code, "backup", *words)
    assert all(part in err for part in said), err


def test_a_profile_of_the_environment_that_does_not_exist_is_told(desk: Desk, bucket: Bucket) -> None:
    desk.patch.setenv("AWS_PROFILE", "nobody")
    assert "no such profile" in desk.fails(Exit.KEY, "backup", "verify", KEPT)
