"""The scanner's rules, compiled once for these rules and this machine: it takes fifteen seconds of a processor."""

from __future__ import annotations

from pathlib import Path

from memolith.adapters.local.compiled_scanner import keep_database
from memolith.adapters.local.files import locked

KEPT = Path(__file__).resolve().parents[2] / ".bundle" / "scanner"
"""Where the bundler keeps them too."""


def compiled_rules(kept: Path = KEPT) -> Path:
    """Return the file of the compiled rules, which all processes share, this run's and later ones'."""
    kept.mkdir(parents=True, exist_ok=True)
    with locked(kept / "lock"):
        return keep_database(kept, lambda: None)
