"""``memolith audit`` of a region that was removed: by its saved keys, in every bucket that has what it wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memolith.adapters.memory import ManualClock, MemoryErasableObjects, MemorySealing
from memolith.adapters.saved_keys import jwk_set
from memolith.clients.cli import audit
from memolith.clients.cli.deployment_target import Target
from memolith.core.errors import InvalidRequest
from memolith.core.objects.checkpoint import Seal
from tests.unit.app.scene import AWAY, HOME, Scene

GONE, STAYS = HOME, (AWAY, "ap-south-1")


class Deployed(Target):
    """The regions of a scene, whose sites the test hands over as the clients."""

    def site(self, region: str | None = None) -> Any:
        sites: Any = self.clients
        return sites[region or self.regions[0]].region


class Kms(MemorySealing):
    """Keys in KMS, of which a removed region has none: nothing is known of its signatures."""

    def is_signed(self, region: str, statement: bytes, seal: Seal) -> bool | None:
        return None if region == GONE else super().is_signed(region, statement, seal)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A store was born and written in a region, moved, and the region was removed when all of it had arrived."""
    monkeypatch.chdir(tmp_path)
    scene = Scene(regions=(GONE, *STAYS))
    scene.update(scene.create("/a", "first"), "second")
    scene.deliver()
    assert scene.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": scene.store})
    scene.deliver()
    assert isinstance(scene.clock, ManualClock)
    for _ in range(3):
        scene.clock.advance(61)
        for region in scene.cloud.regions:
            scene.cloud.sites[region].reconciling.tick()
        scene.deliver()
    (tmp_path / "keys.json").write_text(json.dumps(jwk_set(scene.cloud.sealing_of(GONE), [GONE])))
    scene.cloud.remove(GONE)
    sites: Any = scene.cloud.sites
    target = Deployed(sites, "dev", "111122223333", STAYS, former=(GONE,))
    monkeypatch.setattr(audit, "find_target", lambda aws: target)
    sealing = "memolith.adapters.aws.sealing.KmsSealing"
    monkeypatch.setattr(sealing, lambda clients, deployment: Kms(scene.cloud.seal_keys, deployment.region))
    return scene


def verify(*words: str) -> tuple[int, list[dict[str, Any]], str]:
    ended = CliRunner().invoke(audit.app, ["verify", "--aws", "--json", *words])
    if isinstance(ended.exception, InvalidRequest):
        raise ended.exception
    return ended.exit_code, json.loads(ended.stdout), ended.stderr


def alter(scene: Scene, region: str) -> str:
    """Somebody with rights on one bucket changes a text that the removed region wrote."""
    objects = scene.cloud.sites[region].region.objects
    key = objects.list(f"{GONE}/log/").keys[0]
    MemoryErasableObjects(scene.cloud.buckets, region).erase(key, b"another text", objects.head(key).metadata)
    return key


def test_what_a_removed_region_wrote_is_intact_in_each_of_the_others_by_its_saved_keys(scene: Scene) -> None:
    code, reports, told = verify("--keys", "keys.json")
    assert [(report["home"], report["bucket"]) for report in reports] == [
        *((region, region) for region in STAYS),
        *((GONE, region) for region in STAYS),
    ]
    assert (code, told) == (0, "")
    assert all(report["intact"] and report["looked_at"] and report["signed_until"] for report in reports[2:])
    ended = CliRunner().invoke(audit.app, ["verify", "--aws", "--region", GONE, "--keys", "keys.json"])
    assert ended.stdout.startswith(f"{GONE} in {AWAY}: intact to period ")


@pytest.mark.parametrize("region", STAYS)
def test_a_text_of_a_removed_region_that_was_altered_in_one_bucket_is_named(scene: Scene, region: str) -> None:
    key = alter(scene, region)
    code, reports, _ = verify("--keys", "keys.json", "--region", GONE)
    found = {report["bucket"]: [(one["flaw"], one["key"]) for one in report["findings"]] for report in reports}
    assert (code, found) == (1, {at: [("altered", key)] if at == region else [] for at in STAYS})


def test_without_its_keys_a_removed_region_is_not_called_intact(scene: Scene) -> None:
    code, reports, told = verify()
    assert (code, [report["home"] for report in reports]) == (0, list(STAYS))
    assert f"{GONE}: not audited" in told and "--keys" in told
    with pytest.raises(InvalidRequest, match=rf"--keys: .*{GONE}"):
        verify("--region", GONE)


def test_several_files_of_keys_are_trusted_together(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "others.json").write_text(json.dumps(jwk_set(scene.cloud.sealing_of(AWAY), [AWAY])))
    code, reports, _ = verify("--keys", "others.json", "--keys", "keys.json")
    assert (code, len(reports)) == (0, 4)


def test_a_version_of_a_removed_region_is_proven_to_who_has_its_keys(scene: Scene) -> None:
    objects = scene.cloud.sites[AWAY].region.objects
    version_id = objects.head(objects.list(f"{GONE}/log/").keys[0]).metadata["id"]
    ended = CliRunner().invoke(audit.app, ["prove", scene.store, version_id, "--aws"])
    assert ended.exit_code == 0, repr(ended.exception)
    proof = json.loads(ended.stdout)
    (key,) = json.loads(Path("keys.json").read_text())["keys"]
    assert proof["seal"]["key_id"] == key["kid"]
    assert json.loads(proof["statement"])["home"] == GONE
