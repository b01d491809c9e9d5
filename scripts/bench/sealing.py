"""What sealing costs a write: updates with and without a digest for the checkpoint, in pairs (``make bench-sealing``).

A digest is all that sealing adds to a write; checkpoints are made beside it, once a minute. Each round has a block of
updates with digests and one without, in one process, on one memory, with texts of one length; which of them is first
changes from round to round, so that drift of the machine falls on both. A round gives one ratio, of the medians of its
blocks. Printed are the median of the ratios and its 95 % interval, by bootstrap over the rounds. It is a measurement
and no gate: where the interval has 1 in it, nothing was shown to be slower.

Backends: memory, which shows the work of the code alone, and so the greatest ratio; a laptop's folder, with its files
and SQLite; moto, in this process; and the local cloud, when one is running. Memory and moto wait for nothing, so the
processor's time is measured of them, which does not depend on what else the machine does; of the others, the time that
a caller waits.

moto's memory grows with the square of what it was asked: three gigabytes after 3,000 updates. So it is begun anew after
each few rounds.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from unittest import mock

from memolith.adapters.system import SystemClock, SystemRandomness, Unmeasured
from memolith.app.index import projector
from memolith.app.kernel.results import RequestContext
from memolith.core.sealing import entry_digest
from memolith.entry.compose_laptop import Machine, open_site, owner_key
from memolith.scanner import Scanner
from memolith.wire import auth
from scripts.bench.writes import Bench, in_memory, on_local_cloud, on_moto, text

BLOCK = 10
"""Updates of one kind at a time: short, so that the two blocks of a round meet the same machine."""
WARM_UP = 5
ROUNDS_OF_MOTO = 20
RESAMPLES = 10_000
Clock = Callable[[], float]
"""Seconds, since whenever."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median of paired ratios, and the interval that 95 % of resampled medians lie in."""

    median: float
    low: float
    high: float


def bootstrap(ratios: Sequence[float], chance: random.Random) -> Ratio:
    """Return the median and its 95 % percentile interval. Source: Efron, "Bootstrap methods" (1979)."""
    medians = sorted(median(chance.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return Ratio(median(ratios), medians[round(RESAMPLES * 0.025)], medians[round(RESAMPLES * 0.975) - 1])


class Writer:
    """Updates one memory, and times it."""

    def __init__(self, bench: Bench, clock: Clock) -> None:
        self._clock = clock
        self._memories, self._stores, self._call = bench.memolith.memories, bench.memolith.stores, bench.call
        self._store = self._stores.create(self._call, name="sealing", description="", metadata={}).id
        self._memory = self._memories.create(self._call, self._store, path="/a.md", content=text(0), full=False)
        self._numbers = count(1)

    def block(self, *, sealed: bool) -> float:
        """Return the median milliseconds of a block of updates."""
        digest: Callable[..., str | None] = entry_digest if sealed else lambda entry, salt: None
        with mock.patch.object(projector, "entry_digest", digest):
            return median(self._timed_ms() for _ in range(BLOCK))

    def leave(self) -> None:
        self._stores.delete(self._call, self._store)

    def _timed_ms(self) -> float:
        began = self._clock()
        self._update()
        return (self._clock() - began) * 1_000

    def _update(self) -> None:
        self._memory = self._memories.update(
            self._call,
            self._store,
            self._memory.id,
            content=text(next(self._numbers)),
            path=None,
            expected_content_sha256=self._memory.content_sha256,
            full=False,
        )


def measure(bench: Bench, rounds: int, clock: Clock) -> list[tuple[float, float]]:
    """Return the milliseconds of each round with digests and without, once the first few rounds are over."""
    writer = Writer(bench, clock)
    taken = []
    for number in range(rounds + WARM_UP):
        first = number % 2 == 0
        times = {sealed: writer.block(sealed=sealed) for sealed in (first, not first)}
        taken.append((times[True], times[False]))
    writer.leave()
    return taken[WARM_UP:]


def report(
    opened: Callable[[], AbstractContextManager[Bench]], rounds: int, clock: Clock, at_once: int | None = None
) -> None:
    """Measure one backend, which is opened anew after `at_once` rounds, and print a line."""
    taken: list[tuple[float, float]] = []
    name = ""
    while len(taken) < rounds:
        with opened() as bench:
            taken += measure(bench, min(at_once or rounds, rounds - len(taken)), clock)
            name = bench.name
    ratio = bootstrap([one / other for one, other in taken], random.Random(0))  # noqa: S311 - not for secrets
    sealed, plain = (median(times) for times in zip(*taken, strict=True))
    of = "processor" if clock is time.process_time else "wait"
    print(
        f"{name:<26} {of:<9} p50 {sealed:7.3f} ms   without {plain:7.3f} ms   "
        f"ratio {ratio.median:6.3f}   95 % from {ratio.low:6.3f} to {ratio.high:6.3f}   {len(taken)} rounds",
        flush=True,
    )


@contextmanager
def on_a_laptop(scanner: Scanner) -> Iterator[Bench]:
    """Measure a laptop's folder: files, each synced to the disk, and SQLite."""
    with tempfile.TemporaryDirectory(prefix="memolith-bench-") as folder:
        root = Path(folder) / "root"
        site = open_site(
            root, scanner, Machine(SystemClock(), SystemRandomness(), Unmeasured(), Path(folder) / "seals")
        )
        call = RequestContext(auth.of_key(owner_key(root, site.region)))
        yield Bench("a laptop's folder", site.region, site.memolith, call)
        site.close()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200, help=f"pairs of blocks, each of {BLOCK} updates, a backend")
    rounds = parser.parse_args().rounds
    scanner = Scanner.load(None)
    report(lambda: nullcontext(in_memory(scanner)), rounds, time.process_time)
    report(lambda: on_a_laptop(scanner), rounds, time.perf_counter)
    report(lambda: on_moto(scanner), rounds, time.process_time, ROUNDS_OF_MOTO)
    local = on_local_cloud(scanner)
    if local is not None:
        report(lambda: nullcontext(local), rounds, time.perf_counter)
    return 0


if __name__ == "__main__":
    sys.exit(main())
