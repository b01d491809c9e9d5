"""``make drill``. Exit code 1 when an acknowledged write is neither kept nor listed, or a step failed."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable

from rich.console import Console

from scripts.drill.running import prepare, run
from scripts.drill.steps import Drill
from scripts.local_cloud.layout import PROJECT_ROOT

REGIONS = ("us-east-1", "eu-west-1", "ap-south-1")


def steps(drill: Drill) -> tuple[Callable[[], None], ...]:
    """Return the steps in order."""
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
    """Run one command of the local cloud, its output passed through."""
    subprocess.run([sys.executable, "-m", "scripts.local_cloud", *arguments], cwd=PROJECT_ROOT, check=True)


def main() -> int:
    """Run the drill; return 0 when every promise held."""
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
        dev = json.loads((PROJECT_ROOT / ".memolith" / "dev.json").read_text())
        drill = prepare(dev, console)
        report = run(drill, steps(drill))
    finally:
        if not (arguments.keep or arguments.here):
            local_cloud("down")
    report.show(console)
    console.print(f"in {time.monotonic() - began:.0f} s")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
