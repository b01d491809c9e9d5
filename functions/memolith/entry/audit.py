"""``memolith audit verify --root``: audit a laptop's folder, beside a server or without one.

Run as ``python -m memolith.entry.audit [STORE [SINCE]]``, with `LocalSettings` in the environment. It prints one JSON
object a home, and changes nothing.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from memolith.app.operations.audit import AuditReport, make_audit
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.errors import MemolithError
from memolith.entry.compose_laptop import REGION, LocalSite, Machine
from memolith.entry.laptop_files import index_path
from memolith.entry.settings import LocalSettings, SettingsError
from memolith.ports.errors import PortError

EXIT_FAILED = 1
EXIT_USAGE = 2


def audited(settings: LocalSettings, store_id: str | None = None, since: int = 1) -> AuditReport:
    """Audit the folder. It puts nothing, and needs no scanner.

    Raises:
        OSError, PortError, MemolithError: the folder cannot be used, or is not as far as a server has made it.
    """
    limits = (settings.memories_per_store, settings.erase_delay_days)
    site = LocalSite(settings.root, LettingAllThrough(), None, Machine.real(), *limits)
    try:
        return make_audit(site.region, site.sealing, site.seal_memory, site.bucket.raw).run(REGION, store_id, since)
    finally:
        site.close()


def report_as_json(report: AuditReport) -> dict[str, Any]:
    """Return a report as the command prints it with ``--json``."""
    return {**asdict(report), "intact": report.is_intact}


def main(store_id: str = "", since: str = "1") -> int:
    """Audit, and return the exit code: 0 also where something is wrong, which the report says."""
    try:
        settings = LocalSettings.read()
    except SettingsError as error:
        return _fail(str(error), EXIT_USAGE)
    if not index_path(settings.root).exists():
        return _fail(f"{settings.root} has no index of this release: start `memolith serve` there once, then audit")
    try:
        print(json.dumps([report_as_json(audited(settings, store_id or None, int(since)))]))
    except OSError as error:
        return _fail(f"{settings.root} cannot be used: {error.strerror}")
    except (PortError, MemolithError) as error:
        return _fail(f"{settings.root} cannot be audited: {error}")
    return 0


def _fail(problem: str, code: int = EXIT_FAILED) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
