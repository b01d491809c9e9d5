"""``cairn index``: a region's tables, rebuilt from its own bucket."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from cairn.adapters.aws.compose import region_on_aws
from cairn.adapters.aws.queue import SqsQueue
from cairn.adapters.aws.tables import DynamoTables
from cairn.adapters.memory import RecordingMetrics
from cairn.app.rebuilding import Progress as Step
from cairn.app.rebuilding import Rebuild
from cairn.clients.cli.output import console
from cairn.clients.cli.target import Aws, find_target

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="A region's index: rebuild it from its bucket.",
)

LONGEST_LIFE_S = 30.0
"""How long a call may go on that has seen the old state of the tables: the writer's own time-out."""


@app.callback()
def index() -> None:
    """A region's index: rebuild it from its bucket."""


@app.command()
def rebuild(
    region: Annotated[str, typer.Option("--region", help="Whose index to rebuild.")],
    settle_s: Annotated[
        float, typer.Option(help="How long calls under way may take to end, in seconds.")
    ] = LONGEST_LIFE_S,
    aws: Aws = False,
) -> None:
    """Build a region's tables anew from its bucket, beside live traffic, and switch to them.

    Until the switch the region answers 503 for what it does not know, and creations wait. Run it again if it stops.

    Example: cairn index rebuild --region eu-west-1
    """
    target = find_target(aws)
    deployment = target.deployment(region)
    cairn = region_on_aws(target.clients, deployment, RecordingMetrics())
    tables = DynamoTables(target.clients, deployment, cairn.clock)
    queue = SqsQueue(target.clients, deployment, deployment.queue("rebuild"), cairn.clock, cairn.randomness)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=None)

        def report(step: Step) -> None:
            progress.update(task, description=step.stage, completed=step.batches_done, total=step.batches or None)

        generation = Rebuild(cairn, tables, queue, settle_s).run(report)
    console.print(f"{region}: generation {generation} serves; everything in the bucket is indexed.", highlight=False)
    console.print(
        f'Set "index_generation": {{"{region}": {generation}}} in cdk.json, context "cairn", before you deploy.'
    )
