"""``memolith regions``: a deployment grows by a region, with everything that is already there, or loses one.

Adding one is a few steps, each of which can be repeated, so whatever stops is mended and the command run again:

    name it in cdk.json -> bootstrap -> make its bucket -> copy what exists -> deploy everywhere -> copy what came since
    -> build its index -> deploy the tables that this made

From the deployment everywhere on, every region replicates to the new one, and it says of itself that it is not
complete: what it knows it serves, what it does not know it answers with 503. The index ends that. What the region wrote
itself, where it was removed before, is put back before S3 replicates its bucket (`region_addition`).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memolith.adapters.layered.agreed import AgreedCopies
from memolith.adapters.local import files
from memolith.adapters.system import SystemClock
from memolith.app.replication.region_backfill import Progress as Step
from memolith.app.replication.region_backfill import RegionBackfill
from memolith.clients.cli import index, region_addition, region_removal
from memolith.clients.cli.api_address import DEV_FILE
from memolith.clients.cli.consoles import aside, console
from memolith.clients.cli.deployment_target import Aws, Target, find_target
from memolith.clients.cli.failures import once_changed
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, confirm
from memolith.core.errors import Damaged, InvalidRequest, Unavailable
from memolith.ports.clock import Clock

RECORD = Path("cdk.json")
CDK = Path("node_modules/.bin/cdk")

app = group("Add regions to the deployment, and remove them.")


@app.command()
def add(
    region: Annotated[str, typer.Argument(help="The region, such as eu-west-1.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before permissions are changed.")] = False,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Add a region to the deployment, and copy everything that exists into it.

    Run it in Memolith's checkout, with credentials that may deploy. If it stops, run it again to continue.

    Example: memolith regions add ap-southeast-2
    """
    _check_place(aws)
    said_on = aside if as_json else console
    name_in_record(region, said_on)
    with once_changed():
        copied, generation = _deploy_added(region, yes, said_on)
    if as_json:
        print(json.dumps({"region": region, "objects_copied": copied, "generation": generation}))
        return
    console.print(f"{region} is part of the deployment; {RECORD} says so: commit it.", highlight=False)


def _deploy_added(region: str, yes: bool, said_on: Console) -> tuple[int, int]:
    """Deploy a region that the record names, with all that exists; return how many objects that are, and the index's
    generation.
    """
    target = find_target(aws=True)
    run_cdk(said_on, "bootstrap", f"aws://{target.account}/{region}")
    has_tables = region_addition.declare_incomplete(target, region)
    base = f"memolith-{target.stage}-base-{region}"
    deploy = ("--import-existing-resources", *(["--require-approval", "never"] if yes else []))
    if not region_addition.has_bucket(target, region, has_tables):
        run_cdk(said_on, "deploy", base, *deploy)
    copied = copy(target, region, said_on)
    run_cdk(said_on, "deploy", "--all", *deploy)
    copied += copy(target, region, said_on)
    generation = index.rebuilt(target, region, index.LONGEST_LIFE_S, progress_on=said_on)
    _change_record(lambda record: record.setdefault("index_generation", {}).update({region: generation}))
    run_cdk(said_on, "deploy", base, *deploy)  # a later one that imports nothing would fail: its tables exist already
    return copied, generation


@app.command()
def remove(
    region: Annotated[str, typer.Argument(help="The region to remove, without stores.")],
    keys_file: Annotated[
        Path | None,
        typer.Option("--keys", help="The file that its public keys are saved to; by default keys-REGION.json."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Take a region out of the deployment. What it wrote goes on in the others; its bucket and tables stay.

    Move its stores first. A name that all regions share leads there no more, its functions stop taking writes, every
    other region gets all that it has, the others are deployed without it, its queues are worked off, and its stacks are
    deleted, with the key that signed what it wrote.
    Keep the file with the public half: `memolith audit verify --keys` needs it. It is refused while a store is at home
    there, or a message is a dead letter there. If it stops, run it again to continue.

    Example: memolith regions remove ap-southeast-2
    """
    _check_place(aws)
    said_on = aside if as_json else console
    record = json.loads(RECORD.read_text())["context"]["memolith"]
    target = find_target(aws=True).including(region)
    clock = SystemClock()
    confirm(f"Remove {region} from the deployment? Its functions take no writes from now on.", yes)
    is_former = region in record.get("former_regions", ())
    if not is_former:
        region_removal.check_record(record, region)
    path = keys_file or Path(f"keys-{region}.json")
    if has_stacks := region_removal.has_stacks(target, record["stage"], region):
        region_removal.save_keys(target, region, path)
        said_on.print(
            f"{path} has the public keys of {region}: keep it, `memolith audit verify` needs it", highlight=False
        )
    if not is_former:
        region_removal.check_stores(target, region)
        region_removal.check_dead_letters(target, record, region)
        if (routing := record.get("routing")) and has_stacks:
            for check in region_removal.leave_name(target, record["stage"], region):
                said = f"its health check {check} fails; waiting until {routing['domain']} leads no caller there"
                said_on.print(said, highlight=False)
                clock.pause(region_removal.NAME_KEPT_S)
    with once_changed():
        if not is_former:
            _empty(target, record, region, said_on, clock)
            take_from_record(region, said_on)
        run_cdk(
            said_on, "deploy", "--all", "--import-existing-resources", *(["--require-approval", "never"] if yes else [])
        )
        if has_stacks:
            said_on.print(f"waiting until the queues of {region} are worked off", highlight=False)
            region_removal.await_queues(target, record, region, clock)
            _copy_to_others(target, region, said_on)
        region_removal.delete_stacks(target, record["stage"], region)
        region_addition.declare_incomplete(target, region)
    if as_json:
        print(json.dumps({"region": region, "removed": True, "keys": str(path)}))
        return
    console.print(
        f"{region} is no part of the deployment any more; {RECORD} says so: commit it. Its bucket and tables stay.",
        highlight=False,
    )


def _empty(target: Target, record: dict[str, Any], region: str, said_on: Console, clock: Clock) -> None:
    """Let the region take no writes, and return once the others have all of it."""
    said_on.print(f"{region} takes no writes from now on; to take that back while {RECORD} has it:", highlight=False)
    for command in region_removal.starting_again(target, record, region):
        said_on.print(command, highlight=False, soft_wrap=True)
    region_removal.stop_writers(target, region)
    said_on.print(f"waiting until the other regions have all that was written in {region}", highlight=False)
    region_removal.await_everything(target, region, clock.now_us(), clock)
    region_removal.check_stores(target, region)
    _copy_to_others(target, region, said_on)


def _copy_to_others(target: Target, region: str, said_on: Console) -> None:
    """Fill every other region's bucket: also with what the functions of `region` put after it took no writes."""
    for other in target.regions:
        if other != region:
            copy(target, other, said_on)


@app.command()
def fill(
    region: Annotated[str, typer.Argument(help="The region whose bucket to fill.")],
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Copy into a region's bucket what the other regions have and it lacks; `add` does this too.

    Example: memolith regions fill ap-southeast-2
    """
    copied = copy(find_target(aws), region, aside if as_json else console)
    if as_json:
        print(json.dumps({"region": region, "objects_copied": copied}))


def _check_place(aws: bool) -> None:
    if DEV_FILE.exists() and not aws:
        raise InvalidRequest("", "a local cloud runs here: start it with the regions you want, or say --aws")
    if not CDK.exists():
        raise InvalidRequest("", f"{CDK} is missing: run this in Memolith's checkout, after `make setup`")


def take_from_record(region: str, said_on: Console) -> None:
    """Take the region out of ``cdk.json``, into its former regions; put it back if the app refuses the record.

    Raises:
        InvalidRequest: the app refuses the record; the reason is printed.
    """
    _change_record_if_valid(lambda record: region_removal.without(record, region), f"without {region}", said_on)


def name_in_record(region: str, said_on: Console) -> None:
    """Add the region to ``cdk.json`` if it is missing, and take it out of the former regions; undo both if the app
    refuses it.

    Raises:
        InvalidRequest: the app refuses the record; the reason is printed.
    """

    def append(record: dict[str, Any]) -> None:
        if region not in record["regions"]:
            record["regions"].append(region)
        if region in record.get("former_regions", ()):
            record["former_regions"].remove(region)

    _change_record_if_valid(append, f"with {region}", said_on)


def run_cdk(said_on: Console, *words: str) -> None:
    """Run the CDK command line, which asks and answers on this terminal. Raises Unavailable if it fails.

    Its output goes where other output goes: to standard error, where standard output is for JSON.
    """
    said_on.print(f"cdk {' '.join(words)}", style="bold", highlight=False)
    if subprocess.run([str(CDK), *words], stdout=2 if said_on is aside else None, check=False).returncode:
        raise Unavailable(f"cdk {words[0]} failed; mend what it says and run the same command again")


def copy(target: Target, region: str, said_on: Console) -> int:
    """Fill the region's bucket from the others, and show progress; return how many were copied.

    Raises as `RegionBackfill.run`, or DoneInPart once it has begun, and:
        Damaged: S3 replicates the region's bucket, and of what the region wrote itself the others' copies differ. They
            were not copied; everything else was.
    """
    memolith = target.site(region)
    others = [other for other in target.regions if other != region]
    agreed = AgreedCopies(memolith.objects, region, others)
    if region_addition.is_replicated(target, region):
        memolith = replace(memolith, objects=agreed)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    begun: list[str] = []
    with Progress(*columns, console=said_on) as progress, once_changed(begun):
        task = progress.add_task("comparing", total=None)

        def report(step: Step) -> None:
            begun.append(step.prefix)
            origin = step.prefix if step.prefix == step.source else f"{step.prefix} from {step.source}"
            text = f"pass {step.number}: {origin}; {step.copied} objects copied"
            progress.update(task, description=text)

        copied = RegionBackfill(memolith, others).run(report)
    if agreed.differing:
        raise Damaged(
            f"{copied} objects were copied to {region}, and {len(agreed.differing)} that it wrote itself were not, "
            "because the other regions' copies differ and S3 would replicate the one over the others",
            region=region,
            object=min(agreed.differing),
            hint="`memolith repair` restores altered texts; then run the same command again",
        )
    said_on.print(f"{region}: {copied} objects copied; its bucket holds what the others hold.", highlight=False)
    return copied


def _change_record_if_valid(change: Callable[[dict[str, Any]], None], outcome: str, said_on: Console) -> None:
    with _locked_record():
        before = RECORD.read_text()
        _put_record(_changed(before, change))
        try:
            run_cdk(said_on, "synth", "--quiet")
        except Unavailable:
            _put_record(before)
            said = f"the app refuses a deployment {outcome}; {RECORD} is as it was"
            raise InvalidRequest("region", said) from None


def _change_record(change: Callable[[dict[str, Any]], None]) -> None:
    with _locked_record():
        _put_record(_changed(RECORD.read_text(), change))


def _locked_record() -> AbstractContextManager[None]:
    """Lock out other commands of this checkout that change the record.

    The record itself is replaced, so that a lock on it would not hold.
    """
    files.make_folder(DEV_FILE.parent)
    return files.locked(DEV_FILE.with_name("cdk.json.lock"))


def _changed(text: str, change: Callable[[dict[str, Any]], None]) -> str:
    body = json.loads(text)
    change(body["context"]["memolith"])
    return json.dumps(body, indent=2) + "\n"


def _put_record(text: str) -> None:
    """Replace the record at once, so that a kill leaves the one or the other; who may read it stays."""
    path = RECORD.resolve()
    written = files.write_new(path.parent, text.encode())
    written.chmod(path.stat().st_mode)
    written.replace(path)
