"""After a run that planted defects: which seed gave each away, and who said so."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A table of what `test_a_planted_defect_is_caught` has recorded."""
    found = [dict(report.user_properties) for report in terminalreporter.getreports("passed")]
    caught = [one for one in found if "planted" in one]
    if not caught:
        return
    terminalreporter.section("planted defects")
    for one in caught:
        terminalreporter.write_line(f"{one['planted']}: seed {one['seed']}, {one['caught_by']}")
