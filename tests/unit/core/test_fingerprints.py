"""Fingerprints: what is known of one text is met in another, however it stands there, and a sighting is a join."""

from __future__ import annotations

import string

from hypothesis import example, given
from hypothesis import strategies as st

from memolith.core.fingerprints import (
    DIGEST_CHARACTERS,
    PHRASE_MIN_CHARACTERS,
    Fingerprint,
    Kind,
    digest_of,
    offset_of,
    phrase_at,
    secret_at,
    secrets_in,
)
from memolith.core.rows.safety import SightingRow
from memolith.core.verdicts import join_sighting

VALUES = st.text(string.ascii_letters + string.digits + "/+_", min_size=8, max_size=60).filter(
    lambda value: any(map(str.isdigit, value)) and value.strip("_") == value and "//" not in value
)
AROUND = st.sampled_from(["", " ", "\n", '"', "'", "`", "(", "user:", "PASSWORD=", "https://u:", "[", " = ", "\u3000"])
AFTER = st.sampled_from(["", " ", "\n", '"', "'", "`", ")", ".", ",", ";", "@host", "]", "!", "\u3000"])
DIGESTS = st.text("0123456789abcdef", min_size=DIGEST_CHARACTERS, max_size=DIGEST_CHARACTERS)


@given(VALUES, AROUND, AFTER)
def test_a_secret_is_met_wherever_it_is_quoted(value: str, before: str, after: str) -> None:
    assert secret_at(f"key: {value}", 5) == value
    assert value in set(secrets_in(f"some words {before}{value}{after} and more"))


def test_a_key_block_is_known_by_its_key_and_not_by_its_head() -> None:
    body = "MIIEpAIBAAKCAQEA" + "x" * 48
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\nabc=\n-----END RSA PRIVATE KEY-----"
    assert secret_at(block, 0) == body
    assert body in set(secrets_in(f"it began with {body}"))


@given(st.text(max_size=300), st.integers(0, 400))
def test_nothing_is_too_strange_to_be_looked_at(text: str, position: int) -> None:
    list(secrets_in(text))
    secret_at(text, position)
    phrase_at(text, position)


@given(st.text(string.ascii_lowercase, min_size=PHRASE_MIN_CHARACTERS, max_size=PHRASE_MIN_CHARACTERS + 20))
def test_a_phrase_is_the_same_however_it_is_spaced_and_written(phrase: str) -> None:
    spaced = "  \n* ".join(phrase).upper()
    assert phrase_at(phrase, 0) == phrase_at(spaced, 0) is not None


def test_what_many_texts_begin_with_is_no_phrase() -> None:
    assert phrase_at("ignore this", 0) is None
    assert secret_at("password", 0) is None


@given(st.text("ab\n", max_size=60), st.data())
@example("\n\na", None)
def test_a_line_and_column_are_an_offset(text: str, data: st.DataObject | None) -> None:
    position = len(text) if data is None else data.draw(st.integers(0, len(text)))
    line = text.count("\n", 0, position) + 1
    assert offset_of(text, line, position - text.rfind("\n", 0, position)) == position


@given(st.sampled_from(Kind), DIGESTS, st.sampled_from(["high", "medium"]))
def test_a_fingerprint_is_read_as_it_was_written(kind: Kind, digest: str, severity: str) -> None:
    one = Fingerprint(kind, digest, "mem_useast1_01", severity)
    assert Fingerprint.parse(str(one)) == one


@given(st.binary(min_size=32, max_size=32), st.text(max_size=50))
def test_one_text_has_another_fingerprint_in_another_store_and_of_another_kind(salt: bytes, text: str) -> None:
    other = bytes(byte ^ 1 for byte in salt)
    digests = {digest_of(key, kind, text) for key in (salt, other) for kind in Kind}
    assert len(digests) == 4


SIGHTINGS = st.builds(
    SightingRow,
    store_id=st.just("memstore_1"),
    kind=st.just("secret"),
    digest=st.just("0" * DIGEST_CHARACTERS),
    memory_id=st.just("mem_1"),
    severity=st.sampled_from(["high", "medium"]),
    version_id=st.sampled_from(["memver_1", "memver_2", "memver_3"]),
    content_hmac=st.sampled_from(["a", "b"]),
)


@given(SIGHTINGS, SIGHTINGS, SIGHTINGS)
def test_a_sighting_is_joined_in_any_order_and_any_number_of_times(
    one: SightingRow, two: SightingRow, three: SightingRow
) -> None:
    forwards = join_sighting(join_sighting(join_sighting(None, one), two), three)
    assert join_sighting(join_sighting(join_sighting(None, three), two), one) == forwards
    assert join_sighting(forwards, one) == forwards
