"""The real CDK app, deployed to the local endpoint by the real CDK command line.

Three commands: ``cdk bootstrap`` for every region, ``cdk synth`` of the app that goes to AWS, ``cdk deploy --all`` of
what it made. Each runs in a session of its own and is recorded like every other process, so that an interrupted
``up`` leaves nothing that ``down`` does not end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from infra.deployment import merged
from scripts.local_cloud.aws import Clients
from scripts.local_cloud.environment import ACCOUNT, ensure_folders, for_command
from scripts.local_cloud.layout import PROJECT_ROOT, Layout
from scripts.local_cloud.processes import ProcessFiles

CDK = PROJECT_ROOT / "node_modules" / ".bin" / "cdk"
BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"
"""The parameter that tells what was bootstrapped, by CDK's default qualifier."""
SILENT_S = 600.0
"""How long a command may say nothing. Fetching the functions' packages is its longest silence."""

Progress = Callable[[str, str], None]
"""Told of each line that a command prints: (step, line)."""


class DeploymentFailed(Exception):
    """A command failed or took too long; the message holds its last lines and names its log."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is deployed where.

    Attributes:
        endpoint: of the emulator.
        stage: part of every name.
        regions: all regions, the first one the command line's default.
        overrides: merged over the record in ``cdk.json`` beside what the local cloud itself needs.
        endpoint_needs: what the endpoint itself needs; the overrides go before it.
    """

    endpoint: str
    stage: str
    regions: tuple[str, ...]
    overrides: Mapping[str, Any]
    endpoint_needs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def prefix(self) -> str:
        """What every name begins with."""
        return f"memolith-{self.stage}"

    def context(self) -> str:
        """Write the overrides of ``cdk.json``'s record, as JSON.

        Bundles are for this machine's Python; cdk-nag is left out, and so is CodeDeploy,
        which the emulator lacks. Two indexers a region at a time, the fewest there
        can be: each is a process, and all regions share this machine. A deleted store is erased at once: what a
        developer wants to see of an erasure should not take a week. Dreams are on, with the stand-in for a model.
        """
        local = {
            "stage": self.stage,
            "regions": list(self.regions),
            "account": ACCOUNT,
            "bundling": "host",
            "python_version": f"{sys.version_info.major}.{sys.version_info.minor}",
            "emulated": True,
            "rollout": "unversioned",
            "limits": {"indexer_concurrency": 2, "erase_delay_days": 0},
            "dreams": {"service": "extractive", "concurrency": 2},
        }
        return json.dumps(merged(merged(local, self.endpoint_needs), self.overrides))


class Cdk:
    """The CDK command line, run for one plan.

    Args:
        progress: told of each line that a command prints, and of the step it belongs to.
    """

    def __init__(self, layout: Layout, processes: ProcessFiles, plan: Plan, progress: Progress) -> None:
        self._layout = layout
        self._processes = processes
        self._plan = plan
        self._progress = progress

    def bootstrap(self) -> None:
        """Run ``cdk bootstrap``: the asset bucket and the deploying roles of every region. About four seconds each."""
        environments = [f"aws://{ACCOUNT}/{region}" for region in self._plan.regions]
        # Not in the project's folder: there it would synthesize the app first.
        self._run("bootstrap", ["bootstrap", *environments], cwd=self._layout.temporary)

    def synthesize(self) -> None:
        """Run ``cdk synth``: the templates, from the app. Needs neither network nor endpoint."""
        output = ["--quiet", "--output", str(self._layout.assembly), "-c", f"memolith-overrides={self._plan.context()}"]
        self._run("synth", ["synth", *output], cwd=PROJECT_ROOT)

    def deploy(self) -> None:
        """Run ``cdk deploy --all`` on what was synthesized; builds the bundles that are new. Stacks go in parallel."""
        options = ["--all", "--app", str(self._layout.assembly), "--require-approval", "never", "--concurrency", "4"]
        # Buckets and tables outlive their stack; a later deploy of the same names takes them over again.
        self._run("deploy", ["deploy", *options, "--progress", "events"], cwd=PROJECT_ROOT)

    def _run(self, name: str, words: Sequence[str], *, cwd: Path) -> None:
        log = self._layout.logs / f"{name}.log"
        ensure_folders(self._layout.temporary, self._layout.cache)
        process = self._processes.start(
            name,
            [str(CDK), *words, "--ci", "-c"],
            environment=for_command(self._layout, self._plan.endpoint, self._plan.regions[0]),
            cwd=cwd,
            log=log,
            identify_with="local-cloud=",
        )
        try:
            status = self._follow(name, process, log)
        finally:
            self._processes.stop(name, grace_s=2)
        if status != 0:
            reason = f"said nothing for {SILENT_S:.0f} s" if status is None else f"ended with {status}"
            raise DeploymentFailed(f"cdk {words[0]} {reason}. Its last lines, from {log}:\n{_tail(log)}")

    def _follow(self, name: str, process: subprocess.Popen[bytes], log: Path) -> int | None:
        """Report the command's lines until it ends; its status, or None if it has fallen silent."""
        heard = time.monotonic()
        with log.open(encoding="utf-8", errors="replace") as output:
            while (status := process.poll()) is None and time.monotonic() - heard < SILENT_S:
                for line in output:
                    heard = time.monotonic()
                    self._progress(name, line.strip())
                time.sleep(0.1)
        return status


def is_bootstrapped(clients: Clients, region: str) -> bool:
    """Tell whether the endpoint has what ``cdk bootstrap`` makes in a region. One request."""
    try:
        clients.client("ssm", region).get_parameter(Name=BOOTSTRAP_VERSION)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            return False
        raise
    return True


def missing_tools() -> str | None:
    """Return what has to be installed before anything can be deployed; None if nothing."""
    if not CDK.exists():
        return f"{CDK.relative_to(PROJECT_ROOT)} is missing: run `make setup`"
    return None


def _tail(log: Path, lines: int = 25) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
