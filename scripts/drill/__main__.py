"""``make drill``. Exit code 1 when an acknowledged write is neither kept nor listed, or a step failed."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from anthropic import Anthropic
from rich.console import Console

from scripts.drill.accounting import Lag, wait_until_settled
from scripts.drill.load import Assignment, Load
from scripts.drill.report import Report
from scripts.drill.steps import Drill, StepFailed
from scripts.local_cloud.layout import PROJECT_ROOT

REGIONS = ("us-east-1", "eu-west-1", "ap-south-1")
SETTLED_WITHIN_S = 240.0
KNOWN_WITHIN_S = 60.0


def steps(drill: Drill) -> tuple[Callable[[], None], ...]:
    """In order."""
    return (
        drill.nothing,
        drill.replication_stands_still,
        drill.copies_come_twice_and_out_of_order,
        drill.queues_are_poisoned,
        drill.tables_are_throttled,
        drill.replies_are_lost,
        drill.functions_are_killed,
        drill.a_table_is_deleted,
        drill.a_region_is_cut_off,
        drill.a_home_dies_and_another_region_takes_its_stores,
        drill.the_home_answers_again_and_gets_its_stores_back,
        drill.homes_are_moved_as_planned,
    )


def local_cloud(*arguments: str) -> None:
    """One command of the local cloud, its output passed through."""
    subprocess.run([sys.executable, "-m", "scripts.local_cloud", *arguments], cwd=PROJECT_ROOT, check=True)


def clients(dev: Mapping[str, Any], stores: Mapping[str, str]) -> list[Assignment]:
    """Two at each store, one near its home and one in another region first."""
    urls = [dev["regions"][region]["api_url"] for region in REGIONS]
    return [
        Assignment(f"{name}-{number}", (*urls[number:], *urls[:number]), dev["api_key"], store_id)
        for name, store_id in stores.items()
        for number in (0, 1)
    ]


def run(console: Console) -> Report:
    """The drill itself, on a local cloud that is up."""
    dev = json.loads((PROJECT_ROOT / ".cairn" / "dev.json").read_text())
    urls = {region: dev["regions"][region]["api_url"] for region in REGIONS}
    sdk = {region: Anthropic(base_url=url, api_key=dev["api_key"], timeout=60) for region, url in urls.items()}
    create = sdk[REGIONS[0]].beta.memory_stores.create
    stores = {
        "plain": create(name="Drill").id,
        "doubled": create(name="Drill, in two regions", extra_body={"durability": "two_regions"}).id,
    }
    load, lag = Load(clients(dev, stores)), Lag(urls, dev["api_key"])
    drill = Drill(dev, load, lag, tuple(stores.values()), console)
    for region, client in sdk.items():
        drill.until(partial(knows, client, stores), f"{region} has not heard of the stores", KNOWN_WITHIN_S)
    load.start()
    lag.start()
    failed = []
    for step in steps(drill):
        began, before = time.monotonic(), len(load.acknowledged())
        try:
            step()
        except StepFailed as error:
            failed.append(f"{step.__name__}: {error}")
        took_s, wrote = time.monotonic() - began, len(load.acknowledged()) - before
        console.print(f"{took_s:6.1f} s  {wrote:4} writes  {step.__name__.replace('_', ' ')}", highlight=False)
    load.end()
    console.print("at rest: every acknowledged write is looked for in every region", highlight=False)
    acknowledged = load.acknowledged()
    account = wait_until_settled(acknowledged, sdk, drill.divergent, SETTLED_WITHIN_S)
    lag.end()
    return Report(
        acknowledged=len({one.version_id for one in acknowledged}),
        account=account,
        told=tuple(client.told for client in load.clients),
        pauses_s=load.longest_pause_s(),
        lag_ms=dict(lag.longest_ms),
        doubled=frozenset(one.version_id for one in acknowledged if one.store_id == stores["doubled"]),
        noted=drill.noted,
        failed=tuple(failed),
    )


def knows(sdk: Anthropic, stores: Mapping[str, str]) -> bool:
    """Whether a region lists these stores."""
    return set(stores.values()) <= {store.id for store in sdk.beta.memory_stores.list(limit=100)}


def main() -> int:
    """Runs the drill; 0 when every promise held."""
    parser = argparse.ArgumentParser(description="Everything that can go wrong, on this machine, under load.")
    parser.add_argument("--keep", action="store_true", help="leave the local cloud running")
    parser.add_argument("--here", action="store_true", help="use the local cloud that runs, with these three regions")
    arguments = parser.parse_args()
    console = Console(width=120)
    began = time.monotonic()
    try:
        if not arguments.here:
            local_cloud("down")
            local_cloud("up", "--regions", ",".join(REGIONS), "--enforce-iam")
        report = run(console)
    finally:
        if not (arguments.keep or arguments.here):
            local_cloud("down")
    report.show(console)
    console.print(f"in {time.monotonic() - began:.0f} s")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
