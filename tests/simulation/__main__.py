"""``python -m tests.simulation 2000``: that many worlds, or, with ``--seed``, one of them, told at length."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial

from tests.simulation.bugs import BUGS, Bug, caught_by, hunt
from tests.simulation.kinds import KINDS_OF_FAULTS
from tests.simulation.kinds_of_homes import failing_over, frozen, moving, saved, tearing
from tests.simulation.options import crowded, doubled, drawn, eroding, judging, remembering, retaining
from tests.simulation.shrinking import Failure, case_of, run, shrink
from tests.simulation.world import World

REPORT_EVERY_S = 10.0
logging.getLogger("memolith").setLevel(logging.CRITICAL)  # what is damaged on purpose is no news
SEEDS_PER_TASK = 25
KINDS = {
    kind.__name__: kind
    for kind in (
        *(drawn, crowded, judging, eroding, retaining, doubled, moving, frozen, failing_over),
        *(remembering, saved, tearing),
        *KINDS_OF_FAULTS,
    )
}

ALL = "all"


def main() -> int:
    """Exit code 1 when a promise was broken."""
    kinds = "\n".join(f"  {name}: {(kind.__doc__ or '').splitlines()[0]}" for name, kind in KINDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
        epilog=f"kinds of worlds:\n{kinds}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("worlds", nargs="?", type=int, default=2_000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one seed, and tell its history")
    parser.add_argument(
        "--kind",
        choices=(*KINDS, ALL),
        default="drawn",
        metavar="KIND",
        help=f"which worlds: one kind of those below, or `{ALL}`, which divides the worlds among the kinds",
    )
    parser.add_argument("--bugs", action="store_true", help="plant each defect, and say who catches it, and where")
    parser.add_argument("--no-shrink", action="store_true", help="show a failure as it was found")
    chosen = parser.parse_args()
    if chosen.bugs:
        return _plant_all(chosen.worlds)
    if chosen.kind == ALL and chosen.seed is not None:
        parser.error(f"--seed runs one world: name its kind instead of `--kind {ALL}`")
    if chosen.seed is not None:
        return _tell(chosen.kind, chosen.seed, not chosen.no_shrink)
    if chosen.kind == ALL:
        return max(_run_each(chosen.first, chosen.worlds // len(KINDS) or 1, not chosen.no_shrink))
    return _run_all(chosen.kind, chosen.first, chosen.worlds, not chosen.no_shrink)


def _run_each(first: int, worlds: int, small: bool) -> Iterator[int]:
    for kind in KINDS:
        _say(f"{kind}:")
        yield _run_all(kind, first, worlds, small)


def _run_all(kind: str, first: int, worlds: int, small: bool) -> int:
    begun = told = time.monotonic()
    failed: list[Failure] = []
    done = 0
    for failures, count in _everywhere(kind, first, worlds):
        for failure in failures:
            _show(failure, small and not failed)
            failed.append(failure)
        done += count
        if time.monotonic() - told > REPORT_EVERY_S:
            told = time.monotonic()
            _say(f"{done} of {worlds} worlds, {len(failed)} failed")
    seeds = sorted(failure.case.seed for failure in failed)
    _say(f"{worlds} worlds in {time.monotonic() - begun:.0f} s; failed: {seeds or 'none'}")
    return 1 if failed else 0


def _everywhere(kind: str, first: int, worlds: int) -> Iterator[tuple[list[Failure], int]]:
    """Runs the worlds on every processor, a few at a time: what failed of them, and how many they were, as they end."""
    end = first + worlds
    batches = [range(begin, min(begin + SEEDS_PER_TASK, end)) for begin in range(first, end, SEEDS_PER_TASK)]
    with ProcessPoolExecutor(os.cpu_count(), initializer=_collect_seldom) as pool:
        for task in as_completed([pool.submit(_failures, kind, batch) for batch in batches]):
            yield task.result()


def _collect_seldom() -> None:
    """A world makes much garbage and few cycles: the collector's default pace costs a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def _failures(kind: str, seeds: range) -> tuple[list[Failure], int]:
    found = [run(case_of(seed, KINDS[kind](seed))) for seed in seeds]
    return [failure for failure in found if failure is not None], len(seeds)


def _tell(kind: str, seed: int, small: bool) -> int:
    case = case_of(seed, KINDS[kind](seed))
    failure = run(case)
    if failure is None:
        world = World(seed, case.options)
        world.run()
        _say(str(Failure(case, (), tuple(world.history.lines()))))
        _say(f"seed {seed}: every promise was kept")
        return 0
    _show(failure, small)
    return 1


def _show(failure: Failure, small: bool) -> None:
    _say(f"{failure}\n")
    if small:
        _say("looking for the shortest history that fails alike ...")
        _say(f"\n{shrink(failure)}\n\nagain: make sim SEED={failure.case.seed}")


def _plant_all(worlds: int) -> int:
    """A table, as it stands in docs/consistency.md: the defect, the seed that gives it away, who says so there."""
    _say("| planted defect | seed | caught by |\n|---|---|---|")
    missed = 0
    with ProcessPoolExecutor(os.cpu_count(), initializer=_collect_seldom) as pool:
        for line in pool.map(partial(_line, worlds=worlds), range(len(BUGS))):
            missed += "NOT CAUGHT" in line
            _say(line)
    return 1 if missed else 0


def _line(number: int, worlds: int) -> str:
    bug: Bug = BUGS[number]
    caught = hunt(bug, range(worlds))
    return f"| {bug.name} | " + ("NOT CAUGHT | |" if caught is None else f"{caught[0]} | {caught_by(bug, caught)} |")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
