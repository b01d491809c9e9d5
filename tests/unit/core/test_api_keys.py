"""Until when a key is valid, what it reaches, and how versions of its record join."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from itertools import permutations
from typing import Any

import pytest

from memolith.core.api_keys import joined, reaches, to_record, to_row, why_ended
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.rows.identity import ApiKeyRow

RECORD = ApiKeyRecord("wrkspc_x", "apikey_x", "n", "write", "0" * 64, 1, expires_at=100, stores=("memstore_a",))
PLAIN = replace(RECORD, expires_at=None, stores=None)


def join(*records: ApiKeyRecord) -> ApiKeyRow:
    row = reduce(joined, records, None)
    assert row is not None
    return row


@pytest.mark.parametrize(
    ("changes", "now_us", "why"),
    [
        ({}, 99, None),
        ({}, 100, "has expired"),
        ({}, 101, "has expired"),
        ({"expires_at": None}, 2**60, None),
        ({"revoked_at": 50}, 10, "has been revoked"),
        ({"revoked_at": 50}, 100, "has been revoked"),
    ],
)
def test_a_key_ends_when_it_is_revoked_and_at_the_microsecond_of_its_expiry(
    changes: dict[str, Any], now_us: int, why: str | None
) -> None:
    assert why_ended(to_row(replace(RECORD, **changes)), now_us) == why


def test_a_key_reaches_what_it_names_and_one_that_names_nothing_reaches_all() -> None:
    limited, free = to_row(RECORD), to_row(PLAIN)
    assert reaches(limited, ["memstore_a"])
    assert not reaches(limited, ["memstore_b"])
    assert not reaches(limited, ["memstore_a", "memstore_b"])
    assert reaches(free, ["memstore_a", "memstore_b"])
    assert reaches(None, ["memstore_a"])


@pytest.mark.parametrize("record", [RECORD, PLAIN, replace(RECORD, revoked_at=7)])
def test_a_record_survives_its_row_and_its_json(record: ApiKeyRecord) -> None:
    assert to_record(to_row(record)) == record
    assert to_record(ApiKeyRow.from_attributes(to_row(record).to_attributes())) == record
    assert ApiKeyRecord.from_json(record.to_json()) == record


def test_a_record_from_before_limits_has_none() -> None:
    fields = json.loads(RECORD.to_json())
    del fields["expires_at"], fields["stores"]
    assert ApiKeyRecord.from_json(json.dumps(fields).encode()) == PLAIN


def test_versions_of_a_key_join_to_one_row_in_any_order_and_however_often() -> None:
    """Also the revocation by a region whose release knows no limits."""
    versions = [RECORD, replace(RECORD, revoked_at=80), replace(PLAIN, revoked_at=60)]
    rows = [join(*order, order[0]) for order in permutations(versions)]
    assert all(row == rows[0] for row in rows)
    assert (rows[0].revoked_at, rows[0].expires_at, rows[0].stores) == (60, 100, ["memstore_a"])
