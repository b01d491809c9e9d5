"""The emulator's process: MiniStack with `patches` applied.

Run as ``python -m scripts.local_cloud.emulator_main REPORT --instance=TOKEN`` with the environment of
`environment.for_emulator`. ``REPORT`` is the file that says which patches hold.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from scripts.local_cloud.patches import (
    Patch,
    PatchMissing,
    adopted_buckets,
    alarms_on_expressions,
    bare_functions,
    condition_keys,
    domain_asked,
    faults_on_demand,
    layers_once,
    log_wait,
    narrow_queries,
    no_replication,
    queue_batches,
    workers_by_region,
)

PATCHES: tuple[Patch, ...] = (
    no_replication.PATCH,
    log_wait.PATCH,
    condition_keys.PATCH,
    bare_functions.PATCH,
    layers_once.PATCH,
    workers_by_region.PATCH,
    adopted_buckets.PATCH,
    queue_batches.PATCH,
    alarms_on_expressions.PATCH,
    domain_asked.PATCH,
    faults_on_demand.PATCH,
    narrow_queries.PATCH,
)


def apply_all(patches: tuple[Patch, ...] = PATCHES) -> dict[str, str]:
    """Apply each patch; returns, for those that could not be, what is wrong without them."""
    missing = {}
    for patch in patches:
        try:
            patch.apply()
        except (PatchMissing, ImportError) as error:
            missing[patch.name] = f"{error}: {patch.without_it}"
            print(f"PATCH NOT APPLIED {patch.name}: {error}; {patch.without_it}", file=sys.stderr, flush=True)
    return missing


def main() -> None:
    """Apply the patches, write the report, serve until SIGTERM."""
    report = Path(sys.argv[1])
    report.write_text(json.dumps(apply_all()))
    sys.argv[1:] = []
    from ministack import app

    app.main()


if __name__ == "__main__":
    main()
