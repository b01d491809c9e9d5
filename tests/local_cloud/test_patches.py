"""Each patch of the emulator does what it is there for, seen from outside through the public APIs."""

from __future__ import annotations

import io
import json
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from scripts.local_cloud import emulator
from scripts.local_cloud.aws import CONFIG, Clients
from scripts.local_cloud.emulator_main import apply_all
from scripts.local_cloud.layout import Layout
from scripts.local_cloud.patches import Patch, PatchMissing, need
from scripts.local_cloud.patches.condition_keys import put_object_keys, role_of
from scripts.local_cloud.processes import ProcessFiles
from tests.local_cloud.conftest import until

ACCOUNT = "000000000000"
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "lambda.amazonaws.com", "AWS": f"arn:aws:iam::{ACCOUNT}:root"},
                "Action": "sts:AssumeRole",
            }
        ],
    }
)


@pytest.fixture(scope="module")
def enforcing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    """Clients of an emulator that checks every policy."""
    layout = Layout(tmp_path_factory.mktemp("enforcing"))
    processes = ProcessFiles(layout.processes, str(layout.home))
    try:
        started = emulator.start(layout, processes, enforce_iam=True)
        assert started.missing_patches == {}
        yield Clients(started.endpoint)
    finally:
        emulator.stop(layout, processes)


def as_role(
    clients: Clients, name: str, actions: list[str], condition: Any = None, service: str = "s3", resource: str = "*"
) -> Any:
    """A client of a role that may do these actions on everything, or what is named, under the condition if any."""
    iam, sts = clients.client("iam", "us-east-1"), clients.client("sts", "us-east-1")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=TRUST)["Role"]["Arn"]
    statement = {"Effect": "Allow", "Action": actions, "Resource": resource, "Condition": condition or {}}
    allowed = {"Version": "2012-10-17", "Statement": [statement]}
    iam.put_role_policy(RoleName=name, PolicyName="grants", PolicyDocument=json.dumps(allowed))
    given = sts.assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
    session = boto3.Session(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], "us-east-1")
    make: Any = session.client
    return make(service, endpoint_url=clients.endpoint, config=CONFIG)


@pytest.fixture(scope="module")
def guarded(enforcing: Clients) -> str:
    """A bucket with the policy that Memolith's buckets have: TLS, conditional puts, deletes by the eraser alone."""
    name = "guarded"
    s3 = enforcing.s3("us-east-1")
    s3.create_bucket(Bucket=name)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    arn = f"arn:aws:s3:::{name}"
    eraser = {"ArnNotLike": {"aws:PrincipalArn": [f"arn:aws:iam::{ACCOUNT}:role/the-eraser"]}}
    unconditional = {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}}
    rules: list[tuple[str, list[str], str, dict[str, Any]]] = [
        ("Tls", ["s3:*"], "/*", {"Bool": {"aws:SecureTransport": "false"}}),
        ("Put", ["s3:PutObject"], "/*/log/*", {**eraser, **unconditional}),
        ("Delete", ["s3:DeleteObject", "s3:DeleteObjectVersion"], "/*/log/*", eraser),
    ]
    statements = [
        {
            "Sid": sid,
            "Effect": "Deny",
            "Principal": "*",
            "Action": actions,
            "Resource": arn + resource,
            "Condition": condition,
        }
        for sid, actions, resource, condition in rules
    ]
    s3.put_bucket_policy(Bucket=name, Policy=json.dumps({"Version": "2012-10-17", "Statement": statements}))
    return name


@pytest.mark.slow
def test_a_policy_that_requires_conditional_puts_takes_them_and_refuses_others(
    enforcing: Clients, guarded: str
) -> None:
    writer = as_role(enforcing, "a-writer", ["s3:PutObject", "s3:DeleteObject*"])
    writer.put_object(Bucket=guarded, Key="us-east-1/log/a", Body=b"x", IfNoneMatch="*")
    writer.put_object(Bucket=guarded, Key="us-east-1/other/a", Body=b"x")
    with pytest.raises(ClientError, match="AccessDenied"):
        writer.put_object(Bucket=guarded, Key="us-east-1/log/b", Body=b"x")
    with pytest.raises(ClientError, match="AccessDenied"):
        writer.delete_object(Bucket=guarded, Key="us-east-1/log/a")


def test_a_policy_that_exempts_a_role_by_its_arn_exempts_the_roles_sessions(enforcing: Clients, guarded: str) -> None:
    eraser = as_role(enforcing, "the-eraser", ["s3:PutObject", "s3:DeleteObject*"])
    put = eraser.put_object(Bucket=guarded, Key="us-east-1/log/blanked", Body=b"")
    eraser.put_object(Bucket=guarded, Key="us-east-1/log/blanked", Body=b"")
    eraser.delete_object(Bucket=guarded, Key="us-east-1/log/blanked", VersionId=put["VersionId"])


def test_a_permission_for_some_partitions_of_a_table_is_none_for_the_others(enforcing: Clients) -> None:
    enforcing.dynamodb("us-east-1").create_table(
        TableName="control",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["rebuild#*"]}}
    noting = as_role(enforcing, "a-noter", ["dynamodb:PutItem"], condition, service="dynamodb")
    noting.put_item(TableName="control", Item={"pk": {"S": "rebuild#1"}})
    with pytest.raises(ClientError, match="AccessDenied"):
        noting.put_item(TableName="control", Item={"pk": {"S": "control"}})


def test_a_permission_for_the_key_behind_an_alias_is_none_for_other_keys(enforcing: Clients) -> None:
    kms = enforcing.client("kms", "us-east-1")
    for alias in ("alias/mine", "alias/others"):
        made = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
        kms.create_alias(AliasName=alias, TargetKeyId=made)
    condition = {"ForAnyValue:StringEquals": {"kms:ResourceAliases": "alias/mine"}}
    resource = f"arn:aws:kms:us-east-1:{ACCOUNT}:key/*"
    signer = as_role(enforcing, "a-signer", ["kms:Sign"], condition, service="kms", resource=resource)
    asked = {"Message": b"x", "MessageType": "RAW", "SigningAlgorithm": "ECDSA_SHA_256"}
    assert signer.sign(KeyId="alias/mine", **asked)["Signature"]
    with pytest.raises(ClientError, match="AccessDenied"):
        signer.sign(KeyId="alias/others", **asked)


def test_a_batch_of_messages_asks_for_the_permission_of_one(enforcing: Clients) -> None:
    """As on AWS: there is no action named after a batch."""
    url = enforcing.client("sqs", "us-east-1").create_queue(QueueName="batches")["QueueUrl"]
    entries = [{"Id": "0", "MessageBody": "a"}, {"Id": "1", "MessageBody": "b"}]
    sender = as_role(enforcing, "a-sender", ["sqs:SendMessage"], service="sqs")
    assert len(sender.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == 2
    reader = as_role(enforcing, "a-reader", ["sqs:ReceiveMessage", "sqs:DeleteMessage"], service="sqs")
    with pytest.raises(ClientError, match="AccessDenied"):
        reader.send_message_batch(QueueUrl=url, Entries=entries)
    received = reader.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    handles = [{"Id": str(number), "ReceiptHandle": one["ReceiptHandle"]} for number, one in enumerate(received)]
    assert len(reader.delete_message_batch(QueueUrl=url, Entries=handles)["Successful"]) == len(received) > 0
    with pytest.raises(ClientError, match="AccessDenied"):
        as_role(enforcing, "a-fiction", ["sqs:SendMessageBatch"], service="sqs").send_message_batch(
            QueueUrl=url, Entries=entries
        )


def test_the_condition_keys_of_a_put_are_those_of_its_headers() -> None:
    assert put_object_keys({}, {"if-none-match": "*"}) == {
        "s3:ObjectCreationOperation": "true",
        "s3:if-none-match": "*",
    }
    assert put_object_keys({"partNumber": "1"}, {}) == {"s3:ObjectCreationOperation": "false"}


def test_a_sessions_arn_becomes_its_roles_and_others_stay() -> None:
    assert role_of("arn:aws:sts::123456789012:assumed-role/writer/session") == "arn:aws:iam::123456789012:role/writer"
    assert role_of("arn:aws:iam::123456789012:user/me") == "arn:aws:iam::123456789012:user/me"


HANDLER = """
import os, sys
def handler(event, context):
    found = []
    for name in ("boto3", "moto", "pytest", "scripts", "memolith", "from_the_layer"):
        try:
            __import__(name)
            found.append(name)
        except ImportError:
            pass
    return {"found": found, "names": sorted(os.environ), "level": os.environ.get("LOG_LEVEL")}
"""


def zipped(**files: str) -> bytes:
    """A zip of text files; ``__`` in a name stands for a slash."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/") + ".py", text)
    return made.getvalue()


def create(clients: Clients, name: str, handler: str, region: str = "us-east-1", **more: Any) -> None:
    """A function of one file, on the emulator without IAM."""
    functions = clients.client("lambda", region)
    functions.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=f"arn:aws:iam::{ACCOUNT}:role/any",
        Handler="handler.handler",
        Code={"ZipFile": zipped(handler=handler)},
        Timeout=30,
        **more,
    )


def call(clients: Clients, name: str, region: str = "us-east-1") -> Any:
    """Invoke and parse the answer."""
    answer = clients.client("lambda", region).invoke(FunctionName=name, Payload=b"{}")
    assert "FunctionError" not in answer
    return json.load(answer["Payload"])


def test_a_function_finds_boto3_and_its_layers_but_nothing_of_this_projects_environment(clients: Clients) -> None:
    layer = clients.client("lambda", "us-east-1").publish_layer_version(
        LayerName="packages", Content={"ZipFile": zipped(python__from_the_layer="VALUE = 1")}
    )
    create(clients, "bare", HANDLER, Layers=[layer["LayerVersionArn"]])
    assert call(clients, "bare")["found"] == ["boto3", "from_the_layer"]


def test_a_function_sees_no_variable_of_the_host_or_the_emulator_and_keeps_its_own(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(clients, "variables", HANDLER, Environment={"Variables": {"LOG_LEVEL": "DEBUG"}})
    answer = call(clients, "variables")
    assert answer["level"] == "DEBUG"
    leaked = {"AUTH", "BIND_HOST", "GATEWAY_PORT", "S3_DATA_DIR", "USER", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST"}
    assert leaked.isdisjoint(answer["names"])


def test_a_warm_call_of_a_function_that_logs_nothing_does_not_wait_for_its_log(clients: Clients) -> None:
    create(clients, "quiet", "def handler(event, context):\n    return 1\n")
    call(clients, "quiet")
    took = []
    for _ in range(20):
        began = time.perf_counter()
        call(clients, "quiet")
        took.append(time.perf_counter() - began)
    # Unpatched, every one of them takes more than 50 ms.
    assert min(took) < 0.040


@pytest.mark.slow
def test_making_a_function_in_one_region_leaves_its_twins_running_call_alone(clients: Clients) -> None:
    from concurrent.futures import ThreadPoolExecutor

    stack = {
        "Resources": {
            "Twin": {
                "Type": "AWS::Lambda::Function",
                "Properties": {
                    "FunctionName": "twin",
                    "Runtime": "python3.13",
                    "Handler": "index.handler",
                    "Role": f"arn:aws:iam::{ACCOUNT}:role/any",
                    "Code": {"ZipFile": "def handler(event, context):\n    return 1\n"},
                },
            }
        }
    }
    create(clients, "twin", "import time\ndef handler(event, context):\n    time.sleep(1.5)\n    return 'whole'\n")
    with ThreadPoolExecutor() as pool:
        running = pool.submit(call, clients, "twin")
        cloudformation = clients.cloudformation("eu-west-1")
        cloudformation.create_stack(StackName="twin", TemplateBody=json.dumps(stack))
        cloudformation.get_waiter("stack_create_complete").wait(
            StackName="twin", WaiterConfig={"Delay": 1, "MaxAttempts": 30}
        )
        assert running.result(timeout=20) == "whole"


def test_a_patch_whose_target_is_gone_is_reported_with_its_consequence(capsys: pytest.CaptureFixture[str]) -> None:
    def cannot() -> None:
        need(json, "loads", "no_such_function")

    missing = apply_all((Patch("example", "something is wrong", cannot),))
    assert missing == {"example": "json has no no_such_function: something is wrong"}
    assert "PATCH NOT APPLIED example" in capsys.readouterr().err
    with pytest.raises(PatchMissing):
        cannot()


def test_a_stack_takes_over_a_bucket_that_it_imports_and_no_other(clients: Clients) -> None:
    bucket = {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain", "Properties": {"BucketName": "kept"}}
    template = {"Resources": {"Kept": bucket}}
    clients.s3("us-east-1").create_bucket(Bucket="kept")
    clients.s3("us-east-1").put_object(Bucket="kept", Key="a", Body=b"x")
    cloudformation = clients.cloudformation("us-east-1")

    def create(stack: str, *, adopting: bool) -> str:
        cloudformation.create_change_set(
            StackName=stack,
            ChangeSetName="it",
            ChangeSetType="CREATE",
            TemplateBody=json.dumps(template),
            ImportExistingResources=adopting,
        )
        cloudformation.get_waiter("change_set_create_complete").wait(
            StackName=stack, ChangeSetName="it", WaiterConfig={"Delay": 1, "MaxAttempts": 30}
        )
        cloudformation.execute_change_set(StackName=stack, ChangeSetName="it")
        status = ""

        def settled() -> bool:
            nonlocal status
            status = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
            return not status.endswith("IN_PROGRESS")

        until(settled, "the stack has settled")
        return status

    assert create("refused", adopting=False) != "CREATE_COMPLETE"
    assert create("adopting", adopting=True) == "CREATE_COMPLETE"
    assert clients.s3("us-east-1").list_objects_v2(Bucket="kept")["KeyCount"] == 1


def test_a_stack_has_alarms_on_expressions_too(clients: Clients) -> None:
    stat = {"Metric": {"Namespace": "AWS/SQS", "MetricName": "NumberOfMessagesSent"}, "Period": 60, "Stat": "Sum"}
    alarm = {
        "AlarmName": "on-an-expression",
        "AlarmDescription": "what it means",
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "Metrics": [
            {"Id": "sent", "MetricStat": stat, "ReturnData": False},
            {"Id": "doubled", "Expression": "sent * 2", "ReturnData": True},
        ],
    }
    template = {"Resources": {"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm}}}
    cloudformation = clients.cloudformation("us-east-1")
    cloudformation.create_stack(StackName="expressions", TemplateBody=json.dumps(template))
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName="expressions", WaiterConfig={"Delay": 1, "MaxAttempts": 30}
    )
    alarms = clients.client("cloudwatch", "us-east-1").describe_alarms(AlarmNames=["on-an-expression"])
    (made,) = alarms["MetricAlarms"]
    assert (made["AlarmDescription"], made["StateValue"]) == ("what it means", "INSUFFICIENT_DATA")


@pytest.mark.slow
def test_an_apis_event_names_the_host_that_was_asked(clients: Clients) -> None:
    create(clients, "asked", "def handler(event, context):\n    return event['requestContext']['domainName']\n")
    lambdas = clients.functions("us-east-1")
    function = lambdas.get_function_configuration(FunctionName="asked")["FunctionArn"]
    apis: Any = clients.client("apigatewayv2", "us-east-1")
    api = apis.create_api(Name="asked", ProtocolType="HTTP")["ApiId"]
    integration = apis.create_integration(
        ApiId=api, IntegrationType="AWS_PROXY", IntegrationUri=function, PayloadFormatVersion="2.0"
    )
    apis.create_route(ApiId=api, RouteKey="GET /", Target=f"integrations/{integration['IntegrationId']}")
    apis.create_stage(ApiId=api, StageName="$default", AutoDeploy=True)
    with urllib.request.urlopen(f"{clients.endpoint}/_aws/execute-api/{api}/$default/", timeout=60) as answer:  # noqa: S310 - our own address
        assert f"http://{answer.read().decode()}" == clients.endpoint
