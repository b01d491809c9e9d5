"""Logs and metrics: one JSON line each, and nothing lost or repeated between invocations."""

from __future__ import annotations

import json

import pytest

from memolith.entry.telemetry import EmfMetrics


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_metrics_of_one_set_of_dimensions_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = EmfMetrics("reader", "dev", "us-east-1")
    metrics.count("requests", operation="list_stores", status="200")
    metrics.milliseconds("request_duration_ms", 12.5, operation="list_stores", status="200")
    metrics.count("requests", operation="list_stores", status="200")
    metrics.count("requests", operation="list_stores", status="404")
    assert printed(capsys) == []
    metrics.flush()
    found, missing = printed(capsys)
    assert found["requests"] == [1.0, 1.0]
    assert found["request_duration_ms"] == [12.5]
    assert (found["service"], found["stage"], found["operation"], found["status"]) == (
        "reader",
        "dev",
        "list_stores",
        "200",
    )
    assert (missing["requests"], missing["status"]) == ([1.0], "404")
    (directive,) = found["_aws"]["CloudWatchMetrics"]  # type: ignore[index]  # JSON has no type
    assert directive["Namespace"] == "Memolith"
    assert sorted(directive["Dimensions"][0]) == ["operation", "region", "service", "stage", "status"]
    assert {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]} == {
        "requests": "Count",
        "request_duration_ms": "Milliseconds",
    }


def test_what_was_flushed_is_not_flushed_again(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = EmfMetrics("reader", "dev", "us-east-1")
    metrics.count("a", 3)
    metrics.flush()
    assert [line["a"] for line in printed(capsys)] == [[3.0]]
    metrics.flush()
    assert printed(capsys) == []
    metrics.count("a", 4)
    metrics.flush()
    (line,) = printed(capsys)
    assert (line["a"], line["service"]) == ([4.0], "reader")


def test_a_function_counts_what_it_is_told_to_and_prints_nothing_for_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    metrics = EmfMetrics("reconciler", "dev", "us-east-1", only={"watermark_age_ms"})
    metrics.count("checkpoint_published")
    metrics.milliseconds("replication_lag_ms", 5.0, home="eu-west-1")
    metrics.flush()
    assert printed(capsys) == []
    metrics.milliseconds("watermark_age_ms", 5.0, home="eu-west-1")
    metrics.flush()
    (line,) = printed(capsys)
    assert line["watermark_age_ms"] == [5.0]
