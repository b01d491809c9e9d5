"""The commands of ``memolith dev``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from scripts.local_cloud import emulator, localstack, screen
from scripts.local_cloud.deployment import DeploymentFailed
from scripts.local_cloud.devfile import KeyNotMade
from scripts.local_cloud.emulator import EmulatorFailed
from scripts.local_cloud.lifecycle import FRONT_DOOR, REPLICATOR, Choices, LocalCloud, LocalCloudError

app = typer.Typer(
    help="Run the local cloud: an AWS emulator on this machine, with Memolith deployed into it as on AWS.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

LagMs = Annotated[float | None, typer.Option(min=0, help="The least age of an object when it is copied.")]
JitterMs = Annotated[float | None, typer.Option(min=0, help="Add up to this much, drawn for each object.")]
Duplicate = Annotated[float | None, typer.Option(min=0, max=1, help="The share of copies that are put twice.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Reorder = Annotated[float | None, typer.Option(min=0, max=1, help="The share of objects that later ones overtake.")]


@app.command()
def up(
    regions: Annotated[str, typer.Option(help="Comma-separated; the first is the home of the demo.")] = (
        "us-east-1,eu-west-1"
    ),
    stage: Annotated[str, typer.Option(help="Part of every resource's name.")] = "dev",
    enforce_iam: Annotated[bool, typer.Option("--enforce-iam", help="Make our emulator check every policy.")] = False,
    endpoint: Annotated[str | None, typer.Option(help="Use an emulator that runs already, such as LocalStack.")] = None,
    port: Annotated[int | None, typer.Option(help="Our emulator's port; by default a free one.")] = None,
    override: Annotated[str, typer.Option(help="JSON, merged over the record in cdk.json.")] = "{}",
    lag_ms: LagMs = None,
    jitter_ms: JitterMs = None,
    duplicate: Duplicate = None,
    reorder: Reorder = None,
    as_json: Json = False,
) -> None:
    """Start the local cloud and deploy Memolith into it. If it runs already, deploy what has changed, and change how
    the regions replicate as `replication` does. Where it runs, and with which regions, changes after `down` alone.

    Without --endpoint, AWS_ENDPOINT_URL or LOCALSTACK_HOST (HOST or HOST:PORT) names an emulator that runs already.

    Example: memolith dev up --regions us-east-1,eu-west-1 --enforce-iam
    """
    console = Console(stderr=as_json)
    choices = Choices(
        regions=tuple(region.strip() for region in regions.split(",") if region.strip()),
        stage=stage,
        enforce_iam=enforce_iam,
        endpoint=endpoint or _named_endpoint(),
        port=port,
        overrides=_object(override),
        settings=_given(lag_ms=lag_ms, jitter_ms=jitter_ms, duplicate=duplicate, reorder=reorder),
    )
    with _explained(console), screen.Steps(console) as steps:
        report = _up(LocalCloud(watcher=steps), choices)
    screen.show_report(console, report)
    if as_json:
        typer.echo(json.dumps(report.dev))


@app.command()
def down(as_json: Json = False) -> None:
    """Stop the local cloud and everything that it started; remove its state. Logs and caches stay in .memolith.

    Example: memolith dev down
    """
    console = Console()
    ended = LocalCloud().down()
    if as_json:
        typer.echo(json.dumps({"ended": ended}))
        return
    console.print(f"Ended: {', '.join(ended)}." if ended else "Nothing was running.")


@app.command()
def status(
    as_json: Json = False,
) -> None:
    """Show what runs, where it answers, and the state of replication. Exit code 1 if nothing runs.

    Example: memolith dev status --json
    """
    console = Console()
    found = LocalCloud().status()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    elif found is None:
        console.print("No local cloud runs here. `memolith dev up` starts one.")
    else:
        screen.show_status(console, found)
    if found is None or not found["answers"]:
        raise typer.Exit(1)


@app.command()
def replication(
    lag_ms: LagMs = None,
    jitter_ms: JitterMs = None,
    duplicate: Duplicate = None,
    reorder: Reorder = None,
    pause: Annotated[
        list[str] | None, typer.Option(help="Pause FROM:TO; * is every region. Replaces earlier pauses.")
    ] = None,
    hold: Annotated[
        list[str] | None, typer.Option(help="Do not copy keys with this prefix. Replaces earlier holds.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="End all pauses and holds.")] = False,
    as_json: Json = False,
) -> None:
    """Change how the regions replicate, while they run; without options, show it.

    Example: memolith dev replication --lag-ms 2000 --jitter-ms 500 --pause us-east-1:eu-west-1

    Example: memolith dev replication --resume
    """
    console = Console(stderr=as_json)
    settings = _given(lag_ms=lag_ms, jitter_ms=jitter_ms, duplicate=duplicate, reorder=reorder)
    if pause or resume:
        settings["pause"] = [_pair(one) for one in pause or ()]
    if hold or resume:
        settings["hold"] = hold or []
    with _explained(console):
        answer = LocalCloud().replication(settings)
    if as_json:
        typer.echo(json.dumps(answer, indent=2))
    else:
        screen.show_replication(console, answer)


@app.command()
def faults(
    cut: Annotated[list[str] | None, typer.Option(help="Cut off this region. Replaces earlier cuts.")] = None,
    throttle: Annotated[
        list[str] | None, typer.Option(help="REGION=SHARE: refuse this share of the requests to its tables.")
    ] = None,
    lose_replies: Annotated[
        list[str] | None, typer.Option(help="REGION=SHARE: do this share of the puts into its logs and lose the reply.")
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="End all faults.")] = False,
    as_json: Json = False,
) -> None:
    """Make the running emulator fail; without options, show what fails.

    Example: memolith dev faults --cut eu-west-1 --throttle us-east-1=0.2

    Example: memolith dev faults --clear
    """
    wanted: dict[str, Any] = {"cut": [], "throttle": {}, "lose_replies": {}} if clear else {}
    if cut:
        wanted["cut"] = cut
    wanted |= {"throttle": _shares(throttle)} if throttle else {}
    wanted |= {"lose_replies": _shares(lose_replies)} if lose_replies else {}
    console = Console(stderr=as_json)
    with _explained(console):
        striking = LocalCloud().faults(wanted)
    if as_json:
        typer.echo(json.dumps(striking))
    else:
        screen.show_faults(console, striking)


def _named_endpoint() -> str | None:
    try:
        return localstack.endpoint_of_environment()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _shares(texts: list[str]) -> dict[str, float]:
    shares = {}
    for text in texts:
        region, equals, share = text.partition("=")
        try:
            shares[region] = float(share)
        except ValueError:
            equals = ""
        if not (region and equals):
            raise typer.BadParameter(f"REGION=SHARE, such as us-east-1=0.2, not {text!r}")
    return shares


def _up(cloud: LocalCloud, choices: Choices) -> Any:
    """Start the cloud; on an interrupt, end the commands that run, and keep the emulator for the next try."""
    try:
        return cloud.up(choices)
    except BaseException:
        for name in cloud.processes.recorded():
            if name not in {REPLICATOR, FRONT_DOOR, emulator.NAME}:
                cloud.processes.stop(name, grace_s=2)
        raise


@contextmanager
def _explained(console: Console) -> Iterator[None]:
    """Print errors that the caller can act on as a sentence instead of a traceback. Exit code 1."""
    try:
        yield
    except (LocalCloudError, DeploymentFailed, EmulatorFailed, KeyNotMade) as error:
        console.print(f"[red]{escape(str(error))}[/]", soft_wrap=True)
        if isinstance(error, DeploymentFailed | KeyNotMade):
            console.print(
                "The emulator still runs: put it right and run `memolith dev up` again, or `memolith dev down`."
            )
        raise typer.Exit(1) from None


def _given(**options: float | None) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--override is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter('--override is a JSON object such as {"limits": {"indexer_concurrency": 2}}')
    return value


def _pair(text: str) -> list[str]:
    source, colon, destination = text.partition(":")
    if not (source and colon and destination):
        raise typer.BadParameter(f"--pause takes FROM:TO, such as us-east-1:eu-west-1, not {text!r}")
    return [source, destination]
