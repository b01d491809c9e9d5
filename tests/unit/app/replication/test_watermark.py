"""Periods, checkpoints, watermarks: what a region says of itself is late when something goes wrong, and never wrong."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.layered import Call, Crash, Fault, Faulty, ScriptedFaults, Strike
from memolith.adapters.memory import MemoryIndex
from memolith.app.kernel.results import StoreToAttach
from memolith.app.replication import checkpoints as periods
from memolith.app.replication.watermark import FETCH_AFTER_US
from memolith.core.rows.base import RowKey
from memolith.core.rows.control import CompletenessRow, ControlRow
from memolith.core.rows.journal import JournalStateRow, PeriodRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

MINUTE_S = 60.0


def tick(scene: Scene, *regions: str, rounds: int = 1) -> None:
    """A minute passes, and each region's reconciler is woken."""
    for _ in range(rounds):
        scene.clock.advance(MINUTE_S)
        for region in regions or (HOME, AWAY):
            scene.cloud.sites[region].reconciling.tick()


def settle(scene: Scene) -> None:
    """What was acknowledged by now is published, arrives, is followed, and may be claimed."""
    for _ in range(4):
        tick(scene)
        scene.deliver()


def until(scene: Scene, region: str = AWAY, home: str = HOME) -> int | None:
    """Up to when a region says that it has what the home acknowledged; as a process just started says it."""
    site = scene.cloud.sites[region]
    site.region.completeness.clear()
    return site.region.view().complete_until_of([home])


def checkpoints(scene: Scene, region: str = HOME) -> list[dict[str, Any]]:
    page = scene.cloud.buckets.page(region, f"{region}/checkpoint/", None, 1000)
    return [json.loads(scene.cloud.buckets.versions(region, key)[-1].object.body) for key in page.keys]


def named(scene: Scene, region: str = HOME) -> set[str]:
    return {line[0] for body in checkpoints(scene, region) if isinstance(body, dict) for line in body["names"]}


def empty(scene: Scene, table: str, region: str = HOME) -> None:
    """Somebody empties one table."""
    database = scene.cloud.sites[region].database
    with database.lock:
        found = database.table(table, 1)
        for pk, sk in list(found.order.rows):
            database.put(found, RowKey(table, pk, sk), None)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_replica_is_complete_up_to_the_last_checkpoint_that_it_holds_whole(scene: Scene) -> None:
    scene.create("/a", "first")
    told_us = scene.clock.now_us()
    settle(scene)
    said = until(scene)
    assert said is not None and told_us < said <= scene.clock.now_us()
    assert (scene.cloud.sites[AWAY].region.view().complete_until or 0) >= said, "what an earlier call had read"


def test_a_home_has_all_of_its_own_up_to_now(scene: Scene) -> None:
    assert until(scene, HOME, HOME) == scene.clock.now_us()


def test_empty_periods_are_published_too(scene: Scene) -> None:
    settle(scene)
    before = until(scene)
    tick(scene, rounds=2)
    scene.deliver()
    tick(scene, rounds=2)
    assert before is not None and (until(scene) or 0) > before
    assert [body["period"] for body in checkpoints(scene)] == list(range(1, len(checkpoints(scene)) + 1))
    assert checkpoints(scene)[-1]["names"] == []


def test_with_one_object_and_its_event_withheld_the_watermark_stays_before_it_and_moves_on_by_itself(
    scene: Scene,
) -> None:
    settle(scene)
    scene.create("/a", "first")
    told_us = scene.clock.now_us()
    withheld = [event for event in scene.cloud.pending if "/log/" in event.key]
    scene.cloud.pending[:] = [event for event in scene.cloud.pending if event not in withheld]
    for _ in range(3):
        tick(scene)
        scene.deliver()
    stuck = until(scene)
    assert stuck is not None and stuck <= told_us
    scene.cloud.pending += withheld
    scene.deliver()
    tick(scene, rounds=2)
    assert (until(scene) or 0) > told_us


def test_an_object_that_never_comes_is_fetched_from_its_home_and_folded(scene: Scene) -> None:
    settle(scene)
    made = scene.create("/a", "first")
    told_us = scene.clock.now_us()
    scene.cloud.pending[:] = [event for event in scene.cloud.pending if "/log/" not in event.key]
    settle(scene)
    assert (until(scene) or 0) <= told_us
    scene.clock.advance(FETCH_AFTER_US / 1_000_000)
    settle(scene)
    assert (until(scene) or 0) > told_us
    assert scene.read(made, at=AWAY).content == "first"
    assert scene.cloud.metrics.total("slots_fetched") == 1


def test_a_home_whose_clock_leapt_an_hour_ahead_and_back_is_not_claimed_an_hour_ahead(scene: Scene) -> None:
    """A checkpoint that it made meanwhile says that it is complete up to an hour from now: it is, up to now."""
    memory = scene.create("/a", "first")
    settle(scene)
    scene.clock.advance(3_600)
    tick(scene, HOME, rounds=2)
    scene.clock.advance(-3_600)
    scene.deliver()
    tick(scene, AWAY, rounds=3)
    scene.update(memory, "second")
    told_us = scene.clock.now_us()
    scene.cloud.pending[:] = [event for event in scene.cloud.pending if "/log/" not in event.key]
    tick(scene, AWAY, rounds=2)
    assert scene.read(memory, at=AWAY).content == "first"
    assert (until(scene) or 0) <= told_us


def test_an_event_that_never_comes_is_made_up_for(scene: Scene) -> None:
    settle(scene)
    scene.create("/a", "first")
    told_us = scene.clock.now_us()
    for event in [event for event in scene.cloud.pending if "/log/" in event.key]:
        scene.cloud.buckets.replicate(event, AWAY)
    scene.cloud.pending.clear()
    settle(scene)
    assert (until(scene) or 0) > told_us and scene.paths(at=AWAY) == ["/a"]


def test_a_fold_that_meets_a_closed_period_goes_into_the_open_one(scene: Scene) -> None:
    settle(scene)
    made = scene.create("/a", "first")
    turned = False

    def turn(call: Call, act: Callable[[], Any]) -> Any:
        nonlocal turned
        if call.name == "objects.put_if_absent" and not turned:
            turned = True
            tick(scene, HOME)
        return act()

    with scene.intercepted_by(turn):
        updated = scene.update(made, "second")
    closed = JournalStateRow.from_attributes(scene.cloud.rows(HOME, "journal")[HOME, "state"]).open - 1
    rows = scene.cloud.rows(HOME, "journal").items()
    (period,) = {int(pk.split("#")[1]) for (pk, _), row in rows if row.get("version_id") == updated.version_id}
    assert turned and period == closed + 1
    settle(scene)
    assert any(key.endswith("0000000002") for key in named(scene) if "/log/" in key)


def test_a_write_in_flight_while_its_period_is_published_is_not_claimed_before_it_is_there(scene: Scene) -> None:
    """`watermark_before_ack`: stamped early, acknowledged late; the watermark goes by the journal, not by the stamp."""
    settle(scene)
    made = scene.create("/a", "first")
    settle(scene)

    def stall(call: Call, act: Callable[[], Any]) -> Any:
        result = act()
        if call.name == "objects.put_if_absent" and "/log/" in call.subjects[0]:
            scene.switch.around = lambda call, act: act()
            settle_without_delivery(scene)
        return result

    with scene.intercepted_by(stall):
        scene.update(made, "second")
    told_us = scene.clock.now_us()
    settle_without_delivery(scene)
    assert (until(scene) or 0) <= told_us, "its object has not arrived"
    settle(scene)
    assert (until(scene) or 0) > told_us


def test_a_watermark_moves_on_over_a_refresh_after_a_change_where_the_session_had_not_arrived(scene: Scene) -> None:
    scene.create("/MEMORY.md", "one")
    settle(scene)
    attached = [StoreToAttach(scene.store, "read_only", "")]
    began = scene.at(HOME).sessions.create(scene.call(), attached, title=None, metadata={}, token_lifetime_s=60)
    session_id = began.record.session_id
    scene.at(AWAY).sessions.update(scene.call(), session_id, title="t", metadata=None)
    scene.deliver()
    scene.clock.advance(5)
    scene.at(AWAY).sessions.context(scene.call(), session_id, refresh=True)
    told_us = scene.clock.now_us()
    settle(scene)
    settled_us = until(scene, HOME, AWAY)
    assert settled_us is not None and settled_us > told_us


def settle_without_delivery(scene: Scene) -> None:
    """Checkpoints travel, and nothing else."""
    for _ in range(3):
        tick(scene)
        for event in [one for one in scene.cloud.pending if "/checkpoint/" in one.key]:
            scene.cloud.pending.remove(event)
            scene.cloud.buckets.replicate(event, AWAY if event.region == HOME else HOME)


def test_a_journal_that_was_lost_is_made_up_for_from_a_listing(scene: Scene) -> None:
    settle(scene)
    scene.create("/a", "first")
    told_us = scene.clock.now_us()
    empty(scene, "journal")
    scene.create("/b", "second")
    settle(scene)
    assert (until(scene) or 0) > told_us
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)
    periods_published = [body["period"] for body in checkpoints(scene)]
    assert periods_published == list(range(1, len(periods_published) + 1))


def test_one_partition_that_was_lost_is_found_out_when_its_period_closes(scene: Scene) -> None:
    settle(scene)
    scene.create("/a", "first")
    state = JournalStateRow.from_attributes(scene.cloud.rows(HOME, "journal")[HOME, "state"])
    index = MemoryIndex(scene.cloud.sites[HOME].database)
    for key, row in scene.cloud.rows(HOME, "journal").items():
        if "object_key" in row:
            index.commit([Change(RowKey("journal", *key), row, None)])
    gone = PeriodRow.key(HOME, state.open, 3)
    index.commit([Change(gone, None, None, unconditional=True)])
    settle(scene)
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)


@pytest.mark.parametrize("table", ["memories", "logs", "paths", "versions", "verdicts", "stores", "keys"])
def test_a_region_of_which_one_table_was_emptied_says_so_with_the_next_tick(scene: Scene, table: str) -> None:
    settle(scene)
    empty(scene, table, AWAY)
    tick(scene)
    assert until(scene) is None
    assert scene.cloud.rows(AWAY, "control")[ControlRow.KEY.pk, ControlRow.KEY.sk]["complete"] is False
    assert scene.cloud.metrics.total("tables_emptied") == 1


def test_an_emptied_table_is_counted_though_the_reply_to_its_declaration_is_lost(scene: Scene) -> None:
    """The declaration stands, so that no later tick finds the table again."""
    settle(scene)
    empty(scene, "paths", AWAY)
    scene.clock.advance(MINUTE_S)
    with scene.struck_by(Strike(Fault.LOST_REPLY, "index.commit", subject="control")):
        assert scene.cloud.sites[AWAY].reconciling.tick().failures == ["OutcomeUnknown"]
    assert scene.cloud.rows(AWAY, "control")[ControlRow.KEY.pk, ControlRow.KEY.sk]["complete"] is False
    tick(scene, AWAY)
    assert scene.cloud.metrics.total("tables_emptied") == 1


def test_marks_that_were_read_before_they_were_put_do_not_make_a_reconciler_declare_the_tables_emptied(
    scene: Scene,
) -> None:
    """A batch of reads is not one moment: the marks were read first, another reconciler put them, then the row was."""
    settle(scene)
    region = scene.cloud.sites[AWAY].region
    torn: list[object] = []
    index = region.index
    real = index.read

    def read(keys: Any) -> Any:
        found = dict(real(keys))
        if {ControlRow.KEY, CompletenessRow.key(1)} <= set(keys):
            torn.append(keys)
            return {key: row for key, row in found.items() if key.pk != "mark"}
        return found

    index.read = read  # type: ignore[method-assign]  # the test's own takes its place
    tick(scene, AWAY)
    assert torn and scene.cloud.rows(AWAY, "control")[ControlRow.KEY.pk, ControlRow.KEY.sk]["complete"] is True
    assert scene.cloud.metrics.total("tables_emptied") == 0


def test_a_table_emptied_while_the_watermark_is_being_worked_out_stops_it(scene: Scene) -> None:
    settle(scene)
    tick(scene, HOME)
    scene.deliver()
    before = scene.cloud.rows(AWAY, "control")["control", "completeness#000001"]
    emptied: list[object] = []

    def meanwhile(call: Call, act: Callable[[], Any]) -> Any:
        if call.name == "objects.get" and call.origin == AWAY and not emptied:
            emptied.append(call)
            empty(scene, "paths", AWAY)
        return act()

    scene.clock.advance(MINUTE_S)
    with scene.intercepted_by(meanwhile):
        assert scene.cloud.sites[AWAY].reconciling.tick().failures == ["Busy"]
    assert emptied and scene.cloud.rows(AWAY, "control")["control", "completeness#000001"] == before


WRITES = ("index.commit", "objects.put_if_absent")
READS = ("index.read", "index.query", "objects.get")
DEATHS = [
    *((fault, name) for fault in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER) for name in (*WRITES, *READS)),
    *((Fault.LOST_REPLY, name) for name in WRITES),  # a read whose reply is lost is asked again
]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "name"), DEATHS)
def test_a_reconciler_that_dies_at_any_call_leaves_nothing_out(fault: Fault, name: str) -> None:
    """The first such call of a tick of both regions, then the second, until there are no more."""
    occurrence = 1
    while dies_at(Strike(fault, name, occurrence=occurrence)):
        occurrence += 1
    assert occurrence > 1, f"no tick calls {name}"


def dies_at(strike: Strike) -> bool:
    """Whether the strike met a call; if it did, all that was acknowledged before and after it is found and told of."""
    scene, script = Scene(), ScriptedFaults(strike)
    settle(scene)
    scene.create("/a", "first")
    told_us = scene.clock.now_us()
    scene.deliver()
    scene.clock.advance(MINUTE_S)
    with scene.intercepted_by(Faulty(script)), contextlib.suppress(Crash):
        for region in (HOME, AWAY):
            scene.cloud.sites[region].reconciling.tick()
    if script.pending:
        return False
    scene.create("/b", "second")
    settle(scene)
    assert (until(scene) or 0) > told_us
    assert {str(entry.key) for entry in scene.entries()} <= named(scene)
    return True


def test_a_long_period_is_published_in_parts_and_followed_part_by_part(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periods, "NAMES_PER_PART", 4)
    settle(scene)
    for number in range(11):
        scene.create(f"/m{number}", "text")
    told_us = scene.clock.now_us()
    scene.deliver()
    settle(scene)
    whole = [body for body in checkpoints(scene) if isinstance(body, dict) and body["parts"]]
    assert [body["parts"] for body in whole] == [3] or [body["parts"] for body in whole][-1] == 3
    assert (until(scene) or 0) > told_us


def test_what_a_deleted_store_leaves_behind_does_not_hold_the_watermark_up(scene: Scene) -> None:
    settle(scene)
    scene.create("/a", "first")
    scene.cloud.pending[:] = [event for event in scene.cloud.pending if "/log/" not in event.key]
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    told_us = scene.clock.now_us()
    scene.deliver()
    settle(scene)
    assert (until(scene) or 0) > told_us
