"""When a deletion may be made final, and by whom; ours."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.core.objects.store_record import StoreRecord, StoreState

HOME, AWAY = "us-east-1", "eu-west-1"
RECORD = StoreRecord(
    store_id="memstore_useast1_01m80gqgrfyn8361t51thggc0e",
    workspace_id="wrkspc_default",
    name="payroll",
    description="d",
    metadata={"a": "b"},
    salt="00",
    home=HOME,
    epochs=(f"0001-0.{HOME}",),
    created_at=1,
    updated_at=2,
    created_by="api_key:1",
    version_id="memver_1",
)
WAITING = RECORD.withdrawn(10, 90)


@pytest.mark.parametrize(("now_us", "may"), [(10, False), (99, False), (100, True), (101, True)])
def test_a_deletion_may_be_final_from_the_instant_in_its_record_on(now_us: int, may: bool) -> None:
    assert WAITING.erase_after == 100
    assert WAITING.may_end(HOME, now_us) is may


def test_no_deletion_may_be_final_elsewhere_or_while_the_home_moves_or_twice() -> None:
    assert not WAITING.may_end(AWAY, 100)
    for state in set(StoreState) - {StoreState.ACTIVE}:
        assert not replace(WAITING, state=state).may_end(HOME, 100)
    assert not RECORD.may_end(HOME, 100)
    assert not WAITING.ended(100).may_end(HOME, 1_000)


def test_a_store_that_waits_keeps_what_it_has_and_comes_back_as_it_was() -> None:
    assert replace(RECORD, updated_at=10, erase_after=100) == WAITING
    assert WAITING.is_deleted and WAITING.has_text
    assert WAITING.restored(20) == replace(RECORD, updated_at=20)
    assert not WAITING.restored(20).is_deleted


def test_a_final_deletion_keeps_no_text_and_is_the_record_of_older_releases() -> None:
    final = WAITING.ended(100)
    assert final == RECORD.ended(100) == RECORD.withdrawn(100, 0)
    assert final.is_deleted and not final.has_text
    assert b"erase_after" not in final.to_json()
