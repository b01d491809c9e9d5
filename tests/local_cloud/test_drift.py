"""What is asked for and missing is found; what is there is not complained of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.drift.compare import compare
from scripts.local_cloud.drift.differences import UNKNOWN, fits, resolved


@pytest.mark.parametrize(
    ("asked", "there", "fitting"),
    [
        (5, "5", True),
        (True, "true", True),
        (1.0, 1, True),
        (5, None, False),
        ({"A": 1}, {"A": 1, "B": 2}, True),
        ({"A": 1}, {"B": 2}, False),
        ({"A": {"B": 1}}, {"A": {"B": 2}}, False),
        ([1, 2], [2, 1, 3], True),
        ([1, 4], [1, 2], False),
        (UNKNOWN, "anything", True),
        (UNKNOWN, None, False),
        ({"Rules": [{"Id": "a"}]}, None, False),
    ],
)
def test_what_is_there_fits_if_it_has_at_least_what_was_asked_for(asked: Any, there: Any, fitting: bool) -> None:
    assert fits(asked, there) is fitting


def test_references_are_resolved_as_far_as_they_are_known() -> None:
    known = {"Queue": "the-url", "AWS::Region": "eu-west-1"}
    value = {
        "Url": {"Ref": "Queue"},
        "Arn": {"Fn::Join": [":", ["arn", {"Ref": "AWS::Region"}]]},
        "Other": {"Fn::GetAtt": ["Queue", "Arn"]},
        "List": [{"Ref": "Unknown"}, 1],
    }
    assert resolved(value, known) == {"Url": "the-url", "Arn": "arn:eu-west-1", "Other": UNKNOWN, "List": [UNKNOWN, 1]}


QUEUE = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "drift", "VisibilityTimeout": 77}}
BUCKET = {
    "Type": "AWS::S3::Bucket",
    "Properties": {
        "BucketName": "drift",
        "VersioningConfiguration": {"Status": "Enabled"},
        "LifecycleConfiguration": {"Rules": [{"Id": "unfinished", "Status": "Enabled"}]},
    },
}


def test_a_property_that_the_endpoint_lost_is_listed_and_the_others_are_not(clients: Clients, tmp_path: Path) -> None:
    template = {"Resources": {"Queue": QUEUE, "Bucket": BUCKET, "Topic": {"Type": "AWS::SNS::Topic"}}}
    cloudformation = clients.cloudformation("us-east-1")
    cloudformation.create_stack(StackName="drift", TemplateBody=json.dumps(template))
    waiter = cloudformation.get_waiter("stack_create_complete")
    waiter.wait(StackName="drift", WaiterConfig={"Delay": 1, "MaxAttempts": 30})
    url = clients.sqs("us-east-1").get_queue_url(QueueName="drift")["QueueUrl"]
    clients.sqs("us-east-1").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "5"})
    clients.s3("us-east-1").delete_bucket_lifecycle(Bucket="drift")
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://000000000000/us-east-1",
        "properties": {"templateFile": "drift.json"},
    }
    (tmp_path / "drift.json").write_text(json.dumps(template))
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": {"drift": artifact}}))

    found = compare(clients, tmp_path)

    assert [(one.kind, one.name, one.asked, one.there) for one in found.differences] == [
        (
            "AWS::S3::Bucket",
            "LifecycleConfiguration",
            '{"Rules": [{"Id": "unfinished", "Status": "Enabled"}]}',
            "null",
        ),
        ("AWS::SQS::Queue", "VisibilityTimeout", "77", '"5"'),
    ]
    assert found.differences[0].resources == ("us-east-1/Bucket",)
    assert found.compared == 2
    assert found.not_compared == ("AWS::SNS::Topic",)
