"""What the commands show: steps as they go, and tables of what came of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from scripts.local_cloud.lifecycle import Report, Watcher

_LONGEST_VALUE = 70


class Steps(Watcher):
    """One line for each finished step, and below them what runs now."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}
        self._status = console.status("")

    def __enter__(self) -> Steps:
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def begin(self, step: str, what: str) -> None:
        """Show a step as running."""
        self._show(step, what)

    def line(self, step: str, text: str) -> None:
        """Show a command's latest line behind its step."""
        if text:
            self._show(step, text)

    def end(self, step: str, seconds: float) -> None:
        """Leave a line that says how long the step took."""
        with self._lock:
            self._running.pop(step, None)
        self._console.print(f"[green]✓[/] {step:<12} {seconds:5.1f} s")
        self._refresh()

    def _show(self, step: str, text: str) -> None:
        with self._lock:
            self._running[step] = text
        self._refresh()

    def _refresh(self) -> None:
        width = max(20, self._console.width - 20)
        with self._lock:
            lines = [f"{step}: {escape(text[:width])}" for step, text in self._running.items()]
        self._status.update("\n  ".join(lines))


def show_report(console: Console, report: Report) -> None:
    """Print what ``up`` did, what the emulator lacks, and where things are."""
    for name, consequence in report.missing_patches.items():
        console.print(f"[red]patch not applied[/] {name}: {escape(consequence)}")
    show_differences(console, report)
    for region, resources in report.dev["regions"].items():
        console.print(f"[bold]{region}[/]  {resources['api_url']}  [dim]{resources['bucket']}[/]", soft_wrap=True)
    control = report.dev["replication"]["control_url"]
    console.print(f"replication  {control}/replication  [dim]changed by[/] memolith dev replication", soft_wrap=True)
    done = "deployed again" if report.redeployed else "up"
    console.print(f"[green]The local cloud is {done}[/] after {report.seconds:.0f} s; .memolith/dev.json describes it.")


def show_differences(console: Console, report: Report) -> None:
    """Print a row for each property that the endpoint does not have as the templates ask."""
    comparison = report.comparison
    if not comparison.differences:
        console.print(f"All {comparison.compared} resources are as the templates ask.")
        return
    console.print("Asked for in the templates, and not so at the endpoint:")
    for one in comparison.differences:
        what = f"{len(one.resources)} × {one.kind.removeprefix('AWS::')} [bold]{one.name}[/]"
        asked, there = (escape(_cut(value)) for value in (one.asked, one.there))
        console.print(f"  {what}  [dim]asked[/] {asked}  [dim]is[/] {there}", soft_wrap=True)


def show_status(console: Console, status: Mapping[str, Any]) -> None:
    """Print processes, addresses, and replication pair by pair."""
    answering = "[green]answers[/]" if status["answers"] else "[red]does not answer[/]"
    iam = ", IAM enforced" if status["enforce_iam"] else ""
    console.print(f"endpoint     {status['endpoint']} {answering}{iam}")
    for name, process in status["processes"].items():
        running = "[red]ended[/]" if process["pid"] is None else f"process {process['pid']}"
        children = f", {process['children']} children" if process["children"] else ""
        console.print(f"{name:<12} {running}{children}")
    for region, resources in (status["dev"] or {}).get("regions", {}).items():
        console.print(f"{region:<12} {resources['api_url']}", soft_wrap=True)
    if status["replication"] is not None:
        show_replication(console, status["replication"])


def show_replication(console: Console, replication: Mapping[str, Any]) -> None:
    """Print the settings in force, and for each pair what waits and what was copied."""
    settings = ("lag_ms", "jitter_ms", "duplicate", "reorder")
    console.print("  ".join(f"{name} {replication[name]:g}" for name in settings))
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for heading in ("waiting", "oldest s", "copied", "twice", "failed", "p50 ms", ""):
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in replication["pairs"]:
        oldest = pair["oldest_pending_ms"]
        table.add_row(
            f"{pair['source']} → {pair['destination']}",
            str(pair["pending"]),
            "" if oldest is None else f"{oldest / 1000:.1f}",
            str(pair["copied"]),
            str(pair["duplicated"]),
            str(pair["failed"]),
            _number(pair["latency_p50_ms"]),
            "[yellow]paused[/]" if pair["paused"] else "",
        )
    console.print(table)
    for prefix in replication["hold"]:
        console.print(f"[yellow]held:[/] {escape(prefix)}", soft_wrap=True)
    for sentence in replication["ignored"]:
        console.print(f"[yellow]not obeyed:[/] {escape(sentence)}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def show_faults(console: Console, striking: Mapping[str, Any]) -> None:
    """Print a line for each kind of fault that strikes, and one if none does."""
    lines = [f"{name.replace('_', ' '):<12} {_listed(what)}" for name, what in striking.items() if what]
    console.print("\n".join(lines) or "Nothing fails.", highlight=False, markup=False)


def _listed(what: Any) -> str:
    shares = [f"{region}={share:g}" for region, share in what.items()] if isinstance(what, Mapping) else what
    return ", ".join(map(str, shares))
