"""The roles of the largest deployment that the record allows: IAM has to take their policies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aws_cdk import App

from infra.deployment import POLICY_CHARACTERS_MAX, REGIONS_MAX, parse
from infra.stacks.base import BaseStack
from infra.stacks.mesh import MeshStack
from tests.infra.conftest import DREAMS
from tests.infra.synthesized import record

LONGEST = [f"ap-southeast-{number}" for number in range(1, REGIONS_MAX + 1)]
"""Regions with the longest names that AWS has given."""


@pytest.mark.slow
def test_no_roles_policies_outgrow_iam_in_the_most_regions_with_the_longest_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")
    deployment = parse(record(*LONGEST, emulated=True, dreams=DREAMS) | {"stage": "a" * 16})
    app = App(outdir=str(tmp_path))
    stacks = (BaseStack(app, deployment, LONGEST[1]), MeshStack(app, deployment, LONGEST[0]))
    assembly = app.synth()
    sizes = {}
    for stack in stacks:
        for name, resource in assembly.get_stack_by_name(stack.stack_name).template["Resources"].items():
            if resource["Type"] == "AWS::IAM::Role":
                policies = [one["PolicyDocument"] for one in resource["Properties"].get("Policies", [])]
                sizes[name] = sum(len(json.dumps(one, separators=(",", ":"))) for one in policies)
    assert len(sizes) >= 13
    assert {name: size for name, size in sizes.items() if size > POLICY_CHARACTERS_MAX} == {}
