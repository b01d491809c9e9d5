"""The app as people run it: offline, without credentials, and not past cdk-nag."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_s3 as s3

from infra.app import compose, deployment_of
from infra.deployment import parse
from infra.record_checks import CONTEXT_KEY, InvalidDeployment
from tests.infra.synthesized import HERE, ROOT, record, without_credentials
from tests.infra.synthesized import App as DeployedApp

CDK = ROOT / "node_modules" / ".bin" / "cdk"
SYNTH_S_MAX = 120
RECORD = {"stage": "dev", "regions": [HERE]}


@pytest.mark.slow
def test_synth_needs_no_network_no_credentials_and_no_docker(tmp_path: Path) -> None:
    overrides = {"stage": "offline", "regions": [HERE], "functions_path": str(tmp_path)}
    command = [
        str(CDK),
        "synth",
        "--quiet",
        "--app",
        f"{sys.executable} -m infra.app",
        "--output",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(
        [*command, "-c", f"memolith-overrides={json.dumps(overrides)}"],
        cwd=ROOT,
        env=without_credentials(),
        capture_output=True,
        text=True,
        timeout=SYNTH_S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    stacks = {path.name for path in (tmp_path / "out").glob("*.template.json")}
    assert stacks == {f"memolith-offline-base-{HERE}.template.json", f"memolith-offline-mesh-{HERE}.template.json"}
    base = json.loads((tmp_path / "out" / f"memolith-offline-base-{HERE}.template.json").read_text())
    (bucket,) = [body for body in base["Resources"].values() if body["Type"] == "AWS::S3::Bucket"]
    name = ["memolith-offline-", {"Ref": "AWS::AccountId"}, f"-{HERE}"]
    assert bucket["Properties"]["BucketName"] == {"Fn::Join": ["", name]}


@pytest.mark.parametrize(
    ("context", "field"),
    [
        ({}, ""),
        ({"memolith": {"stage": "dev"}}, "regions"),
        ({"memolith": RECORD, "memolith-overrides": '{"regions": []}'}, "regions"),
        ({"memolith": RECORD, "memolith-overrides": "stage:dev"}, "memolith-overrides"),
        ({"memolith": RECORD, "memolith-overrides": "[1]"}, "memolith-overrides"),
    ],
)
def test_a_record_that_breaks_a_rule_stops_the_app_with_the_fields_name(context: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidDeployment) as refused:
        deployment_of(App(context=context))
    assert refused.value.field_name == field


def test_overrides_go_over_the_record_and_the_command_lines_account_fills_the_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "999988887777")
    given = deployment_of(App(context={"memolith": RECORD, "memolith-overrides": '{"stage": "mine"}'}))
    assert (given.stage, given.regions, given.account) == ("mine", (HERE,), "999988887777")
    named = deployment_of(App(context={"memolith": {**RECORD, "account": "111122223333"}}))
    assert named.account == "111122223333"


def test_what_survives_a_destroy_has_a_literal_name_so_that_the_next_deploy_can_adopt_it(
    two_regions: DeployedApp,
) -> None:
    kept = [
        properties.get("BucketName") or properties.get("TableName")
        for template in two_regions.templates()
        for body in template.body["Resources"].values()
        if body.get("DeletionPolicy", "Delete") != "Delete"
        if body["Type"] != "AWS::Lambda::Version"  # goes with its function
        for properties in [body["Properties"]]
    ]
    assert len(kept) >= 2
    assert all(isinstance(name, str) for name in kept), kept


@pytest.mark.slow
def test_cdk_nag_stops_what_it_finds(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path))
    compose(app, parse(record(HERE)))
    s3.Bucket(Stack(app, "Careless"), "Open")
    with pytest.raises(RuntimeError, match=r"[Vv]alidation"):
        app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text())
    assert "Careless" in json.dumps(report)


def test_the_record_in_cdk_json_is_valid() -> None:
    assert parse(json.loads((ROOT / "cdk.json").read_text())["context"][CONTEXT_KEY]).stage == "dev"
