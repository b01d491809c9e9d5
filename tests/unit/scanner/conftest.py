"""One scanner for every test of the folder: its rules are compiled once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.scanner import Scanner


@pytest.fixture(scope="session")
def scanner(scanner_database: Path) -> Scanner:
    """A scanner on a prebuilt database, as the writer has it."""
    return Scanner.load(scanner_database)
