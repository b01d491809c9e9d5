"""``memolith repair --root``: repairs one laptop's folder, beside a server or without one.

Run as ``python -m memolith.entry.repair STORE repair|look``, with ``MEMOLITH_ROOT`` in the environment; an empty STORE
is every store. Prints a JSON list with a row for each damaged object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from memolith.app.kernel.peer_messages import decode_error
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.errors import MemolithError, NotFound
from memolith.entry.compose_laptop import REGION, LocalSite, Machine
from memolith.entry.laptop_files import index_path, starting
from memolith.entry.settings import LocalSettings, SettingsError
from memolith.ports.errors import PortError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 4


def damaged(settings: LocalSettings, store_id: str | None, look_only: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each damaged object of the folder, repaired unless `look_only`. It puts no new text.

    Raises:
        OSError, PortError, MemolithError: the folder cannot be used, or is not as far as a server has made it.
    """
    limits = (settings.memories_per_store, settings.erase_delay_days)
    with starting(settings.root):
        site = LocalSite(settings.root, LettingAllThrough(), None, Machine.real(), *limits)
    try:
        at: Any = None
        while True:
            payload = {"call": "repair.page", "store_id": store_id, "at": at, "look_only": look_only}
            page = site.region.peers.call(REGION, "eraser", payload)
            if "error" in page:
                raise decode_error(page["error"])
            yield from ({"region": REGION, **one} for one in page["damaged"])
            at = page["next"]
            if at is None:
                return
    finally:
        site.close()


def main(store_id: str, task: str) -> int:
    """Repair, and return the exit code."""
    try:
        settings = LocalSettings.read()
    except SettingsError as error:
        return _fail(str(error), EXIT_USAGE)
    if not index_path(settings.root).exists():
        return _fail(f"{settings.root} has no index of this release: start `memolith serve` there once, then repair")
    try:
        print(json.dumps(list(damaged(settings, store_id or None, task == "look"))))
    except OSError as error:
        return _fail(f"{settings.root} cannot be used: {error.strerror}")
    except NotFound as error:
        return _fail(f"{error}\n`memolith stores list` lists what exists.", EXIT_NOT_FOUND)
    except (PortError, MemolithError) as error:
        return _fail(f"{settings.root} cannot be repaired: {error}")
    return 0


def _fail(problem: str, code: int = EXIT_FAILED) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
