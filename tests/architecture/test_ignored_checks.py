"""What a checker is told to pass over, and a test that is skipped, has its reason beside it."""

from __future__ import annotations

import re

from tests.architecture.source_tree import PRODUCT, python_files, relative

WITHOUT_REASON = re.compile(
    r"# (?:type: ignore(?:\[[^]]*\])?|noqa(?:: [A-Z0-9, ]+)?)\s*$|\.(?:skip|xfail)(?:\(\))?\s*$"
)


def test_every_check_that_is_passed_over_has_its_reason_in_the_same_line() -> None:
    silent = [
        f"{relative(path)}:{number}"
        for path in python_files(*PRODUCT, "tests")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WITHOUT_REASON.search(line)
    ]
    assert silent == []
