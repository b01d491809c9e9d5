"""The scanner, loaded once at a function's start."""

from __future__ import annotations

import logging
from pathlib import Path

import memolith
from memolith.entry.lambda_runtime import LambdaRuntime
from memolith.scanner.meaning import MeaningModel
from memolith.scanner.scanner import Scanner

DATABASE_PATH = Path(memolith.__file__).resolve().parents[1] / "scanner.hsdb"
"""Beside the library, where the bundle has it."""

_log = logging.getLogger(__name__)


def start_scanner(running: LambdaRuntime, model: MeaningModel | None = None) -> Scanner:
    """Start the scanner from the prebuilt database; compile it here, and report that, if this processor differs.

    `model` tells orders by their meaning in a deeper look.

    Raises:
        ScannerUnavailableError: its libraries do not work; a function that cannot scan does not start.
    """
    scanner = Scanner.load(DATABASE_PATH, model)
    if not scanner.status.prebuilt:
        _log.warning("scanner compiled at start", extra={"reason": scanner.status.problem})
        running.metrics.count("scanner_compiled")
    return scanner
