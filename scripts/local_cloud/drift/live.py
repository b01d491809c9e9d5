"""What is there: one reader for each kind of resource, each answering in the template's own shape.

A reader returns the properties it can tell; those are the ones compared. A property that the API does not have is
left out of the answer by leaving its value None.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError

from scripts.local_cloud.aws import Clients
from scripts.local_cloud.replication.observing import HOOK_ID

Reader = Callable[[Clients, str, str, Mapping[str, Any]], dict[str, Any]]
"""(clients, region, physical id, properties asked for) to the properties that are there."""


def _asked(call: Callable[[], Any]) -> Any:
    """Return the API's answer, or None where it says that there is no such configuration."""
    try:
        return call()
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] in {400, 404}:
            return None
        raise


def bucket(clients: Clients, region: str, name: str, _properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a bucket's own configuration."""
    s3 = clients.client("s3", region)
    encryption = _asked(lambda: s3.get_bucket_encryption(Bucket=name)) or {}
    lifecycle = _asked(lambda: s3.get_bucket_lifecycle_configuration(Bucket=name))
    block = _asked(lambda: s3.get_public_access_block(Bucket=name)) or {}
    owner = _asked(lambda: s3.get_bucket_ownership_controls(Bucket=name)) or {}
    rules = encryption.get("ServerSideEncryptionConfiguration", {}).get("Rules", [])
    return {
        "VersioningConfiguration": {"Status": s3.get_bucket_versioning(Bucket=name).get("Status")},
        "BucketEncryption": {
            "ServerSideEncryptionConfiguration": [
                {"ServerSideEncryptionByDefault": rule.get("ApplyServerSideEncryptionByDefault")} for rule in rules
            ]
        },
        "LifecycleConfiguration": None
        if lifecycle is None
        else {"Rules": [{**rule, "Id": rule.get("ID")} for rule in lifecycle["Rules"]]},
        "PublicAccessBlockConfiguration": block.get("PublicAccessBlockConfiguration"),
        "OwnershipControls": owner.get("OwnershipControls"),
        "NotificationConfiguration": {"QueueConfigurations": _notified_queues(s3, name)},
    }


def _notified_queues(s3: Any, name: str) -> list[dict[str, Any]]:
    """List one entry an event, as templates have it, without the replicator's own notifications."""
    configured = s3.get_bucket_notification_configuration(Bucket=name).get("QueueConfigurations", [])
    return [
        {"Event": event, "Queue": entry["QueueArn"]}
        for entry in configured
        if not entry.get("Id", "").startswith(HOOK_ID)
        for event in entry["Events"]
    ]


def bucket_policy(clients: Clients, region: str, _name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read the statements of a bucket's policy."""
    s3 = clients.client("s3", region)
    answer = _asked(lambda: s3.get_bucket_policy(Bucket=properties["Bucket"]))
    return {"PolicyDocument": None if answer is None else json.loads(answer["Policy"])}


def replication(clients: Clients, region: str, _name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a bucket's replication rules."""
    s3 = clients.client("s3", region)
    answer = _asked(lambda: s3.get_bucket_replication(Bucket=properties["Bucket"]))
    return {"Rules": None if answer is None else answer["ReplicationConfiguration"]["Rules"]}


def queue(clients: Clients, region: str, url: str, _properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a queue's attributes."""
    sqs = clients.client("sqs", region)
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    names = ("VisibilityTimeout", "MessageRetentionPeriod", "SqsManagedSseEnabled", "MaximumMessageSize")
    found = {name: attributes.get(name) for name in (*names, "DelaySeconds", "ReceiveMessageWaitTimeSeconds")}
    return {**found, "RedrivePolicy": json.loads(attributes.get("RedrivePolicy", "null"))}


def queue_policy(clients: Clients, region: str, _name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read the statements of a queue's policy."""
    sqs = clients.client("sqs", region)
    attributes = sqs.get_queue_attributes(QueueUrl=properties["Queues"][0], AttributeNames=["Policy"])
    policy = attributes.get("Attributes", {}).get("Policy")
    return {"PolicyDocument": json.loads(policy) if policy else None}


def table(clients: Clients, region: str, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a table's keys, indexes, protection and expiry."""
    dynamodb = clients.client("dynamodb", region)
    described = dynamodb.describe_table(TableName=name)["Table"]
    expiry = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    copies = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = copies.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
    enabled = expiry.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"}
    return {
        "KeySchema": described["KeySchema"],
        "AttributeDefinitions": described["AttributeDefinitions"],
        "BillingMode": described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
        "DeletionProtectionEnabled": described.get("DeletionProtectionEnabled", False),
        "GlobalSecondaryIndexes": described.get("GlobalSecondaryIndexes", []),
        "TimeToLiveSpecification": {"AttributeName": expiry.get("AttributeName"), "Enabled": enabled},
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": recovery == "ENABLED"},
        **({"SSESpecification": {"SSEEnabled": "SSEDescription" in described}} if "SSE" in str(properties) else {}),
    }


def function(clients: Clients, region: str, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a function's configuration."""
    functions = clients.client("lambda", region)
    found = functions.get_function_configuration(FunctionName=name)
    same = ("Timeout", "MemorySize", "Handler", "Runtime", "Architectures", "TracingConfig", "LoggingConfig", "Role")
    reserved = functions.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
    return {
        **{name: found.get(name) for name in same},
        "Environment": found.get("Environment"),
        "Layers": [layer["Arn"] for layer in found.get("Layers", [])],
        **({"ReservedConcurrentExecutions": reserved} if "ReservedConcurrentExecutions" in properties else {}),
    }


def event_source(clients: Clients, region: str, uuid: str, _properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read how a queue feeds a function."""
    found = clients.client("lambda", region).get_event_source_mapping(UUID=uuid)
    names = ("BatchSize", "EventSourceArn", "FunctionResponseTypes", "ScalingConfig", "MaximumBatchingWindowInSeconds")
    return {name: found.get(name) for name in names}


def log_group(clients: Clients, region: str, name: str, _properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read how long a log is kept."""
    groups = clients.client("logs", region).describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    found: dict[str, Any] = next((group for group in groups if group["logGroupName"] == name), {})
    return {"LogGroupName": found.get("logGroupName"), "RetentionInDays": found.get("retentionInDays")}


def alarm(clients: Clients, region: str, name: str, _properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read an alarm's condition and what it calls."""
    alarms = clients.client("cloudwatch", region).describe_alarms(AlarmNames=[name])["MetricAlarms"]
    found: dict[str, Any] = alarms[0] if alarms else {}
    names = ("AlarmActions", "ComparisonOperator", "Dimensions", "EvaluationPeriods", "MetricName", "Namespace")
    return {name: found.get(name) for name in (*names, "Period", "Statistic", "Threshold", "TreatMissingData")}


def route(clients: Clients, region: str, _identifier: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Find an HTTP API's route by its key: the emulator's stacks name the API where the route's id should be."""
    routes = clients.client("apigatewayv2", region).get_routes(ApiId=properties["ApiId"])["Items"]
    found: dict[str, Any] = next((one for one in routes if one["RouteKey"] == properties["RouteKey"]), {})
    return {name: found.get(name) for name in ("RouteKey", "AuthorizationType", "Target")}


def integration(clients: Clients, region: str, identifier: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a route calls, and in which format."""
    api = clients.client("apigatewayv2", region)
    found = api.get_integration(ApiId=properties["ApiId"], IntegrationId=identifier)
    return {name: found.get(name) for name in ("IntegrationType", "IntegrationUri", "PayloadFormatVersion")}


def stage(clients: Clients, region: str, _name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read an HTTP API's stage: limits and access log."""
    api = clients.client("apigatewayv2", region)
    found = api.get_stage(ApiId=properties["ApiId"], StageName=properties["StageName"])
    return {name: found.get(name) for name in ("AutoDeploy", "DefaultRouteSettings", "AccessLogSettings")}


def role(clients: Clients, region: str, name: str, _properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a role's inline policies, by name and statements, and the principals that may assume it."""
    iam = clients.client("iam", region)
    names = iam.list_role_policies(RoleName=name)["PolicyNames"]
    policies = [iam.get_role_policy(RoleName=name, PolicyName=policy) for policy in names]
    return {
        "Policies": [
            {"PolicyName": policy["PolicyName"], "PolicyDocument": policy["PolicyDocument"]} for policy in policies
        ],
        "AssumeRolePolicyDocument": iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"],
    }


def rule(clients: Clients, region: str, name: str, _properties: Mapping[str, Any]) -> dict[str, Any]:
    """Read a schedule of EventBridge."""
    found = clients.client("events", region).describe_rule(Name=name.rsplit("|", 1)[-1])
    return {"ScheduleExpression": found.get("ScheduleExpression"), "State": found.get("State")}


READERS: dict[str, Reader] = {
    "AWS::ApiGatewayV2::Integration": integration,
    "AWS::ApiGatewayV2::Route": route,
    "AWS::ApiGatewayV2::Stage": stage,
    "AWS::CloudWatch::Alarm": alarm,
    "AWS::DynamoDB::Table": table,
    "AWS::Events::Rule": rule,
    "AWS::IAM::Role": role,
    "AWS::Lambda::EventSourceMapping": event_source,
    "AWS::Lambda::Function": function,
    "AWS::Logs::LogGroup": log_group,
    "AWS::S3::Bucket": bucket,
    "AWS::S3::BucketPolicy": bucket_policy,
    "AWS::SQS::Queue": queue,
    "AWS::SQS::QueuePolicy": queue_policy,
    "Custom::MemolithReplication": replication,
}
"""Resource type to its reader. Types without one are not compared."""
