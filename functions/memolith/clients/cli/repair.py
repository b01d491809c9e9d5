"""``memolith repair``: restore damaged texts from a copy that is whole, region by region.

Each region's eraser, which alone may put something over an object, looks at its own bucket. A laptop's folder is
repaired by a process of its own, beside a server or without one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_address import chosen_root
from memolith.clients.cli.calls import invoke
from memolith.clients.cli.deployment_target import Aws, Root, Target, find_target, require_store_id
from memolith.clients.cli.output import Json, show_rows
from memolith.core.errors import NotFound, OutcomeUnknown, Unavailable

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXIT_DAMAGED = 1
NOT_FOUND = "not found"
COLUMNS = ("region", "outcome", "damage", "version_id", "key")


@app.command()
def repair(
    store_id: Annotated[
        str | None, typer.Option("--store", help="Only this memory_store; by default every store.")
    ] = None,
    region: Annotated[str | None, typer.Option("--region", help="Only this region; by default every region.")] = None,
    root: Root = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only look, and change nothing.")] = False,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Compare every stored text with the hash that was acknowledged, and restore damaged ones from a whole copy.

    A whole copy is looked for in the other regions, among older S3 versions, and in the store's search pack. Damage:
    altered, replaced, unreadable or missing. Exit code 1 if something stays damaged, or a region did not answer or does
    not have the store; 4 if none has it. It reads each text once, so a large store takes minutes.

    Example: memolith repair --dry-run

    Example: memolith repair --aws
    """
    if store_id is not None:
        require_store_id(store_id, "--store")
    root = chosen_root(root, aws, region)
    if root is not None:
        looked_at = str(root)
        rows = _on_laptop(root, store_id, dry_run)
    else:
        target = find_target(aws)
        chosen = target.regions if region is None else (region,)
        looked_at = ", ".join(chosen)
        rows = [row for name in chosen for row in _in_region(target, name, store_id, dry_run)]
        if store_id is not None and all(row["outcome"] == NOT_FOUND for row in rows) and len(rows) == len(chosen):
            raise NotFound("memory_store", store_id)
    show_rows(rows, COLUMNS, as_json)
    if not as_json:
        _advise(rows, looked_at)
    if any(row["outcome"] != "repaired" for row in rows):
        raise typer.Exit(EXIT_DAMAGED)


def _advise(rows: list[dict[str, Any]], looked_at: str) -> None:
    """Say on standard error what the rows do not: that there is none, or what to do about a text that is lost."""
    lost = sum(row["outcome"] == "no whole copy" for row in rows)
    if not rows:
        typer.echo(f"{looked_at}: nothing is damaged", err=True)
    if lost:
        advice = "Restore them from a backup, or write their memories again (docs/operations/objects-damaged.md)."
        typer.echo(f"texts without a whole copy: {lost}. {advice}", err=True)


def _in_region(target: Target, region: str, store_id: str | None, dry_run: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    at: Any = None
    while True:
        payload = {"call": "repair.page", "store_id": store_id, "at": at, "look_only": dry_run}
        try:
            page = invoke(target, region, "eraser", payload)
        except (Unavailable, OutcomeUnknown, NotFound) as error:
            outcome = NOT_FOUND if isinstance(error, NotFound) else "unreachable"
            return [*rows, {"region": region, "outcome": outcome, "damage": error.message}]
        rows += [{"region": region, **one} for one in page["damaged"]]
        at = page["next"]
        if at is None:
            return rows


def _on_laptop(root: Path, store_id: str | None, dry_run: bool) -> list[dict[str, Any]]:
    """Repair a folder by the module that has the laptop's adapters, and return its rows."""
    import json

    told = {"MEMOLITH_ROOT": str(root.expanduser().absolute())}
    arguments = [sys.executable, "-m", "memolith.entry.repair", store_id or "", "look" if dry_run else "repair"]
    ended = subprocess.run(arguments, env={**os.environ, **told}, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise typer.Exit(ended.returncode)
    rows: list[dict[str, Any]] = json.loads(ended.stdout)
    return rows
