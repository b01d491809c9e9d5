"""The key that signs checkpoints: one a region, that signs and cannot be copied, and that only its alias names."""

from __future__ import annotations

import pytest

from tests.infra.rights import grants
from tests.infra.synthesized import FAR, HERE, THERE, App

ALIAS = "alias/memolith-test-seal"


@pytest.mark.parametrize("region", [HERE, THERE, FAR])
def test_each_region_has_a_key_that_signs_under_the_deployments_alias(three_regions: App, region: str) -> None:
    (key,) = three_regions.base(region).properties("AWS::KMS::Key")
    assert (key["KeySpec"], key["KeyUsage"]) == ("ECC_NIST_P256", "SIGN_VERIFY")
    (alias,) = three_regions.base(region).properties("AWS::KMS::Alias")
    assert alias["AliasName"] == ALIAS


def test_a_key_can_be_kept_for_thirty_days_after_its_stack(three_regions: App) -> None:
    (key,) = three_regions.base(HERE).properties("AWS::KMS::Key")
    assert key["PendingWindowInDays"] == 30


@pytest.mark.parametrize(("function", "count"), [("reconciler", 2), ("reader", 1)])
def test_no_function_may_use_a_key_that_does_not_have_the_alias(three_regions: App, function: str, count: int) -> None:
    statements = [one for one in grants(three_regions, function)["Statement"] if "kms" in str(one["Action"])]
    assert len(statements) == count
    for statement in statements:
        assert statement["Condition"] == {"ForAnyValue:StringEquals": {"kms:ResourceAliases": ALIAS}}
