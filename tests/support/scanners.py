"""The scanner's rules, compiled once for these rules and this machine: it takes fifteen seconds of a processor."""

from __future__ import annotations

from pathlib import Path

from memolith.adapters.local.compiled_scanner import load_scanner
from memolith.adapters.local.files import locked
from memolith.scanner.database import DATABASE_NAME

KEPT = Path(__file__).resolve().parents[2] / ".bundle" / "tests"


def compiled_rules(kept: Path = KEPT) -> Path:
    """Return the file of the compiled rules, which all processes share, this run's and later ones'."""
    kept.mkdir(parents=True, exist_ok=True)
    with locked(kept / "scanner.lock"):
        load_scanner(kept, lambda: None)
    return kept / DATABASE_NAME
