"""Ours: each function is denied what its row of the design does not name: tried as the function, not read."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

pytestmark = pytest.mark.e2e

FUNCTIONS = ("reader", "writer", "indexer", "eraser", "scanner")
DENIED = ("AccessDenied", "AccessDeniedException", "AllAccessDenied", "403", "InvalidAccess")


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

    def client(self, service: str) -> Any:
        return boto3.client(
            service,  # type: ignore[call-overload]
            self._region,
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


@pytest.fixture(params=FUNCTIONS)
def function(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def acting(dev: dict[str, Any], regions: tuple[str, ...], function: str) -> Acting:
    return Acting(dev, regions[0], function)


@pytest.fixture(autouse=True)
def enforced(dev: dict[str, Any], regions: tuple[str, ...]) -> None:
    """Without enforcement these tests would prove nothing: a cloud brought up by hand needs ``--enforce-iam``."""
    stranger = Acting(dev, regions[0], "reader").client("iam")
    assert not allowed(stranger.list_users), "IAM is not enforced; start it with: cairn dev up --enforce-iam"


def test_only_the_writer_puts_into_the_log_and_only_where_nothing_is(
    acting: Acting, function: str, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    put, bucket = acting.client("s3").put_object, dev["regions"][regions[0]]["bucket"]
    key = f"{regions[0]}/log/memstore_tried/{'0' * 64}/0001-0.{hash(function) % 10**10:010d}"
    assert allowed(put, Bucket=bucket, Key=key, Body=b"", IfNoneMatch="*") == (function in ("writer", "eraser"))
    assert allowed(put, Bucket=bucket, Key=key, Body=b"") == (function == "eraser")
    other = key.replace(regions[0], regions[1], 1)
    assert not allowed(put, Bucket=bucket, Key=other, Body=b"", IfNoneMatch="*") or function == "eraser"
    elsewhere = dev["regions"][regions[1]]["bucket"]
    assert not allowed(put, Bucket=elsewhere, Key=key, Body=b"", IfNoneMatch="*")


def test_only_the_eraser_deletes_versions_and_only_here(
    acting: Acting, function: str, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    delete = acting.client("s3").delete_object
    key = f"{regions[0]}/log/memstore_tried/{'1' * 64}/0001-0.0000000001"
    here, elsewhere = (dev["regions"][region]["bucket"] for region in regions[:2])
    assert allowed(delete, Bucket=here, Key=key, VersionId="null") == (function == "eraser")
    assert not allowed(delete, Bucket=elsewhere, Key=key, VersionId="null")


def test_the_reader_writes_no_row(acting: Acting, function: str, dev: dict[str, Any], regions: tuple[str, ...]) -> None:
    item = {"pk": {"S": "tried"}, "sk": {"S": "tried"}}
    put, table = acting.client("dynamodb").put_item, dev["regions"][regions[0]]["tables"]["memories"]
    assert allowed(put, TableName=table, Item=item) == (function in ("writer", "indexer"))
    acting.client("dynamodb").get_item(TableName=table, Key=item)


def test_nobody_touches_what_is_not_cairns(acting: Acting) -> None:
    assert not allowed(acting.client("iam").list_users)
    assert not allowed(acting.client("s3").put_bucket_policy, Bucket="cairn-dev-000000000000-us-east-1", Policy="{}")
    assert not allowed(acting.client("dynamodb").delete_table, TableName="cairn-dev-memories-g1")


def test_functions_invoke_only_whom_their_row_names(
    acting: Acting, function: str, dev: dict[str, Any], regions: tuple[str, ...]
) -> None:
    invoke = acting.client("lambda").invoke
    names = dev["regions"][regions[0]]["functions"]
    may = {"reader": {"indexer"}, "writer": {"eraser"}, "indexer": {"writer", "eraser"}}.get(function, set())
    for target in FUNCTIONS:
        reached = allowed(invoke, FunctionName=names[target], InvocationType="DryRun")
        assert reached == (target in may), f"{function} -> {target}"
