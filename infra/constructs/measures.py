"""What can be measured of a region: AWS's own metrics, and those that the functions count.

Alarms and the dashboard take their metrics from here, so that both speak of the same figures. `EMITTED_BY` says which
function counts what; its names are those of `memolith.ports.metrics.Metrics` calls, its dimensions those of
`memolith.entry.telemetry`. None has a label of its own: with one, CDK makes an expression of an alarm's metric.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.constructs.replication import rule_id
from infra.deployment import Deployment
from memolith.core.tables import TABLES

NAMESPACE = "Memolith"

EMITTED_BY = {
    "dream.runs": "dreamer",
    "dream_age_ms": "reconciler",
    "erasure_age_ms": "eraser",
    "guardrail_unavailable": "scanner",
    "integrity_broken": "reconciler",
    "objects_damaged": "reader",
    "objects_folded": "indexer",
    "objects_malformed": "indexer",
    "reconcile_failed": "reconciler",
    "replication_lag_ms": "indexer",
    "requests": "writer",
    "seal_failed": "reconciler",
    "slots_lost": "writer",
    "tables_emptied": "reconciler",
    "versions_inspected": "scanner",
    "watermark_age_ms": "reconciler",
    "writes": "writer",
}
"""A metric that an alarm or a graph of one function asks for, and the function that counts it."""

VERIFY_OBJECTS = (
    "reader", "writer", "peerreader", "peerwriter", "packer", "scanner", "indexer", "reconciler", "eraser",
)  # fmt: skip
"""The functions that read objects of logs, and count those that are not what was acknowledged; so does the dreamer."""

MINUTE = Duration.minutes(1)
FIVE_MINUTES = Duration.minutes(5)


def counted(
    deployment: Deployment,
    region: str,
    name: str,
    *,
    statistic: str = "Sum",
    period: Duration = MINUTE,
    service: str | None = None,
    **dimensions: str,
) -> cloudwatch.Metric:
    """Return a metric that one of the functions counts, for one value of each of its dimensions.

    `service` is the function, where it is not the one of `EMITTED_BY`.
    """
    common = {"service": service or EMITTED_BY[name], "stage": deployment.stage, "region": region}
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        dimensions_map={**common, **dimensions},
        statistic=statistic,
        period=period,
    )


def percent_failed(asked: cloudwatch.IMetric, failed: cloudwatch.IMetric, what: str) -> cloudwatch.MathExpression:
    """Return how many of a hundred failed, in periods of five minutes. Where none is counted as failed, nothing is."""
    return cloudwatch.MathExpression(
        expression="IF(asked > 0, 100 * failed / asked, 0)",
        using_metrics={"asked": asked, "failed": failed},
        label=f"failed {what}, %",
        period=FIVE_MINUTES,
    )


def verifying(deployment: Deployment) -> tuple[str, ...]:
    """Return the functions that count ``objects_damaged`` in this deployment."""
    return VERIFY_OBJECTS if deployment.dreams is None else (*VERIFY_OBJECTS, "dreamer")


def searched(
    deployment: Deployment, region: str, name: str, *dimensions: str, statistic: str = "Sum"
) -> cloudwatch.MathExpression:
    """Search a metric of any function that counts it, a line for each value of the dimensions. No alarm may search."""
    schema = ",".join((NAMESPACE, "service", "stage", "region", *dimensions))
    query = f'{{{schema}}} MetricName="{name}" stage="{deployment.stage}" region="{region}"'
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{query}', '{statistic}', {MINUTE.to_seconds()})",
        using_metrics={},
        label="",
        period=MINUTE,
    )


def replication_latency(deployment: Deployment, source: str, target: str) -> cloudwatch.Metric:
    """Return how many seconds the target's bucket is behind the source's. Known in the target.

    Source: Amazon S3 User Guide, "Using S3 Replication metrics": published in the Region of the destination bucket.
    """
    return _replication(deployment, "ReplicationLatency", source, target, statistic="Maximum")


def replication_failures(deployment: Deployment, source: str, target: str) -> cloudwatch.Metric:
    """Return how many objects S3 gave up copying. Known in the source.

    Source: Amazon S3 User Guide, "Using S3 Replication metrics": published in the Region of the source bucket.
    """
    return _replication(deployment, "OperationsFailedReplication", source, target, statistic="Sum")


def _replication(deployment: Deployment, name: str, source: str, target: str, *, statistic: str) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/S3",
        metric_name=name,
        dimensions_map={
            "SourceBucket": deployment.bucket(source),
            "DestinationBucket": deployment.bucket(target),
            "RuleId": rule_id(target),
        },
        statistic=statistic,
        period=MINUTE,
    )


def table_throttles(
    deployment: Deployment, region: str, verb: str, period: Duration = MINUTE
) -> Sequence[cloudwatch.Metric]:
    """Return reads or writes that DynamoDB throttled: a metric for each table of the region's stack, and each index.

    A table's metric leaves out what its global indexes throttle.
    Source: DynamoDB developer guide, "DynamoDB metrics and dimensions", WriteThrottleEvents.

    Args:
        deployment: The record.
        region: Whose tables.
        verb: ``Read`` or ``Write``.
        period: Of one figure.
    """
    names = [(table, table.physical_name(deployment.prefix, deployment.generation(region))) for table in TABLES]
    tables = [{"TableName": name} for _, name in names]
    indexes = [
        {"TableName": name, "GlobalSecondaryIndexName": one.name} for table, name in names for one in table.indexes
    ]
    return [
        cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name=f"{verb}ThrottleEvents",
            dimensions_map=dimensions,
            statistic="Sum",
            period=period,
        )
        for dimensions in (*tables, *indexes)
    ]
