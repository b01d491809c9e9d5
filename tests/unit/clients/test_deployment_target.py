"""Which deployment a command speaks to, and by what names its functions are invoked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.deployment import ALIAS
from memolith.clients.cli.deployment_target import find_target


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
