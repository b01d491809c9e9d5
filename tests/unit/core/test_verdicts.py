"""What verdicts say of a text is a join: whoever has met the same verdicts withholds the same texts."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.safety import VerdictRow
from memolith.core.verdicts import (
    REASON_MAX_CHARS,
    Mark,
    content_hmac,
    join_verdict,
    last_sequence,
    mark_of,
    says_nothing_new,
    withheld_ever,
    withholdings,
)
from tests.unit.core import values

VERSIONS = ("memver_a", "memver_b", "memver_c")
RULES = ("rule-a", "rule-b", "rule-c")


@st.composite
def of_one_text(draw: st.DrawFn) -> list[VerdictRecord]:
    """Verdicts on one text that stands under three versions; each key is put once, as the bucket has it."""
    by_key: dict[tuple[str, str, int], VerdictRecord] = {}
    for verdict in draw(st.lists(values.verdicts(), max_size=9)):
        rules = draw(st.lists(st.sampled_from(RULES), max_size=2))
        one = replace(
            verdict,
            store_id="memstore_useast1_x",
            content_hmac="0" * 64,
            version_id=draw(st.sampled_from(VERSIONS)),
            region=draw(st.sampled_from(["us-east-1", "eu-west-1"])),
            sequence=draw(st.integers(1, 4)),
            findings=tuple({"rule": rule} for rule in rules),
        )
        by_key.setdefault((one.region, one.version_id, one.sequence), one)
    return list(by_key.values())


def folded(records: list[VerdictRecord], row: VerdictRow | None = None) -> VerdictRow | None:
    for record in records:
        row = join_verdict(row, record)
    return row


@given(of_one_text(), st.randoms(use_true_random=False))
def test_any_order_and_any_repeats_give_the_same_row(records: list[VerdictRecord], random: Any) -> None:
    shuffled = records + records[::2]
    random.shuffle(shuffled)
    assert folded(shuffled) == folded(records)
    assert folded(records, folded(records)) == folded(records)


@pytest.mark.slow
@given(of_one_text().map(lambda some: some[:4]))
def test_every_order_of_a_few_verdicts_gives_the_same_row(records: list[VerdictRecord]) -> None:
    for order in permutations(records):
        assert folded(list(order)) == folded(records)


@pytest.mark.slow
@given(of_one_text())
def test_a_text_is_withheld_while_any_version_has_a_withholding_above_its_releases(
    records: list[VerdictRecord],
) -> None:
    """A naive model, from the records alone: of two regions' verdicts of one sequence the withholding one counts."""

    def highest(version_id: str, outcome: VerdictOutcome) -> int:
        found = [one.sequence for one in records if (one.version_id, one.outcome) == (version_id, outcome)]
        return max(found, default=0)

    expected = {
        id for id in VERSIONS if 0 < highest(id, VerdictOutcome.WITHHOLD) >= highest(id, VerdictOutcome.RELEASE)
    }
    row = folded(records)
    assert {mark.version_id for mark in withholdings(row)} == expected
    flagged = {rule for one in records if one.outcome is VerdictOutcome.FLAG for rule in one.rules}
    assert set((row.flags if row else None) or ()) == flagged


@pytest.mark.slow
@given(of_one_text(), of_one_text())
def test_what_a_release_lifts_stays_lifted_whatever_older_verdict_comes_late(
    records: list[VerdictRecord], late: list[VerdictRecord]
) -> None:
    row = folded(records)
    for mark in withholdings(row):
        release = replace(
            records[0],
            version_id=mark.version_id,
            outcome=VerdictOutcome.RELEASE,
            region=mark.region,
            sequence=last_sequence(row, mark.version_id) + 1,
        )
        row = join_verdict(row, release)
    assert withholdings(row) == ()
    older = [one for one in late if one.sequence <= last_sequence(row, one.version_id) - 1]
    assert withholdings(folded([one for one in older if _released(row, one)], row)) == ()


def _released(row: VerdictRow | None, one: VerdictRecord) -> bool:
    return row is not None and one.version_id in (row.released or {})


@pytest.mark.slow
@given(of_one_text())
def test_the_same_withholding_of_a_withheld_text_says_nothing_new_under_any_version(
    records: list[VerdictRecord],
) -> None:
    row = folded(records)
    for record in records:
        again = replace(record, outcome=VerdictOutcome.WITHHOLD, decided_by="scanner", version_id="memver_other")
        known = {rule for mark in withheld_ever(row) for rule in mark.rules}
        standing = says_nothing_new(row, again)
        assert standing is None or set(again.rules) <= known
        if withholdings(row) and again.rules == withholdings(row)[0].rules:
            assert standing == withholdings(row)[0]


@given(values.verdicts(), st.integers(1, 2_000))
def test_what_a_row_keeps_of_a_verdict_is_read_back_and_bounded(verdict: VerdictRecord, length: int) -> None:
    long = replace(verdict, outcome=VerdictOutcome.WITHHOLD, reason="reason " * length)
    for record in (verdict, long):
        mark = mark_of(record)
        assert Mark.parse(record.version_id, mark.to_text()) == mark
        assert mark.key(record.store_id) == record.key
        assert len(mark.reason) <= REASON_MAX_CHARS


@given(values.verdicts(), values.verdicts())
def test_of_two_marks_the_greater_text_is_the_higher_sequence(one: VerdictRecord, other: VerdictRecord) -> None:
    if one.sequence != other.sequence:
        assert (mark_of(one).to_text() < mark_of(other).to_text()) == (one.sequence < other.sequence)


@given(values.hashes, values.hashes, values.hashes)
def test_a_text_is_known_by_another_name_in_every_store(one: str, other: str, sha256: str) -> None:
    names = {content_hmac(bytes.fromhex(salt), sha256) for salt in (one, other)}
    assert len(names) == len({one, other})
    assert sha256 not in names


@given(st.lists(values.verdicts(), max_size=4))
def test_verdict_rows_go_into_attributes_and_back(records: list[VerdictRecord]) -> None:
    row = folded([replace(one, content_hmac="0" * 64) for one in records])
    assert row is None or VerdictRow.from_attributes(row.to_attributes()) == row
