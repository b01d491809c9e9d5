"""New versions of functions: behind one alias, a tenth of the calls first, and back again when an alarm rings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.bundling import Bundle
from infra.deployment import parse
from infra.record_checks import InvalidDeployment
from tests.infra.conftest import Synthesize
from tests.infra.policies import by_role
from tests.infra.synthesized import ACCOUNT, ALWAYS, HERE, ROOT, THERE, App, Template, record, synthesize


def versions(template: Template) -> dict[str, str]:
    """The logical id of the version that each function's alias points at."""
    return {
        body["Properties"]["FunctionName"]["Ref"]: body["Properties"]["FunctionVersion"]["Fn::GetAtt"][0]
        for body in template.resources("AWS::Lambda::Alias").values()
    }


def groups(template: Template) -> dict[str, dict[str, Any]]:
    """The deployment group of each function."""
    return {one["DeploymentGroupName"]: one for one in template.properties("AWS::CodeDeploy::DeploymentGroup")}


def alarms(template: Template, name: str) -> set[str]:
    """The alarms that guard a function's new version, by their names."""
    names = {
        name: body["Properties"]["AlarmName"] for name, body in template.resources("AWS::CloudWatch::Alarm").items()
    }
    (group,) = [
        body["Properties"]
        for body in template.resources("AWS::CodeDeploy::DeploymentGroup").values()
        if body["Properties"]["DeploymentGroupName"] == name
    ]
    configuration = group["AlarmConfiguration"]
    assert configuration["Enabled"] is True
    return {names[one["Name"]["Ref"]] for one in configuration["Alarms"]}


@pytest.mark.parametrize("region", [HERE, THERE])
def test_every_function_is_served_by_an_alias_that_codedeploy_moves(two_regions: App, region: str) -> None:
    template = two_regions.base(region)
    aliases = template.properties("AWS::Lambda::Alias")
    assert {one["FunctionName"] for one in aliases} == {f"memolith-test-{name}" for name in ALWAYS}
    assert {one["Name"] for one in aliases} == {"live"}
    deployed = template.resources("AWS::CodeDeploy::DeploymentGroup")
    moved = {}
    for body in template.resources("AWS::Lambda::Alias").values():
        group = body["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]["DeploymentGroupName"]["Ref"]
        function = template.body["Resources"][body["Properties"]["FunctionName"]["Ref"]]["Properties"]["FunctionName"]
        moved[function] = f"memolith-test-{deployed[group]['Properties']['DeploymentGroupName']}"
    assert moved == {f"memolith-test-{name}": f"memolith-test-{name}" for name in ALWAYS}


@pytest.mark.parametrize("name", ALWAYS)
def test_a_tenth_of_the_calls_goes_first_and_an_alarm_takes_them_back(one_region: App, name: str) -> None:
    group = groups(one_region.base(HERE))[name]
    assert group["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent15Minutes"
    assert group["AutoRollbackConfiguration"]["Enabled"] is True
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    assert f"memolith-test-{name}-errors" in alarms(one_region.base(HERE), name)


@pytest.mark.parametrize("name", ["reader", "writer", "mcp"])
def test_failing_requests_take_a_version_back_that_raises_nothing(one_region: App, name: str) -> None:
    assert "memolith-test-api-failures" in alarms(one_region.base(HERE), name)


MINUTES = 15
"""How long a tenth of the calls goes to the new version."""

ASKED = {"reader": 600, "writer": 600, "mcp": 600, "reconciler": 1}
"""What a function is asked in a minute: requests, messages, or a tick."""


def breaches(alarm: dict[str, Any], asked_a_minute: int, rate: float) -> bool:
    """Whether an alarm over a ratio goes off in that time where this part of what was asked fails, evenly."""
    parts = {one["Id"]: one for one in alarm.get("Metrics", [])}
    if not {"asked", "failed"} <= parts.keys():
        return False
    (expression,) = [one["Expression"] for one in parts.values() if "Expression" in one]
    assert expression == "IF(asked > 0, 100 * failed / asked, 0)"
    minutes = parts["asked"]["MetricStat"]["Period"] // 60
    assert 1 <= minutes <= 5 and parts["failed"]["MetricStat"]["Period"] == minutes * 60
    asked = [asked_a_minute * minute for minute in range(0, MINUTES + 1, minutes)]
    failed = [int(rate * total) for total in asked]
    percents = [100 * (failed[n] - failed[n - 1]) / (asked[n] - asked[n - 1]) for n in range(1, len(asked))]
    over = "".join("x" if percent > alarm["Threshold"] else "." for percent in percents)
    return "x" * alarm["EvaluationPeriods"] in over


@pytest.mark.parametrize("name", ["reader", "writer", "mcp", "indexer", "scanner", "packer", "reconciler", "dreamer"])
def test_a_version_that_fails_what_it_is_asked_goes_back_although_it_raises_nothing(
    three_regions: App, name: str
) -> None:
    """A tenth of it, as the new version alone fails, and not one in a thousand, as happens on good days."""
    template = three_regions.base(HERE)
    guards = [template.named("AWS::CloudWatch::Alarm", "AlarmName", one) for one in alarms(template, name)]
    for rate, gone in ((0.1, True), (0.001, False)):
        assert any(breaches(one, ASKED.get(name, 60), rate) for one in guards) is gone, rate


def test_what_guards_a_queues_function_is_what_that_function_counts_of_messages(three_regions: App) -> None:
    for name in ("indexer", "scanner", "packer", "dreamer"):
        guard = three_regions.base(HERE).named("AWS::CloudWatch::Alarm", "AlarmName", f"memolith-test-{name}-failures")
        watched = [one["MetricStat"]["Metric"] for one in guard["Metrics"] if "MetricStat" in one]
        assert [one["MetricName"] for one in watched] == ["messages", "messages_failed"]
        for one in watched:
            assert {"Name": "service", "Value": name} in one["Dimensions"]


def test_codedeploy_may_move_aliases_of_this_deployment_and_nothing_else(one_region: App) -> None:
    found = one_region.base(HERE).named("AWS::IAM::Role", "RoleName", f"memolith-test-rollout-{HERE}")
    assert "ManagedPolicyArns" not in found
    assert found["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Service": "codedeploy.amazonaws.com"}
    (policy,) = found["Policies"]
    document = policy["PolicyDocument"]
    arn = f"arn:aws:lambda:{HERE}:{ACCOUNT}:function:memolith-test-writer"
    for target in (arn, f"{arn}:live"):
        assert by_role(document, "lambda:UpdateAlias", target) == "Allow"
    for action in ("lambda:InvokeFunction", "lambda:UpdateFunctionCode", "lambda:AddPermission"):
        assert by_role(document, action, f"{arn}:live") == "ImplicitDeny"
    assert by_role(document, "lambda:UpdateAlias", f"{arn}-of-others") == "ImplicitDeny"


def test_groups_run_with_that_role_and_not_with_codedeploys_own_policy(one_region: App) -> None:
    roles = {one["ServiceRoleArn"] for one in groups(one_region.base(HERE)).values()}
    assert roles == {f"arn:aws:iam::{ACCOUNT}:role/memolith-test-rollout-{HERE}"}
    assert "AWSCodeDeployRoleForLambda" not in json.dumps(one_region.base(HERE).body)


def test_a_former_version_stays_and_one_that_was_rolled_back_goes(one_region: App) -> None:
    """Lambda publishes the same code only once, so what a rollback left could not be deployed again."""
    found = one_region.base(HERE).resources("AWS::Lambda::Version").values()
    assert len(found) == len(ALWAYS)
    for version in found:
        assert (version["DeletionPolicy"], version["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")


@pytest.mark.slow
def test_a_changed_setting_makes_a_new_version_of_each_function(synthesized: Synthesize, one_region: App) -> None:
    before, after = versions(one_region.base(HERE)), versions(synthesized(record(HERE, log_level="DEBUG")).base(HERE))
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


@pytest.mark.slow
def test_a_changed_handler_makes_a_new_version_of_its_function_alone(
    synthesized: Synthesize, one_region: App, tmp_path: Path
) -> None:
    (tmp_path / "functions").symlink_to(ROOT / "functions")
    changed = tmp_path / "changed"
    changed.mkdir()
    for folder in (ROOT / "functions").iterdir():
        if folder.name != "tool":
            (changed / folder.name).symlink_to(folder)
    (changed / "tool").mkdir()
    (changed / "tool" / "handler.py").write_text((ROOT / "functions/tool/handler.py").read_text() + "CHANGED = True\n")
    before = versions(one_region.base(HERE))
    after = versions(synthesized(record(HERE, functions_path=str(changed))).base(HERE))
    assert {name for name in before if before[name] != after[name]} == {name for name in before if "Tool" in name}


@pytest.mark.slow
def test_a_changed_layer_makes_a_new_version_of_the_functions_that_carry_it(
    one_region: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprint = Bundle.fingerprint
    monkeypatch.setattr(Bundle, "fingerprint", lambda self: fingerprint(self) + "0" * (self.kind == "scanner"))
    before, after = versions(one_region.base(HERE)), versions(synthesize(record(HERE), tmp_path).base(HERE))
    changed = {name for name in before if before[name] != after[name]}
    assert len(changed) == 3
    assert all(any(scans in name for scans in ("Writer", "Peerwriter", "Scanner")) for name in changed)


def test_at_once_keeps_the_aliases_and_leaves_codedeploy_out(small: App) -> None:
    assert small.deployment.rollout == "at_once"
    template = small.base(HERE)
    assert not template.resources("AWS::CodeDeploy::DeploymentGroup")
    aliases = template.resources("AWS::Lambda::Alias")
    assert len(aliases) == len(ALWAYS)
    assert not any("UpdatePolicy" in body for body in aliases.values())


def test_unversioned_functions_are_invoked_by_their_own_names(emulated: App) -> None:
    template = emulated.base(HERE)
    for kind in ("AWS::Lambda::Version", "AWS::Lambda::Alias", "AWS::CodeDeploy::DeploymentGroup"):
        assert not template.resources(kind)
    assert "MEMOLITH_FUNCTION_ALIAS" not in json.dumps(template.body)
    assert ":live" not in json.dumps(template.body)


@pytest.mark.parametrize("name", ALWAYS)
def test_a_function_is_told_by_which_alias_it_invokes_others(one_region: App, name: str) -> None:
    made = one_region.base(HERE).named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
    assert made["Environment"]["Variables"]["MEMOLITH_FUNCTION_ALIAS"] == "live"


def test_an_unknown_rollout_is_refused_by_name() -> None:
    with pytest.raises(InvalidDeployment, match=r"field 'rollout'.*gradual, at_once, unversioned"):
        parse(record(HERE, rollout="slowly"))
