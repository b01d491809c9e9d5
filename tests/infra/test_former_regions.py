"""Regions that were removed from the deployment: functions know their names, and nothing is granted or copied there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.deployment import parse
from infra.record_checks import InvalidDeployment
from tests.infra.synthesized import ALWAYS, FAR, HERE, THERE, App, record


def test_every_function_is_told_which_regions_were_removed(equipped: App) -> None:
    template = equipped.base(HERE)
    for name in ALWAYS:
        made = template.named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
        told = made["Environment"]["Variables"]
        assert (told["MEMOLITH_FORMER_REGIONS"], told["MEMOLITH_REGIONS"]) == (FAR, f"{HERE},{THERE}")


def test_nothing_else_of_a_stack_names_a_region_that_was_removed(equipped: App) -> None:
    """No role reaches it, no rule copies to it, no alarm waits for it."""
    for template in equipped.templates():
        text = json.dumps(template.body).replace(f'"MEMOLITH_FORMER_REGIONS": "{FAR}"', "")
        assert FAR not in text


@pytest.mark.parametrize(
    ("former", "rule"),
    [
        ([THERE], "must name no region of 'regions'"),
        ([FAR, FAR], "twice"),
        (["Sydney"], "region's name"),
        (FAR, "list"),
    ],
)
def test_former_regions_that_cannot_be_are_refused_by_name(former: Any, rule: str) -> None:
    with pytest.raises(InvalidDeployment, match=f"field 'former_regions'.*{rule}"):
        parse(record(HERE, THERE, former_regions=former))
