"""What an operator does: commands out of docs/operations, run as they stand there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from scripts.local_cloud.layout import PROJECT_ROOT

RUNBOOK = {
    "what was set aside": ("redrive.md", "memolith index redrive --dry-run"),
    "send back": ("redrive.md", "memolith index redrive --region REGION --queue index"),
    "state": ("rebuild.md", "memolith index status --region REGION"),
    "rebuild": ("rebuild.md", "memolith index rebuild --region REGION"),
    "fail over": ("fail-over.md", "memolith homes fail-over --from REGION --to OTHER"),
    "return": ("fail-over.md", "memolith homes return REGION"),
    "move": ("fail-over.md", "memolith homes move --from REGION --to OTHER"),
    "fail over some": ("fail-over.md", "memolith homes fail-over --from REGION --to OTHER --stores STORES"),
    "homes": ("fail-over.md", "memolith homes list --region OTHER"),
    "what stands apart": ("fail-over.md", "memolith divergent list"),
    "show": ("fail-over.md", "memolith divergent show STORE VERSION"),
}
"""What an operator does: the page of docs/operations and its command, as it stands there."""


class StepFailed(Exception):
    """What an operator's command should have brought about did not come about; the message says what."""


class Runbook:
    """Runs the pages' commands against a local cloud."""

    def __init__(self, dev: Mapping[str, Any], console: Console) -> None:
        self._dev = dev
        self._console = console

    def run(
        self,
        what: str,
        region: str = "",
        *,
        to: str = "",
        store: str = "",
        version: str = "",
        may_fail: bool = False,
        as_json: bool = False,
        asking: str | None = None,
        quietly: bool = False,
    ) -> str:
        """Run the command that docs/operations has for this; return what it printed.

        Args:
            region, to, store, version: replace the page's REGION, OTHER, STORE or STORES, and VERSION.
            may_fail: whether another exit code than 0 is no failure of the step.
            as_json: whether a program reads its answer.
            asking: the region whose API it calls, where it calls one; by default the first.
            quietly: do not show it.

        Raises:
            StepFailed: it ended with another exit code than 0, unless it may.
        """
        filled = RUNBOOK[what][1]
        for name, value in (
            ("REGION", region),
            ("OTHER", to),
            ("STORES", store),
            ("STORE", store),
            ("VERSION", version),
        ):
            filled = filled.replace(name, value)
        words = [*filled.split()[1:], *(["--json"] if as_json else [])]
        api = self._dev["regions"][asking or next(iter(self._dev["regions"]))]["api_url"]
        done = subprocess.run(
            [sys.executable, "-m", "memolith.clients.cli", *words],
            cwd=PROJECT_ROOT,
            env={**os.environ, "ANTHROPIC_BASE_URL": api, "ANTHROPIC_API_KEY": self._dev["api_key"]},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if not quietly:
            self._console.print(f"  $ {filled}", style="dim", highlight=False)
        if done.returncode and not may_fail:
            raise StepFailed(f"`{filled}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-800:]}")
        return done.stdout
