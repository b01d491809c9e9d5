"""Paths of folders that programs obey: a flag on the version, and no refusal unless a store is strict."""

from __future__ import annotations

import pytest

from memolith.scanner.findings import Policy, Verdict
from memolith.scanner.path_policy import hits
from memolith.scanner.scanner import Scanner


@pytest.mark.parametrize(
    "path",
    [
        "/.git/hooks/post-checkout",
        "/a/.GIT/config",
        "/.git",
        "/GIT~1/config",
        "/.hg/hgrc",
        "/.ssh/authorized_keys",
        "/%2egit/x",
    ],
)
def test_a_path_in_a_repositorys_own_folder_is_flagged(path: str, scanner: Scanner) -> None:
    report = scanner.scan("a harmless text", path=path, policy=Policy.STANDARD)
    assert "path-repository" in [finding.rule for finding in report.findings]
    assert report.verdict is (Verdict.REJECT if "%" in path else Verdict.FLAG)
    assert scanner.scan("a harmless text", path=path, policy=Policy.STRICT).verdict is Verdict.REJECT


@pytest.mark.parametrize("path", ["/.gitignore", "/.github/workflows/ci.md", "/notes/git.md", "/.sshx", "/a.git/b.md"])
def test_names_that_begin_or_end_alike_are_not_flagged(path: str) -> None:
    assert hits(path) == []
