"""``python -m tests.simulation 2000``: that many worlds, or, with ``--seed``, one of them, told at length."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.bugs import BUGS, hunt
from tests.simulation.shrinking import Failure, case_of, run, shrink
from tests.simulation.world import World

REPORT_EVERY_S = 10.0


def main() -> int:
    """Exit code 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("worlds", nargs="?", type=int, default=2_000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="run this one seed, and tell its history")
    parser.add_argument("--bugs", action="store_true", help="plant each defect, and say who catches it, and where")
    parser.add_argument("--no-shrink", action="store_true", help="show a failure as it was found")
    chosen = parser.parse_args()
    if chosen.bugs:
        return _plant_all(chosen.worlds)
    if chosen.seed is not None:
        return _tell(chosen.seed, not chosen.no_shrink)
    return _run_all(chosen.first, chosen.worlds, not chosen.no_shrink)


def _run_all(first: int, worlds: int, small: bool) -> int:
    begun = told = time.monotonic()
    failed: list[int] = []
    for seed in range(first, first + worlds):
        failure = run(case_of(seed))
        if failure is not None:
            failed.append(seed)
            _show(failure, small and len(failed) == 1)
        if time.monotonic() - told > REPORT_EVERY_S:
            told = time.monotonic()
            _say(f"{seed + 1 - first} of {worlds} worlds, {len(failed)} failed")
    _say(f"{worlds} worlds in {time.monotonic() - begun:.0f} s; failed: {failed or 'none'}")
    return 1 if failed else 0


def _tell(seed: int, small: bool) -> int:
    case = case_of(seed)
    failure = run(case)
    if failure is None:
        world = World(seed)
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
    missed = 0
    for bug in BUGS:
        caught = hunt(bug, range(worlds))
        missed += caught is None
        _say(
            f"{bug.name}: " + ("NOT CAUGHT" if caught is None else f"seed {caught[0]}, {', '.join(sorted(caught[1]))}")
        )
    return 1 if missed else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
