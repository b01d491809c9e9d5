"""Two regions in this process: the real use cases and the real API, over adapters in memory that take their time.

What a machine of two processors cannot do with an emulated cloud it can do here: fifty writes a second and a move
beside them. Every call of a port waits as long as such a call takes on AWS, about (`TAKES_S`), and what was put arrives
in the other region after a while, by threads of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from memolith.adapters.layered import Call
from memolith.adapters.system import SystemClock, SystemRandomness, Unmeasured
from memolith.app.operations import operator
from memolith.clients.cli.homes import AT_ONCE
from memolith.core.errors import MemolithError
from memolith.wire.http import HttpApi
from tests.api.loopback import serving
from tests.support.cloud import Cloud

T = TypeVar("T")

TAKES_S = {"objects": (0.025, 0.11), "index": (0.005, 0.005), "peers": (0.015, 0.1), "queue": (0.01, 0.01)}
"""How long a call takes, here and in the other region: assumed, not measured. What it calls there comes on top."""
ARRIVES_AFTER_S = 1.0
COPIERS = 24
THREADS = 16


def slowly(call: Call, act: Callable[[], T]) -> T:
    """Intercept a call and delay it."""
    here, there = TAKES_S.get(call.name.partition(".")[0], (0.0, 0.0))
    time.sleep(here if call.target == call.origin else there)
    return act()


class Threads:
    """`ports.parallel.Parallel` with threads of each call's own: all regions' functions run in this process."""

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Run the tasks and return every result, in order."""
        if len(tasks) < 2:
            return [task() for task in tasks]
        with ThreadPoolExecutor(min(len(tasks), THREADS)) as pool:
            return [one.result() for one in [pool.submit(task) for task in tasks]]

    def begin(self, task: Callable[[], T]) -> Callable[[], T]:
        """Run the task once it is waited for."""
        return cache(task)


@dataclass(slots=True)
class Replicating:
    """Plays the network all along: what was put is copied, and each region's indexer woken."""

    cloud: Cloud
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Replicate until ended."""
        with ThreadPoolExecutor(COPIERS) as pool:
            while not self._ended.wait(ARRIVES_AFTER_S / 4):
                seen = len(self.cloud.pending)
                time.sleep(ARRIVES_AFTER_S)
                list(pool.map(lambda _: self.cloud.deliver_one(0), range(seen)))

    def end(self) -> None:
        """Stop replicating."""
        self._ended.set()


@dataclass(frozen=True, slots=True)
class InProcess:
    """What `planned.run` needs of a cloud.

    Attributes:
        dev: as ``.memolith/dev.json``.
    """

    dev: Mapping[str, Any]
    cloud: Cloud

    def move(self, old: str, new: str) -> Mapping[str, Any]:
        """Move every store of one region to another, as many at a time as `memolith homes move` does."""
        region = self.cloud.sites[new].region
        stores = [home.store_id for home in operator.homes(region) if home.home == old]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return {"stores": list(pool.map(lambda store_id: self._one(new, store_id), stores))}

    def _one(self, new: str, store_id: str) -> Mapping[str, Any]:
        told: dict[str, Any] = {"store": store_id, "state": "not done", "paused_ms": None, "problem": ""}
        try:
            for step in operator.move(self.cloud.sites[new].region, store_id):
                told |= {"state": step.state, "paused_ms": step.paused_ms}
        except MemolithError as error:
            told["problem"] = error.message
        return told


@contextmanager
def in_process(regions: Sequence[str]) -> Iterator[InProcess]:
    """Serve two regions on loopback while the block runs."""
    clock = SystemClock()
    cloud = Cloud(regions, clock=clock, parallel=Threads(), interceptor=slowly)
    api_key = cloud.key()
    replicating = Replicating(cloud)
    thread = threading.Thread(target=replicating.run, name="replicating")
    with ExitStack() as stack:
        urls = {
            name: stack.enter_context(serving(HttpApi(site.memolith, clock, SystemRandomness(), Unmeasured()).answer))
            for name, site in cloud.sites.items()
        }
        thread.start()
        try:
            addresses = {name: {"api_url": f"http://127.0.0.1:{port}"} for name, port in urls.items()}
            yield InProcess({"regions": addresses, "api_key": api_key}, cloud)
        finally:
            replicating.end()
            thread.join()
