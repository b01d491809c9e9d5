"""The mesh: every region's own prefix to every other region, in an order that works from nothing."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App as CdkApp
from aws_cdk import Stack

from infra.constructs.replication import Replication
from infra.deployment import parse
from tests.infra.policies import by_role
from tests.infra.synthesized import ACCOUNT, FAR, HERE, THERE, App, Template, record

REGIONS = [HERE, THERE, FAR]


def bucket(region: str) -> str:
    return f"arn:aws:s3:::memolith-test-{ACCOUNT}-{region}"


def rules(app: App, region: str) -> list[dict[str, Any]]:
    (custom,) = app.mesh(region).properties("Custom::MemolithReplication")
    assert custom["Bucket"] == f"memolith-test-{ACCOUNT}-{region}"
    found: list[dict[str, Any]] = custom["Rules"]
    return found


@pytest.mark.parametrize("region", REGIONS)
def test_each_region_sends_its_own_prefix_to_every_other_region(three_regions: App, region: str) -> None:
    sent = {(rule["Filter"]["Prefix"], rule["Destination"]["Bucket"]) for rule in rules(three_regions, region)}
    assert sent == {(f"{region}/", bucket(other)) for other in REGIONS if other != region}
    assert {rule["Status"] for rule in rules(three_regions, region)} == {"Enabled"}
    priorities = [rule["Priority"] for rule in rules(three_regions, region)]
    assert len(set(priorities)) == len(priorities)


def test_delete_markers_are_not_sent(three_regions: App) -> None:
    assert {rule["DeleteMarkerReplication"]["Status"] for rule in rules(three_regions, HERE)} == {"Disabled"}


def test_the_promise_of_fifteen_minutes_is_bought_unless_switched_off(three_regions: App, two_regions: App) -> None:
    bought = {"Status": "Enabled", "Time": {"Minutes": 15}}
    assert {str(rule["Destination"]["ReplicationTime"]) for rule in rules(three_regions, HERE)} == {str(bought)}
    assert all("ReplicationTime" not in rule["Destination"] for rule in rules(two_regions, HERE))


def test_one_region_alone_replicates_nothing(one_region: App) -> None:
    assert one_region.mesh(HERE).resources("Custom::MemolithReplication") == {}
    assert f"memolith-test-replication-{HERE}" not in str(one_region.mesh(HERE).body)


@pytest.mark.parametrize("region", REGIONS)
def test_a_mesh_stack_waits_for_every_base_stack_and_no_base_stack_for_another(three_regions: App, region: str) -> None:
    bases = {f"memolith-test-base-{other}" for other in REGIONS}
    meshes = {f"memolith-test-mesh-{other}" for other in REGIONS[1:]} if region == REGIONS[0] else set()
    assert three_regions.dependencies(f"memolith-test-mesh-{region}") == bases | meshes
    assert three_regions.dependencies(f"memolith-test-base-{region}") == set()


@pytest.mark.parametrize(
    ("action", "resource", "may"),
    [
        ("s3:GetObjectVersionForReplication", f"{bucket(HERE)}/{HERE}/log/a", True),
        ("s3:GetObjectVersionForReplication", f"{bucket(HERE)}/{THERE}/log/a", False),
        ("s3:GetObjectVersionForReplication", f"{bucket(HERE)}/local/a", False),
        ("s3:ReplicateObject", f"{bucket(THERE)}/{HERE}/log/a", True),
        ("s3:ReplicateObject", f"{bucket(THERE)}/{THERE}/log/a", False),
        ("s3:ReplicateObject", f"{bucket(HERE)}/{HERE}/log/a", False),
        ("s3:ReplicateDelete", f"{bucket(THERE)}/{HERE}/log/a", False),
        ("s3:PutObject", f"{bucket(THERE)}/{HERE}/log/a", False),
    ],
)
def test_the_replication_role_reaches_its_own_prefix_only(
    three_regions: App, action: str, resource: str, may: bool
) -> None:
    made = three_regions.mesh(HERE).named("AWS::IAM::Role", "RoleName", f"memolith-test-replication-{HERE}")
    assert made["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Service": "s3.amazonaws.com"}
    decision = by_role(made["Policies"][0]["PolicyDocument"], action, resource)
    assert decision == ("Allow" if may else "ImplicitDeny")


def deploy_time_grants(app: App, name: str) -> set[tuple[str, str]]:
    made = app.mesh(HERE).named("AWS::IAM::Role", "RoleName", f"memolith-test-{name}-{HERE}")
    (policy,) = made["Policies"]
    return {
        (action, resource)
        for statement in policy["PolicyDocument"]["Statement"]
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
        if not action.startswith("logs:")
    }


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def test_what_puts_the_rules_may_do_that_and_hand_over_one_role(three_regions: App) -> None:
    assert deploy_time_grants(three_regions, "replicate") == {
        ("s3:PutReplicationConfiguration", bucket(HERE)),
        ("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/memolith-test-replication-{HERE}"),
    }


def test_what_puts_the_first_control_row_may_do_that_and_look_into_the_buckets(three_regions: App) -> None:
    assert deploy_time_grants(three_regions, "first-control-row") == {
        *(("s3:ListBucket", bucket(region)) for region in REGIONS),
        *(
            (f"dynamodb:{action}", f"arn:aws:dynamodb:{region}:{ACCOUNT}:table/memolith-test-control")
            for region in REGIONS
            for action in ("PutItem", "UpdateItem")
        ),
    }


def test_the_first_control_rows_name_each_regions_bucket_and_generation(two_regions: App) -> None:
    (rows,) = two_regions.mesh(HERE).properties("Custom::MemolithFirstControlRow")
    assert rows["Table"] == "memolith-test-control"
    assert rows["Regions"] == [
        {"Region": region, "Bucket": f"memolith-test-{ACCOUNT}-{region}", "Generation": generation}
        for region, generation in ((HERE, "1"), (THERE, "3"))
    ]


def test_the_first_region_alone_puts_control_rows_and_after_every_replication_rule(three_regions: App) -> None:
    """The row of a region lets callers write there. Who looks into the buckets after that takes it for old records."""
    kind = "Custom::MemolithFirstControlRow"
    assert [bool(three_regions.mesh(region).resources(kind)) for region in REGIONS] == [True, False, False]
    first = three_regions.mesh(HERE)
    (rows,) = first.resources(kind).values()
    (rules,) = first.resources("Custom::MemolithReplication")
    assert rules in rows["DependsOn"]
    assert three_regions.dependencies(f"memolith-test-mesh-{HERE}") >= {
        f"memolith-test-mesh-{THERE}",
        f"memolith-test-mesh-{FAR}",
    }


def test_one_region_alone_puts_its_control_row(one_region: App) -> None:
    (rows,) = one_region.mesh(HERE).properties("Custom::MemolithFirstControlRow")
    assert [one["Region"] for one in rows["Regions"]] == [HERE]


def test_no_two_stacks_make_a_role_of_the_same_name(three_regions: App) -> None:
    names = [
        role["RoleName"] for template in three_regions.templates() for role in template.properties("AWS::IAM::Role")
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("context", [{}, {"memolith-again": "1764500000"}, {"memolith-again": "1764500001"}])
def test_the_rules_are_put_again_by_a_deployment_that_says_so(context: dict[str, str]) -> None:
    """CloudFormation asks a custom resource for nothing while its properties are what they were."""
    app = CdkApp(context=context)
    Replication(Stack(app, "mesh"), parse(record(HERE, THERE)), HERE)
    body = app.synth().get_stack_by_name("mesh").template
    (rules,) = Template(body).properties("Custom::MemolithReplication")
    assert rules.get("Again") == context.get("memolith-again")
