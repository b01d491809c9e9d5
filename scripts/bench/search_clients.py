"""Clients that search one `memolith serve` at once: how many answers a second, and what each costs a processor.

A rate by the clock is this machine's and of whatever else it does; the processor's time of an answer is not. Python
runs one thread at a time, so that a second of the server's holds as many answers as fit into a second of a processor,
and more as far as SQLite works beside it. What new memories leave to the server, a pack a minute after the
last of them, is done before: beside it, each search waits for the other.
"""

from __future__ import annotations

import http.client
import multiprocessing
import time
import urllib.parse
from dataclasses import dataclass

from memolith.adapters.local.compiled_scanner import load_scanner
from scripts.bench.laptop import PACKED_WITHIN_S, Running, fill, processor_of, serving
from tests.support.folders import quick_folder

CLIENTS = 4
EACH = 100


@dataclass(frozen=True, slots=True)
class Rate:
    """Answers a second by the clock, and milliseconds of the server's processors for each."""

    a_second: float
    processor_ms: float


def ask_all(port: int, key: str, store: str, queries: list[str]) -> None:
    """Search for each, over one connection. Raises RuntimeError for an answer that is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PACKED_WITHIN_S)
    for query in queries:
        path = f"/v1/memory_stores/{store}/search?" + urllib.parse.urlencode({"query": query, "limit": 10})
        connection.request("GET", path, headers={"x-api-key": key})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(body.decode())


def measured(server: Running, store: str, queries: list[str], clients: int) -> Rate:
    """Have as many processes share the queries."""
    processes = [
        multiprocessing.Process(target=ask_all, args=(server.port, server.key, store, queries[number::clients]))
        for number in range(clients)
    ]
    used, began = processor_of(server.pid), time.monotonic()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    took, used = time.monotonic() - began, processor_of(server.pid) - used
    if any(process.exitcode for process in processes):
        raise SystemExit("a client ended with an error")
    return Rate(len(queries) / took, used / len(queries) * 1000)


def four_at_once(count: int) -> Rate:
    """Serve a store of so many memories from a folder, and search it with four clients once it has settled."""
    with quick_folder() as folder:
        store, texts = fill(folder / "root", count)
        load_scanner(folder / "root", lambda: None)
        queries = [query for query, _ in texts.questions(CLIENTS * EACH)]
        with serving(folder / "root") as server:
            measured(server, store, queries[:EACH], 1)
            server.settle()
            return measured(server, store, queries, CLIENTS)
