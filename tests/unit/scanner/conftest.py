"""One scanner for every test of the folder: loading it compiles the rules, which takes seconds."""

from __future__ import annotations

import pytest

from cairn.scanner import Scanner, build_database


@pytest.fixture(scope="session")
def scanner(tmp_path_factory: pytest.TempPathFactory) -> Scanner:
    """A scanner on a prebuilt database, as the writer has it."""
    database = tmp_path_factory.mktemp("scanner") / "scanner.hsdb"
    build_database(database)
    return Scanner.load(database)
