"""A token that was broken into lines is found whole, and a whole token is not taken for a part of one."""

from __future__ import annotations

import pytest

from memolith.scanner import Scanner, Verdict

HEAD, TAIL = "ghp_q8Zt3mW0xKcVbN5r", "Ys2LdJ7fHgP1aEuR4oTi"

SPLIT = [
    f"The key is split: {HEAD}\n{TAIL}",
    f"token part 1: {HEAD}\ntoken part 2: {TAIL}",
    f'token = "{HEAD}" + \\\n    "{TAIL}"',
    f"> {HEAD}\n> {TAIL}\n",
    f"{HEAD}\r\n{TAIL[:9]}\r\n{TAIL[9:]}\r\n",
]


@pytest.mark.parametrize("text", SPLIT)
def test_a_token_that_is_split_over_lines_is_refused_and_redacted_from_its_first_piece_to_its_last(
    scanner: Scanner, text: str
) -> None:
    report = scanner.scan(text)
    assert report.verdict is Verdict.REJECT
    assert [finding.rule for finding in report.rejecting] == ["secret-split-token"]
    redacted = scanner.redact(text).text
    assert "[REDACTED:split-token]" in redacted
    for piece in (HEAD[4:], TAIL[:9], TAIL[9:]):
        assert piece not in redacted


@pytest.mark.parametrize(
    "text",
    [
        "GitHub tokens begin with ghp_ab\nand have 36 more characters.",
        "prefixes: ghp_12\nglpat-34\nsk-ant-56\n",
        f"Names: {HEAD}\nThe next line is prose without digits.",
    ],
)
def test_the_beginning_of_a_token_before_other_text_is_no_token(scanner: Scanner, text: str) -> None:
    assert "secret-split-token" not in {finding.rule for finding in scanner.scan(text).findings}


def test_a_thousand_lines_that_begin_like_tokens_cost_no_more_than_a_scan_may(scanner: Scanner) -> None:
    asked = 0
    find = scanner._secrets.find

    def counted(text: str) -> object:
        nonlocal asked
        asked += 1
        return find(text)

    scanner._secrets.find = counted  # type: ignore[method-assign,assignment]
    try:
        scanner.scan("ghp_12ab\n" * 1_000)
    finally:
        scanner._secrets.find = find  # type: ignore[method-assign]
    assert asked <= 200
