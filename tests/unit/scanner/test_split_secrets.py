"""A token that was broken into lines is found whole, and a whole token is not taken for a part of one."""

from __future__ import annotations

import re

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

    scanner._secrets.find = counted  # type: ignore[method-assign,assignment]  # the test's own takes its place
    try:
        scanner.scan("ghp_12ab\n" * 1_000)
    finally:
        scanner._secrets.find = find  # type: ignore[method-assign]  # the test's own takes its place
    assert asked <= 200


STRIPE = "sk_live_51" + "q8Zt3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi" * 2 + "Zk4Vb9Lq2Xs7Dw1Rf6Tg8Yh3J"
SLACK = "xoxb-123456789012-1234567890123-q8Zt3mW0xKcVbN5rYs2LdJ7f"
VAULT = "hvs." + "q8Zt3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi" * 3


def _lines(token: str, width: int, before: str = "", after: str = "") -> str:
    return "\n".join(f"{before}{token[start : start + width]}{after}" for start in range(0, len(token), width))


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (f"key:\n{_lines(STRIPE, 40)}\nbye", "key:\n*\nbye"),
        (f"key:\n{_lines(STRIPE, 92)}", "key:\n*"),
        ("key = (\n" + _lines(STRIPE, 30, '  "', '"') + "\n)", 'key = (\n  "*"\n)'),
        (f"> {_lines(STRIPE, 40, '> ')[2:]}\n> bye", "> *\n> bye"),
        (f"bot token:\n{_lines(SLACK, 20)}\nbye", "bot token:\n*\nbye"),
        (f"token:\n{_lines(VAULT, 50)}\nbye", "token:\n*\nbye"),
    ],
)
def test_a_token_whose_first_lines_are_one_already_is_redacted_to_its_last_line(
    scanner: Scanner, given: str, stored: str
) -> None:
    redacted = scanner.redact(given).text
    assert re.sub(r"\[REDACTED:[a-z-]+\]", "*", redacted) == stored


@pytest.mark.parametrize(
    "below",
    [
        "commit: 4f2c9ab81d",
        "ab12 stands for something else",
        "Thanks",
        "2024",
        "",
    ],
)
def test_a_line_below_a_whole_token_that_is_no_part_of_it_stays(scanner: Scanner, below: str) -> None:
    redacted = scanner.redact(f"use {STRIPE[:50]}\n{below}\n").text
    assert redacted == f"use [REDACTED:stripe-access-token]\n{below}\n"


def test_a_line_that_makes_no_token_together_with_the_one_above_it_stays(scanner: Scanner) -> None:
    redacted = scanner.redact("use AKIAQ7ZLMN5HHHFPZAM2\nAB12CD34EF\n").text
    assert re.fullmatch(r"use \[REDACTED:[a-z-]+\]\nAB12CD34EF\n", redacted)


@pytest.mark.parametrize("begin", ["sk_live_51", "sk-ant-abc12-"])
def test_tokens_on_lines_of_their_own_are_each_redacted(scanner: Scanner, begin: str) -> None:
    tokens = [f"{begin}q8Zt3mW0xKcVbN5rY{number}s2LdJ7fHgP1aEuR4oTi9Qw2E" for number in range(3)]
    redacted = scanner.redact("\n".join(tokens)).text
    assert re.fullmatch(r"(\[REDACTED:[a-z-]+\](\n|$)){3}", redacted)
