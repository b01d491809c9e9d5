"""``memolith index``: how a region's tables are, what was set aside on the way to them, and to make them anew."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memolith.adapters.aws.names import DREAM_QUEUE, QUEUES
from memolith.app.indexer.rebuild import Rebuild
from memolith.app.indexer.rebuild_pages import Progress as Step
from memolith.app.indexer.service import make_indexer
from memolith.app.operations import operator
from memolith.app.operations.operator import IndexStatus
from memolith.app.operations.rescan import prefix_of
from memolith.clients.cli.consoles import aside, console
from memolith.clients.cli.deployment_target import Aws, Target, find_target
from memolith.clients.cli.failures import once_changed
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, show_rows
from memolith.clients.cli.rescan import request_scans
from memolith.core.errors import InvalidRequest, MemolithError

app = group("Show and rebuild a region's index; show and redrive dead letters.")

LONGEST_LIFE_S = 30.0
"""How long a call may go on that has seen the old state of the tables: the writer's own time-out."""

LETTERS_SHOWN = 20

OneRegion = Annotated[str | None, typer.Option("--region", help="Only this region; by default every region.")]


@app.command()
def rebuild(
    region: Annotated[str, typer.Option("--region", help="The region whose index to rebuild.")],
    settle_s: Annotated[float, typer.Option(help="Seconds to wait for calls under way to end.")] = LONGEST_LIFE_S,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Rebuild a region's tables from its bucket, beside live traffic, and switch to them.

    Until the switch the region answers 503 for what it does not know, and creations wait. You can interrupt the command
    at any time. Run it again, here or on another machine, and it continues where it stopped.

    Example: memolith index rebuild --region eu-west-1
    """
    generation = rebuilt(find_target(aws), region, settle_s, progress_on=aside if as_json else console)
    if as_json:
        print(json.dumps({"region": region, "generation": generation}))
        return
    console.print(f"{region}: generation {generation} serves; everything in the bucket is indexed.", highlight=False)
    console.print(
        f'Set "index_generation": {{"{region}": {generation}}} in cdk.json, context "memolith". '
        "Then run, before any other deployment:"
    )
    console.print("npx cdk deploy --all --import-existing-resources", highlight=False)


def rebuilt(target: Target, region: str, settle_s: float, *, progress_on: Console) -> int:
    """Rebuild a region's index with progress; return the generation that serves then. Raises as `Rebuild.run`."""
    memolith = target.site(region)
    rebuild = Rebuild(
        memolith, make_indexer(memolith), target.tables(region), target.queue(region, "rebuild"), settle_s
    )
    try:
        return _rebuild(rebuild, progress_on)
    except KeyboardInterrupt:
        progress_on.print("Interrupted. Run the same command again to continue.", highlight=False)
        raise typer.Exit(130) from None


def _rebuild(rebuilding: Rebuild, progress_on: Console) -> int:
    """Run it, with a line that shows its progress."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed_and_rest]}"),
        TimeElapsedColumn(),
    )
    begun: list[str] = []
    with Progress(*columns, console=progress_on) as progress, once_changed(begun):
        task = progress.add_task("starting", total=None, speed_and_rest="")

        def report(step: Step) -> None:
            begun.append(step.stage)
            progress.update(
                task,
                description=step.stage,
                completed=step.folded,
                total=step.found or None,
                speed_and_rest=_speed_and_rest(step),
            )

        return rebuilding.run(report)


def _speed_and_rest(step: Step) -> str:
    """Format ``850/s, 3 min left``; less while less is known."""
    parts = [] if step.per_s is None else [f"{step.per_s:,.0f}/s"]
    if step.left_s is not None:
        parts.append(f"{_duration(int(step.left_s * 1000))} left")
    elif step.found and not step.counted:
        parts.append("still counting")
    return ", ".join(parts)


@app.command()
def status(region: OneRegion = None, aws: Aws = False, as_json: Json = False) -> None:
    """Show the state of each region's index: which tables serve, up to when it is complete, queues and dead letters.

    Exit code 2 if a region is not complete, has dead letters, or does not answer.

    Example: memolith index status
    """
    target = _target(aws, region)
    rows: list[dict[str, Any]] = []
    for name in _regions(target, region):
        try:
            memolith = target.site(name)
            queues = {queue: target.dead_letters(name, queue) for queue in QUEUES}
            found = operator.index_status(memolith, queues)
        except MemolithError as error:
            rows.append({"region": name, "well": False, "problem": error.message})
            continue
        rows.append(asdict(found) | {"well": found.well} if as_json else _shown(found))
    if as_json:
        print(json.dumps(rows))
    else:
        columns = ("region", "serves", "complete", "behind", *(f"{queue}" for queue in QUEUES), "set aside", "problem")
        show_rows(rows, columns, as_json=False)
    if not all(row["well"] for row in rows):
        raise typer.Exit(2)


@app.command()
def redrive(
    region: OneRegion = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", help=f"Only this queue: {', '.join(QUEUES)}, or dream; by default all but dream."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the dead letters.")] = False,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Show dead letters with their reasons, and send them back to be tried again.

    Fix the reason first: a message that fails again becomes a dead letter again. If the command stops, run it again: no
    message is lost, and one that is handled twice changes nothing. Exit code 2 if a queue did not answer; what is in
    the others is shown and sent back all the same.

    Example: memolith index redrive --region eu-west-1 --dry-run
    """
    target = _target(aws, region)
    if queue is not None and queue not in (*QUEUES, DREAM_QUEUE):
        raise InvalidRequest("--queue", f"{queue} is not one of {', '.join((*QUEUES, DREAM_QUEUE))}")
    rows = [
        _redrive(target, name, one, dry_run, quiet=as_json)
        for name in _regions(target, region)
        for one in (QUEUES if queue is None else (queue,))
    ]
    if as_json:
        print(json.dumps(rows))
    if any("problem" in row for row in rows):
        raise typer.Exit(2)


@app.command()
def rescan(
    region: Annotated[str, typer.Option("--region", help="The region whose versions to scan.")],
    after: Annotated[
        str | None, typer.Option("--after", help="Go on behind this key, which a rescan that stopped has named.")
    ] = None,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Request the post-commit scan of every version that was written while REGION was its store's home.

    For requests that are lost: the scan queue was deleted with its stack, or a dead letter's two weeks are over. What
    was scanned before is scanned again, which changes nothing and costs what a scan costs. If it stops, it says how to
    go on; to begin again is as good.

    Example: memolith index rescan --region eu-west-1
    """
    target = _target(aws, region)
    memolith, queue = target.site(region), target.queue(region, "scan")
    if after is not None and not after.startswith(prefix_of(region)):
        raise InvalidRequest("--after", f"{after} is no key of {prefix_of(region)}")
    said_on = aside if as_json else console
    requested, reached = 0, after
    try:
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=said_on
        ) as progress:
            task = progress.add_task(f"{region}: listing versions", total=None)
            for step in request_scans(memolith, queue, after):
                requested, reached = step
                progress.update(task, description=f"{region}: scans of {requested} versions requested")
    except (KeyboardInterrupt, MemolithError) as stopped:
        place = (f" --after {reached}" if reached else "") + (" --aws" if aws else "")
        said_on.print(
            f"`memolith index rescan --region {region}{place}` goes on from here.", soft_wrap=True, markup=False
        )
        with once_changed(requested > 0):
            if isinstance(stopped, MemolithError):
                raise
        raise typer.Exit(130) from None
    if as_json:
        print(json.dumps({"region": region, "requested": requested}))
        return
    console.print(
        f"{region}: the scans of {requested} versions are requested; the queue scan has them.", highlight=False
    )


def _target(aws: bool, region: str | None) -> Target:
    """Find the deployment; a region that is named may be one that is being removed, until its queues are empty."""
    target = find_target(aws)
    return target if region is None else target.including(region)


def _regions(target: Target, region: str | None) -> tuple[str, ...]:
    return target.regions if region is None else (target.deployment(region).region,)


def _shown(found: IndexStatus) -> dict[str, Any]:
    """Return a status as a line of the table."""
    behind = [f"{home}: {_duration(lag_ms)}" for home, lag_ms in found.lag_ms.items()]
    return {
        "region": found.region,
        "serves": f"g{found.serving}" + (f" (building g{found.building})" if found.building else ""),
        "complete": "yes" if found.complete else "no",
        "behind": ", ".join(behind) or "not known",
        **{name: depths.waiting + depths.in_flight for name, depths in found.queues.items()},
        "set aside": ", ".join(f"{d.set_aside} {name}" for name, d in found.queues.items() if d.set_aside) or "none",
        "well": found.well,
    }


def _duration(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def _redrive(target: Target, region: str, queue: str, dry_run: bool, quiet: bool) -> dict[str, Any]:
    """Show one queue's dead letters and, unless `dry_run`, redrive them. What stops that is the row's `problem`."""
    row: dict[str, Any] = {"region": region, "queue": queue}
    try:
        dead_letters = target.dead_letters(region, queue)
        set_aside = operator.depths(dead_letters).set_aside
        letters = operator.look(dead_letters, LETTERS_SHOWN) if set_aside else []
        row |= {"set_aside": set_aside, "letters": [asdict(letter) for letter in letters], "sent_back": 0}
        if not quiet:
            console.print(f"{region} {queue}: {set_aside or 'no'} dead letters", style="bold", highlight=False)
            for letter in letters:
                print(f"  {letter.subject}\n    {letter.reason}")  # whole, however narrow the terminal
            if set_aside > LETTERS_SHOWN:
                console.print(f"... these are {LETTERS_SHOWN} of them", highlight=False)
        if set_aside and not dry_run:
            _follow(operator.send_back(dead_letters), row, quiet)
    except MemolithError as error:
        row["problem"] = error.message
        if not quiet:
            print(f"{region} {queue}: {error.message}")
    return row


def _follow(moving: Iterable[int], row: dict[str, Any], quiet: bool) -> None:
    """Show how many dead letters are on their way, and keep it in the row."""
    what = f"{row['region']} {row['queue']}"
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, disable=quiet) as progress:
        task = progress.add_task(f"{what}: sending back", total=row["set_aside"])
        for moved in moving:
            row["sent_back"] = moved
            progress.update(task, completed=moved)
    if not quiet:
        console.print(
            f"{what}: {row['sent_back']} sent back; look at `memolith index status` in a minute.", highlight=False
        )
