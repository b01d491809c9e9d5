"""docs/cost.md says what a deployment costs while it is idle: what it counts there is what the templates make."""

from __future__ import annotations

from typing import Any

import pytest

from infra.constructs.functions.function import WATCHED_AT_LEAST
from scripts.costing import idle
from tests.infra.conftest import Synthesize
from tests.infra.synthesized import HERE, THERE, App, record
from tests.infra.test_alarms import alarms, metrics

FORMS: dict[str, dict[str, Any]] = {"large": idle.LARGE, "small": idle.SMALL}


def app_of(synthesized: Synthesize, form: str, regions: int) -> App:
    return synthesized(record(*(HERE, THERE)[:regions], **FORMS[form]))


def standing(app: App) -> idle.Standing:
    """Count what AWS bills by its presence, in all stacks."""
    regions = app.deployment.regions
    bases = [app.base(region) for region in regions]
    rates = {rule["ScheduleExpression"] for base in bases for rule in base.properties("AWS::Events::Rule")}
    (minutes,) = {int(rate.split()[0].removeprefix("rate(")) for rate in rates if "minute" in rate}
    rules = [
        rule
        for region in regions
        for one in app.mesh(region).properties("Custom::MemolithReplication")
        for rule in one.get("Rules", [])
    ]
    functions = [one for base in bases for one in base.properties("AWS::Lambda::Function")]
    secrets = [one for base in bases for one in base.properties("AWS::SecretsManager::Secret")]
    return idle.Standing(
        alarm_metrics=sum(len(list(metrics(one))) for region in regions for one in alarms(app, region)),
        dashboards=sum(len(base.resources("AWS::CloudWatch::Dashboard")) for base in bases),
        replication_rules=sum("Metrics" in rule["Destination"] for rule in rules),
        keys=sum(len(base.resources("AWS::KMS::Key")) for base in bases),
        secrets=sum(1 + len(secret.get("ReplicaRegions", [])) for secret in secrets),
        polled_queues=sum(len(base.resources("AWS::Lambda::EventSourceMapping")) for base in bases),
        tick_minutes=minutes,
        traced=any(one.get("TracingConfig", {}).get("Mode") == "Active" for one in functions),
        metrics="MEMOLITH_METRICS" not in str(functions),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("form", "regions"), idle.COUNTED)
def test_the_idle_cost_is_computed_from_what_the_templates_make(
    synthesized: Synthesize, form: str, regions: int
) -> None:
    assert standing(app_of(synthesized, form, regions)) == idle.COUNTED[form, regions]


def test_the_small_form_in_two_regions_costs_no_more_than_its_target() -> None:
    bill = idle.month("small", 2)
    total = bill.pop("**in all**")
    assert total == pytest.approx(sum(bill.values())) and all(amount >= 0 for amount in bill.values())
    assert bill["alarms"] > 0, "a deployment that tells nobody anything is not what is promised"
    assert total <= idle.TARGET_SMALL < idle.month("large", 2)["**in all**"]


@pytest.mark.slow
def test_functions_under_the_least_monitoring_count_what_its_alarms_watch_and_nothing_else(
    synthesized: Synthesize,
) -> None:
    app = app_of(synthesized, "small", 2)
    own = {one["MetricName"] for alarm in alarms(app) for one in metrics(alarm) if one["Namespace"] == "Memolith"}
    assert own == set(WATCHED_AT_LEAST) - {"guardrail_unavailable"} and own <= idle.watched_at_least()
    told = [
        one["Environment"]["Variables"].get("MEMOLITH_METRICS", "")
        for one in app.base(HERE).properties("AWS::Lambda::Function")
        if "MEMOLITH_STAGE" in one.get("Environment", {}).get("Variables", {})
    ]
    assert len(told) >= 12 and {frozenset(names.split(",")) for names in told} == {frozenset(WATCHED_AT_LEAST)}


def test_the_least_monitoring_rings_for_what_is_lost_or_stands_still(synthesized: Synthesize) -> None:
    names = {one["AlarmName"].removeprefix("memolith-test-") for one in alarms(app_of(synthesized, "small", 2))}
    assert names == {
        *("index-dlq", "rebuild-dlq", "scan-dlq", "pack-dlq", "index-age", "reconciler-silent", "reconciler-failing"),
        *("incomplete-from-eu-west-1", "tables-emptied", "integrity-broken", "erasures-pending", "api-failures"),
    }


@pytest.mark.slow
def test_a_reconciler_that_fails_at_every_tick_rings_however_often_it_is_woken(synthesized: Synthesize) -> None:
    for form, fewest in (("large", 4), ("small", 1)):
        (failing,) = [one for one in alarms(app_of(synthesized, form, 2)) if "reconciler-failing" in one["AlarmName"]]
        assert failing["Threshold"] == fewest - 1, "greater than this in five minutes"
