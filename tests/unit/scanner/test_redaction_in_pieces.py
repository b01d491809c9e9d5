"""Ours: a text that is kept whatever it holds is kept without its secrets, and nothing of it is kept unread."""

from __future__ import annotations

import random
import re
import string

import pytest

from memolith.scanner import Scanner, pieces
from memolith.scanner.budget import Budget
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import Family, Severity
from memolith.scanner.pieces import PIECE, UNREAD, keep
from memolith.scanner.redaction import ROUNDS

_RANDOM = random.Random(7)


def token(length: int) -> str:
    letters = string.ascii_letters + string.digits
    return "".join(_RANDOM.choice(letters) for _ in range(length - 3)) + "a1B"


GITHUB = f"ghp_{token(36)}"
PASSWORD = "password = " + "Xq7!pLm2#vR9"
BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{token(64)}\n{token(64)}\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [GITHUB, f"Bearer {token(16)}", f"bearer {token(28)}", BLOCK, BLOCK.partition("-----END")[0]],
    ids=["token", "short bearer", "bearer", "key block", "key block without an end"],
)
@pytest.mark.parametrize("around", ["{}", "first line\n  {} after it\nlast line", "x=1; y='{}' # see\n"])
def test_a_secret_is_taken_out_and_what_stands_around_it_is_kept(scanner: Scanner, secret: str, around: str) -> None:
    [one] = scanner.redact_each([around.format(secret)])
    assert one.count >= 1
    assert "[REDACTED:" in one.text
    assert secret.rsplit(" ", 1)[-1].strip("-") not in one.text
    assert one.text.startswith(around.partition("{}")[0])


def test_a_secret_is_taken_out_wherever_it_stands_and_however_often(scanner: Scanner) -> None:
    [one] = scanner.redact_each([f"a {GITHUB}\nb {GITHUB}\na {GITHUB}\n" * 30])
    assert GITHUB not in one.text
    assert one.count == 90


@pytest.mark.parametrize("before", [PIECE - 20, PIECE - 1, PIECE // 2 - 5, PIECE + PIECE // 2 - 10, 3 * PIECE - 7])
def test_a_secret_that_stands_across_the_end_of_a_piece_is_taken_out(scanner: Scanner, before: int) -> None:
    text = ("word " * PIECE)[:before] + f" {GITHUB} " + "word " * PIECE
    [one] = scanner.redact_each([text])
    assert GITHUB[:30] not in one.text
    assert GITHUB[-20:] not in one.text


LONG = {
    "stripe": "sk_live_51" + token(97),
    "slack": "xoxb-123456789012-1234567890123-" + token(24),
    "password": "Kestrel!9StoneMarble#41xQ7Zo",
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("cut", [12, 15, 20, 24, 30, 40, 60])
@pytest.mark.parametrize("end", [PIECE // 2, PIECE, PIECE + PIECE // 2, 2 * PIECE])
def test_a_secret_of_which_each_half_would_be_one_is_taken_out_whole_where_a_piece_ends(
    scanner: Scanner, name: str, cut: int, end: int
) -> None:
    before = ("lorem ipsum dolor sit amet " * PIECE)[: end - cut - 11] + "\npassword: "
    after = " and more\n" + "word " * PIECE
    [one] = scanner.redact_each([before + LONG[name] + after])
    assert one.text.startswith(before)
    assert one.text.endswith(after)
    assert re.fullmatch(r"\[REDACTED:[a-z-]+\]", one.text[len(before) : -len(after)])
    assert one.count == 1


def test_many_different_secrets_are_all_taken_out(scanner: Scanner) -> None:
    secrets = [f"ghp_{token(36)}" for _ in range(300)]
    [one] = scanner.redact_each(["\n".join(secrets)])
    assert not [secret for secret in secrets if secret in one.text]
    assert one.count >= 1


@pytest.mark.parametrize(
    "text", ["", "short", "The quick brown fox. Set token to <your token>, as 12 others do.\n" * 300]
)
def test_a_text_without_secrets_is_kept_as_it_is(scanner: Scanner, text: str) -> None:
    assert [(one.text, one.count) for one in scanner.redact_each([text])] == [(text, 0)]


def test_what_cannot_be_read_in_time_is_left_out() -> None:
    clock = iter(range(100))
    spent = Budget(1, lambda: float(next(clock)))
    assert keep("a text that is long enough", lambda text, budget: [], spent).text == UNREAD


def test_what_is_never_read_to_its_end_is_left_out() -> None:
    budget = Budget(9e9)
    numbers = iter(range(10_000))

    def find(text: str, budget: Budget) -> list[Spot]:
        start = next(numbers) % 5
        return [Spot("secret-x", Family.SECRET, Severity.HIGH, "a reason", "a remedy", start, start + 3)]

    assert keep("abcdefghij" * 3, find, budget).text == UNREAD


def test_what_the_last_search_of_a_piece_left_unread_is_left_out() -> None:
    budget = Budget(9e9)
    numbers = iter(range(10_000))

    def find(text: str, budget: Budget) -> list[Spot]:
        if next(numbers) < ROUNDS:
            return [Spot("secret-x", Family.SECRET, Severity.HIGH, "a reason", "a remedy", 0, 3)]
        budget.exhaust()
        return []

    assert keep("a b c d e f g h i j k l", find, budget).text == UNREAD


def test_a_secret_that_reaches_into_a_piece_that_was_not_read_is_left_out_with_it() -> None:
    def find(text: str, budget: Budget) -> list[Spot]:
        if text.startswith("cret"):
            budget.exhaust()
        place = text.find("secret")
        return [] if place < 0 else [Spot("secret-x", Family.SECRET, Severity.HIGH, "", "", place, place + 6)]

    before = "x" * (PIECE // 2 - 3) + " "
    kept = keep(before + "secret " + "y " * (PIECE // 4 - 10), find, Budget(9e9))
    assert (kept.text, kept.count) == (before + UNREAD, 1)


def test_the_end_of_a_key_is_looked_for_once_where_many_keys_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    ends = pieces._KEY_ENDS

    class Counted:
        def search(self, text: str, position: int) -> object:
            looks.append(position)
            return ends.search(text, position)

    monkeypatch.setattr(pieces, "_KEY_ENDS", Counted())
    keep(BLOCK + "\n" + "-----BEGIN PRIVATE KEY-----\n" * 1_000, lambda text, budget: [], Budget(9e9))
    assert len(looks) == 2


def test_no_text_is_searched_for_keys_once_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_KEY_BEGINS", None)
    clock = iter(range(100))
    spent = Budget(1, lambda: float(next(clock)))
    assert keep(BLOCK, lambda text, budget: [], spent) == pieces.Kept(UNREAD, 1)


@pytest.mark.slow
def test_of_twenty_thousand_passwords_none_is_kept_whether_all_are_read_in_time_or_not(scanner: Scanner) -> None:
    secrets = [f"Xq7pLm{number:05d}vR9sKw2" for number in range(20_000)]
    [one] = scanner.redact_each(["".join(f"password={secret}!\n" for secret in secrets)])
    assert one.count > 0
    assert "Xq7pLm" not in one.text
    assert "sKw2" not in one.text
