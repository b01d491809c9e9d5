"""Verdicts: put once at home, known in every region whatever arrives first, brought back by a rebuild."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Crash, Fault, Strike
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.results import Memory
from memolith.app.safety.verdicts import SCANNER, Verdicts
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.log_position import LogRef
from memolith.core.object_keys import VerdictKey, parse_key
from memolith.core.objects.verdict_record import VerdictOutcome
from memolith.core.rows.identity import StoreRow
from memolith.core.rows.safety import VerdictRow
from memolith.core.verdicts import withholdings
from tests.unit.app.scene import AWAY, HOME, Scene

PERSON = "api_key:apikey_useast1_x"


def store_of(scene: Scene, region: str = HOME) -> StoreRow:
    return StoreRow.from_attributes(scene.cloud.rows(region, "stores")[scene.store, "record"])


def verdicts(scene: Scene, region: str = HOME) -> Verdicts:
    return Verdicts(scene.cloud.sites[region].region)


def known(scene: Scene, memory: Memory, region: str) -> VerdictRow | None:
    site = scene.cloud.sites[region].region
    found = verdicts(scene, region).of(site.view(), store_of(scene, region), [memory.content_sha256])
    return found.get(memory.content_sha256)


def objects(scene: Scene, region: str = HOME) -> list[VerdictKey]:
    keys = scene.cloud.buckets.page(region, "", None, 10_000).keys
    return [key for key in map(parse_key, keys) if isinstance(key, VerdictKey)]


@pytest.fixture
def memory(scene: Scene) -> Memory:
    made = scene.create("/a", "the text")
    scene.deliver()
    return made


def test_a_withheld_text_is_withheld_at_home_at_once_and_elsewhere_once_the_verdict_is_there(
    scene: Scene, memory: Memory
) -> None:
    put = scene.judge(memory)
    assert (put.region, put.sequence) == (HOME, 1)
    [mark] = withholdings(known(scene, memory, HOME))
    assert (mark.rules, mark.reason, mark.by) == (("deep-rule",), "it turns its reader around", "scanner")
    assert known(scene, memory, AWAY) is None
    scene.deliver()
    assert known(scene, memory, AWAY) == known(scene, memory, HOME)
    assert scene.cloud.rows(AWAY, "verdicts") == scene.cloud.rows(HOME, "verdicts")


def test_a_verdict_keeps_neither_the_text_nor_its_hash_nor_an_excerpt(scene: Scene, memory: Memory) -> None:
    scene.judge(memory)
    [key] = objects(scene)
    stored = scene.cloud.buckets.current(HOME, str(key))
    assert stored is not None
    kept = stored.body + repr(scene.cloud.rows(HOME, "verdicts")).encode()
    for lost in ("what stands there", "the text", memory.content_sha256, memory.path):
        assert lost.encode() not in kept
    assert b"a reason" in stored.body


def test_the_home_journals_a_verdict_and_a_replica_does_not(scene: Scene, memory: Memory) -> None:
    put = scene.judge(memory)
    allowed = scene.judge(memory, VerdictOutcome.ALLOW, ())
    scene.deliver()
    assert {str(put.key), str(allowed.key)} <= set(scene.journaled())
    assert scene.journaled(at=AWAY) == []


@pytest.mark.parametrize("outcome", list(VerdictOutcome))
def test_the_same_decision_again_changes_nothing(scene: Scene, memory: Memory, outcome: VerdictOutcome) -> None:
    by = PERSON if outcome is VerdictOutcome.RELEASE else SCANNER
    first = scene.judge(memory, outcome, by=by)
    rows = dict(scene.cloud.rows(HOME, "verdicts"))
    scene.clock.advance(5)
    assert scene.judge(memory, outcome, by=by) == first
    assert len(objects(scene)) == 1
    assert scene.cloud.rows(HOME, "verdicts") == rows


def test_the_same_text_under_another_version_needs_no_verdict_of_its_own(scene: Scene, memory: Memory) -> None:
    other = scene.create("/b", "the text")
    first = scene.judge(memory)
    assert scene.judge(other) == first
    assert scene.judge(other, rules=("deep-rule", "other-rule")).version_id == other.version_id
    marks = withholdings(known(scene, memory, HOME))
    assert {mark.version_id for mark in marks} == {memory.version_id, other.version_id}


def test_what_a_person_released_the_scanner_does_not_withhold_again_for_the_same_reason(
    scene: Scene, memory: Memory
) -> None:
    scene.judge(memory)
    released = scene.judge(memory, VerdictOutcome.RELEASE, (), PERSON)
    assert released.sequence == 2
    assert withholdings(known(scene, memory, HOME)) == ()
    assert scene.judge(memory) == released
    assert scene.judge(scene.create("/b", "the text")) == released
    assert withholdings(known(scene, memory, HOME)) == ()
    assert scene.judge(memory, rules=("other-rule",)).sequence == 3
    assert withholdings(known(scene, memory, HOME)) != ()


def test_a_person_may_withhold_again_what_a_person_released(scene: Scene, memory: Memory) -> None:
    for outcome in (VerdictOutcome.WITHHOLD, VerdictOutcome.RELEASE, VerdictOutcome.WITHHOLD):
        scene.judge(memory, outcome, by=PERSON)
    assert [key.sequence for key in objects(scene)] == [1, 2, 3]
    assert withholdings(known(scene, memory, HOME)) != ()


@pytest.mark.parametrize("outcome", [VerdictOutcome.WITHHOLD, VerdictOutcome.RELEASE])
def test_a_verdict_that_only_the_answer_of_a_lost_home_told_stands_as_its_row_says(
    scene: Scene, memory: Memory, outcome: VerdictOutcome
) -> None:
    scene.judge(memory)
    by = SCANNER if outcome is VerdictOutcome.WITHHOLD else PERSON
    told = replace(scene.verdict(memory, outcome, by=by), region=AWAY, sequence=2)
    verdicts(scene).fold(scene.cloud.sites[HOME].region.view(), told)
    rows = dict(scene.cloud.rows(HOME, "verdicts"))
    stands = scene.judge(memory)
    assert (stands.key, stands.outcome, stands.decided_by) == (told.key, outcome, by)
    assert (stands.version_id, stands.content_hmac) == (told.version_id, told.content_hmac)
    verdicts(scene).fold(scene.cloud.sites[HOME].region.view(), stands)
    assert scene.cloud.rows(HOME, "verdicts") == rows


def test_verdicts_that_the_index_has_lost_are_met_and_folded_before_a_new_one_is_put(
    scene: Scene, memory: Memory
) -> None:
    scene.judge(memory, VerdictOutcome.FLAG, ("odd",))
    scene.judge(memory)
    whole = dict(scene.cloud.rows(HOME, "verdicts"))
    scene.cloud.sites[HOME].database.table("verdicts", 1).order.rows.clear()
    assert scene.judge(memory).sequence == 2
    assert scene.cloud.rows(HOME, "verdicts") == whole
    assert len(objects(scene)) == 2


def test_a_verdict_whose_decider_died_after_the_put_is_folded_by_its_event(scene: Scene, memory: Memory) -> None:
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_AFTER, "objects.put_if_absent")):
        scene.judge(memory)
    assert known(scene, memory, HOME) is None
    scene.deliver()
    for region in (HOME, AWAY):
        assert withholdings(known(scene, memory, region)) != ()
    assert list(map(str, objects(scene))) == [key for key in scene.journaled() if "/verdict/" in key]


@pytest.mark.parametrize(
    ("strike", "told"),
    [
        (Strike(Fault.REFUSED, "objects.put_if_absent"), Unavailable),
        (Strike(Fault.REFUSED, "objects.get"), Unavailable),
        (Strike(Fault.REFUSED, "index.read"), Unavailable),
        (Strike(Fault.REFUSED, "index.commit"), OutcomeUnknown),
    ],
)
def test_what_fails_is_told_and_can_be_repeated(
    scene: Scene, memory: Memory, strike: Strike, told: type[Exception]
) -> None:
    with scene.struck_by(strike), pytest.raises(told):
        scene.judge(memory)
    assert scene.judge(memory).sequence == 1
    assert withholdings(known(scene, memory, HOME)) != ()


def test_a_put_whose_reply_was_lost_is_recognised(scene: Scene, memory: Memory) -> None:
    with scene.struck_by(Strike(Fault.LOST_REPLY, "objects.put_if_absent")):
        put = scene.judge(memory)
    assert (put.sequence, len(objects(scene))) == (1, 1)
    assert withholdings(known(scene, memory, HOME)) != ()


def test_a_verdict_that_arrives_before_its_version_and_its_store_is_not_lost(scene: Scene) -> None:
    store = scene.create_store().id
    made = scene.at(HOME).memories.create(scene.call(), store, path="/a", content="the text", full=False)
    scene.store = store
    scene.judge(made)
    [position] = [at for at, event in enumerate(scene.cloud.pending) if "/verdict/" in event.key]
    scene.cloud.deliver_one(position)
    [position] = [at for at, event in enumerate(scene.cloud.pending) if "/verdict/" in event.key]
    scene.cloud.deliver_one(position)
    assert (store, "record") not in scene.cloud.rows(AWAY, "stores")
    assert scene.cloud.rows(AWAY, "verdicts") == scene.cloud.rows(HOME, "verdicts")
    scene.deliver()
    assert withholdings(known(scene, made, AWAY)) != ()


def test_a_verdict_that_stands_under_another_key_than_its_own_is_malformed(scene: Scene, memory: Memory) -> None:
    put = scene.judge(memory)
    wrong = VerdictKey(HOME, scene.store, memory.version_id, 7)
    scene.cloud.sites[HOME].region.objects.put_if_absent(str(wrong), put.to_json(), {})
    with pytest.raises(Malformed, match="elsewhere"):
        scene.cloud.sites[HOME].indexing.object_arrived(str(wrong))
    scene.drop_events()


def test_a_deleted_store_knows_no_text_any_more(scene: Scene, memory: Memory) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    with pytest.raises(ValueError, match="deleted"):
        Verdicts.hmac(store_of(scene), memory.content_sha256)


def test_the_position_of_a_verdict_is_that_of_its_version(scene: Scene, memory: Memory) -> None:
    put: Any = scene.judge(memory)
    assert str(LogRef.parse(put.position)) == put.position
