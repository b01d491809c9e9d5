"""What an audit says of the records of stores and verdicts, which are sealed by those who put them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memolith.app.log.store_log import StoreLog
from memolith.core.audit import Flaw
from memolith.core.log_position import Slot
from memolith.core.object_keys import StoreKey
from memolith.core.objects.store_record import StoreRecord
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.identity import StoreRow
from memolith.core.sealing import named_record
from memolith.core.store_records import PlacedRecord, to_record
from tests.unit.app.operations.sealed_home import audited, overwrite, sealed
from tests.unit.app.scene import HOME, Scene


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    sealed(scene)
    return scene


def record_keys(scene: Scene, kind: str) -> list[str]:
    return list(scene.cloud.sites[HOME].region.objects.list(f"{HOME}/{kind}/{scene.store}/").keys)


def body_of(scene: Scene, key: str) -> bytes:
    return scene.cloud.sites[HOME].region.objects.get(key).body


def found(scene: Scene) -> list[tuple[Flaw, str]]:
    return [(finding.flaw, finding.key) for finding in audited(scene).findings]


@pytest.mark.parametrize("number", [0, 1], ids=["the first record", "a change"])
def test_a_store_record_that_is_altered_so_that_other_texts_are_let_in_is_named(scene: Scene, number: int) -> None:
    scene.at(HOME).stores.update(scene.call(), scene.store, name="renamed", description="", metadata={})
    sealed(scene)
    report = audited(scene)
    assert (report.findings, report.unsealed) == ([], 0)
    key = record_keys(scene, "store")[number]
    overwrite(scene, key, replace(StoreRecord.from_json(body_of(scene, key)), scan_policy="flag").to_json())
    assert found(scene) == [(Flaw.ALTERED, key)]


def test_a_verdict_that_is_altered_so_that_a_withheld_text_is_in_order_is_named(scene: Scene) -> None:
    scene.judge(scene.create())
    sealed(scene)
    report = audited(scene)
    assert (report.findings, report.unsealed) == ([], 0)
    (key,) = record_keys(scene, "verdict")
    verdict = VerdictRecord.from_json(body_of(scene, key))
    assert verdict.outcome is VerdictOutcome.WITHHOLD
    overwrite(scene, key, replace(verdict, outcome=VerdictOutcome.ALLOW).to_json())
    assert found(scene) == [(Flaw.ALTERED, key)]


def test_the_records_of_a_deleted_store_are_erased_and_no_flaw(scene: Scene) -> None:
    scene.judge(scene.create())
    sealed(scene)
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    sealed(scene)
    scene.cloud.peers.call(HOME, "eraser", {"call": "erase_store", "store_id": scene.store})
    sealed(scene)
    assert not any(StoreRecord.from_json(body_of(scene, key)).has_text for key in record_keys(scene, "store"))
    assert found(scene) == []


def test_a_record_that_another_copy_of_the_call_has_put_at_another_instant_is_named_without_a_digest(
    scene: Scene,
) -> None:
    region = scene.cloud.sites[HOME].region
    row = StoreRow.from_attributes(scene.cloud.rows(HOME, "stores")[scene.store, "record"])
    record = replace(to_record(row, "user:one"), version_id=region.new_id("memver"))
    slot = Slot.parse(row.slot).following
    key = str(StoreKey(scene.store, slot))
    first = StoreLog(region).put(PlacedRecord(slot, record))
    assert first == named_record(key, record.to_json()) and first.digest is not None
    later = PlacedRecord(slot, replace(record, updated_at=record.updated_at + 1))
    again = StoreLog(region).put(later)
    assert again is not None and (again.key, again.digest) == (key, None)
    assert StoreLog(region).put(later, exact=True) is None
