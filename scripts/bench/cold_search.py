"""A reader's first search of a large store, beside the GET of its pack (``make bench-cold-search``).

On the local cloud that runs (``memolith dev up --regions us-east-1 --enforce-iam``), as its client sees it: over HTTP,
through the emulated API and a function's own process, with IAM enforced. Each round asks in turn

- for the pack's object by boto3, before and after the next: by the product's own settings, under which nothing is
  compared with its checksum; and by boto3's own, under which it is;
- for a search by a process that is new, whose code another, small store's search has loaded, and that lacks the pack;
- for two searches by that process, which has the pack now;
- for a search by a process that is new and has done nothing yet, imports included.

A process is new because the function's configuration has changed, which ends the old ones, here as on AWS. Everything
is paired, round by round, so that whatever else the machine does falls on all of it. It is a measurement and no gate.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import time
import urllib.parse
from collections.abc import Callable
from statistics import median

import boto3

from scripts.bench.cold_store import LocalCloud, MadeStore
from scripts.bench.search import REGION

TARGET = 1.5
"""What the first search of a process with its code loaded may take, as a multiple of the GET."""


def timed_ms(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1_000


class Client:
    """Asks the deployed API, on one connection, and for the objects beside it."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._cloud = cloud
        self._url = urllib.parse.urlsplit(cloud.facts["api_url"])
        self._connection = http.client.HTTPConnection(self._url.netloc)
        self._usual = boto3.Session("test", "test", region_name=REGION).client("s3", endpoint_url=cloud.endpoint)

    def search(self, store_id: str, query: str) -> None:
        """Search; raise SystemExit where nothing is found: every question here has an answer."""
        path = f"{self._url.path}/v1/memory_stores/{store_id}/search?{urllib.parse.urlencode({'query': query})}"
        self._connection.request("GET", path, headers={"x-api-key": self._cloud.api_key})
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200 or not answer["data"]:
            raise SystemExit(f"a search was answered with {response.status}: {answer}")

    def fetch(self, key: str) -> None:
        """Get an object as the product's settings have it."""
        self._cloud.clients.s3(REGION).get_object(Bucket=self._cloud.facts["bucket"], Key=key)["Body"].read()

    def fetch_checked(self, key: str) -> None:
        """Get an object as boto3 does by itself, which compares it with its checksum."""
        self._usual.get_object(Bucket=self._cloud.facts["bucket"], Key=key)["Body"].read()

    def begin_anew(self) -> None:
        """End the reader's processes, by a change of its configuration."""
        functions, name = self._cloud.clients.functions(REGION), self._cloud.facts["functions"]["reader"]
        variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        variables["BEGUN_ANEW"] = str(time.time_ns())
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})


def rounds(client: Client, store: MadeStore, small: MadeStore, count: int) -> dict[str, list[float]]:
    """Return milliseconds by what was asked for, of each round."""
    key = store.pack.key
    [(loading, _)] = small.questions(1)
    taken: dict[str, list[float]] = {}

    def note(name: str, act: Callable[[], object]) -> None:
        taken.setdefault(name, []).append(timed_ms(act))

    asked = [question for question, _ in store.questions(3 * count)]
    gets = (("GET", client.fetch), ("GET, checked", client.fetch_checked))
    for _, fetch in gets:
        fetch(key)  # clients of boto3 are made at first use
    for number in range(count):
        first, second, third = asked[3 * number : 3 * number + 3]
        client.begin_anew()
        client.search(small.id, loading)
        for name, fetch in gets:
            note(name, lambda: fetch(key))  # noqa: B023 - called at once
        note("search, code loaded", lambda: client.search(store.id, first))  # noqa: B023 - called at once
        for name, fetch in gets:
            note(name, lambda: fetch(key))  # noqa: B023 - called at once
        note("search, pack at hand", lambda: client.search(store.id, second))  # noqa: B023 - called at once
        note("search, pack at hand", lambda: client.search(store.id, third))  # noqa: B023 - called at once
        client.begin_anew()
        note("search, new process", lambda: client.search(store.id, first))  # noqa: B023 - called at once
    return taken


def report(taken: dict[str, list[float]], pack_bytes: int) -> None:
    """Print medians, and the ratios of the medians."""
    print(f"a pack of {pack_bytes / 1e6:.1f} MB; medians, and the least, of {len(taken['search, code loaded'])} rounds")
    for name, times in taken.items():
        ratio = median(times) / median(taken["GET"])
        print(f"  {name:<22} {median(times):8.1f} ms   least {min(times):8.1f} ms   {ratio:6.2f} of the GET")
    cold, gets = taken["search, code loaded"], taken["GET"]
    pairs = [2 * ours / sum(gets[2 * number : 2 * number + 2]) for number, ours in enumerate(cold)]
    print(
        f"the search with its code loaded: {median(cold) / median(taken['GET, checked']):.2f} of the checked GET;",
        end=" ",
    )
    print(f"of the GETs just before and after, {median(pairs):.2f}")
    print(f"target {TARGET:g} of the GET; the load was {os.getloadavg()[0]:.1f} of {os.cpu_count()}")


def main() -> int:
    """Make the store, bring it in, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=11)
    asked = parser.parse_args()
    cloud = LocalCloud()
    store, small = MadeStore(asked.memories), MadeStore(10)
    for one in (store, small):
        cloud.bring_in(one)
    report(rounds(Client(cloud), store, small, asked.rounds), store.pack.size_bytes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
