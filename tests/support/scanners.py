"""The scanner's rules, compiled once for a whole run of the tests: it takes seconds, and several files need them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.adapters.local.files import locked
from cairn.scanner import build_database


def compiled_rules(factory: pytest.TempPathFactory) -> Path:
    """The database's file, in the folder that all processes of one run share."""
    shared = factory.getbasetemp().parent
    path = shared / "scanner.hsdb"
    with locked(shared / "scanner.lock"):
        if not path.exists():
            built = shared / "scanner.hsdb.new"
            build_database(built)
            built.replace(path)
    return path
