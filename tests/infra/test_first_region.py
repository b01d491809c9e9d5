"""The first region stays first: it has the secrets that sign session tokens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.custom_resources import first_region
from tests.infra.synthesized import FAR, HERE, THERE, App

TOKENS = ("AWS::SecretsManager::Secret", "Custom::MemolithFirstSigningKey")


def asked(monkeypatch: pytest.MonkeyPatch, request: str, first: str, made_with: str | None) -> dict[str, Any]:
    """What CloudFormation is answered."""
    told: list[bytes] = []
    monkeypatch.setattr("infra.custom_resources.respond._put", lambda url, body: told.append(body))
    event = {
        "RequestType": request,
        "ResourceProperties": {"First": first},
        "ResponseURL": "https://answers.test",
        **{name: name for name in ("StackId", "RequestId", "LogicalResourceId")},
        **({} if made_with is None else {"PhysicalResourceId": f"first-region-{made_with}"}),
    }
    first_region.handler(event, None)
    answered: dict[str, Any] = json.loads(told[0])
    return answered


def test_another_first_region_is_refused_with_the_reason_and_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = asked(monkeypatch, "Update", THERE, HERE)
    assert answer["Status"] == "FAILED"
    assert f"Put {HERE} first again" in answer["Reason"]
    assert answer["PhysicalResourceId"] == f"first-region-{HERE}"


@pytest.mark.parametrize(
    ("request_type", "first", "made_with"),
    [("Create", HERE, None), ("Update", HERE, HERE), ("Delete", THERE, HERE)],
    ids=["made", "the same, or back to it in a rollback", "deleted"],
)
def test_the_first_region_that_it_was_made_with_is_accepted(
    monkeypatch: pytest.MonkeyPatch, request_type: str, first: str, made_with: str | None
) -> None:
    answer = asked(monkeypatch, request_type, first, made_with)
    assert (answer["Status"], answer["PhysicalResourceId"]) == ("SUCCESS", f"first-region-{HERE}")


def test_every_region_compares_and_the_secrets_wait_for_it(three_regions: App) -> None:
    for region in (HERE, THERE, FAR):
        [kept] = three_regions.base(region).properties("Custom::MemolithFirstRegion")
        assert kept["First"] == HERE
    resources = three_regions.base(HERE).body["Resources"]
    [name] = [name for name, made in resources.items() if made["Type"] == "Custom::MemolithFirstRegion"]
    waiting = [made for made in resources.values() if made["Type"] in TOKENS]
    assert len(waiting) == 3
    for made in waiting:
        assert name in made["DependsOn"]
