"""Logs and metrics of a function, by Powertools: JSON lines, and metrics embedded in them.

The library logs through `logging.getLogger("memolith…")` and knows nothing of this. Nothing that is logged or counted
carries content, paths, ids of memories, keys or tokens; a request's line names the caller's key by its id.
"""

from __future__ import annotations

import threading
from collections.abc import Collection

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from memolith.entry.settings import Settings

NAMESPACE = "Memolith"

COMMON_DIMENSIONS = ("service", "stage", "region")
"""The function that counted, its deployment, and where. Alarms and dashboards name all three."""

_Dimensions = tuple[tuple[str, str], ...]


def start_logging(settings: Settings) -> Logger:
    """Log everything of the library as JSON lines, at the level that was set. Once a process.

    Powertools configures the logger of the name it is given as service, so that is ``memolith``, the library's root;
    the field ``service`` then says which function it is.
    """
    logger = Logger(service="memolith", level=settings.log_level, utc=True, use_rfc3339=True)
    logger.append_keys(service=settings.service, stage=settings.deployment.stage, region=settings.deployment.region)
    return logger


class EmfMetrics:
    """`ports.metrics.Metrics` as CloudWatch's embedded metric format: one log line for each set of dimensions.

    Every metric carries `COMMON_DIMENSIONS`, so that it can be told apart wherever it is sent on to; what is measured
    between two regions carries the other one as ``home``. Durations go out value by value, so that CloudWatch can
    answer with percentiles. Values are kept until `flush`, which a function calls at the end of each invocation. Safe
    for threads.

    Powertools' own provider writes the lines. Its decorator is not used: it keeps one set of dimensions a process.
    """

    def __init__(self, service: str, stage: str, region: str, only: Collection[str] | None = None) -> None:
        """Keep what is counted under the names in `only`; None for every name."""
        self._only = only
        self._common = dict(zip(COMMON_DIMENSIONS, (service, stage, region), strict=True))
        self._series: dict[_Dimensions, AmazonCloudWatchEMFProvider] = {}
        self._lock = threading.Lock()

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """Add to a counter."""
        self._add(name, MetricUnit.Count, value, dimensions)

    def milliseconds(self, name: str, value: float, **dimensions: str) -> None:
        """Add one duration."""
        self._add(name, MetricUnit.Milliseconds, value, dimensions)

    def _add(self, name: str, unit: MetricUnit, value: float, dimensions: dict[str, str]) -> None:
        if self._only is not None and name not in self._only:
            return
        key = tuple(sorted(dimensions.items()))
        with self._lock:
            series = self._series.get(key)
            if series is None:
                series = AmazonCloudWatchEMFProvider(namespace=NAMESPACE)
                series.set_default_dimensions(**self._common, **dimensions)
                self._series[key] = series
            series.add_metric(name, unit, value)

    def flush(self) -> None:
        """Print what was gathered since the last flush."""
        with self._lock:
            for series in self._series.values():
                if series.metric_set:
                    series.flush_metrics()
