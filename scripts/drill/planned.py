"""A planned move of many stores under load (``make moves``): what it loses, and how long each takes no writes.

A client at each store writes at a steady pace through the real SDK, half of them near the old home and half near the
new. `memolith homes move --from … --to …` moves all stores while they do. Two things are told of a pause: how long the
mover says that it was, and how long a caller went on trying in vain. Exit code 1 when an acknowledged write is not in
every region's history, a store was not moved, or a pause was longer than is promised.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from anthropic import Anthropic
from rich.console import Console
from rich.table import Table

from scripts.drill.accounting import Account, wait_until_settled
from scripts.drill.in_process import in_process
from scripts.drill.load import Acknowledged, Assignment, Load, Told
from scripts.local_cloud.layout import PROJECT_ROOT

REGIONS = ("us-east-1", "eu-west-1")
PAUSE_MAX_S = 10.0
SETTLED_WITHIN_S = 300.0
STEADY_S = 20.0
"""For how long the load runs before the move, and after it."""


@dataclass(frozen=True, slots=True)
class Moves:
    """What was seen of the move.

    Attributes:
        offered: writes a second that clients would make.
        before, during, after: writes a second that were acknowledged.
        stores: what the command said of each: its state, and its pause.
        waits_s: of each store, the longest time for which its caller tried in vain while it moved.
        took_s: the command.
        acknowledged: how many versions, and `account` where they are.
    """

    offered: float
    before: float
    during: float
    after: float
    stores: Sequence[Mapping[str, Any]]
    waits_s: Sequence[float]
    took_s: float
    acknowledged: int
    account: Account
    told: Sequence[Told] = ()

    @property
    def pauses_s(self) -> list[float]:
        """Of each store that was moved, as the mover measured it."""
        return [one["paused_ms"] / 1000 for one in self.stores if one["paused_ms"] is not None]

    @property
    def broken(self) -> list[str]:
        """Promises that did not hold, in words."""
        found = [
            f"{one['store']} was not moved: {one['problem'] or one['state']}"
            for one in self.stores
            if one["state"] != "moved"
        ]
        for region, missing in self.account.missing.items():
            if missing:
                found.append(
                    f"{len(missing)} acknowledged writes are not in {region}: {', '.join(sorted(missing)[:5])}"
                )
        if self.account.divergent:
            found.append(f"{len(self.account.divergent)} writes are divergent after a planned move")
        found += [f"writes to a store paused for {one:.1f} s" for one in self.pauses_s if one >= PAUSE_MAX_S]
        return found if self.acknowledged else [*found, "nothing was acknowledged"]

    def show(self, console: Console) -> None:
        """Print it."""
        table = Table(title="A planned move under load", show_header=False, title_justify="left")
        rows = {
            "stores moved": sum(one["state"] == "moved" for one in self.stores),
            "in": f"{self.took_s:.0f} s",
            "writes a second, offered": f"{self.offered:.1f}",
            "acknowledged: before, during, after the move": f"{self.before:.1f}, {self.during:.1f}, {self.after:.1f}",
            "writes acknowledged": self.acknowledged,
            "kept, in every region": len(self.account.kept),
            "lost (must be 0)": len(frozenset().union(*self.account.missing.values())),
            "refused: nothing was done": sum(told.refused + told.conflicts for told in self.told),
            "told that the outcome is unknown": sum(told.unknown for told in self.told),
            "pause of a store, the mover says: p50, p95, max": spread(self.pauses_s),
            "a caller tried in vain for: p50, p95, max": spread(self.waits_s),
        }
        for name, value in rows.items():
            table.add_row(name, str(value))
        console.print(table)
        refusals: dict[str, int] = {}
        for told in self.told:
            for reason, number in told.refusals.items():
                refusals[reason] = refusals.get(reason, 0) + number
        for reason, number in sorted(refusals.items(), key=lambda one: -one[1]):
            console.print(f"  {number:5}  {reason}", style="dim", highlight=False, markup=False)
        for problem in self.broken:
            console.print(f"BROKEN: {problem}", style="bold red", highlight=False, markup=False, soft_wrap=True)


def spread(values: Sequence[float]) -> str:
    """Describe values by the median, the 95th of a hundred, and the greatest."""
    if len(values) < 2:
        return ", ".join(f"{one:.1f} s" for one in values) or "none"
    hundredths = statistics.quantiles(values, n=100, method="inclusive")
    return f"{hundredths[49]:.1f} s, {hundredths[94]:.1f} s, {max(values):.1f} s"


def rate(acknowledged: Sequence[Acknowledged], start_s: float, end_s: float) -> float:
    """Return the writes a second that were acknowledged between two moments."""
    return sum(start_s < one.at_s <= end_s for one in acknowledged) / (end_s - start_s)


def waits(acknowledged: Sequence[Acknowledged], start_s: float, end_s: float) -> list[float]:
    """Return for each store the longest that a caller retried, of callers that tried between two moments."""
    longest: dict[str, float] = {}
    for one in acknowledged:
        if one.at_s > start_s and one.at_s - one.waited_s < end_s:
            longest[one.store_id] = max(longest.get(one.store_id, 0.0), one.waited_s)
    return list(longest.values())


def clients(dev: Mapping[str, Any], store_ids: Sequence[str], writes_a_second: float) -> list[Assignment]:
    """Assign one client to each store, writes spread evenly, every other client in the new home's region first."""
    urls = [dev["regions"][region]["api_url"] for region in REGIONS]
    every_s = len(store_ids) / writes_a_second
    return [
        Assignment(
            f"client-{number}",
            tuple(urls if number % 2 else reversed(urls)),
            dev["api_key"],
            store_id,
            memories=2,
            every_s=every_s,
            first_s=every_s * number / len(store_ids),
        )
        for number, store_id in enumerate(store_ids)
    ]


def create_stores(dev: Mapping[str, Any], number: int) -> list[str]:
    """Create so many stores at home in the first region, and wait until the second knows them."""
    there, here = (
        Anthropic(base_url=dev["regions"][region]["api_url"], api_key=dev["api_key"]) for region in REGIONS[::-1]
    )
    with there, here, ThreadPoolExecutor(4) as pool:
        create = here.beta.memory_stores.create
        made = [one.id for one in pool.map(lambda number: create(name=f"Moved {number}"), range(number))]
        deadline = time.monotonic() + SETTLED_WITHIN_S
        while not set(made) <= {store.id for store in there.beta.memory_stores.list(limit=100)}:
            if time.monotonic() > deadline:
                raise SystemExit(f"{REGIONS[1]} has not heard of the stores within {SETTLED_WITHIN_S:.0f} s")
            time.sleep(1)
    return made


def by_command(old: str, new: str) -> Mapping[str, Any]:
    """Move with `memolith homes move`; return what it printed."""
    words = ["homes", "move", "--from", old, "--to", new, "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "memolith.clients.cli", *words],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout.startswith("{"):
        raise SystemExit(f"memolith {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()[-800:]}")
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


def run(
    dev: Mapping[str, Any], move: Callable[[str, str], Mapping[str, Any]], stores: int, offered: float, console: Console
) -> Moves:
    """Run the move itself, on a cloud that is up. `move` moves every store of a region to another and reports each."""
    say = partial(console.print, highlight=False)
    store_ids = create_stores(dev, stores)
    load = Load(clients(dev, store_ids, offered))
    load.start()
    say(f"{stores} stores; {offered:.0f} writes a second are offered")
    time.sleep(2 * stores / offered)
    steady_s = time.monotonic()
    time.sleep(STEADY_S)
    began_s = time.monotonic()
    say(f"before: {rate(load.acknowledged(), steady_s, began_s):.1f} writes a second; moving ...")
    answer = move(*REGIONS)
    ended_s = time.monotonic()
    say(f"moved in {ended_s - began_s:.0f} s")
    time.sleep(STEADY_S)
    over_s = time.monotonic()
    load.end()
    acknowledged = load.acknowledged()
    say("at rest: every acknowledged write is looked for in every region")
    sdk = {
        region: Anthropic(base_url=dev["regions"][region]["api_url"], api_key=dev["api_key"], timeout=60)
        for region in REGIONS
    }
    return Moves(
        offered=offered,
        before=rate(acknowledged, steady_s, began_s),
        during=rate(acknowledged, began_s, ended_s),
        after=rate(acknowledged, ended_s, over_s),
        stores=answer["stores"],
        waits_s=waits(acknowledged, began_s, ended_s),
        took_s=ended_s - began_s,
        acknowledged=len({one.version_id for one in acknowledged}),
        account=wait_until_settled(acknowledged, sdk, dict, SETTLED_WITHIN_S),
        told=[client.told for client in load.clients],
    )


def local_cloud(*arguments: str) -> None:
    """Run one command of the local cloud, its output passed through."""
    subprocess.run([sys.executable, "-m", "scripts.local_cloud", *arguments], cwd=PROJECT_ROOT, check=True)


@contextmanager
def cloud(console: Console, *, here: bool) -> Iterator[Mapping[str, Any]]:
    """Start the local cloud, or use the one that runs; yield its ``dev.json``. Takes down what it started."""
    try:
        if not here:
            local_cloud("down")
            local_cloud("up", "--regions", ",".join(REGIONS), "--enforce-iam")
        yield json.loads((PROJECT_ROOT / ".memolith" / "dev.json").read_text())
    finally:
        if not here:
            local_cloud("down")


def main() -> int:
    """Run the move; return 0 when every promise held."""
    parser = argparse.ArgumentParser(description="A planned move of many stores, on this machine, under load.")
    parser.add_argument("--stores", type=int, default=100)
    parser.add_argument("--rate", type=float, default=50.0, help="writes a second that are offered, over all stores")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--cloud", action="store_true", help="on the local cloud, brought up for it")
    where.add_argument("--here", action="store_true", help="on the local cloud that runs, with these two regions")
    arguments = parser.parse_args()
    console = Console(width=120)
    if arguments.cloud or arguments.here:
        with cloud(console, here=arguments.here) as dev:
            moves = run(dev, by_command, arguments.stores, arguments.rate, console)
    else:
        with in_process(REGIONS) as process:
            moves = run(process.dev, process.move, arguments.stores, arguments.rate, console)
    moves.show(console)
    return 1 if moves.broken else 0


if __name__ == "__main__":
    sys.exit(main())
