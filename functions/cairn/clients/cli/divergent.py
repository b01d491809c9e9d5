"""``cairn divergent``: versions that a fail-over left behind, and that nobody could adopt: look, restore, dismiss."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Annotated, Any

import typer

from cairn.adapters.aws.compose import region_on_aws
from cairn.adapters.memory import RecordingMetrics
from cairn.app import operating
from cairn.app.region import Region
from cairn.clients.cli.output import Json, console, show_rows
from cairn.clients.cli.target import Aws, find_target

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="What a fail-over left behind: list, show, restore, dismiss.",
)

Store = Annotated[str, typer.Argument(metavar="STORE", help="memstore_…")]
Version = Annotated[str, typer.Argument(metavar="VERSION", help="memver_…, as listed.")]


@app.callback()
def divergent() -> None:
    """What a fail-over left behind: list, show, restore, dismiss."""


@app.command("list")
def list_(
    store: Annotated[str | None, typer.Argument(metavar="[STORE]", help="memstore_…; by default every store.")] = None,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """List versions that were acknowledged by a home that is gone, and came too late to be adopted.

    Example: cairn divergent list
    """
    region = _region(aws)
    stores = [store] if store is not None else [home.store_id for home in operating.homes(region)]
    rows = [{"store": one, **row} for one in stores for row in operating.divergent(region, one)]
    if as_json:
        print(json.dumps(rows))
        return
    if not rows:
        console.print("Nothing is divergent.", highlight=False)
        return
    show_rows(rows, ("store", "version_id", "operation", "path", "created_by"), as_json=False)


@app.command()
def show(store: Store, version: Version, aws: Aws = False, as_json: Json = False) -> None:
    """Show how one differs from what its memory holds now.

    Example: cairn divergent show memstore_useast1_01kb… memver_01kc…
    """
    found = operating.divergent_call(_region(aws), "show", store, version)
    if as_json:
        print(json.dumps(dict(found)))
        return
    for line in _diff(found):
        print(line)


@app.command()
def restore(store: Store, version: Version, aws: Aws = False, as_json: Json = False) -> None:
    """Write its text as the memory's next version, or as a new memory where that is gone; it is listed no more.

    Example: cairn divergent restore memstore_useast1_01kb… memver_01kc…
    """
    _told(operating.divergent_call(_region(aws), "restore", store, version), as_json)


@app.command()
def dismiss(store: Store, version: Version, aws: Aws = False, as_json: Json = False) -> None:
    """Erase it in every region, as a redaction does; it is listed no more.

    Example: cairn divergent dismiss memstore_useast1_01kb… memver_01kc…
    """
    _told(operating.divergent_call(_region(aws), "dismiss", store, version), as_json)


def _region(aws: bool) -> Region:
    target = find_target(aws)
    return region_on_aws(target.clients, target.deployment(), RecordingMetrics())


def _told(answer: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(dict(answer)))
        return
    restored = answer.get("restored_as")
    console.print(
        f"{answer['dismissed']}: " + (f"restored as {restored}" if restored else "dismissed"), highlight=False
    )


def _diff(found: Mapping[str, Any]) -> Iterator[str]:
    current, late = (found[name] or "" for name in ("current_content", "content"))
    label = f"{found['version_id']} {found['operation']}, divergent"
    yield from unified_diff(current.split("\n"), late.split("\n"), "now", label, lineterm="")
