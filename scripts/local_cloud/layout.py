"""Where the local cloud keeps its files: one folder of the project, ``.memolith/``, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]
"""The checkout this file belongs to."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of one local cloud, all below ``root/.memolith``; nothing is created by naming it.

    ``logs`` and ``cache`` outlive a cloud (to be read afterwards; to make the next one faster). The rest is removed
    by ``down`` and again by the next ``up``.
    """

    root: Path = PROJECT_ROOT

    @property
    def home(self) -> Path:
        """``.memolith``: everything below is the local cloud's."""
        return self.root / ".memolith"

    @property
    def dev_file(self) -> Path:
        """What clients read: the endpoint, the regions' resources, an API key, the control address."""
        return self.home / "dev.json"

    @property
    def cloud_file(self) -> Path:
        """How the running cloud was started, so that a later command continues with the same choices."""
        return self.home / "cloud.json"

    @property
    def processes(self) -> Path:
        """One JSON file for each process that was started."""
        return self.home / "processes"

    @property
    def logs(self) -> Path:
        """One log for each process, written anew at every start."""
        return self.home / "logs"

    @property
    def emulator(self) -> Path:
        """The emulator's world: its state, its temporary files, the functions' unpacked bundles."""
        return self.home / "emulator"

    @property
    def replication(self) -> Path:
        """The replicator's configuration and its ledger."""
        return self.home / "replication"

    @property
    def front_door(self) -> Path:
        """The front door's configuration, where the endpoint has no HTTP APIs."""
        return self.home / "front_door"

    @property
    def assembly(self) -> Path:
        """The synthesized CDK app, which is deployed and then compared with the live APIs."""
        return self.home / "cdk.out"

    @property
    def cache(self) -> Path:
        """Caches of the CDK command line and of jsii."""
        return self.home / "cache"

    @property
    def temporary(self) -> Path:
        """TMPDIR of every command that ``up`` runs."""
        return self.home / "tmp"
