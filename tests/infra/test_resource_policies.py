"""Resource policies: every service and role that has to pass one of them is asked about, in every template.

A policy that only denies locks out a service that has no role of its own, and nothing but a real account would tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.infra.policies import by_resource, by_role, role
from tests.infra.synthesized import ACCOUNT, HERE, THERE, App, Template

REGIONS = (HERE, THERE)
STRANGER = "999988887777"
EVALUATED = {"AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy", "AWS::SNS::TopicPolicy", "AWS::Lambda::Permission"}
ELSEWHERE = {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}
"""Policies of roles, not of resources."""


def bucket(region: str) -> str:
    return f"arn:aws:s3:::memolith-test-{ACCOUNT}-{region}"


def policies(template: Template, kind: str, field: str) -> dict[str, dict[str, Any]]:
    """The policy documents of one type, by the name of the resource that each stands on."""
    return {name: one["PolicyDocument"] for one in template.properties(kind) for name in one[field]}


def permission_document(permission: dict[str, Any]) -> dict[str, Any]:
    """A function's permission, as the statement that Lambda makes of it."""
    conditions: dict[str, Any] = {}
    if "SourceArn" in permission:
        conditions["ArnLike"] = {"aws:SourceArn": permission["SourceArn"]}
    if "SourceAccount" in permission:
        conditions["StringEquals"] = {"aws:SourceAccount": permission["SourceAccount"]}
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": permission["Principal"]},
                "Action": permission["Action"],
                "Resource": permission["FunctionName"],
                "Condition": conditions,
            }
        ],
    }


def may_invoke(template: Template, service: str, function_arn: str, source_arn: str) -> bool:
    keys = {"aws:sourcearn": source_arn, "aws:sourceaccount": ACCOUNT}
    action = "lambda:InvokeFunction"
    return "Allow" in {
        by_resource(permission_document(one), "*", action, function_arn, service=service, keys=keys)
        for one in template.properties("AWS::Lambda::Permission")
    }


def scheduled(template: Template) -> Iterator[tuple[str, str]]:
    """Each rule's ARN and each function's that it invokes."""
    for logical_id, properties in zip(
        template.resources("AWS::Events::Rule"), template.properties("AWS::Events::Rule"), strict=True
    ):
        for target in properties["Targets"]:
            yield f"<{logical_id}.Arn>", target["Arn"]


def test_every_kind_of_resource_policy_is_asked_about_here(three_regions: App) -> None:
    kinds = {body["Type"] for template in three_regions.templates() for body in template.body["Resources"].values()}
    assert {kind for kind in kinds if kind.endswith(("Policy", "Permission"))} - ELSEWHERE == EVALUATED


@pytest.mark.parametrize("region", REGIONS)
def test_cloudwatch_may_publish_to_the_topic_of_the_alarms(two_regions: App, region: str) -> None:
    ((topic, document),) = policies(two_regions.base(region), "AWS::SNS::TopicPolicy", "Topics").items()

    def asked(service: str, account: str, *, tls: bool = True) -> str:
        keys = {"aws:sourceaccount": account}
        return by_resource(document, "*", "sns:Publish", topic, tls=tls, service=service, keys=keys)

    assert asked("cloudwatch.amazonaws.com", ACCOUNT) == "Allow"
    assert asked("cloudwatch.amazonaws.com", STRANGER) == "ImplicitDeny"
    assert asked("events.amazonaws.com", ACCOUNT) == "ImplicitDeny"
    assert asked("cloudwatch.amazonaws.com", ACCOUNT, tls=False) == "Deny"


@pytest.mark.parametrize("region", REGIONS)
def test_s3_may_send_the_buckets_events_to_the_queue_that_its_notification_names(two_regions: App, region: str) -> None:
    template = two_regions.base(region)
    (properties,) = template.properties("AWS::S3::Bucket")
    (named,) = properties["NotificationConfiguration"]["QueueConfigurations"]
    (document,) = [
        one["PolicyDocument"]
        for one in template.properties("AWS::SQS::QueuePolicy")
        if one["PolicyDocument"]["Statement"][0]["Resource"] == named["Queue"]
    ]
    keys = {"aws:sourcearn": bucket(region), "aws:sourceaccount": ACCOUNT}
    service = "s3.amazonaws.com"
    assert by_resource(document, "*", "sqs:SendMessage", named["Queue"], service=service, keys=keys) == "Allow"


@pytest.mark.parametrize("region", REGIONS)
def test_eventbridge_may_invoke_every_function_that_a_rule_names(two_regions: App, region: str) -> None:
    template = two_regions.base(region)
    rules = list(scheduled(template))
    assert rules
    for rule, function in rules:
        assert may_invoke(template, "events.amazonaws.com", function, rule), f"{rule} invokes {function}"
        assert not may_invoke(template, "events.amazonaws.com", function, "<AnotherRule.Arn>")


@pytest.mark.parametrize("region", REGIONS)
def test_the_api_may_invoke_every_function_that_it_is_integrated_with(two_regions: App, region: str) -> None:
    template = two_regions.base(region)
    integrated = {one["IntegrationUri"] for one in template.properties("AWS::ApiGatewayV2::Integration")}
    (api,) = template.resources("AWS::ApiGatewayV2::Api")
    source = f"arn:<AWS::Partition>:execute-api:{region}:{ACCOUNT}:<{api}>/$default/POST"
    assert integrated
    for function in integrated:
        routes = ("/{proxy+}", "/mcp", "/v1/api_keys")
        assert any(
            may_invoke(template, "apigateway.amazonaws.com", function, f"{source}{route}") for route in routes
        ), function


@pytest.mark.parametrize("region", REGIONS)
def test_no_queue_denies_the_functions_that_send_to_it_and_read_it(two_regions: App, region: str) -> None:
    template = two_regions.base(region)
    functions = [one["RoleName"] for one in template.properties("AWS::IAM::Role") if "RoleName" in one]
    assert functions
    for one in template.properties("AWS::SQS::QueuePolicy"):
        queue = one["PolicyDocument"]["Statement"][0]["Resource"]
        for name in functions:
            for action in ("sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage"):
                assert by_resource(one["PolicyDocument"], role(name), action, queue) != "Deny"


@pytest.mark.parametrize(("source", "target"), [(HERE, THERE), (THERE, HERE)])
def test_the_replication_role_passes_the_policies_of_both_buckets(two_regions: App, source: str, target: str) -> None:
    name = f"memolith-test-replication-{source}"
    (policy,) = two_regions.mesh(source).named("AWS::IAM::Role", "RoleName", name)["Policies"]
    for region, actions in (
        (source, ("s3:GetObjectVersionForReplication", "s3:GetObjectVersionTagging")),
        (target, ("s3:ReplicateObject", "s3:ReplicateTags")),
    ):
        (own,) = two_regions.base(region).properties("AWS::S3::BucketPolicy")
        key = f"{bucket(region)}/{source}/log/memstore_1/a/0001-0.0000000001"
        for action in actions:
            assert by_role(policy["PolicyDocument"], action, key) == "Allow"
            assert by_resource(own["PolicyDocument"], role(name), action, key) != "Deny"
