"""``make demo``: the main job, on this machine.

Starts the local cloud with two regions, imports a folder of Markdown, lets agents in both regions edit the same
memories at once through the unchanged SDK, measures how long a write takes to be visible in the other region, and
ends with a table. Exit code 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anthropic import Anthropic, APIStatusError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from scripts.agents import Assignment, Report, client, kept, run_agents

ROOT = Path(__file__).resolve().parents[1]
REGIONS = ("us-east-1", "eu-west-1")
AGENTS_PER_REGION = 2
EDITS = 20
SHARED = 3
PROBES = 20
IMPORTERS = 4
VISIBLE_WITHIN_S = 30.0

console = Console()


@dataclass(frozen=True, slots=True)
class Measured:
    """What the demo saw."""

    imported: int
    skipped: list[str]
    reports: list[Report]
    kept: int
    doubled: int
    versions_missing: int
    visible_ms: list[float]

    @property
    def acknowledged(self) -> int:
        return sum(len(report.acknowledged) for report in self.reports)

    @property
    def conflicts(self) -> int:
        return sum(report.conflicts for report in self.reports)

    @property
    def broken(self) -> list[str]:
        """Promises that did not hold, in words."""
        unknown = sum(len(report.unknown) for report in self.reports)
        errors = [error for report in self.reports for error in report.errors]
        found = []
        if not self.acknowledged <= self.kept <= self.acknowledged + unknown:
            found.append(f"{self.acknowledged} edits were acknowledged, {self.kept} are kept")
        if self.doubled:
            found.append(f"{self.doubled} edits stand twice")
        if self.versions_missing:
            found.append(f"{self.versions_missing} acknowledged versions are missing from the history")
        if errors:
            found.append(f"{len(errors)} edits failed: {errors[0]}")
        if len(self.visible_ms) < PROBES:
            found.append(
                f"{PROBES - len(self.visible_ms)} writes were not visible elsewhere in {VISIBLE_WITHIN_S:.0f} s"
            )
        return found


def local_cloud(*arguments: str) -> None:
    """Run one command of the local cloud, its output passed through."""
    subprocess.run([sys.executable, "-m", "scripts.local_cloud", *arguments], cwd=ROOT, check=True)


@contextlib.contextmanager
def steps(description: str, total: int) -> Iterator[Any]:
    """Show a progress bar; yield what to call after each step."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(description, total=total)
        yield lambda count=1: progress.advance(task, count)


def import_folder(sdk: Anthropic, store_id: str, folder: Path) -> tuple[dict[str, str], list[str]]:
    """Import every Markdown file of a folder; return path to memory_id, and what was left out with the reason."""
    files = sorted(path for path in folder.rglob("*.md") if path.is_file())
    if not files:
        raise SystemExit(f"There is no Markdown below {folder}; name another folder: make demo DIR=~/notes")
    imported: dict[str, str] = {}
    skipped: list[str] = []
    with steps(f"importing {len(files)} files", len(files)) as advance, ThreadPoolExecutor(IMPORTERS) as pool:

        def one(file: Path) -> None:
            path = "/" + unicodedata.normalize("NFC", file.relative_to(folder).as_posix())
            try:
                content = file.read_bytes().decode()
                memory = sdk.beta.memory_stores.memories.create(store_id, path=path, content=content)
                imported[path] = memory.id
            except (UnicodeDecodeError, APIStatusError) as error:
                skipped.append(f"{path}: {getattr(error, 'message', 'is not UTF-8 text')}")
            advance()

        list(pool.map(one, files))
    return imported, skipped


def edit_together(dev: dict[str, Any], store_id: str, memory_ids: tuple[str, ...]) -> list[Report]:
    """Let agents in both regions edit the same memories."""
    agents = [
        Assignment(
            f"{region} agent {n}", dev["regions"][region]["api_url"], dev["api_key"], store_id, memory_ids, EDITS
        )
        for region in dev["regions"]
        for n in range(1, AGENTS_PER_REGION + 1)
    ]
    reports: list[Report] = []
    title = f"{len(agents)} agents, {len(memory_ids)} shared memories"
    with steps(title, len(agents) * EDITS) as advance:
        for told in run_agents(agents):
            if isinstance(told, Report):
                reports.append(told)
            else:
                advance(told)
    return reports


def measure_visibility(dev: dict[str, Any], store_id: str) -> list[float]:
    """Measure the time from an acknowledgement in the first region until the second one serves that version, in ms."""
    here, there = (client(dev["regions"][region]["api_url"], dev["api_key"]) for region in list(dev["regions"])[:2])
    memory = here.beta.memory_stores.memories.create(store_id, path="/demo/probe.md", content="0")
    visible: list[float] = []
    with steps("timing replication", PROBES) as advance:
        for number in range(PROBES):
            here.beta.memory_stores.memories.update(memory.id, memory_store_id=store_id, content=f"{number + 1}")
            started = time.perf_counter()
            while time.perf_counter() - started < VISIBLE_WITHIN_S:
                if _content(there, store_id, memory.id) == f"{number + 1}":
                    visible.append((time.perf_counter() - started) * 1000)
                    break
                time.sleep(0.01)
            advance()
    return visible


def _content(sdk: Anthropic, store_id: str, memory_id: str) -> str | None:
    try:
        return sdk.beta.memory_stores.memories.retrieve(memory_id, memory_store_id=store_id).content
    except APIStatusError as error:
        if error.status_code == 404:
            return None
        raise


def run(folder: Path) -> Measured:
    """Run the demo itself, on a local cloud that is up."""
    dev = json.loads((ROOT / ".memolith" / "dev.json").read_text())
    home, away = (client(dev["regions"][region]["api_url"], dev["api_key"]) for region in REGIONS)
    store = home.beta.memory_stores.create(name="Demo", description="What the demo imported and its agents wrote")
    imported, skipped = import_folder(home, store.id, folder)
    for number in range(1, SHARED + 1):
        path = f"/demo/shared-{number}.md"
        imported[path] = home.beta.memory_stores.memories.create(store.id, path=path, content=f"# Shared {number}\n").id
    shared = tuple(imported[f"/demo/shared-{number}.md"] for number in range(1, SHARED + 1))
    wait_until_listed(away, store.id, len(imported))
    reports = edit_together(dev, store.id, shared)
    lines = kept(home, store.id, shared)
    edits = [(id, line) for id, found in lines.items() for line in found if line.startswith("- ")]
    versions = {v.id for id in shared for v in home.beta.memory_stores.memory_versions.list(store.id, memory_id=id)}
    missing = [one for report in reports for one in report.acknowledged if one[2] not in versions]
    visible_ms = measure_visibility(dev, store.id)
    return Measured(
        len(imported), skipped, reports, len(set(edits)), len(edits) - len(set(edits)), len(missing), visible_ms
    )


def wait_until_listed(sdk: Anthropic, store_id: str, count: int) -> None:
    """Wait until the other region lists everything. Raises SystemExit when it does not."""
    deadline = time.monotonic() + VISIBLE_WITHIN_S
    found = 0
    while time.monotonic() < deadline:
        with contextlib.suppress(APIStatusError):
            found = sum(1 for _ in sdk.beta.memory_stores.memories.list(store_id, limit=100))
            if found == count:
                return
        time.sleep(0.1)
    raise SystemExit(f"the other region lists {found} of {count} memories after {VISIBLE_WITHIN_S:.0f} s")


def show(measured: Measured) -> None:
    """Print the table at the end."""
    table = Table(title="What the demo saw", show_header=False, title_justify="left")
    visible = sorted(measured.visible_ms) or [float("nan")]
    p95 = visible[min(len(visible) - 1, round(0.95 * (len(visible) - 1)))]
    latencies = [ms for report in measured.reports for ms in report.latencies_ms] or [float("nan")]
    for name, value in (
        ("memories imported", measured.imported),
        ("writes acknowledged", measured.acknowledged),
        ("conflicts answered and retried", measured.conflicts),
        ("edits kept (must equal acknowledged)", measured.kept),
        ("versions missing or double", measured.versions_missing + measured.doubled),
        ("update, p50", f"{statistics.median(latencies):.0f} ms"),
        ("visible in the other region, p50", f"{statistics.median(visible):.0f} ms"),
        ("visible in the other region, p95", f"{p95:.0f} ms"),
    ):
        table.add_row(name, str(value))
    console.print(table)
    for reason in measured.skipped:
        console.print(f"left out: {reason}", style="yellow", highlight=False, markup=False)


def main() -> int:
    """Run the demo; return 0 when every promise held."""
    parser = argparse.ArgumentParser(description="Memolith's main job, on this machine.")
    parser.add_argument("--dir", type=Path, default=ROOT / "docs", help="the folder of Markdown to import")
    parser.add_argument("--keep", action="store_true", help="leave the local cloud running")
    arguments = parser.parse_args()
    folder = arguments.dir.expanduser().resolve()
    if not folder.is_dir():
        raise SystemExit(f"{arguments.dir} is no folder; name one: make demo DIR=~/notes")
    local_cloud("up", "--regions", ",".join(REGIONS))
    try:
        measured = run(folder)
    finally:
        if not arguments.keep:
            local_cloud("down")
    show(measured)
    for promise in measured.broken:
        console.print(f"BROKEN: {promise}", style="bold red", highlight=False, markup=False)
    if not measured.broken:
        console.print("Every acknowledged edit is kept.", style="bold green")
    return 1 if measured.broken else 0


if __name__ == "__main__":
    sys.exit(main())
