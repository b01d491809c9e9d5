"""A folder to serve, with the scanner's patterns compiled already: what the first start takes is tested once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.folders import quick_folder


@pytest.fixture
def root(scanner_database: Path) -> Iterator[Path]:
    with quick_folder() as folder:
        shutil.copy(scanner_database, folder / "scanner.hsdb")
        yield folder
