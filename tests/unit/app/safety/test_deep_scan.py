"""The second look: what it finds is withheld everywhere, once; it keeps no text, deletes nothing, wakes nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import ManualClock, MemoryGuardrail
from memolith.app.kernel.results import Memory
from memolith.app.safety.deep_scan import FINGERPRINTS_MAX, DeepScanResult
from memolith.app.safety.write_gate import GUARDRAIL_RULE, QUOTED_RULE, REPEATED_RULE
from memolith.core.errors import MemolithError, Unavailable
from memolith.core.objects.verdict_record import VerdictOutcome
from memolith.ports import errors as port_errors
from memolith.ports.guardrail import Opinion
from tests.unit.app.looking import DEEP_RULE, PLANTED, SECRET, SECRET_RULE, SUSPECT, SUSPECT_RULE
from tests.unit.app.safety.second_look import Looked
from tests.unit.app.scene import AWAY, HOME

T = TypeVar("T")


@pytest.fixture
def scene() -> Looked:
    return Looked()


# ---- what is found ------------------------------------------------------------------------------------------------


def test_a_text_that_only_the_second_look_catches_is_withheld_in_every_region(scene: Looked) -> None:
    memory = scene.write("/a", f"a note\n{PLANTED}\n")
    assert scene.rules() == [(VerdictOutcome.WITHHOLD, (DEEP_RULE,))]
    assert scene.withheld(HOME, memory)
    assert scene.withheld(AWAY, memory)


def test_a_text_in_which_nothing_is_found_leaves_nothing_behind(scene: Looked) -> None:
    scene.write("/a", "a note")
    assert scene.looking.texts == ["a note"]
    assert scene.verdicts() == []
    assert scene.cloud.rows(HOME, "verdicts") == {}


def test_a_suspicion_is_a_flag_and_the_text_stays_shown(scene: Looked) -> None:
    memory = scene.write("/a", SUSPECT)
    assert scene.rules() == [(VerdictOutcome.FLAG, (SUSPECT_RULE,))]
    assert not scene.withheld(HOME, memory)


def test_the_verdict_tells_the_findings_and_no_text(scene: Looked) -> None:
    scene.write("/a", f"the key is {SECRET}, and {PLANTED}")
    (verdict,) = scene.verdicts()
    assert {finding["rule"] for finding in verdict.findings} == {DEEP_RULE, SECRET_RULE}
    kept = verdict.to_json().decode() + str(scene.cloud.rows(HOME, "verdicts"))
    assert SECRET not in kept
    assert "kite." not in kept.replace(DEEP_RULE, "").replace(SECRET_RULE, "")
    assert "shown" not in kept


def test_of_a_text_full_of_findings_a_few_fingerprints_are_kept(scene: Looked) -> None:
    scene.write("/a", "\n".join(f"the key is hq7-Number{number:04d}" for number in range(50)))
    (verdict,) = scene.verdicts()
    assert len(verdict.fingerprints) == FINGERPRINTS_MAX


def test_an_audited_store_has_its_texts_flagged_and_never_withheld(scene: Looked) -> None:
    scene.govern(policy="audit")
    memory = scene.write("/a", PLANTED)
    assert scene.rules() == [(VerdictOutcome.FLAG, (DEEP_RULE,))]
    assert not scene.withheld(HOME, memory)


def test_a_strict_store_has_suspicions_withheld(scene: Looked) -> None:
    scene.govern(policy="strict")
    assert scene.withheld(AWAY, scene.write("/a", SUSPECT))


@pytest.mark.parametrize(
    ("rule", "texts"),
    [
        (DEEP_RULE, [PLANTED]),
        (QUOTED_RULE, [f"the key is {SECRET}", f"log in with {SECRET}"]),
        (REPEATED_RULE, [f"{number} {SUSPECT}" for number in range(3)]),
    ],
)
def test_a_rule_that_the_store_allows_is_not_held_against_its_texts(scene: Looked, rule: str, texts: list[str]) -> None:
    scene.govern(allow=[rule])
    for number, text in enumerate(texts):
        scene.write(f"/{number}", text)
    assert rule not in str(scene.rules())


# ---- once, and of its own region's versions -----------------------------------------------------------------------


@pytest.mark.parametrize("text", [PLANTED, SUSPECT])
def test_a_message_that_comes_twice_makes_no_second_verdict(scene: Looked, text: str) -> None:
    memory = scene.write("/a", text)
    scene.inspect(memory)
    scene.inspect(memory)
    scene.deliver()
    assert len(scene.verdicts()) == 1


def test_a_verdict_wakes_nobody(scene: Looked) -> None:
    scene.write("/a", PLANTED)
    assert len(scene.looking.texts) == 1
    for site in scene.cloud.sites.values():
        for key in scene.cloud.buckets.page(HOME, f"{HOME}/verdict/", None, 1_000).keys:
            site.indexing.object_arrived(key)
        assert not site.inspections.messages


def test_a_version_is_passed_on_at_its_home_alone_and_once_an_event(scene: Looked) -> None:
    memory = scene.create("/a", "x")
    key = scene.log_key(memory)
    for event in list(scene.cloud.pending):
        scene.cloud.buckets.replicate(event, AWAY)
    scene.cloud.sites[AWAY].indexing.object_arrived(key)
    assert not scene.cloud.sites[AWAY].inspections.messages
    scene.cloud.sites[HOME].indexing.object_arrived(key)
    assert len(scene.cloud.sites[HOME].inspections.messages) == 1


def test_what_came_from_another_region_is_not_looked_at_here(scene: Looked) -> None:
    memory = scene.write("/a", PLANTED)
    away = scene.cloud.sites[AWAY].inspecting
    assert away is not None
    assert away.inspect(scene.log_key(memory)) is DeepScanResult.NOTHING_TO_READ


def test_a_rebuild_passes_nothing_on(scene: Looked) -> None:
    scene.write("/a", "x")
    seen = len(scene.looking.texts)
    scene.rebuild(HOME)
    scene.deliver()
    assert len(scene.looking.texts) == seen


def test_what_has_no_content_is_not_passed_on(scene: Looked) -> None:
    memory = scene.write("/a", "x")
    moved = scene.update(memory, path="/b")
    scene.deliver()
    scene.delete(moved)
    scene.deliver()
    assert scene.looking.texts == ["x", "x"], "created, and moved in; neither the departure nor the deletion"


def test_a_redacted_version_is_not_read(scene: Looked) -> None:
    memory = scene.write("/a", PLANTED)
    key = scene.log_key(memory)
    scene.update(memory, "clean")
    scene.deliver()
    scene.redact(memory.version_id)
    scene.deliver()
    inspecting = scene.cloud.sites[HOME].inspecting
    assert inspecting is not None
    assert inspecting.inspect(key) is DeepScanResult.NOTHING_TO_READ


def test_a_version_of_a_deleted_store_is_not_looked_at(scene: Looked) -> None:
    memory = scene.write("/a", PLANTED)
    key = scene.log_key(memory)
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.deliver()
    inspecting = scene.cloud.sites[HOME].inspecting
    assert inspecting is not None
    assert inspecting.inspect(key) is DeepScanResult.NOTHING_TO_READ


def test_a_slot_that_is_free_is_nothing_to_read(scene: Looked) -> None:
    inspecting = scene.cloud.sites[HOME].inspecting
    assert inspecting is not None
    key = f"{HOME}/log/{scene.store}/{'0' * 64}/0001-0.0000000001"
    assert inspecting.inspect(key) is DeepScanResult.NOTHING_TO_READ
    with pytest.raises(ValueError, match="not a key of Memolith"):
        inspecting.inspect("nonsense")


def test_the_post_commit_scan_reads_and_puts_verdicts_and_does_nothing_else(scene: Looked) -> None:
    calls: list[PortCall] = []

    def listen(call: PortCall, act: Callable[[], T]) -> T:
        calls.append(call)
        return act()

    memory = scene.create("/a", f"{PLANTED}; the key is {SECRET}")
    with scene.intercepted_by(listen):
        scene.inspect(memory)
    puts = [call.subjects[0] for call in calls if call.name == "objects.put_if_absent"]
    assert [key.split("/")[:2] for key in puts] == [[HOME, "verdict"]]
    written = {table for call in calls if call.name == "index.commit" for table in call.subjects}
    assert written == {"verdicts", "journal"}
    assert {call.name for call in calls} <= {
        "objects.get",
        "objects.head",
        "objects.put_if_absent",
        "index.read",
        "index.query",
        "index.commit",
    }


def test_a_look_that_finds_nothing_is_one_get_one_read_and_one_query(scene: Looked) -> None:
    memory = scene.create("/a", "a note")
    counts = CallCounts()
    with scene.intercepted_by(counts):
        assert scene.inspect(memory) is DeepScanResult.ALLOWED
    assert counts.calls == {"objects.get": 1, "index.read": 1, "index.query": 1}


def test_a_batch_of_looks_reads_the_record_of_their_store_once(scene: Looked) -> None:
    keys = [scene.log_key(scene.create(f"/{number}", f"note {number}")) for number in range(5)]
    inspecting = scene.cloud.sites[HOME].inspecting
    assert inspecting is not None
    counts = CallCounts()
    with scene.intercepted_by(counts):
        ahead = inspecting.read_ahead([*keys, *keys, "nonsense"])
        assert [inspecting.inspect(key, ahead) for key in keys] == [DeepScanResult.ALLOWED] * 5
    assert counts.calls == {"objects.get": 5, "index.read": 1, "index.query": 5}


def test_of_a_batch_of_looks_one_that_cannot_be_read_fails_alone(scene: Looked) -> None:
    broken, whole = (scene.log_key(scene.create(f"/{number}", f"note {number}")) for number in range(2))
    inspecting = scene.cloud.sites[HOME].inspecting
    assert inspecting is not None

    def strike(call: PortCall, act: Callable[[], T]) -> T:
        if broken in call.subjects:
            raise port_errors.Unavailable("struck")
        return act()

    with scene.intercepted_by(strike):
        ahead = inspecting.read_ahead([broken, whole])
    with pytest.raises(MemolithError, match="did not answer"):
        inspecting.inspect(broken, ahead)
    assert inspecting.inspect(whole, ahead) is DeepScanResult.ALLOWED


@pytest.mark.parametrize("text", [PLANTED, SUSPECT, f"the key is {SECRET}"])
def test_a_look_that_fails_at_any_call_is_repeated_to_the_same_end(scene: Looked, text: str) -> None:
    memory = scene.create("/a", text)
    failed = 0
    for number in range(40):
        if not _fails_at(scene, memory, number):
            break
        failed += 1
    assert failed >= 5, "nothing was ever struck"
    scene.inspect(memory)
    scene.deliver()
    assert len(scene.verdicts()) == 1


def _fails_at(scene: Looked, memory: Memory, number: int) -> bool:
    count = 0

    def strike(call: PortCall, act: Callable[[], T]) -> T:
        nonlocal count
        count += 1
        if count > number:
            raise port_errors.Unavailable("struck")
        return act()

    with scene.intercepted_by(strike):
        try:
            scene.inspect(memory)
        except MemolithError:
            return True
    return False


# ---- the guardrail ------------------------------------------------------------------------------------------------


def test_what_the_guardrail_blocks_is_withheld() -> None:
    scene = Looked(MemoryGuardrail(["forward the invoices"]))
    memory = scene.write("/a", "please forward the invoices")
    assert scene.rules() == [(VerdictOutcome.WITHHOLD, (GUARDRAIL_RULE,))]
    assert scene.withheld(AWAY, memory)


def test_the_guardrails_silence_does_not_hold_up_the_rules_verdict_and_is_asked_again() -> None:
    guardrail = MemoryGuardrail(["forward the invoices"])
    scene = Looked(guardrail)
    guardrail.unavailable = True
    memory = scene.create("/a", f"{SUSPECT}; forward the invoices")
    for _ in range(2):
        with pytest.raises(Unavailable, match="guardrail"):
            scene.inspect(memory)
        assert scene.rules() == [(VerdictOutcome.FLAG, (SUSPECT_RULE,))]
    guardrail.unavailable = False
    assert scene.inspect(memory) is DeepScanResult.WITHHELD
    assert scene.withheld(HOME, memory)
    assert scene.cloud.metrics.total("guardrail_unavailable") == 2


def test_the_guardrail_is_not_paid_for_where_the_rules_withhold_the_text() -> None:
    guardrail = MemoryGuardrail()
    Looked(guardrail).write("/a", PLANTED)
    assert guardrail.asked == 0


class Hanging(MemoryGuardrail):
    """A guardrail that takes its time before it answers, or does not."""

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.seconds = seconds

    def ask(self, text: str) -> Opinion:
        self.clock.advance(self.seconds)
        return super().ask(text)


@pytest.mark.parametrize(("seconds", "silent", "asked"), [(8, True, 2), (8, False, 2), (0, True, 10), (0, False, 10)])
def test_a_batch_asks_a_guardrail_for_a_limited_time_and_has_all_its_rules_verdicts(
    seconds: int, silent: bool, asked: int
) -> None:
    guardrail = Hanging(seconds)
    scene = Looked(guardrail)
    guardrail.clock = scene.clock
    memories = [scene.create(f"/{number}", f"the key is tr8-Zz11aPoQw{number}") for number in range(10)]
    guardrail.unavailable = silent
    assert scene.inspect_batch(memories) == [False if silent else number < asked for number in range(10)]
    assert guardrail.asked == asked
    assert scene.rules() == [(VerdictOutcome.FLAG, (SECRET_RULE,))] * 10, "each text has what the rules say of it"
    assert scene.cloud.metrics.total("guardrail_unavailable") == (asked if silent else 0)


def test_versions_for_which_a_batch_had_no_time_are_judged_by_the_next_one() -> None:
    guardrail = Hanging(8)
    scene = Looked(guardrail)
    guardrail.clock = scene.clock
    memories = [scene.create(f"/{number}", f"forward the invoices, {number}") for number in range(3)]
    guardrail.unavailable = True
    assert scene.inspect_batch(memories) == [False, False, False]
    assert scene.verdicts() == []
    guardrail.unavailable, guardrail.phrases = False, ("forward the invoices",)
    assert scene.inspect_batch(memories[2:]) == [True]
    assert scene.rules() == [(VerdictOutcome.WITHHOLD, (GUARDRAIL_RULE,))]
