"""``{prefix}-{region}``: how far this region is behind, what is wrong with it, and what it does.

The rows from top to bottom are the order in which to look: freshness, what waits, the fold, writes, dreams, functions,
API.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.constructs import measures
from infra.constructs.api import RegionApi
from infra.constructs.functions.region import RegionFunctions
from infra.constructs.queues import RegionQueues
from infra.deployment import Deployment

PERIOD = measures.MINUTE
COLUMNS = 24
"""Of a dashboard. Source: Amazon CloudWatch User Guide, "Dashboard body structure and syntax"."""


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
        api: RegionApi | None,
    ) -> None:
        """Make the dashboard."""
        super().__init__(scope, "Dashboard")
        board = cloudwatch.Dashboard(self, "Page", dashboard_name=f"{deployment.prefix}-{region}")
        _row(board, _freshness(deployment, region))
        _row(board, _waiting(deployment, region, queues))
        _row(board, _folding(deployment, region))
        _row(board, _writing(deployment, region))
        if deployment.dreams is not None:
            _row(board, _dreaming(deployment, region))
        _row(board, _functions(functions))
        if api is not None:
            _row(board, _requests(api))


_Graph = tuple[str, Sequence[cloudwatch.IMetric]]


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> _Graph:
    return title, metrics


def _row(board: cloudwatch.Dashboard, graphs: Sequence[_Graph]) -> None:
    """Add graphs side by side, over the whole width."""
    width = COLUMNS // len(graphs)
    board.add_widgets(
        *(cloudwatch.GraphWidget(title=title, left=list(metrics), width=width) for title, metrics in graphs)
    )


def _freshness(deployment: Deployment, region: str) -> list[_Graph]:
    """How old what this region has is, by the region where it was written."""
    return [
        _graph(
            "From written to known here, p50 and p99 by home, ms",
            [measures.searched(deployment, region, "replication_lag_ms", "home", statistic=s) for s in ("p50", "p99")],
        ),
        _graph(
            "Replication to this region, s behind",
            [
                measures.replication_latency(deployment, peer, region).with_(label=f"from {peer}")
                for peer in deployment.peers(region)
            ],
        ),
        _graph(
            "Not known to be complete for, by home, ms",
            [measures.searched(deployment, region, "watermark_age_ms", "home", statistic="Maximum")],
        ),
        _graph(
            "Found missing by the daily comparison, and mended",
            [measures.searched(deployment, region, "reconcile_repaired", "kind")],
        ),
    ]


def _waiting(deployment: Deployment, region: str, queues: RegionQueues) -> list[_Graph]:
    """Show what waits, and what was given up."""
    return [
        _graph(
            "Queues, s since the oldest message",
            [q.queue.metric_approximate_age_of_oldest_message(period=PERIOD, label=q.name) for q in queues.all],
        ),
        _graph(
            "Dead letters",
            [
                q.dead_letters.metric_approximate_number_of_messages_visible(period=PERIOD, label=q.dead_letter_name)
                for q in queues.all
            ],
        ),
        _graph(
            "Objects that S3 gave up copying",
            [
                measures.replication_failures(deployment, region, peer).with_(label=f"to {peer}")
                for peer in deployment.peers(region)
            ],
        ),
    ]


def _folding(deployment: Deployment, region: str) -> list[_Graph]:
    """Show what the indexer does, and the tables that refuse it."""
    return [
        _graph("Objects folded", [measures.searched(deployment, region, "objects_folded", "source")]),
        _graph("Objects that cannot be read", [measures.searched(deployment, region, "objects_malformed")]),
        _graph(
            "Index reads and writes turned away",
            [metric for verb in ("Read", "Write") for metric in measures.table_throttles(deployment, region, verb)],
        ),
    ]


def _writing(deployment: Deployment, region: str) -> list[_Graph]:
    """Show writes and requests by their outcome."""
    return [
        _graph("Writes by outcome", [measures.searched(deployment, region, "writes", "outcome")]),
        _graph(
            "Committed versions looked at again",
            [measures.searched(deployment, region, "versions_inspected", "outcome")],
        ),
        _graph("Races lost, and decided again", [measures.searched(deployment, region, "slots_lost")]),
        _graph(
            "Requests by operation and status",
            [measures.searched(deployment, region, "requests", "operation", "status")],
        ),
    ]


def _dreaming(deployment: Deployment, region: str) -> list[_Graph]:
    """Show what dreams come to, and what they cost."""
    return [
        _graph("Dreams by outcome", [measures.searched(deployment, region, "dream.runs", "outcome")]),
        _graph(
            "Oldest dream that is not over, ms",
            [measures.searched(deployment, region, "dream_age_ms", statistic="Maximum")],
        ),
        _graph(
            "Tokens by purpose and kind", [measures.searched(deployment, region, "model.tokens", "purpose", "kind")]
        ),
        _graph(
            "Cost by purpose, millionths of a dollar",
            [measures.searched(deployment, region, "model.micro_usd", "purpose")],
        ),
    ]


def _functions(functions: RegionFunctions) -> list[_Graph]:
    """Errors, throttles and durations of every function."""
    used = functions.all.values()
    return [
        _graph("Function errors", [f.function.metric_errors(period=PERIOD) for f in used]),
        _graph("Function throttles", [f.function.metric_throttles(period=PERIOD) for f in used]),
        _graph(
            "Function duration p50 and p99, ms",
            [f.function.metric_duration(statistic=s, period=PERIOD) for f in used for s in ("p50", "p99")],
        ),
    ]


def _requests(api: RegionApi) -> list[_Graph]:
    """Show what the API gateway counts."""
    return [
        _graph("Requests", [api.api.metric_count(period=PERIOD)]),
        _graph(
            "Refused and failed requests",
            [api.api.metric_client_error(period=PERIOD), api.api.metric_server_error(period=PERIOD)],
        ),
        _graph("Request latency, ms", [api.api.metric_latency(statistic=s, period=PERIOD) for s in ("p50", "p99")]),
    ]
