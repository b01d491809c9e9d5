"""Names follow from a few facts; clients are made once, with nothing left to a default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import boto3
import pytest

from memolith.adapters.aws.clients import Clients, Limits
from memolith.adapters.aws.names import Deployment
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto, make_bucket, make_tables

DEV = Deployment("dev", "123456789012", ("us-east-1", "eu-west-1"), "us-east-1", 2)
SESSION = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")


def test_names_are_those_that_the_stacks_give() -> None:
    assert DEV.bucket() == "memolith-dev-123456789012-us-east-1"
    assert DEV.bucket("eu-west-1") == "memolith-dev-123456789012-eu-west-1"
    assert DEV.table("memories") == "memolith-dev-memories-g2"
    assert DEV.table("memories", 5) == "memolith-dev-memories-g5"
    assert DEV.table("journal", 5) == "memolith-dev-journal"
    assert DEV.function("writer") == "memolith-dev-writer"
    assert (DEV.queue("index"), DEV.dead_letter_queue("index")) == ("memolith-dev-index", "memolith-dev-index-dlq")


def test_a_deployment_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of the deployment's regions"):
        Deployment("dev", "123456789012", ("us-east-1",), "eu-west-1")
    with pytest.raises(ValueError, match="from 1"):
        Deployment("dev", "123456789012", ("us-east-1",), "us-east-1", 0)
    with pytest.raises(ValueError, match="not one of the deployment's regions"):
        DEV.bucket("ap-south-1")


def test_a_client_is_made_once_for_a_region_and_a_number_of_attempts() -> None:
    clients = Clients(session=SESSION)
    assert clients.s3("us-east-1") is clients.s3("us-east-1")
    assert clients.s3("us-east-1") is not clients.s3("eu-west-1")
    assert clients.s3("us-east-1") is not clients.s3("us-east-1", attempts=1)


def test_time_outs_attempts_and_connections_are_said() -> None:
    clients = Clients(limits=Limits(connect_s=1, read_s=2, invoke_s=3, connections=4), session=SESSION)
    once, thrice, function = (
        clients.s3("us-east-1", attempts=1),
        clients.s3("us-east-1"),
        clients.functions("us-east-1"),
    )
    for client, read_s, attempts in ((once, 2, 1), (thrice, 2, 3), (function, 3, 1)):
        config: Any = client.meta.config
        assert (config.connect_timeout, config.read_timeout, config.max_pool_connections) == (1, read_s, 4)
        assert config.retries == {"mode": "standard", "total_max_attempts": attempts}


def test_buckets_are_named_in_the_host_on_aws_and_in_the_path_on_an_emulator() -> None:
    aws = Clients(session=SESSION).s3("us-east-1")
    parameters = {"Bucket": "bucket", "Key": "key"}
    url = aws.generate_presigned_url("get_object", parameters)
    assert url.startswith("https://bucket.s3.") and aws.meta.endpoint_url == "https://s3.us-east-1.amazonaws.com"
    emulator = Clients("http://localhost:4566", session=SESSION).s3("us-east-1")
    assert emulator.generate_presigned_url("get_object", parameters).startswith("http://localhost:4566/bucket/key?")


@pytest.mark.slow
def test_what_the_page_removes_is_every_table_and_the_bucket_of_the_stage_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "deploying.md").read_text()
    (code,) = re.findall(r"```python\n(import boto3\n.*?)```", page, re.DOTALL)
    for placeholder, name in (("STAGE", "test"), ("ACCOUNT", DEPLOYMENT.account), ("REGION", HOME)):
        code = code.replace(f'"{placeholder}"', f'"{name}"')
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with locked_moto() as clients:
        make_bucket(clients, HOME)
        make_tables(clients, (1, 2))
        s3, dynamodb = clients.s3(HOME), clients.dynamodb(HOME)
        dynamodb.update_table(TableName=DEPLOYMENT.table("memories"), DeletionProtectionEnabled=True)
        control: Any = dynamodb.describe_table(TableName="memolith-test-control")["Table"]
        shape = {name: control[name] for name in ("AttributeDefinitions", "KeySchema")}
        dynamodb.create_table(TableName="memolith-test-2-control", BillingMode="PAY_PER_REQUEST", **shape)
        for body in (b"first", b"second"):
            s3.put_object(Bucket=DEPLOYMENT.bucket(), Key="a", Body=body)
        s3.delete_object(Bucket=DEPLOYMENT.bucket(), Key="a")
        exec(code, {})  # noqa: S102 the page's own
        assert dynamodb.list_tables()["TableNames"] == ["memolith-test-2-control"]
        assert s3.list_buckets()["Buckets"] == []
