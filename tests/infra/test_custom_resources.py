"""What runs while the stack deploys: the right call, in the shape that AWS takes, and always an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from infra.constructs.replication import replication_rules
from infra.custom_resources import control_row, replication
from infra.custom_resources.respond import REASON_CHARACTERS_MAX, answer
from infra.deployment import parse
from tests.infra.synthesized import FAR, HERE, THERE, record

FAKE = boto3.Session(region_name=HERE, aws_access_key_id="x", aws_secret_access_key="x")
ROLE = f"arn:aws:iam::111122223333:role/memolith-test-replication-{HERE}"


def as_cloudformation_sends_it(value: Any) -> Any:
    """CloudFormation hands numbers and booleans to a custom resource as text."""
    if isinstance(value, Mapping):
        return {key: as_cloudformation_sends_it(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_cloudformation_sends_it(inner) for inner in value]
    return str(value)


@pytest.mark.parametrize("request_type", ["Create", "Update"])
@pytest.mark.parametrize("time_control", [True, False])
def test_the_rules_reach_s3_in_its_own_types(request_type: str, time_control: bool) -> None:
    deployment = parse(record(HERE, THERE, FAR, replication_time_control=time_control))
    rules = replication_rules(deployment, HERE)
    properties = as_cloudformation_sends_it({"Bucket": "b", "Role": ROLE, "Rules": rules})
    s3 = FAKE.client("s3")
    with Stubber(s3) as stub:
        stub.add_response(
            "put_bucket_replication",
            {},
            {"Bucket": "b", "ReplicationConfiguration": {"Role": ROLE, "Rules": rules}},
        )
        replication.apply(s3, request_type, properties)
        stub.assert_no_pending_responses()


def test_the_rules_go_with_the_stack() -> None:
    s3 = FAKE.client("s3")
    with Stubber(s3) as stub:
        stub.add_response("delete_bucket_replication", {}, {"Bucket": "b"})
        replication.apply(s3, "Delete", {"Bucket": "b", "Role": ROLE, "Rules": []})
        stub.assert_no_pending_responses()


def test_a_bucket_that_is_gone_does_not_hold_the_stack() -> None:
    s3 = FAKE.client("s3")
    with Stubber(s3) as stub:
        stub.add_client_error("delete_bucket_replication", "NoSuchBucket", http_status_code=404)
        replication.apply(s3, "Delete", {"Bucket": "b", "Role": ROLE, "Rules": []})
        stub.assert_no_pending_responses()


BUCKETS = [{"Region": HERE, "Name": "here"}, {"Region": THERE, "Name": "there"}]
ROW = {"Buckets": BUCKETS, "Table": "t", "Generation": "3"}


def region_with(objects: int, name: str) -> Any:
    """A region's S3 whose one bucket holds so many objects."""
    s3 = FAKE.client("s3")
    stub = Stubber(s3)
    stub.add_response("list_objects_v2", {"KeyCount": objects}, {"Bucket": name, "MaxKeys": 1})
    stub.activate()
    return s3


@pytest.mark.parametrize(("here", "there", "complete"), [(0, 0, True), (1, 0, False), (0, 1, False)])
def test_the_first_row_is_complete_only_where_no_region_holds_anything(here: int, there: int, complete: bool) -> None:
    regions = {HERE: region_with(here, "here"), THERE: region_with(there, "there")}
    dynamodb = FAKE.client("dynamodb")
    row = {"pk": {"S": "control"}, "sk": {"S": "index"}, "serving": {"N": "3"}, "complete": {"BOOL": complete}}
    with Stubber(dynamodb) as put:
        put.add_response(
            "put_item",
            {},
            {"TableName": "t", "Item": row, "ConditionExpression": "attribute_not_exists(pk)"},
        )
        control_row.apply(regions.__getitem__, dynamodb, "Create", ROW)
        put.assert_no_pending_responses()


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_a_row_that_is_there_is_left_alone(request_type: str) -> None:
    regions = {HERE: region_with(0, "here"), THERE: region_with(0, "there")}
    dynamodb = FAKE.client("dynamodb")
    with Stubber(dynamodb) as put:
        put.add_client_error("put_item", "ConditionalCheckFailedException", http_status_code=400)
        control_row.apply(regions.__getitem__, dynamodb, request_type, ROW)
        put.assert_no_pending_responses()


def test_the_row_stays_when_the_stack_goes() -> None:
    with Stubber(dynamodb := FAKE.client("dynamodb")):
        control_row.apply(lambda region: pytest.fail(region), dynamodb, "Delete", ROW)


EVENT = {
    "RequestType": "Update",
    "ResponseURL": "https://answers.invalid/here",
    "StackId": "stack",
    "RequestId": "request",
    "LogicalResourceId": "resource",
    "ResourceProperties": {"Bucket": "b"},
}


def answered(act: Any, pause: Callable[[float], None] = lambda seconds: None) -> dict[str, Any]:
    sent: list[tuple[str, bytes]] = []
    answer(EVENT, "it", act, lambda url, body: sent.append((url, body)), pause)
    ((url, body),) = sent
    assert url == EVENT["ResponseURL"]
    said: dict[str, Any] = json.loads(body)
    return said


def test_success_is_answered_under_the_same_name_as_ever() -> None:
    seen: list[tuple[str, Mapping[str, Any]]] = []
    assert answered(lambda request, properties: seen.append((request, properties))) == {
        "Status": "SUCCESS",
        "Reason": "",
        "PhysicalResourceId": "it",
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "resource",
    }
    assert seen == [("Update", {"Bucket": "b"})]


def test_every_failure_is_answered_with_its_reason() -> None:
    def fail(_request: str, _properties: Mapping[str, Any]) -> None:
        raise LookupError("x" * 5_000)

    said = answered(fail)
    assert said["Status"] == "FAILED"
    assert said["Reason"].startswith("LookupError: xxx")
    assert len(said["Reason"]) == REASON_CHARACTERS_MAX


def denied(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "not authorized"}}, "PutItem")


@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException"])
def test_what_a_role_made_seconds_ago_may_not_do_yet_is_tried_again(code: str) -> None:
    refusals, pauses = [denied(code), denied(code)], list[float]()

    def act(_request: str, _properties: Mapping[str, Any]) -> None:
        if refusals:
            raise refusals.pop()

    assert answered(act, pauses.append)["Status"] == "SUCCESS"
    assert len(pauses) == 2


def test_what_is_still_denied_after_a_minute_is_answered_with_its_reason() -> None:
    pauses = list[float]()

    def act(_request: str, _properties: Mapping[str, Any]) -> None:
        raise denied("AccessDenied")

    said = answered(act, pauses.append)
    assert said["Status"] == "FAILED"
    assert "AccessDenied" in said["Reason"]
    assert 55 <= sum(pauses) <= 65


def test_another_error_of_aws_is_answered_at_once() -> None:
    def act(_request: str, _properties: Mapping[str, Any]) -> None:
        raise denied("NoSuchBucket")

    assert answered(act, lambda seconds: pytest.fail("waited"))["Status"] == "FAILED"
