"""``{prefix}-{region}``: how far this region is behind, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.constructs.api import RegionApi
from infra.constructs.functions.region import RegionFunctions
from infra.constructs.queues import RegionQueues
from infra.constructs.replication import rule_id
from infra.deployment import Deployment

PERIOD = Duration.minutes(1)


class RegionDashboard(Construct):
    """One page for the region."""

    def __init__(
        self,
        scope: Construct,
        deployment: Deployment,
        region: str,
        *,
        queues: RegionQueues,
        functions: RegionFunctions,
        api: RegionApi,
    ) -> None:
        """Make the dashboard."""
        super().__init__(scope, "Dashboard")
        used = functions.all.values()
        board = cloudwatch.Dashboard(self, "Page", dashboard_name=f"{deployment.prefix}-{region}")
        board.add_widgets(
            _graph(
                "Replication to this region, s behind",
                [_arriving(deployment, o, region) for o in deployment.peers(region)],
            ),
            _graph(
                "Queues, s since the oldest message",
                [q.queue.metric_approximate_age_of_oldest_message(period=PERIOD, label=q.name) for q in queues.all],
            ),
            _graph(
                "Dead letters",
                [
                    q.dead_letters.metric_approximate_number_of_messages_visible(
                        period=PERIOD, label=q.dead_letter_name
                    )
                    for q in queues.all
                ],
            ),
        )
        board.add_widgets(
            _graph("Objects folded", [_counted(deployment, "objects_folded", "source")]),
            _graph("Objects that cannot be read", [_counted(deployment, "objects_malformed")]),
            _graph("Requests by operation", [_counted(deployment, "requests", "operation", "status")]),
        )
        board.add_widgets(
            _graph("Function errors", [f.function.metric_errors(period=PERIOD) for f in used]),
            _graph("Function throttles", [f.function.metric_throttles(period=PERIOD) for f in used]),
            _graph(
                "Function duration p50 and p99, ms",
                [f.function.metric_duration(statistic=s, period=PERIOD) for f in used for s in ("p50", "p99")],
            ),
        )
        board.add_widgets(
            _graph("Requests", [api.api.metric_count(period=PERIOD)]),
            _graph(
                "Refused and failed requests",
                [api.api.metric_client_error(period=PERIOD), api.api.metric_server_error(period=PERIOD)],
            ),
            _graph("Request latency, ms", [api.api.metric_latency(statistic=s, period=PERIOD) for s in ("p50", "p99")]),
        )


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=8)


def _counted(deployment: Deployment, name: str, *dimensions: str) -> cloudwatch.MathExpression:
    """What the functions count themselves, a line for each value of the dimensions."""
    schema = ",".join(("Cairn", "service", "stage", *dimensions))
    query = f'{{{schema}}} MetricName="{name}" stage="{deployment.stage}"'
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{query}', 'Sum', {PERIOD.to_seconds()})", using_metrics={}, label="", period=PERIOD
    )


def _arriving(deployment: Deployment, source: str, target: str) -> cloudwatch.Metric:
    """How far the copies from `source` are behind. Source: S3 User Guide, "S3 Replication metrics" (at the source)."""
    return cloudwatch.Metric(
        namespace="AWS/S3",
        metric_name="ReplicationLatency",
        dimensions_map={
            "SourceBucket": deployment.bucket(source),
            "DestinationBucket": deployment.bucket(target),
            "RuleId": rule_id(target),
        },
        statistic="Maximum",
        period=PERIOD,
        region=source,
        label=f"from {source}",
    )
