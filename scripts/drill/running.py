"""One drill: stores and clients, steps one after the other, and at the end what became of everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from anthropic import Anthropic
from rich.console import Console

from scripts.drill.accounting import Lag, wait_until_settled
from scripts.drill.load import Assignment, Load
from scripts.drill.report import Report
from scripts.drill.runbook import StepFailed
from scripts.drill.steps import Drill

SETTLED_WITHIN_S = 240.0
KNOWN_WITHIN_S = 60.0


def prepare(dev: Mapping[str, Any], console: Console, *, alone: bool = True) -> Drill:
    """Prepare a drill on a cloud that is up, its stores known in every region; no client writes yet.

    Args:
        dev: ``.memolith/dev.json``. Stores have their home in the first region.
        alone: whether the cloud has no other stores.
    """
    urls = {region: dev["regions"][region]["api_url"] for region in dev["regions"]}
    sdk = {region: Anthropic(base_url=url, api_key=dev["api_key"], timeout=60) for region, url in urls.items()}
    create = next(iter(sdk.values())).beta.memory_stores.create
    plain = create(name="Drill").id
    doubled = create(name="Drill, in two regions", extra_body={"durability": "two_regions"}).id
    load = Load(clients(list(urls.values()), dev["api_key"], {"plain": plain, "doubled": doubled}))
    drill = Drill(dev, load, Lag(urls, dev["api_key"]), plain, doubled, console, sdk, alone=alone)
    for region, client in sdk.items():
        drill.until(partial(knows, client, drill.stores), f"{region} has not heard of the stores", KNOWN_WITHIN_S)
    return drill


def clients(urls: Sequence[str], api_key: str, stores: Mapping[str, str]) -> list[Assignment]:
    """Assign two clients to each store, one near its home and one that tries another region first."""
    return [
        Assignment(f"{name}-{number}", (*urls[number:], *urls[:number]), api_key, store_id)
        for name, store_id in stores.items()
        for number in (0, 1)
    ]


def knows(sdk: Anthropic, stores: Sequence[str]) -> bool:
    """Tell whether a region lists these stores."""
    return set(stores) <= {store.id for store in sdk.beta.memory_stores.list(limit=100)}


def run(drill: Drill, steps: Sequence[Callable[[], None]]) -> Report:
    """Run every step while clients write; then look for everything, everywhere."""
    load, lag, say = drill.load, drill.lag, partial(drill.console.print, highlight=False)
    load.start()
    lag.start()
    failed = []
    for step in steps:
        began, before = time.monotonic(), len(load.acknowledged())
        try:
            step()
        except StepFailed as error:
            failed.append(f"{step.__name__}: {error}")
        took_s, wrote = time.monotonic() - began, len(load.acknowledged()) - before
        say(f"{took_s:6.1f} s  {wrote:4} writes  {step.__name__.replace('_', ' ')}")
    load.end()
    say("at rest: every acknowledged write is looked for in every region")
    acknowledged = load.acknowledged()
    account = wait_until_settled(acknowledged, drill.sdk, drill.divergent, SETTLED_WITHIN_S)
    lag.end()
    return Report(
        acknowledged=len({one.version_id for one in acknowledged}),
        account=account,
        told=tuple(client.told for client in load.clients),
        pauses_s=load.longest_pause_s(),
        lag_ms=dict(lag.longest_ms),
        doubled=frozenset(one.version_id for one in acknowledged if one.store_id == drill.doubled),
        noted=drill.noted,
        failed=tuple(failed),
    )
