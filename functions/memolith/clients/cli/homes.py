"""``memolith homes``: in which region each store is written, and how that changes, planned or because a region is
gone.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memolith.app.kernel.region import Region
from memolith.app.operations import operator
from memolith.app.operations.operator import Home, Step
from memolith.clients.cli.consoles import console
from memolith.clients.cli.deployment_target import Aws, Target, find_target
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, confirm, show_rows, visible
from memolith.core.errors import InvalidRequest, MemolithError, Unavailable
from memolith.core.log_position import Epoch
from memolith.core.objects.store_record import StoreState

app = group("List and move the home regions of stores; fail over, and return.")

AT_ONCE = 4
"""How many stores are moved at a time: each is an invocation in both regions, which mostly waits."""

FAILING_OVER_AT_ONCE = 16
"""How many are failed over at a time: no client writes to those that have not had their turn."""

To = Annotated[str, typer.Option("--to", help="The new home region.")]
AtOnce = Annotated[int, typer.Option("--at-once", min=1, max=100, help="How many stores to handle at a time.")]


@app.command("list")
def list_(
    region: Annotated[str | None, typer.Option("--region", help="The region to ask; by default the first.")] = None,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """List each store's home region, its earlier homes, and what is under way.

    Example: memolith homes list
    """
    target = find_target(aws)
    rows = [_shown(home) for home in operator.homes(_region(target, region))]
    show_rows(rows, ("store", "name", "home", "state", "second region", "homes so far"), as_json=as_json)


@app.command()
def move(
    to: To,
    store: Annotated[
        str | None, typer.Argument(help="A store, by id or name; or give --from for all stores of a region.")
    ] = None,
    source: Annotated[str | None, typer.Option("--from", help="Move all stores whose home is this region.")] = None,
    at_once: AtOnce = AT_ONCE,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Move stores to another home region. Nothing is lost; writes to each store pause for seconds.

    Both regions must answer. You can stop the command at any time; run it again to continue. To give up a move that has
    begun, move the store to the region where it is.

    Example: memolith homes move memstore_useast1_01k... --to eu-west-1
    """
    target = find_target(aws)
    new = _region(target, to)
    if (store is None) == (source is None):
        raise InvalidRequest("", "say one store, or --from a region")
    if store is not None:
        stores = [_called(new, store)]
    else:
        old = _known(target, source or "")
        stores = [home.store_id for home in _everywhere(target) if home.home == old]
    _each(stores, lambda store_id: operator.move(new, store_id), f"moving to {to}", as_json, at_once)


@app.command("fail-over")
def fail_over(
    source: Annotated[str, typer.Option("--from", help="The region that does not answer.")],
    to: To,
    stores: Annotated[
        str | None, typer.Option("--stores", help="Only these stores, by id or name, separated by commas.")
    ] = None,
    at_once: AtOnce = FAILING_OVER_AT_ONCE,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask, even if writes of a store may become divergent.")
    ] = False,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Make a region the home of stores whose home is gone. It uses what it has; the old home is not asked.

    Writes that the old home acknowledged and had not replicated arrive when it returns. A write is replayed if its path
    has not been written since, and otherwise listed by `memolith divergent list`. A store with durability two_regions
    has everything only in its second region: to fail over to another region, give --yes.

    Example: memolith homes fail-over --from us-east-1 --to eu-west-1
    """
    target = find_target(aws)
    new, old = _region(target, to), _known(target, source)
    if old == to:
        raise InvalidRequest("--to", "is the region that is gone")
    known = {home.store_id: home for home in operator.homes(new)}
    if stores is None:
        chosen = [id for id, home in known.items() if home.home == old or _has_begun(home, to)]
    else:
        chosen = [_called(new, one.strip()) for one in stores.split(",") if one.strip()]
    _warn(new, [known[id] for id in chosen if id in known], old, to, yes=yes)
    _each(chosen, lambda store_id: operator.fail_over(new, store_id, old), f"failing over to {to}", as_json, at_once)


@app.command("return")
def return_(
    region: Annotated[str, typer.Argument(help="The region that answers again.")],
    at_once: AtOnce = AT_ONCE,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Move every store that had its home in a region before back to it, after a failover or a move.

    Example: memolith homes return us-east-1
    """
    target = find_target(aws)
    new = _region(target, region)
    stores = [
        home.store_id
        for home in _everywhere(target)
        if home.home != region and region in {Epoch.parse(epoch).home for epoch in home.epochs}
    ]
    _each(stores, lambda store_id: operator.move(new, store_id), f"moving home to {region}", as_json, at_once)


def _called(region: Region, named: str) -> str:
    """Return the id of the one store with this name, as a region knows it; an id is taken as it is.

    Raises:
        InvalidRequest: no store has that name, or several have.
    """
    if named.startswith("memstore_"):
        return named
    found = [home.store_id for home in operator.homes(region) if home.name == named]
    if len(found) != 1:
        others = f"; {len(found)} stores are called that, use the id: {', '.join(found)}" if found else ""
        raise InvalidRequest("STORE", f"{named} is the name of no single store{others}")
    return found[0]


def _warn(new: Region, stores: Sequence[Home], old: str, to: str, *, yes: bool) -> None:
    """Name the stores of which `to` may lack acknowledged writes, and ask. Ends the command unless it is yes."""
    durable = [one for one in stores if one.home == old and one.second_region is not None]
    elsewhere = [one for one in durable if one.second_region != to]
    asked = [one for one in durable if one.second_region == to and one.second_stands_in]
    with ThreadPoolExecutor(FAILING_OVER_AT_ONCE) as pool:
        held = pool.map(lambda one: _is_held(new, one.store_id), asked)
        behind = [one for one, is_held in zip(asked, held, strict=True) if not is_held]
    if not elsewhere and not behind:
        return
    for one in elsewhere:
        place = f"in {one.second_region}"
        place += ", as far as that has received it" if one.second_stands_in else ""
        print(
            visible(f"{one.store_id} {one.name}: every acknowledged write stands {place}, not in {to}"), file=sys.stderr
        )
    for one in behind:
        line = f"{one.store_id} {one.name}: {to} has not received all that was written before {old} became the home"
        print(visible(line), file=sys.stderr)
    print(
        f"What {old} acknowledged and {to} has not received is missing there until {old} answers again, and may be "
        "divergent then. Failing stores over to a second region that has received everything loses nothing.",
        file=sys.stderr,
    )
    if not yes and not sys.stdin.isatty():
        raise InvalidRequest("--yes", "is needed to fail over stores to another region than their second")
    confirm(f"Fail over to {to} anyway?", yes)


def _has_begun(home: Home, to: str) -> bool:
    """Tell whether a failover to `to` began and stopped: the store names `to` as its home and takes no writes there.

    A planned move away from `to` is no such store: a failover would give that move up.
    """
    return home.home == to and home.state == StoreState.MOVING and home.moving_to is None


def _is_held(new: Region, store_id: str) -> bool:
    """Ask a stand-in second region whether it has everything; no answer is a no."""
    try:
        return operator.is_held(new, store_id)
    except MemolithError:
        return False


def _region(target: Target, name: str | None) -> Region:
    return target.site(name)


def _known(target: Target, region: str) -> str:
    return target.deployment(region).region


def _everywhere(target: Target) -> list[Home]:
    """Return every store as the regions together know it: one that was gone may not know who has taken its stores.

    Raises:
        Unavailable: no region says which stores it knows.
    """
    told, silent = list[Home](), list[str]()
    for name in target.regions:
        try:
            told += operator.homes(_region(target, name))
        except MemolithError as error:
            silent.append(name)
            print(
                visible(
                    f"{name} does not say which stores it knows ({error.message}): a store that it alone knows to "
                    "have moved is left where it is. Run this command again once it answers."
                ),
                file=sys.stderr,
            )
    if len(silent) == len(target.regions):
        raise Unavailable(f"none of {', '.join(silent)} says which stores it knows")
    return operator.newest(told)


def _shown(home: Home) -> dict[str, Any]:
    state = home.state if home.moving_to is None else f"moving to {home.moving_to}"
    if home.apart:
        state += f", {len(home.apart)} changed apart"
    return {
        "store": home.store_id,
        "name": home.name,
        "home": home.home,
        "state": state,
        "second region": home.second_region,
        "stands in": home.second_stands_in,
        "homes so far": ", ".join(Epoch.parse(epoch).home for epoch in home.epochs),
        "apart": list(home.apart),
    }


def _each(stores: Sequence[str], act: Callable[[str], Iterator[Step]], what: str, as_json: bool, at_once: int) -> None:
    """Act on a few stores at a time; exit code 3 where some were not done, and 1 where none was."""
    rows: list[dict[str, Any]] = []
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with (
        Progress(*columns, console=console, disable=as_json) as progress,
        ThreadPoolExecutor(max_workers=at_once) as pool,
    ):
        task = progress.add_task(what, total=len(stores))
        for row in pool.map(lambda store_id: _one(store_id, act), stores):
            rows.append(row)
            progress.update(task, advance=1)
    _report(rows, as_json)
    if failed := sum(bool(row["problem"]) for row in rows):
        raise typer.Exit(Exit.FAILED if failed == len(rows) else Exit.IN_PART)


def _one(store_id: str, act: Callable[[str], Iterator[Step]]) -> dict[str, Any]:
    copied, step = 0, None
    try:
        for step in act(store_id):
            copied += step.copied
    except MemolithError as error:
        return {"store": store_id, "state": "not done", "copied": copied, "paused_ms": None, "problem": error.message}
    state = "not done" if step is None else step.state
    paused_ms = None if step is None else step.paused_ms
    return {"store": store_id, "state": state, "copied": copied, "paused_ms": paused_ms, "problem": ""}


def _report(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    pauses = [row["paused_ms"] for row in rows if row["paused_ms"] is not None]
    if as_json:
        print(json.dumps({"stores": list(rows), "longest_pause_ms": max(pauses, default=None)}))
        return
    show_rows([dict(row) for row in rows], ("store", "state", "copied", "paused_ms", "problem"), as_json=False)
    counts = Counter(row["state"] for row in rows)
    told = ", ".join(f"{number} {state}" for state, number in counts.items()) or "no stores"
    pause = f"; writes to a store paused for {max(pauses) / 1000:.1f} s at most" if pauses else ""
    console.print(f"{told}{pause}.", highlight=False)
