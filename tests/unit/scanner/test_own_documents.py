"""The project's own pages, which speak of attacks, are texts that a store takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.scanner import Scanner, Verdict

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"], ids=lambda path: path.name
)
def test_a_page_of_the_project_is_accepted(scanner: Scanner, page: Path) -> None:
    report = scanner.scan(page.read_text(), path=f"/docs/{page.name}")
    assert report.verdict is not Verdict.REJECT, [(one.rule, one.excerpt) for one in report.rejecting]
