"""Taking secrets out of a text: all of each secret goes, and nothing else does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memolith.scanner import Scanner
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import Family, Severity
from memolith.scanner.redaction import redact

TOKEN = "ghp_" + "q8Zt3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi"
KEY_LINE = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW"
BEGIN, END = "-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"


@pytest.fixture(scope="module")
def scanner(scanner_database: Path) -> Scanner:
    return Scanner.load(scanner_database)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (f"the token is {TOKEN}.", "the token is [REDACTED:github-pat]."),
        (f"{TOKEN} here, {TOKEN} there", "[REDACTED:github-pat] here, [REDACTED:github-pat] there"),
        ("Passwort: Blau7!Kiesel\n", "Passwort: [REDACTED:password]\n"),
        ("contraseña: Verde42!roca", "contraseña: [REDACTED:password]"),
        ("db password = Kestrel!9Stone! # prod", "db password = [REDACTED:password] # prod"),
        ("postgres://app:v8Kq2Zt5mWx0@db.internal/app", "postgres://app:[REDACTED:generic-credential-uri]@db.internal/app"),
        (f"before\n{BEGIN}\n" + f"{KEY_LINE}\n" * 40 + f"{END}\nafter", "before\n[REDACTED:private-key]\nafter"),
        (f"{BEGIN}\n{KEY_LINE}\n{KEY_LINE}\n\nThis prose stays.", "[REDACTED:private-key]\n\nThis prose stays."),
        ('{"api_key": "q8Zt3mW0xKcVbN5rYs2LdJ7f", "n": 2}', '{"api_key": "[REDACTED:generic-api-key]", "n": 2}'),
        ("Authorization: Bearer q8Zt3mW0xKcVbN5rYs2LdJ7fHgP1", "Authorization: Bearer [REDACTED:bearer-token]"),
        (f"> {BEGIN}\n" + f"> {KEY_LINE}\n" * 12 + "end", "> [REDACTED:private-key]\nend"),
        (f"# {BEGIN}\n" + f"#   {KEY_LINE}\n" * 12 + "# end", "# [REDACTED:private-key]\n# end"),
        (f'"{BEGIN}\\n' + f"{KEY_LINE}\\n" * 12 + '", "n": 2', '"[REDACTED:private-key]\\n", "n": 2'),
        (f'["{BEGIN}",\n' + f' "{KEY_LINE}",\n' * 12 + ' "end"]', '["[REDACTED:private-key]",\n "end"]'),
        ("Builds run with make; the password is in the vault.", "Builds run with make; the password is in the vault."),
    ],
)  # fmt: skip
def test_each_secret_becomes_the_name_of_its_kind_and_the_rest_of_the_text_stays(
    scanner: Scanner, given: str, stored: str
) -> None:
    redacted = scanner.redact(given)
    assert redacted.text == stored
    assert scanner.redact(stored).text == stored
    assert scanner.scan(stored).secret == ()


PASSWORDS = [
    ("password=*\nok", "Kestrel!9Stone,Marble#41"),
    ("password=*\nok", "Kestrel!9Stone;Marble#41"),
    ("The password for staging: *\nok", 'Kestrel!9Stone"Marble#41'),
    ("The password for staging: * is old", "Kestrel!9Stone<Marble#41"),
    ("Server=db;User Id=sa;Password=*;Database=x", "Kestrel!9St;one#41x"),
    ("Server=db;Password=*;Initial Catalog=x", "Kestrel!9St;one#41x"),
    ("{user: bob, password: *,host: db}", "Kestrel!9Stone,Marble#41"),
    ('{"user": "a", "password": "*", "n": 2}', 'Kestrel!9St\\"one#41'),
    ('{"password":"*","user":"a"}', "Kestrel!9Stone,Marble#41;x"),
    ('{"password":"*","user":"a"}', "Kestrel!9Stone"),
    ('{"cmd":"login password=*","user":"a"}', "Kestrel!9Stone"),
    ("connect(password='*', user='a')", "Kestrel!9 Stone Marble#41"),
    ("<td>password: *</td>", "Kestrel!9Stone"),
    ("password: *, then log in", "Kestrel!9Stone"),
    ("password=* and again *, or so", "Kestrel!9Stone,Marble#41"),
]


@pytest.mark.parametrize(("around", "password"), PASSWORDS)
def test_a_password_is_taken_out_to_its_end_and_not_what_the_text_around_it_is_built_of(
    scanner: Scanner, around: str, password: str
) -> None:
    redacted = scanner.redact(around.replace("*", password)).text
    kinds = (around.replace("*", f"[REDACTED:{kind}]") for kind in ("password", "generic-password"))
    assert redacted in kinds


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ('He wrote "the password is *" to me', 'He wrote "the password is [*:password]" to me'),
        ('"*" is the password', '"[*:password]" is the password'),
        ('"the password is *", I say, * it is', '"the password is [*:password]", I say, [*:password] it is'),
        ('He wrote "the password is *\\" to me', 'He wrote "the password is [*:password]" to me'),
        ('He wrote "the password is *" in C:\\', 'He wrote "the password is [*:password]" in C:\\'),
        ('He wrote "the password is *"one#41" to me', 'He wrote "the password is [*:password]" to me'),
    ],
)
def test_json_stays_json_where_a_password_stands_before_an_escaped_quotation_mark(
    scanner: Scanner, said: str, stored: str, depth: int
) -> None:
    given = said.replace("*", "Marble#41xQ7")
    for _ in range(depth):
        given = json.dumps({"said": given})
    text = scanner.redact(given).text
    assert scanner.scan(text).secret == ()
    for _ in range(depth):
        text = json.loads(text)["said"]
    assert text == stored.replace("*", "REDACTED")


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("before", ["a\n", "a\t\r\n", "ü", "C:\\temp\\", "a\nv"])
def test_json_stays_json_where_a_token_stands_behind_what_is_escaped(scanner: Scanner, before: str, depth: int) -> None:
    given = f"{before}{TOKEN}\nend"
    for _ in range(depth):
        given = json.dumps({"said": given})
    text = scanner.redact(given).text
    for _ in range(depth):
        text = json.loads(text)["said"]
    assert text == f"{before.rstrip('v')}[REDACTED:github-pat]\nend"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("The password is Marble#41xQ7\\ for now", "The password is [REDACTED:password] for now"),
        ('"the password is Marble#41xQ7\\"\nand "so" on', '"the password is [REDACTED:password]"\nand "so" on'),
        ("'Marble#41xQ7\\' is the password", "'[REDACTED:password]' is the password"),
        ('{"said": "the password is Marble#41xQ7\\\\"}', '{"said": "the password is [REDACTED:password]"}'),
    ],
)
def test_a_password_that_ends_in_a_backslash_is_taken_out_with_it(scanner: Scanner, given: str, stored: str) -> None:
    assert scanner.redact(given).text == stored


def test_a_find_over_a_mark_takes_all_of_it_and_is_told_at_its_place_in_the_text_as_given() -> None:
    given = "alpha BRAVO_CHARLIE delta echo foxtrot golf"
    rounds = iter([("a", "BRAVO_CHARLIE"), ("b", "CTED:a] delta"), ("c", "echo")])

    def find(text: str) -> list[Spot]:
        kind, value = next(rounds, ("", ""))
        place = text.find(value)
        one = Spot(f"secret-{kind}", Family.SECRET, Severity.HIGH, "", "", place, place + len(value))
        return [one] if value else []

    redacted = redact(given, find)
    assert redacted.text == "alpha [REDACTED:b] [REDACTED:c] foxtrot golf"
    assert [(given[start:end], kind) for start, end, kind in redacted.ranges] == [
        ("BRAVO_CHARLIE delta", "b"),
        ("echo", "c"),
    ]


def test_a_text_with_more_than_its_rounds_find_is_not_said_to_be_clean() -> None:
    text = "one two three"
    spots = [Spot("secret-x", Family.SECRET, Severity.HIGH, "", "", 0, 3)]
    assert not redact(text, lambda text: spots, rounds=3).clean
    assert redact(text, lambda text: spots if text == "one two three" else []).clean


def test_what_was_taken_out_is_told_by_kind_and_by_its_place_in_the_text_as_given(scanner: Scanner) -> None:
    given = f"one\ntwo {TOKEN}\nPasswort: Blau7!Kiesel\nagain {TOKEN}\n"
    told = [(secret.kind, secret.line, secret.column) for secret in scanner.redact(given).secrets]
    assert told == [("github-pat", 2, 5), ("password", 3, 11), ("github-pat", 4, 7)]


def test_more_secrets_than_one_search_reports_are_all_taken_out(scanner: Scanner) -> None:
    tokens = [f"ghp_{number:03d}t3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi" for number in range(90)]
    redacted = scanner.redact("\n".join(f"line {number} {token}" for number, token in enumerate(tokens)))
    assert not any(token in redacted.text for token in tokens)
    assert [secret.line for secret in redacted.secrets] == list(range(1, 91))
    assert scanner.scan(redacted.text).secret == ()


def test_a_secret_whose_rule_is_allowed_stays(scanner: Scanner) -> None:
    given = f"a {TOKEN}\nPasswort: Blau7!Kiesel\n"
    [rule] = {finding.rule for finding in scanner.scan(given).secret} - {"secret-password"}
    allowed = frozenset({rule, "secret-vendor-token"})
    assert scanner.redact(given, allowed).text == f"a {TOKEN}\nPasswort: [REDACTED:password]\n"


def test_a_secret_after_more_than_one_search_reports_is_taken_out_though_their_rules_are_allowed(
    scanner: Scanner,
) -> None:
    tokens = "".join(f"ghp_{number:03d}t3mW0xKcVbN5rYs2LdJ7fHgP1aEuR4oTi\n" for number in range(30))
    allowed = frozenset({finding.rule for finding in scanner.scan(tokens).secret})
    given = f"{tokens}Passwort: Blau7!Kiesel\n"
    assert scanner.redact(given, allowed).text == f"{tokens}Passwort: [REDACTED:password]\n"
    assert [finding.rule for finding in scanner.scan(given, allow=allowed).secret] == ["secret-password"]
