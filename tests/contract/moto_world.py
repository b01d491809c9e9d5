"""moto, in this process, made fit for races.

moto 5.2.5 checks a precondition and then puts, and undoes a transaction by putting back a copy of the table, both
without a lock; threads get through in between. So every S3 and DynamoDB operation that Memolith uses takes one lock
here. The lock is checked to be in use before any world is made: a moto that names things otherwise must not pass for
safe.

What moto still does not check, and so no test on it does either: bodies against checksums, the size of metadata, a
409 for a conditional put, the lag of a global index, item and expression sizes, an idempotency token.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import boto3
from moto import mock_aws
from moto.dynamodb.responses import DynamoHandler
from moto.s3.responses import S3Response

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.tables import DynamoTables
from memolith.adapters.memory import ManualClock

HOME, FAR, ABSENT = "us-east-1", "eu-west-1", "ap-south-1"
DEPLOYMENT = Deployment("test", "123456789012", (HOME, FAR, ABSENT), HOME)

_LOCKED: tuple[tuple[type, tuple[str, ...]], ...] = (
    (
        S3Response,
        ("put_object", "get_object", "head_object", "delete_object", "list_objects_v2", "list_object_versions"),
    ),
    (
        DynamoHandler,
        ("put_item", "update_item", "delete_item", "transact_write_items", "batch_get_item", "query"),
    ),
)


class CountedLock:
    """A lock that counts how often it was taken."""

    def __init__(self) -> None:
        self.taken = 0
        self._lock = threading.RLock()

    def around(self, act: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(act)
        def locked(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                self.taken += 1
                return act(*args, **kwargs)

        return locked


@contextmanager
def locked_moto() -> Iterator[Clients]:
    """AWS in memory, empty, behind one lock; boto3 clients to it."""
    clients = _clients()
    with _mocked(CountedLock()):
        yield clients


@contextmanager
def _mocked(lock: CountedLock) -> Iterator[None]:
    with ExitStack() as stack:
        for owner, names in _LOCKED:
            for name in names:
                stack.enter_context(mock.patch.object(owner, name, lock.around(getattr(owner, name))))
        stack.enter_context(mock_aws())
        yield


@functools.cache
def _clients() -> Clients:
    """Made once, because making them takes longer than most tests; and the lock is tried once, before any is used."""
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")
    clients = Clients(session=session)
    lock = CountedLock()
    with _mocked(lock):
        _check_lock(clients, lock)
    return clients


def make_bucket(clients: Clients, region: str) -> None:
    """A versioned bucket, as the stack declares it."""
    name = DEPLOYMENT.bucket(region)
    if region == "us-east-1":
        clients.s3(region).create_bucket(Bucket=name)
    else:
        where: Any = {"LocationConstraint": region}
        clients.s3(region).create_bucket(Bucket=name, CreateBucketConfiguration=where)
    clients.s3(region).put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})


def make_tables(clients: Clients, generations: tuple[int, ...] = (1,)) -> None:
    """The tables of a region, as a rebuild makes them that finds none."""
    tables = DynamoTables(clients, DEPLOYMENT, ManualClock())
    tables.make_lasting()
    for generation in generations:
        tables.make(generation)


def _check_lock(clients: Clients, lock: CountedLock) -> None:
    s3, dynamodb = clients.s3(HOME), clients.dynamodb(HOME)
    s3.create_bucket(Bucket="probe")
    s3.put_object(Bucket="probe", Key="probe", Body=b"", IfNoneMatch="*")
    s3.get_object(Bucket="probe", Key="probe")
    s3.head_object(Bucket="probe", Key="probe")
    s3.list_objects_v2(Bucket="probe")
    s3.list_object_versions(Bucket="probe")
    s3.delete_object(Bucket="probe", Key="probe")
    if lock.taken != 6:
        raise AssertionError(f"the lock around moto's S3 was taken {lock.taken} times, not 6")
    dynamodb.create_table(
        TableName="probe",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    item: Any = {"pk": {"S": "probe"}}
    dynamodb.put_item(TableName="probe", Item=item)
    dynamodb.transact_write_items(TransactItems=[{"Put": {"TableName": "probe", "Item": item}}])
    dynamodb.batch_get_item(RequestItems={"probe": {"Keys": [item]}})
    dynamodb.delete_item(TableName="probe", Key=item)
    if lock.taken != 10:
        raise AssertionError(f"the lock around moto's DynamoDB was taken {lock.taken - 6} times, not 4")
