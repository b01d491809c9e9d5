"""A folder to serve, with the scanner's patterns compiled already: that takes a second, and is tested once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest

from cairn.adapters.local.files import locked
from cairn.entry.compose_local import load_scanner
from tests.support.folders import quick_folder


@pytest.fixture(scope="session")
def compiled() -> Path:
    """Shared by every worker of a run, and by the next run; rules that have changed since are compiled anew."""
    folder = Path(gettempdir()) / f"cairn-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    with locked(folder / "lock"):
        assert load_scanner(folder).status.prebuilt
    return folder / "scanner.hsdb"


@pytest.fixture
def root(compiled: Path) -> Iterator[Path]:
    with quick_folder() as folder:
        shutil.copy(compiled, folder / compiled.name)
        yield folder
