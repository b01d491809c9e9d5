"""``memolith audit verify`` of a deployment: each home in its own bucket, against what the other regions saw of it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from memolith.adapters.aws import sealing
from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.names import Deployment
from memolith.adapters.memory import MemoryObjects, MemorySealing
from memolith.app.kernel.region import Region
from memolith.clients.cli import audit
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import ApiFailed
from memolith.core.objects.witness import witness_key, witness_prefix
from tests.unit.app.operations.sealed_home import sealed
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Two regions, each with its own bucket, as the command reads them; one text is acknowledged and sealed."""
    made = Scene()
    made.create("/a")
    sealed(made)

    def site(target: Target, region: str) -> Region:
        return made.cloud.sites[region].region

    def signing(clients: Clients, deployment: Deployment) -> MemorySealing:
        return made.cloud.sealing_of(deployment.region)

    monkeypatch.setattr(audit, "find_target", lambda aws: Target(Clients(), "dev", "0" * 12, (HOME, AWAY)))
    monkeypatch.setattr(Target, "site", site)
    monkeypatch.setattr(sealing, "KmsSealing", signing)
    return made


def verify(*words: str) -> Result:
    return CliRunner().invoke(audit.app, ["verify", "--aws", "--json", *words])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"no witness", id="no JSON"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b"[" * 100_000, id="nested too deeply"),
        pytest.param(b'{"schema": "1", "home": "us-east-1"}', id="without most fields"),
        pytest.param(b'{"schema": "1", "home": "", "period": 1e400, "sha256": "", "seen_at": 0}', id="of no period"),
    ],
)
def test_what_another_region_kept_and_cannot_be_read_is_named_with_the_home_and_the_place(
    scene: Scene, body: bytes
) -> None:
    assert json.loads(verify().stdout)[0]["intact"]
    MemoryObjects(scene.cloud.buckets, AWAY).put_if_absent(witness_key(HOME, 999), body, {})
    ended = verify()
    assert isinstance(ended.exception, ApiFailed), ended.exception
    told = (ended.exception.exit, ended.exception.message, ended.exception.advice)
    assert (told[0], HOME in told[1], witness_prefix(HOME) in told[2]) == (1, True, True), told
    assert verify("--region", AWAY).exit_code == 0, "the other home is audited all the same"
