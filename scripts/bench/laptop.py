"""A laptop with ten thousand memories: ``python -m scripts.bench.laptop [memories]`` (``make bench-laptop``).

Real processes, as a person has them: `memolith serve` over a folder, the API over HTTP, and the command line. Searches
are measured once the server has done what ten thousand new memories leave to it: a pack, a minute after the last.
Every figure stands beside its target; the exit code is 1 where one is missed. The folder is in memory where the machine
has such a place. Times are a processor's, of the command and of the server together, so that what else the machine does
leaves them alone; a clock's are beside them.
"""

from __future__ import annotations

import http.client
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from memolith.adapters.local import LocalQueue
from memolith.adapters.local.compiled_scanner import load_scanner
from memolith.adapters.local.database import Database
from memolith.adapters.system import SystemClock
from memolith.app.kernel.results import RequestContext
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.entry.compose_laptop import Machine, open_site, owner_key
from memolith.entry.laptop_files import queue_path
from memolith.wire import auth
from scripts.bench.search import Texts
from tests.support.folders import quick_folder

FOLDERS = 50
TIMES = 5
SEARCHES = 200
PACKED_WITHIN_S = 300
SETTLED_WITHIN_S = 1200
UNUSED_PORT = 9
TARGETS = {
    "start, s": 2.0,
    "search over HTTP, ms": 30.0,
    "lint, s": 3.0,
    "ls, s": 1.0,
    "cat, s": 0.4,
    "no server, s": 0.5,
    "memory of the server, MB": 300.0,
}


def fill(root: Path, count: int) -> tuple[str, Texts]:
    """Make a store of `count` notes with frontmatter, each with a link to the one before; return its id."""
    texts = Texts(count)
    site = open_site(root, LettingAllThrough(), Machine.real(), max(count, 1))
    try:
        call = RequestContext(auth.of_key(owner_key(root, site.region)))
        store = site.memolith.stores.create(call, name="bench", description="", metadata={}).id
        for number, text in enumerate(texts.texts):
            head = f"---\nname: Note {number}\ndescription: The note of number {number}.\ntype: reference\n---\n\n"
            path = f"/notes/{number % FOLDERS}/{number}.md"
            content = f"{head}{text}\n\n[[Note {max(number - 1, 0)}]]\n"
            site.memolith.memories.create(call, store, path=path, content=content, full=False)
    finally:
        site.close()
    return store, texts


def environment(root: Path, port: int) -> dict[str, str]:
    """Return this process's environment, with the server that is measured and no other setting of Memolith's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMOLITH_", "ANTHROPIC_"))}
    return kept | {"MEMOLITH_ROOT": str(root), "MEMOLITH_PORT": str(port)}


@dataclass(frozen=True, slots=True)
class Took:
    """How long something took, in seconds: of a processor, and by the clock."""

    processor: float
    clock: float


def processor_of(pid: int) -> float:
    """Return how many seconds a process that runs has used; 0 on a machine that does not tell."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return 0.0
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processor_of_children() -> float:
    """Return how many seconds the processes have used that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True, slots=True)
class Running:
    """A server, and what its start took."""

    root: Path
    port: int
    pid: int
    key: str
    start: Took

    def measured(self, action: Callable[[], object], times: int = TIMES) -> Took:
        """Return the least of some times of a command: the rest is what else the machine does."""
        return least(action, times, lambda: processor_of_children() + processor_of(self.pid))

    def settle(self) -> Took:
        """Wait until nothing is left in the server's queue; return what that took. Raises SystemExit.

        A message stays in it until it is done, and what it announces is there before it goes.
        """
        used, began = processor_of(self.pid), time.monotonic()
        database = Database(queue_path(self.root), durable=False)
        try:
            queue = LocalQueue(database, SystemClock())
            while left := len(queue.messages()):
                if time.monotonic() - began > SETTLED_WITHIN_S:
                    raise SystemExit(f"{left} messages are in the server's queue after {SETTLED_WITHIN_S} s")
                time.sleep(1)
        finally:
            database.close()
        return Took(processor_of(self.pid) - used, time.monotonic() - began)

    @property
    def resident_mb(self) -> float:
        """Return the memory of the process, in MB."""
        words = ["ps", "-o", "rss=", "-p", str(self.pid)]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout) / 1024


def least(action: Callable[[], object], times: int, processor: Callable[[], float]) -> Took:
    """Return the least of some times, of each kind."""
    took = []
    for _ in range(times):
        used, began = processor(), time.monotonic()
        action()
        took.append((processor() - used, time.monotonic() - began))
    return Took(min(used for used, _ in took), min(by_clock for _, by_clock in took))


@contextmanager
def serving(root: Path) -> Iterator[Running]:
    """Serve the folder on a free port."""
    words = [sys.executable, "-m", "memolith.clients.cli", "serve", "--root", str(root), "--port", "0", "--json"]
    began = time.monotonic()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment(root, 0)) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            took = Took(processor_of(process.pid), time.monotonic() - began)
            if not line:
                raise SystemExit("the server did not start")
            started = json.loads(line)
            yield Running(root, int(started["url"].rpartition(":")[2]), process.pid, started["api_key"], took)
        finally:
            process.terminate()
            process.wait()


def command(env: dict[str, str], *words: str, code: tuple[int, ...] = (0,)) -> Callable[[], None]:
    """Return a command of the command line, which has to end with one of these codes."""

    def run() -> None:
        line = [sys.executable, "-m", "memolith.clients.cli", *words]
        done = subprocess.run(line, env=env, capture_output=True, text=True, check=False)
        if done.returncode not in code:
            raise SystemExit(f"{words}: exit code {done.returncode}\n{done.stderr}")

    return run


def searches(server: Running, store: str, texts: Texts) -> Iterator[Took]:
    """Yield what each search took, on one connection that stays, once the store's pack is made."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PACKED_WITHIN_S)

    def ask(query: str) -> None:
        path = f"/v1/memory_stores/{store}/search?" + urllib.parse.urlencode({"query": query, "limit": 10})
        connection.request("GET", path, headers={"x-api-key": server.key})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise SystemExit(body.decode())

    packed = server.measured(partial(ask, "anything at all"), times=1)
    print(
        f"first search after the server's start: {packed.processor:.1f} s of a processor, {packed.clock:.1f} s", end=""
    )
    print(f"; the server then has {server.resident_mb:.0f} MB")
    rest = server.settle()
    print(f"the rest of what was written: {rest.processor:.1f} s of a processor, {rest.clock:.1f} s", flush=True)
    for question, _ in texts.questions(SEARCHES):
        yield server.measured(partial(ask, question), times=1)


def measure(root: Path, store: str, texts: Texts) -> dict[str, Took]:
    """Return every figure but the memory, which comes as the seconds of a `Took`."""
    figures: dict[str, Took] = {}
    with serving(root) as server:
        figures["start, s"] = server.start
        took = list(searches(server, store, texts))
        clock = sorted(one.clock for one in took)
        processor = sum(one.processor for one in took) / len(took)
        figures["search over HTTP, ms"] = Took(processor * 1000, clock[len(clock) // 2] * 1000)
        env = environment(root, server.port)
        figures["lint, s"] = server.measured(command(env, "lint", store, code=(0, 3)), times=2)
        figures["ls, s"] = server.measured(command(env, "ls", store, "--recursive"))
        figures["cat, s"] = server.measured(command(env, "cat", store, "/notes/0/0.md"))
        figures["memory of the server, MB"] = Took(server.resident_mb, server.resident_mb)
    with serving(root) as server:
        figures["start, s"] = min(figures["start, s"], server.start, key=lambda took: took.processor)
    alone = command(environment(root, UNUSED_PORT), "ls", store, code=(7, 8))
    figures["no server, s"] = least(alone, TIMES, processor_of_children)
    return figures


def main(count: int = 10_000) -> int:
    """Print the figures; return 1 where a target is missed."""
    with quick_folder() as folder:
        root = folder / "root"
        began = time.monotonic()
        store, texts = fill(root, count)
        load_scanner(root, lambda: None)
        print(f"{count:,} memories, {statistics.mean(map(len, texts.texts)):,.0f} bytes on the average; ", end="")
        print(f"made in {time.monotonic() - began:.0f} s", flush=True)
        figures = measure(root, store, texts)
    print(f"{'':28} processor    clock   target")
    for name, target in TARGETS.items():
        took = figures[name]
        missed = "" if took.processor <= target else "   MISSED"
        print(f"{name:28} {took.processor:9.2f} {took.clock:8.2f} {target:8g}{missed}")
    return int(any(figures[name].processor > target for name, target in TARGETS.items()))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
