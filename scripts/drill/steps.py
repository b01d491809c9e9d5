"""What goes wrong, one thing after the other, and what an operator does about it.

Each step is a method of `Drill`; it leaves the cloud as well as it found it. What an operator does is in `runbook`.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from anthropic import Anthropic
from botocore.exceptions import ClientError
from rich.console import Console

from scripts.drill.accounting import Lag
from scripts.drill.load import Load
from scripts.drill.runbook import Runbook, StepFailed
from scripts.local_cloud.aws import Clients
from scripts.local_cloud.layout import Layout
from scripts.local_cloud.lifecycle import LocalCloud

POISON = (
    "this is no event",
    json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": "us-east-1/nonsense/1"}}}]}),
    json.dumps({"fold": ["", "{}"]}),
)
WRITES_WITHIN_S = 60.0
KNOWN_WITHIN_S = 240.0
"""A region that was gone has much to hear of first."""
BACK_WITHIN_S = 30.0
"""What is promised: every store takes writes again so soon after the command to fail over was given."""
SET_ASIDE_WITHIN_S = 60.0
STRUCK = {
    "cut": "requests to a region that was cut off",
    "throttle": "requests to tables refused as throttled",
    "lose_replies": "puts done whose answer was lost",
}
KILLED = ("writer", "indexer", "reader", "peerwriter", "peerreader")


@dataclass(slots=True)
class Drill:
    """A cloud of three regions under load.

    Attributes:
        dev: ``.memolith/dev.json``.
        home, second, third: the regions; stores have their home in the first.
        plain, doubled: the stores that are written; the second asks for two regions.
        sdk: one client a region, for looking.
        noted: what the steps measured, for the table.
        alone: whether no other stores are in this cloud, so that what an operator does may be about all there are.
    """

    dev: Mapping[str, Any]
    load: Load
    lag: Lag
    plain: str
    doubled: str
    console: Console
    sdk: Mapping[str, Anthropic]
    noted: dict[str, str] = field(default_factory=dict)
    alone: bool = True

    @property
    def runbook(self) -> Runbook:
        return Runbook(self.dev, self.console)

    @property
    def stores(self) -> tuple[str, ...]:
        """Both."""
        return self.plain, self.doubled

    @property
    def regions(self) -> tuple[str, ...]:
        """Home first."""
        return tuple(self.dev["regions"])

    @property
    def home(self) -> str:
        return self.regions[0]

    @property
    def second(self) -> str:
        return self.regions[1]

    @property
    def third(self) -> str:
        return self.regions[2]

    @property
    def aws(self) -> Clients:
        """The emulator's own APIs, as its root."""
        return Clients(self.dev["endpoint"])

    # ---- what goes wrong ------------------------------------------------------------------------------------------

    def nothing(self) -> None:
        """Let clients write with nothing wrong."""
        self._writes_go_on(5)

    def replication_stands_still(self) -> None:
        """Pause replication from the home; a write is in one bucket alone, except in the store that asks for two."""
        with self._replication(pause=[[self.home, "*"]]):
            self._writes_go_on(8)

    def copies_come_twice_and_out_of_order(self) -> None:
        """Deliver copies late, twice, and the later before the earlier, between all regions."""
        with self._replication(lag_ms=300, jitter_ms=1500, duplicate=0.5, reorder=0.5):
            self._writes_go_on(10)

    def queues_are_poisoned(self) -> None:
        """Put unreadable messages into every region's queue; they are dead-lettered, and projection goes on."""
        for region in self.regions:
            for text in POISON:
                self.aws.sqs(region).send_message(QueueUrl=self.dev["regions"][region]["queue_url"], MessageBody=text)
        self._writes_go_on(5)
        self.until(self._all_set_aside, "not every poisoned message was set aside", SET_ASIDE_WITHIN_S)
        self.runbook.run("send back", self.home)
        self._writes_go_on(3)

    def tables_are_throttled(self) -> None:
        """Refuse one request in four to the tables of the home and of the second region."""
        with self._faults(throttle={self.home: 0.25, self.second: 0.25}):
            self._wait(10)
        self._writes_go_on(3)

    def replies_are_lost(self) -> None:
        """Lose the reply of one put in five into the home's logs; the put itself is done."""
        with self._faults(lose_replies={self.home: 0.2}):
            self._wait(10)
        self._writes_go_on(3)

    def functions_are_killed(self) -> None:
        """Kill running functions at random, writers and indexers among them, in the middle of what they do."""
        killed = 0
        for _ in range(20):
            self._wait(0.5)
            running = self._workers()
            if running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(running), signal.SIGKILL)  # noqa: S311 - no secret
                    killed += 1
        if not killed:
            raise StepFailed("no running function was found to kill")
        self.noted["functions killed"] = str(killed)
        self._writes_go_on(3)

    def a_table_is_deleted(self) -> None:
        """Delete a table of the second region; an operator rebuilds its index."""
        name = self.dev["regions"][self.second]["tables"]["paths"]
        tables = self.aws.dynamodb(self.second)
        with contextlib.suppress(ClientError):
            tables.update_table(TableName=name, DeletionProtectionEnabled=False)
        tables.delete_table(TableName=name)
        self._wait(3)
        self.runbook.run("rebuild", self.second)
        self.runbook.run("state", self.second, may_fail=True)
        self._writes_go_on(3)

    def a_region_is_cut_off(self) -> None:
        """Cut the third region off for a while; callers go on to the next, and it catches up by itself."""
        with self._cut(self.third):
            self._writes_go_on(10)
        self.until(
            lambda: self.lag.now_ms(self.third) is not None, f"{self.third} does not answer again", WRITES_WITHIN_S
        )
        self._writes_go_on(3)

    def a_home_dies_and_another_region_takes_its_stores(self) -> None:
        """Cut the home off with writes that only it has; an operator fails over, and clients write on.

        A store that asks for two regions does not wait where there are only two: one of them is gone.
        """
        LocalCloud().replication({"pause": [[self.home, "*"]]})
        self._writes_go_on(3)
        self._cut_off(self.home)
        LocalCloud().replication({"pause": []})
        self._wait(3)
        began = time.monotonic()
        if self.alone:
            self.runbook.run("fail over", self.home, to=self.second)
        else:
            self.runbook.run("fail over some", self.home, to=self.second, store=",".join(self.stores))
        for store_id in self.stores if len(self.regions) > 2 else (self.plain,):
            self.until(
                lambda store_id=store_id: self.load.since(began, store_id) > 0,  # type: ignore[misc]  # a lambda with a default has no type
                "a store takes no writes after the fail-over",
                BACK_WITHIN_S,
            )
            back_s = time.monotonic() - began
        self.noted["all stores took writes after the command to fail over"] = f"{back_s:.1f} s"
        self.runbook.run("homes", to=self.second)
        self._writes_go_on(8)

    def the_home_answers_again_and_gets_its_stores_back(self) -> None:
        """Bring the home back: replay what only it had acknowledged, or list it as divergent; then move home again."""
        self._answer_again(self.home)
        self._writes_go_on(5)
        self.runbook.run("send back", self.home)
        self.runbook.run("return", self.home)
        self._at_home(self.home)
        for one in self._apart(self.home)[:1]:
            shown = json.loads(self.runbook.run("show", store=one["memory_store_id"], version=one["id"], as_json=True))
            if shown["content"] is None:
                raise StepFailed(f"the text of {one['id']}, which stands apart, cannot be read")

    def homes_are_moved_as_planned(self) -> None:
        """Move all stores of a region to another one, with every region up, and back."""
        self.runbook.run("move", self.home, to=self.third)
        self._at_home(self.third)
        self.runbook.run("return", self.home)
        self._at_home(self.home)

    # ---- what an operator does ------------------------------------------------------------------------------------

    def divergent(self) -> dict[str, frozenset[str]]:
        """Return by region the versions that it lists as divergent: stragglers that could not be replayed."""
        return {region: frozenset(one["id"] for one in self._apart(region)) for region in self.regions}

    def _apart(self, region: str) -> list[dict[str, Any]]:
        """Return what a region lists as divergent; nothing where it does not answer."""
        told = self.runbook.run("what stands apart", asking=region, as_json=True, may_fail=True, quietly=True)
        listed: list[dict[str, Any]] = json.loads(told) if told else []
        return listed

    def _all_set_aside(self) -> bool:
        """Tell whether every region has dead-lettered the message that cannot be read."""
        told = json.loads(self.runbook.run("what was set aside", as_json=True, quietly=True))
        number = dict.fromkeys(self.regions, 0)
        for one in told:
            number[one["region"]] += one.get("set_aside", 0)
        return all(found >= len(POISON) for found in number.values())

    # ---- means ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _replication(self, **settings: Any) -> Iterator[None]:
        LocalCloud().replication(settings)
        try:
            yield
        finally:
            LocalCloud().replication({"lag_ms": 0, "jitter_ms": 0, "duplicate": 0, "reorder": 0, "pause": []})

    @contextlib.contextmanager
    def _cut(self, region: str) -> Iterator[None]:
        self._cut_off(region)
        try:
            yield
        finally:
            self._answer_again(region)

    def _cut_off(self, region: str) -> None:
        """Cut a region off and stop its functions: no queue wakes them."""
        self._wake_by_queues(region, False)
        LocalCloud().faults({"cut": [region]})

    def _answer_again(self, region: str) -> None:
        """Connect a region again. Raises StepFailed if no request reached it meanwhile: the step showed nothing."""
        struck = LocalCloud().faults({"cut": []})["struck"]["cut"]
        self._wake_by_queues(region, True)
        if str(struck) == self.noted.get(STRUCK["cut"], "0"):
            raise StepFailed(f"nobody asked {region} anything while it was cut off")
        self.noted[STRUCK["cut"]] = str(struck)

    def _wake_by_queues(self, region: str, enabled: bool) -> None:
        functions = self.aws.functions(region)
        for page in functions.get_paginator("list_event_source_mappings").paginate():
            for mapping in page["EventSourceMappings"]:
                functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=enabled)

    @contextlib.contextmanager
    def _faults(self, **faults: Any) -> Iterator[None]:
        """Inject faults. Raises StepFailed if they struck no request: the step showed nothing."""
        before = LocalCloud().faults(faults)["struck"]
        try:
            yield
        finally:
            after = LocalCloud().faults({name: {} for name in faults})["struck"]
        for name in faults:
            if after[name] == before[name]:
                raise StepFailed(f"nothing was struck by {name}")
            self.noted[STRUCK[name]] = str(after[name])

    def _writes_go_on(self, for_s: float) -> None:
        """Wait while clients write. Raises StepFailed where no write is acknowledged for too long."""
        began = time.monotonic()
        self._wait(for_s)
        self.until(lambda: self.load.since(began) > 0, "no write is acknowledged", WRITES_WITHIN_S)

    def _wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def _at_home(self, region: str) -> None:
        """Wait until every region names that home for the stores, and they accept writes. Raises StepFailed."""
        for asked in self.regions:
            for store_id in self.stores:
                self.until(
                    lambda asked=asked, store_id=store_id: self._home(asked, store_id) == region,  # type: ignore[misc]  # a lambda with a default has no type
                    f"{asked} does not know {region} as the home",
                    KNOWN_WITHIN_S,
                )
        self._writes_go_on(3)

    def _home(self, region: str, store_id: str) -> str | None:
        """Return the home that a region names for a store; None where it does not answer."""
        url = f"{self.dev['regions'][region]['api_url']}/v1/memory_stores/{store_id}"
        request = urllib.request.Request(url, headers={"x-api-key": self.dev["api_key"]})  # noqa: S310  our own address
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - our own address
                home: str | None = answer.headers.get("x-memolith-home")
        except OSError:
            return None
        return home

    def until(self, holds: Callable[[], bool], otherwise: str, within_s: float) -> float:
        """Wait for it; return how long that took. Raises StepFailed."""
        began = time.monotonic()
        while not holds():
            if time.monotonic() - began > within_s:
                raise StepFailed(f"{otherwise} within {within_s:.0f} s")
            time.sleep(0.2)
        return time.monotonic() - began

    def _workers(self) -> list[int]:
        """List the running processes of every region's functions, known by the folder they were unpacked into."""
        ours = re.compile(rf"(\d+) .*{re.escape(str(Layout().emulator))}/.*-({'|'.join(KILLED)})-[^/]*/_worker\.py")
        listing = subprocess.run(
            ["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=True
        ).stdout
        return [int(found[1]) for line in listing.splitlines() if (found := ours.match(line.strip()))]
