"""Which deployment a command speaks to, and by what names its functions are invoked."""

from __future__ import annotations

import json
from collections.abc import Container
from pathlib import Path

import pytest
from botocore.exceptions import EndpointConnectionError

from infra.deployment import ALIAS
from memolith.adapters.aws.clients import Clients
from memolith.clients.cli.deployment_target import find_target
from memolith.core.errors import InvalidRequest, Unavailable


def invoked(folder: Path, **fields: str) -> str:
    """By what name a command invokes the function for keys, as this ``cdk.json`` describes the deployment."""
    record = {"stage": "prod", "regions": ["us-east-1"], "account": "111122223333", **fields}
    (folder / "cdk.json").write_text(json.dumps({"context": {"memolith": record}}))
    return find_target(aws=True).deployment().function("keys")


def test_a_command_invokes_functions_by_the_alias_that_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoked(tmp_path) == invoked(tmp_path, rollout="at_once") == f"memolith-prod-keys:{ALIAS}"
    assert invoked(tmp_path, rollout="unversioned") == "memolith-prod-keys"


def test_a_command_for_the_local_cloud_invokes_functions_by_their_own_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".memolith").mkdir()
    (tmp_path / ".memolith" / "dev.json").write_text(
        json.dumps({"endpoint": "http://127.0.0.1:9", "regions": {"us-east-1": {}}})
    )
    assert find_target(aws=False).deployment().function("keys") == "memolith-dev-keys"


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"endpoint": "http://127.0.0.1:9", "regions": null}'])
def test_a_description_of_the_local_cloud_that_makes_no_sense_is_named_with_what_writes_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".memolith").mkdir()
    (tmp_path / ".memolith" / "dev.json").write_text(text)
    with pytest.raises(InvalidRequest, match=r"dev\.json makes no sense.*memolith dev up"):
        find_target(aws=False)


class Sts:
    """STS of one region, of which `gone` do not answer."""

    def __init__(self, region: str, gone: Container[str]) -> None:
        self.is_gone = region in gone
        self.region = region

    def get_caller_identity(self) -> dict[str, str]:
        if self.is_gone:
            raise EndpointConnectionError(endpoint_url=f"https://sts.{self.region}.amazonaws.com")
        return {"Account": "444455556666"}


def test_a_command_finds_its_account_while_the_first_region_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    record = {"stage": "prod", "regions": ["us-east-1", "eu-west-1"]}
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"memolith": record}}))
    monkeypatch.setattr(Clients, "sts", lambda _, region: Sts(region, {"us-east-1"}))
    assert find_target(aws=True).account == "444455556666"
    monkeypatch.setattr(Clients, "sts", lambda _, region: Sts(region, record["regions"]))
    with pytest.raises(Unavailable, match=r"eu-west-1: EndpointConnectionError.*cdk.json"):
        find_target(aws=True)
