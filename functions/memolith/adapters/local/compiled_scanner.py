"""The safety scanner with patterns that were compiled once and kept in a folder of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memolith.adapters.local.files import make_folder, write_new
from memolith.scanner import Scanner
from memolith.scanner.database import DATABASE_NAME, Matchers, UnusableDatabaseError, build_database, load_matchers
from memolith.scanner.meaning import MeaningModel


def load_scanner(folder: Path, compiling: Callable[[], None], model: MeaningModel | None = None) -> Scanner:
    """Load the scanner with the patterns that `folder` keeps, each once. Costs and raises as `keep_database`.

    `model` tells orders by their meaning in a deeper look.

    Raises:
        ScannerUnavailableError: its libraries do not work.
    """
    return Scanner.of(_kept(folder, compiling), model=model)


def keep_database(folder: Path, compiling: Callable[[], None]) -> Path:
    """Return the file of the compiled patterns. They are compiled once for a folder, and again when rules, library or
    processor change.

    Compiling takes about twenty seconds; `compiling` is called before it. Atomic: processes that compile at the same
    time each replace the whole file.

    Raises:
        OSError: the folder cannot be written.
    """
    _kept(folder, compiling)
    return folder / DATABASE_NAME


def _kept(folder: Path, compiling: Callable[[], None]) -> Matchers:
    path = folder / DATABASE_NAME
    try:
        return load_matchers(path)
    except UnusableDatabaseError:
        compiling()
        make_folder(folder)
        built = write_new(folder, b"")
        try:
            build_database(built)
            built.replace(path)
        finally:
            built.unlink(missing_ok=True)
    return load_matchers(path)
