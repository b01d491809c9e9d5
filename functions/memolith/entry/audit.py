"""``memolith audit … --root``: audit a laptop's folder, or prove a version of it, beside a server or without one.

Run as ``python -m memolith.entry.audit TASK``, with `LocalSettings` in the environment: ``verify STORE SINCE
KEYS…``, ``prove STORE VERSION`` or ``keys``. It prints JSON and changes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memolith.adapters.saved_keys import KeysByRegion, SavedKeys, jwk_set, read_keys
from memolith.app.operations.audit import Instant, Since, make_audit
from memolith.app.operations.audit_report import AuditReport
from memolith.app.operations.proofs import make_proofs
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.errors import MemolithError, NotFound
from memolith.core.times import parse_rfc3339
from memolith.entry.compose_laptop import REGION, LocalSite, Machine
from memolith.entry.laptop_files import index_path, starting
from memolith.entry.settings import LocalSettings, SettingsError
from memolith.ports.errors import PortError

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_FOUND = 4


def audited(
    settings: LocalSettings, store_id: str | None = None, since: Since = 1, saved: KeysByRegion | None = None
) -> AuditReport:
    """Audit the folder; `saved` are public keys that are trusted beside its own. It puts nothing, and needs no scanner.

    Raises:
        OSError, PortError, MemolithError: the folder cannot be used, or is not as far as a server has made it.
    """
    with _site(settings) as site:
        sealing = SavedKeys(site.sealing, saved or {})
        audit = make_audit(site.region, sealing, site.seal_memory, site.bucket.raw)
        return audit.run(REGION, store_id, since)


def proven(settings: LocalSettings, store_id: str, version_id: str) -> dict[str, Any]:
    """Return the proof of one version. Raises as `audited`."""
    with _site(settings) as site:
        return make_proofs(site.region, site.sealing).of_version(store_id, version_id)


def public_keys(settings: LocalSettings) -> dict[str, Any]:
    """Return the public keys that this machine's checkpoints are signed with. Raises as `audited`."""
    with _site(settings) as site:
        return jwk_set(site.sealing, [REGION])


@contextmanager
def _site(settings: LocalSettings) -> Iterator[LocalSite]:
    limits = (settings.memories_per_store, settings.erase_delay_days)
    with starting(settings.root):
        site = LocalSite(settings.root, LettingAllThrough(), None, Machine.real(), *limits)
    try:
        yield site
    finally:
        site.close()


def report_as_json(report: AuditReport) -> dict[str, Any]:
    """Return a report as the command prints it with ``--json``."""
    return {**asdict(report), "intact": report.is_intact}


def main(task: str, first: str = "", second: str = "", *keys: str) -> int:
    """Do one task, and return the exit code: 0 also where something is wrong, which the report says."""
    try:
        settings = LocalSettings.read()
    except SettingsError as error:
        return _fail(str(error), EXIT_USAGE)
    if not index_path(settings.root).exists():
        return _fail(f"{settings.root} has no index of this release: start `memolith serve` there once, then audit")
    try:
        if task == "verify":
            since = int(second) if second.isdecimal() else Instant(parse_rfc3339(second))
            saved = read_keys(*map(Path, keys))
            answer: object = [report_as_json(audited(settings, first or None, since, saved))]
        else:
            answer = proven(settings, first, second) if task == "prove" else public_keys(settings)
        print(json.dumps(answer))
    except OSError as error:
        return _fail(f"{settings.root} cannot be used: {error.strerror}")
    except NotFound as error:
        return _fail(str(error), EXIT_NOT_FOUND)
    except (PortError, MemolithError) as error:
        return _fail(str(error))
    return 0


def _fail(problem: str, code: int = EXIT_FAILED) -> int:
    print(f"error: {problem}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
