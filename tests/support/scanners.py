"""The scanner's rules, compiled once for a whole run of the tests: it takes seconds, and several files need them."""

from __future__ import annotations

from pathlib import Path

from memolith.adapters.local.files import locked
from memolith.scanner import build_database
from memolith.scanner.database import database_fingerprint


def compiled_rules(shared: Path) -> Path:
    """The database's file, in the folder that all processes of one run share."""
    path = shared / f"scanner-{database_fingerprint()}.hsdb"
    with locked(shared / "scanner.lock"):
        if not path.exists():
            built = path.with_suffix(".new")
            build_database(built)
            built.replace(path)
    return path
