"""The functions as they are deployed: what each is told and carries, how large it is, and what wakes it."""

from __future__ import annotations

import json

import pytest

from tests.infra.policies import by_role
from tests.infra.rights import ALWAYS_IN_TABLE, REGIONS, grants, queue
from tests.infra.synthesized import ACCOUNT, HERE, THERE, App


def test_a_schedule_wakes_the_reconciler_of_each_region_every_minute(three_regions: App) -> None:
    for region in REGIONS:
        rule = three_regions.base(region).named("AWS::Events::Rule", "Name", "memolith-test-tick")
        (target,) = rule["Targets"]
        assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
        assert (target["Input"], target["RetryPolicy"]) == ('{"call":"tick"}', {"MaximumRetryAttempts": 0})
        hourly = three_regions.base(region).named("AWS::Events::Rule", "Name", "memolith-test-compare")
        assert (hourly["ScheduleExpression"], hourly["Targets"][0]["Input"]) == ("rate(1 hour)", '{"call":"compare"}')


def test_a_comparison_in_parts_is_begun_by_one_rule_and_each_part_goes_on_by_another(
    equipped: App,
) -> None:
    rules = {one["Name"]: one for one in equipped.base(HERE).properties("AWS::Events::Rule")}
    asked = {
        name.removeprefix("memolith-test-"): [json.loads(target["Input"]) for target in rule["Targets"]]
        for name, rule in rules.items()
        if "compare" in name
    }
    parts = [{"call": "compare", "part": part} for part in range(1, 8)]
    begun = [{"call": "compare", "parts": 7}]
    assert asked == {"compare": begun, "compare-from-1": parts[:5], "compare-from-6": parts[5:]}


@pytest.mark.parametrize("name", ALWAYS_IN_TABLE)
def test_a_function_is_told_everything_that_it_derives_names_from(two_regions: App, name: str) -> None:
    made = two_regions.base(THERE).named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
    assert made["Environment"]["Variables"] == {
        "MEMOLITH_FUNCTION_ALIAS": "live",
        "MEMOLITH_STAGE": "test",
        "MEMOLITH_REGIONS": f"{HERE},{THERE}",
        "MEMOLITH_ACCOUNT": ACCOUNT,
        "MEMOLITH_INDEX_GENERATION": "3",
        "MEMOLITH_MAX_MEMORIES_PER_STORE": "10000",
        "MEMOLITH_ERASE_DELAY_DAYS": "7",
        "MEMOLITH_LOG_LEVEL": "INFO",
        "POWERTOOLS_SERVICE_NAME": name,
    }


@pytest.mark.parametrize(
    ("name", "timeout_s", "memory_mb"),
    [
        ("reader", 29, 1024),
        ("writer", 29, 1024),
        ("peerreader", 29, 1024),
        ("peerwriter", 29, 1024),
        ("keys", 29, 512),
        ("indexer", 60, 512),
        ("eraser", 300, 512),
        ("scanner", 60, 1024),
        ("packer", 180, 2048),
        ("tool", 120, 512),
        ("mcp", 29, 1024),
    ],
)
def test_a_function_is_as_large_as_the_design_says(one_region: App, name: str, timeout_s: int, memory_mb: int) -> None:
    made = one_region.base(HERE).named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
    assert (made["Timeout"], made["MemorySize"]) == (timeout_s, memory_mb)
    assert (made["Runtime"], made["Architectures"], made["Handler"]) == ("python3.13", ["x86_64"], "handler.handler")


@pytest.mark.parametrize("name", ALWAYS_IN_TABLE)
def test_a_function_is_traced_and_logs_json_that_expires(one_region: App, name: str) -> None:
    template = one_region.base(HERE)
    made = template.named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
    assert made["TracingConfig"] == {"Mode": "Active"}
    assert made["LoggingConfig"]["LogFormat"] == "JSON"
    group = template.named("AWS::Logs::LogGroup", "LogGroupName", f"/aws/lambda/memolith-test-{name}")
    assert group["RetentionInDays"] == 30


def test_every_function_carries_the_dependencies_and_some_the_scanner_or_the_mcp_sdk_too(one_region: App) -> None:
    layers = {
        made["FunctionName"]: len(made.get("Layers", []))
        for made in one_region.base(HERE).properties("AWS::Lambda::Function")
    }
    bare = [name for name, count in layers.items() if count == 0]
    assert bare == [f"memolith-test-first-region-{HERE}"]  # it compares two texts
    more = ["memolith-test-mcp", "memolith-test-peerwriter", "memolith-test-scanner", "memolith-test-writer"]
    assert sorted(name for name, count in layers.items() if count > 1) == more


def test_a_search_model_is_carried_by_what_searches_where_the_record_names_one(furnished: App, one_region: App) -> None:
    app = furnished
    before = {made["FunctionName"]: made for made in one_region.base(HERE).properties("AWS::Lambda::Function")}
    carrying = []
    for made in app.base(HERE).properties("AWS::Lambda::Function"):
        name, told = made["FunctionName"], str(made.get("Environment", {})).count("'MEMOLITH_SEARCH_MODEL': 'use'")
        layers = len(made.get("Layers", [])) - len(before[name].get("Layers", []))
        assert layers == told
        carrying += [name] if layers else []
    names = ("packer", "peerreader", "reader", "scanner")
    assert sorted(carrying) == [f"memolith-test-{name}" for name in names]
    assert by_role(grants(app, "packer"), "sqs:SendMessage", queue("pack")) == "Allow", "what is left to encode"
    assert by_role(grants(one_region, "packer"), "sqs:SendMessage", queue("pack")) == "ImplicitDeny"


def test_the_eraser_is_woken_every_minute_with_its_one_call(one_region: App) -> None:
    rule = one_region.base(HERE).named("AWS::Events::Rule", "Name", "memolith-test-erasure-sweep")
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
    (target,) = rule["Targets"]
    assert (target["Input"], target["RetryPolicy"]) == ('{"call":"sweep"}', {"MaximumRetryAttempts": 0})


def test_lambda_repeats_no_scheduled_event_and_keeps_none_for_hours(two_regions: App) -> None:
    for region in (HERE, THERE):
        template = two_regions.base(region)
        rules = template.properties("AWS::Events::Rule")
        scheduled = {target["Arn"].split(":")[6] for rule in rules for target in rule["Targets"]}
        configured = {one["FunctionName"]: one for one in template.properties("AWS::Lambda::EventInvokeConfig")}
        assert set(configured) == scheduled == {"memolith-test-eraser", "memolith-test-reconciler"}
        for one in configured.values():
            assert (one["Qualifier"], one["MaximumRetryAttempts"]) == ("live", 0)
            assert one["MaximumEventAgeInSeconds"] <= 300
