"""The one record: what it refuses, and that it says which field and which rule."""

from __future__ import annotations

from typing import Any

import pytest

from infra import deployment
from infra.deployment import Deployment, Limits, merged, parse
from infra.record_checks import InvalidDeployment
from memolith.entry import settings

ROUTING = {"domain": "memory.example.com", "zone_id": "Z0123456789ABC", "zone_name": "example.com"}
VALID: dict[str, Any] = {"stage": "dev", "regions": ["us-east-1", "eu-west-1"]}


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"stage": "Dev"}, "stage", "a-z"),
        ({"stage": ""}, "stage", "a-z"),
        ({"stage": "a" * 17}, "stage", "16"),
        ({"stage": "dev-"}, "stage", "not ending"),
        ({"regions": []}, "regions", "one to 10 regions"),
        ({"regions": "us-east-1"}, "regions", "list"),
        ({"regions": ["us-east-1", "us-east-1"]}, "regions", "twice"),
        ({"regions": ["Virginia"]}, "regions", "region's name"),
        ({"regions": ["us-east-1", "cn-north-1"]}, "regions", "partition"),
        ({"account": 111122223333}, "account", "string"),
        ({"account": "1111"}, "account", "twelve digits"),
        ({"limits": []}, "limits", "object"),
        ({"limits": {"memories": 1}}, "limits.memories", "the fields are memories_per_store"),
        ({"limits": {"memories_per_store": 0}}, "limits.memories_per_store", "from 1"),
        ({"limits": {"memories_per_store": True}}, "limits.memories_per_store", "whole number"),
        ({"limits": {"erase_delay_days": -1}}, "limits.erase_delay_days", "from 0"),
        ({"limits": {"erase_delay_days": 366}}, "limits.erase_delay_days", "365"),
        ({"limits": {"requests_per_second": 10, "requests_burst": 9}}, "limits.requests_burst", "from 10"),
        ({"limits": {"indexer_concurrency": 1}}, "limits.indexer_concurrency", "from 2"),
        ({"limits": {"scanner_concurrency": 1}}, "limits.scanner_concurrency", "from 2"),
        ({"search_model": "large"}, "search_model", "none"),
        ({"monitoring": "none"}, "monitoring", "full, least"),
        ({"monitoring": "least"}, "rollout", "needs the alarms"),
        ({"tick_minutes": 6}, "tick_minutes", "from 1 to 5"),
        ({"regions": [f"eu-west-{number}" for number in range(1, 12)]}, "regions", "one to 10 regions"),
        ({"guardrails": {"mars-1": {}}}, "guardrails", "us-east-1"),
        ({"guardrails": {"us-east-1": "gr4"}}, "guardrails.us-east-1", "must be an object"),
        ({"guardrails": {"us-east-1": {"id": "GR 4", "version": "1"}}}, "guardrails.us-east-1.id", "guardrail's id"),
        ({"guardrails": {"us-east-1": {"id": "gr4"}}}, "guardrails.us-east-1.version", "version's number"),
        ({"guardrails": {"us-east-1": {"name": "gr4"}}}, "guardrails.us-east-1", "must be one of id, version"),
        ({"limits": {"reserved_concurrency": {"cook": 1}}}, "limits.reserved_concurrency", "writer"),
        ({"limits": {"reserved_concurrency": {"writer": -1}}}, "limits.reserved_concurrency.writer", "from 0"),
        (
            {"limits": {"reserved_concurrency": {"indexer": 39}}},
            "limits.reserved_concurrency.indexer",
            "must be at least 40 (2 x limits.indexer_concurrency)",
        ),
        (
            {"limits": {"scanner_concurrency": 3, "reserved_concurrency": {"scanner": 2}}},
            "limits.reserved_concurrency.scanner",
            "must be at least 3 (limits.scanner_concurrency)",
        ),
        (
            {"limits": {"reserved_concurrency": {"packer": 0}}},
            "limits.reserved_concurrency.packer",
            "at least 5 (fixed)",
        ),
        (
            {"dreams": {"service": "extractive"}, "limits": {"reserved_concurrency": {"dreamer": 4}}},
            "limits.reserved_concurrency.dreamer",
            "must be at least 5 (dreams.concurrency)",
        ),
        ({"alarms": []}, "alarms", "object"),
        ({"alarms": {"email": []}}, "alarms.email", "the fields are emails, topics"),
        ({"alarms": {"emails": "ops@example.com"}}, "alarms.emails", "list"),
        ({"alarms": {"emails": ["ops"]}}, "alarms.emails", "an address"),
        ({"alarms": {"topics": {"us-east-1": "ops"}}}, "alarms.topics.us-east-1", "ARN"),
        (
            {"alarms": {"topics": {"us-east-1": "arn:aws:sns:eu-west-1:111122223333:ops"}}},
            "alarms.topics.us-east-1",
            "must lie in us-east-1",
        ),
        (
            {"alarms": {"topics": {"eu-west-2": "arn:aws:sns:eu-west-2:111122223333:ops"}}},
            "alarms.topics",
            "one of us-east-1, eu-west-1",
        ),
        ({"routing": "memory.example.com"}, "routing", "object"),
        ({"routing": {"domain": "memory.example.com"}}, "routing.zone_id", "required"),
        ({"routing": {**ROUTING, "ttl": 1}}, "routing.ttl", "the fields are domain, zone_id, zone_name"),
        ({"routing": {**ROUTING, "zone_id": "zone"}}, "routing.zone_id", "hosted zone's id"),
        ({"routing": {**ROUTING, "domain": "Memory.example.com"}}, "routing.domain", "lower case"),
        ({"routing": {**ROUTING, "domain": "memory.example.com."}}, "routing.domain", "without a dot"),
        ({"routing": {**ROUTING, "domain": "memory.example.org"}}, "routing.domain", "in the zone example.com"),
        ({"routing": {**ROUTING, "domain": "notexample.com"}}, "routing.domain", "in the zone example.com"),
        ({"replication_time_control": "yes"}, "replication_time_control", "true or false"),
        ({"emulated": 1}, "emulated", "true or false"),
        ({"architecture": "sparc"}, "architecture", "arm64"),
        ({"bundling": "docker"}, "bundling", "host"),
        ({"python_version": 3.13}, "python_version", "string"),
        ({"python_version": "2.7"}, "python_version", "3.11"),
        ({"index_generation": {"mars-1": 1}}, "index_generation", "us-east-1"),
        ({"index_generation": {"us-east-1": 0}}, "index_generation.us-east-1", "from 1"),
        ({"log_retention_days": 31}, "log_retention_days", "30"),
        ({"log_retention_days": True}, "log_retention_days", "30"),
        ({"log_level": "LOUD"}, "log_level", "INFO"),
        ({"log_level": "CRITICAL"}, "log_level", "ERROR"),
        ({"retention": 30}, "retention", "the fields are stage"),
    ],
)
def test_a_broken_rule_is_refused_by_the_name_of_its_field(change: dict[str, Any], field: str, rule: str) -> None:
    with pytest.raises(InvalidDeployment) as refused:
        parse({**VALID, **change})
    assert refused.value.field_name == field
    assert f"'{field}'" in str(refused.value)
    assert rule in str(refused.value)


def test_a_reservation_that_is_enough_for_a_functions_queues_or_for_a_function_without_any_is_accepted() -> None:
    enough = {"indexer": 40, "scanner": 10, "packer": 5, "dreamer": 0, "writer": 0}
    assert parse({**VALID, "limits": {"reserved_concurrency": enough}}).limits.reserved_concurrency == enough


def test_the_record_may_say_each_log_level_that_the_functions_know_and_no_other() -> None:
    assert deployment.LOG_LEVELS == settings.LOG_LEVELS


@pytest.mark.parametrize("field", ["stage", "regions"])
def test_stage_and_regions_have_no_default(field: str) -> None:
    with pytest.raises(InvalidDeployment, match=f"'{field}': None is required"):
        parse({name: value for name, value in VALID.items() if name != field})


def test_everything_else_has_a_default() -> None:
    assert parse(VALID) == Deployment(stage="dev", regions=("us-east-1", "eu-west-1"), limits=Limits())


def test_replication_time_control_is_on_unless_switched_off() -> None:
    assert parse(VALID).replication_time_control
    assert not parse({**VALID, "replication_time_control": False}).replication_time_control


def test_overrides_are_merged_key_by_key_and_lists_are_replaced() -> None:
    over = {"regions": ["us-west-2"], "limits": {"requests_burst": 7}, "emulated": True}
    assert merged({**VALID, "limits": {"requests_per_second": 5, "requests_burst": 6}}, over) == {
        "stage": "dev",
        "regions": ["us-west-2"],
        "limits": {"requests_per_second": 5, "requests_burst": 7},
        "emulated": True,
    }


def test_names_are_those_that_the_functions_derive() -> None:
    deployment = parse({**VALID, "account": "111122223333"})
    assert deployment.bucket("eu-west-1") == "memolith-dev-111122223333-eu-west-1"
    assert deployment.function("writer") == "memolith-dev-writer"
    assert deployment.regional("writer", "eu-west-1") == "memolith-dev-writer-eu-west-1"
    assert deployment.peers("eu-west-1") == ("us-east-1",)
    assert deployment.arn("sqs", "eu-west-1", "q") == "arn:aws:sqs:eu-west-1:111122223333:q"


def test_no_valid_record_makes_a_bucket_name_that_s3_refuses() -> None:
    longest = {"stage": "a" * 16, "regions": ["ap-southeast-2"], "account": "1" * 12}
    assert len(parse(longest).bucket("ap-southeast-2")) <= 63


def test_names_in_another_partition_carry_it() -> None:
    deployment = parse({"stage": "dev", "regions": ["cn-north-1"], "account": "111122223333"})
    assert deployment.arn("s3", "", deployment.bucket("cn-north-1")).startswith("arn:aws-cn:s3:::")
