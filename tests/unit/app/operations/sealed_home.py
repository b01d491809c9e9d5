"""A home with sealed checkpoints, whoever has rights on its bucket, and its audit."""

from __future__ import annotations

from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.operations.audit import make_audit
from memolith.app.operations.audit_report import AuditReport
from memolith.core.audit import Flaw
from tests.unit.app.scene import HOME, Scene

MINUTE_S = 60.0


def sealed(scene: Scene) -> None:
    scene.deliver()
    scene.clock.pause(MINUTE_S)
    scene.cloud.sites[HOME].reconciling.tick()
    scene.deliver()


def audited(scene: Scene, *, since: int = 1, store: str | None = None) -> AuditReport:
    return make_audit(scene.cloud.sites[HOME].region, scene.cloud.sealing_of(HOME)).run(HOME, store, since)


def flaws(report: AuditReport) -> list[Flaw]:
    return [finding.flaw for finding in report.findings]


def overwrite(scene: Scene, key: str, body: bytes, metadata: dict[str, str] | None = None) -> None:
    """Somebody with rights on the bucket puts this over an object."""
    MemoryErasableObjects(scene.cloud.buckets, HOME).erase(key, body, metadata or {})


def key_of(scene: Scene, version_id: str) -> str:
    objects = scene.cloud.sites[HOME].region.objects
    for key in objects.list(f"{HOME}/log/").keys:
        if objects.head(key).metadata["id"] == version_id:
            return key
    raise AssertionError(version_id)
