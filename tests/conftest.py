"""What holds for every test."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.scanners import compiled_rules

settings.register_profile(
    "cairn",
    deadline=None,  # a machine that is busy elsewhere is no failure
    max_examples=60,
    print_blob=True,  # a failure can be replayed from what it printed
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cairn")


@pytest.fixture(scope="session")
def scanner_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scanner's compiled rules."""
    return compiled_rules(tmp_path_factory)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A machine without FUSE must not pass for one on which mounts were tested."""
    reasons = {str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []) if report.longrepr}
    for reason in sorted(reasons):
        terminalreporter.write_line(f"NOT TESTED: {reason.removeprefix('Skipped: ')}", yellow=True, bold=True)
