"""Ours: each function is denied what its row of the design does not name: tried as the function, not read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from infra.deployment import FUNCTIONS
from memolith.adapters.aws.clients import Clients

pytestmark = pytest.mark.e2e

DENIED = ("AccessDenied", "AccessDeniedException", "AllAccessDenied", "403", "InvalidAccess")


@dataclass(frozen=True, slots=True)
class Row:
    """What docs/security.md lets a function do, as far as it is tried here; everything else is refused.

    Attributes:
        puts: the prefixes under which it puts log entries, only where nothing is: its own region's, or any.
        puts_there: copies log entries into the other regions' buckets, only where nothing is, and never under
            the prefix of the region whose bucket it is.
        overwrites: puts where something is, and deletes versions.
        invokes, invokes_there: functions of its own region, and of the others.
        secrets: by the last part of their names.
    """

    reads_objects: bool = True
    reads_index: bool = True
    writes_index: bool = False
    puts: Literal["nothing", "own", "any"] = "nothing"
    puts_there: bool = False
    overwrites: bool = False
    invokes: frozenset[str] = frozenset()
    invokes_there: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()


VERIFYING, GATEWAY = frozenset({"verification"}), frozenset({"gateway"})
SIGNING = VERIFYING | {"signing"}
ROWS = {
    "reader": Row(invokes=frozenset({"indexer", "packer"}), invokes_there=frozenset({"peerreader"}), secrets=VERIFYING),
    "peerreader": Row(invokes=frozenset({"indexer", "packer"}), invokes_there=frozenset({"peerreader"})),
    "writer": Row(
        writes_index=True,
        puts="own",
        puts_there=True,
        invokes=frozenset({"eraser"}),
        invokes_there=frozenset({"peerwriter"}),
        secrets=SIGNING,
    ),
    "peerwriter": Row(
        writes_index=True,
        puts="own",
        puts_there=True,
        invokes=frozenset({"eraser"}),
        invokes_there=frozenset({"peerwriter"}),
    ),
    "dreamer": Row(
        writes_index=True,
        puts="own",
        puts_there=True,
        invokes=frozenset({"eraser"}),
        invokes_there=frozenset({"peerwriter"}),
    ),
    "keys": Row(),
    "indexer": Row(writes_index=True, invokes=frozenset({"peerwriter", "eraser"})),
    "scanner": Row(),
    "packer": Row(invokes=frozenset({"eraser"})),
    "reconciler": Row(
        writes_index=True,
        puts="any",
        invokes=frozenset({"peerwriter", "eraser"}),
        invokes_there=frozenset({"peerwriter", "reconciler"}),
    ),
    "tool": Row(reads_objects=False, reads_index=False, invokes=frozenset({"reader", "writer"}), secrets=GATEWAY),
    "mcp": Row(reads_objects=False, reads_index=False, invokes=frozenset({"reader", "writer"})),
    "eraser": Row(puts="any", overwrites=True),
}


class Acting:
    """Clients with the credentials of one function's role in one region."""

    def __init__(self, dev: dict[str, Any], region: str, function: str) -> None:
        self._endpoint, self._region = dev["endpoint"], region
        root = boto3.client(
            "lambda", region, endpoint_url=self._endpoint, aws_access_key_id="test", aws_secret_access_key="test"
        )
        role = root.get_function_configuration(FunctionName=dev["regions"][region]["functions"][function])["Role"]
        sts = boto3.client(
            "sts", region, endpoint_url=self._endpoint, aws_access_key_id="test", aws_secret_access_key="test"
        )
        self._credentials = sts.assume_role(RoleArn=role, RoleSessionName="tried")["Credentials"]

    def client(self, service: str, region: str | None = None) -> Any:
        return boto3.client(
            service,  # type: ignore[call-overload]  # the service is a variable
            region or self._region,
            endpoint_url=self._endpoint,
            aws_access_key_id=self._credentials["AccessKeyId"],
            aws_secret_access_key=self._credentials["SecretAccessKey"],
            aws_session_token=self._credentials["SessionToken"],
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
        )


def allowed(call: Any, **parameters: Any) -> bool:
    """Whether IAM lets a call through; any other refusal means that it did."""
    try:
        call(**parameters)
    except ClientError as error:
        code = error.response["Error"]["Code"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return not (code in DENIED or status == 403)
    return True


@pytest.fixture(params=ROWS)
def function(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def row(function: str) -> Row:
    return ROWS[function]


@pytest.fixture
def acting(dev: dict[str, Any], regions: tuple[str, ...], function: str) -> Acting:
    return Acting(dev, regions[0], function)


@pytest.fixture(scope="module", autouse=True)
def enforced(dev: dict[str, Any], regions: tuple[str, ...]) -> None:
    """Without enforcement these tests would prove nothing: a cloud brought up by hand needs ``--enforce-iam``."""
    stranger = Acting(dev, regions[0], "reader").client("iam")
    assert not allowed(stranger.list_users), "IAM is not enforced; start it with: memolith dev up --enforce-iam"


@pytest.fixture(scope="module")
def gateways(aws: Clients, regions: tuple[str, ...]) -> Iterator[str]:
    """The secret that an operator makes for gateways: an empty one."""
    secrets, name = aws.secrets(regions[0]), "memolith-dev-gateway"
    made = secrets.create_secret(Name=name, SecretString="{}")["ARN"]
    yield made
    secrets.delete_secret(SecretId=made, ForceDeleteWithoutRecovery=True)


def test_there_is_a_row_for_every_function(dev: dict[str, Any], regions: tuple[str, ...]) -> None:
    assert set(FUNCTIONS) == set(ROWS) <= set(dev["regions"][regions[0]]["functions"])


def test_objects_are_put_only_where_the_row_says_and_only_where_nothing_is(
    acting: Acting, function: str, row: Row, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    put, bucket = acting.client("s3").put_object, dev["regions"][regions[0]]["bucket"]
    name = f"log/memstore_tried/{'0' * 64}/0001-0.{list(ROWS).index(function) + 1:010d}"
    own, others = f"{regions[0]}/{name}", f"{regions[1]}/{name}"
    assert allowed(put, Bucket=bucket, Key=own, Body=b"", IfNoneMatch="*") == (row.puts != "nothing")
    assert allowed(put, Bucket=bucket, Key=others, Body=b"", IfNoneMatch="*") == (row.puts == "any")
    assert allowed(put, Bucket=bucket, Key=own, Body=b"") == row.overwrites
    elsewhere = dev["regions"][regions[1]]["bucket"]
    assert allowed(put, Bucket=elsewhere, Key=own, Body=b"", IfNoneMatch="*") == row.puts_there
    assert not allowed(put, Bucket=elsewhere, Key=others, Body=b"", IfNoneMatch="*"), "it would be replicated onward"
    assert not allowed(put, Bucket=elsewhere, Key=own, Body=b"")


def test_only_the_eraser_deletes_versions_and_only_here(
    acting: Acting, row: Row, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    delete = acting.client("s3").delete_object
    key = f"{regions[0]}/log/memstore_tried/{'1' * 64}/0001-0.0000000001"
    here, elsewhere = (dev["regions"][region]["bucket"] for region in regions[:2])
    assert allowed(delete, Bucket=here, Key=key, VersionId="null") == row.overwrites
    assert not allowed(delete, Bucket=elsewhere, Key=key, VersionId="null")


def test_the_ways_in_read_neither_objects_nor_rows(
    acting: Acting, row: Row, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    here = dev["regions"][regions[0]]
    s3, dynamodb = acting.client("s3"), acting.client("dynamodb")
    key = {"pk": {"S": "tried"}, "sk": {"S": "tried"}}
    assert allowed(s3.get_object, Bucket=here["bucket"], Key=f"{regions[0]}/log/none") == row.reads_objects
    assert allowed(s3.list_objects_v2, Bucket=here["bucket"], MaxKeys=1) == row.reads_objects
    for table in ("memories", "versions", "keys", "control"):
        assert allowed(dynamodb.get_item, TableName=here["tables"][table], Key=key) == row.reads_index, table


def test_rows_are_put_only_by_who_writes_the_index(
    acting: Acting, row: Row, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    item = {"pk": {"S": "tried"}, "sk": {"S": "tried"}}
    put, table = acting.client("dynamodb").put_item, dev["regions"][regions[0]]["tables"]["memories"]
    assert allowed(put, TableName=table, Item=item) == row.writes_index


def test_nobody_touches_what_is_not_memoliths(acting: Acting, dev: dict[str, Any], regions: tuple[str, ...]) -> None:
    here = dev["regions"][regions[0]]
    assert not allowed(acting.client("iam").list_users)
    assert not allowed(acting.client("s3").put_bucket_policy, Bucket=here["bucket"], Policy="{}")
    assert not allowed(acting.client("dynamodb").delete_table, TableName=here["tables"]["memories"])


def test_secrets_are_read_by_who_needs_them(acting: Acting, row: Row, gateways: str) -> None:
    read = acting.client("secretsmanager").get_secret_value
    assert allowed(read, SecretId=gateways) == ("gateway" in row.secrets)
    for name in ("signing", "verification"):
        assert allowed(read, SecretId=f"memolith-dev-{name}") == (name in row.secrets), name


def test_functions_invoke_only_whom_their_row_names(
    acting: Acting, function: str, row: Row, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    for region, may in ((regions[0], row.invokes), (regions[1], row.invokes_there)):
        invoke = acting.client("lambda", region).invoke
        for target in ROWS:
            name = dev["regions"][region]["functions"][target]
            reached = allowed(invoke, FunctionName=name, InvocationType="DryRun")
            assert reached == (target in may), f"{function} -> {target} in {region}"
