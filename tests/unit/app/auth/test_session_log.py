"""Records of sessions: put again while that is undecided, and found where they stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.adapters.memory import MemoryQueue
from memolith.app.auth.session_log import SessionLog
from memolith.app.kernel.results import StoreToAttach
from memolith.app.kernel.session_filter import SessionFilter
from memolith.app.replication.missing_objects import _shows
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.object_keys import SessionKey, parse_key
from memolith.core.objects.session_record import SessionRecord
from memolith.core.rows.base import RowKey, mark_key
from memolith.core.rows.identity import ApiKeyRow, SessionRow
from memolith.ports.index import Change
from tests.support.cloud import WORKSPACE
from tests.support.rebuilds import Operator
from tests.unit.app.scene import AWAY, HOME, Scene

PUT = "objects.put_if_absent"


def record(scene: Scene) -> SessionRecord:
    region = scene.cloud.sites[HOME].region
    return SessionRecord(WORKSPACE, region.new_regional_id("session"), None, {}, (), scene.clock.now_us(), "apikey_x")


@pytest.mark.parametrize("fault", [Fault.CONTENDED, Fault.LOST_REQUEST, Fault.LOST_REPLY])
def test_a_session_whose_put_is_undecided_or_in_doubt_is_put_again(scene: Scene, fault: Fault) -> None:
    sessions, began = SessionLog(scene.cloud.sites[HOME].region), record(scene)
    with scene.struck_by(Strike(fault, PUT)):
        stored, key, _ = sessions.put(began, 1)
    assert stored == sessions.context(key) == began


def test_a_session_whose_put_is_refused_after_a_lost_reply_is_told_as_in_doubt(scene: Scene) -> None:
    sessions, began = SessionLog(scene.cloud.sites[HOME].region), record(scene)
    with scene.struck_by(Strike(Fault.LOST_REPLY, PUT), Strike(Fault.REFUSED, PUT, 2)), pytest.raises(OutcomeUnknown):
        sessions.put(began, 1)


# ---- changes, and the listing --------------------------------------------------------------------------------------


def begin(scene: Scene, at: str = HOME, **fields: Any) -> str:
    stores = [StoreToAttach(scene.store, "read_write", "")]
    given: dict[str, Any] = {"title": "first", "metadata": {}, "token_lifetime_s": 60, **fields}
    return scene.at(at).sessions.create(scene.call(), stores, **given).record.session_id


def retitle(scene: Scene, session_id: str, title: str, at: str = HOME, **metadata: str) -> None:
    scene.at(at).sessions.update(scene.call(), session_id, title=title, metadata=metadata)


def shown(scene: Scene, session_id: str, at: str = HOME) -> tuple[str | None, dict[str, str]]:
    record = scene.at(at).sessions.retrieve(scene.call(), session_id).record
    return record.title, dict(record.metadata)


def listed(scene: Scene, at: str = HOME, limit: int = 100) -> list[str]:
    found: list[str] = []
    after: str | None = None
    while True:
        page = scene.at(at).sessions.page(
            scene.call(), filter=SessionFilter(include_archived=True), limit=limit, after=after
        )
        found += [one.record.session_id for one in page.items]
        if page.next_after is None:
            return found
        after = page.next_after


def test_two_changes_of_a_session_in_one_second_are_both_kept(scene: Scene) -> None:
    session_id = begin(scene)
    restore = scene.remember_index()
    retitle(scene, session_id, "second", a="1")
    restore()  # the next caller read the row before the change was folded
    retitle(scene, session_id, "third", b="2")
    assert shown(scene, session_id) == ("third", {"a": "1", "b": "2"})


def test_changes_of_a_session_in_two_regions_end_alike_everywhere_whatever_arrives_first(scene: Scene) -> None:
    session_id = begin(scene)
    scene.deliver()
    retitle(scene, session_id, "here")
    scene.clock.advance(2)
    retitle(scene, session_id, "there", at=AWAY)
    scene.at(AWAY).sessions.context(scene.call(), session_id, refresh=True)
    scene.cloud.pending.reverse()
    scene.deliver()
    assert shown(scene, session_id) == shown(scene, session_id, AWAY) == ("there", {})
    rows = [scene.cloud.rows(region, "keys")[WORKSPACE, session_id] for region in (HOME, AWAY)]
    assert rows[0] == rows[1]


def test_a_change_and_an_end_of_a_session_that_cross_both_hold(scene: Scene) -> None:
    session_id = begin(scene)
    scene.deliver()
    retitle(scene, session_id, "renamed")
    scene.at(AWAY).sessions.archive(scene.call(), session_id)
    scene.deliver()
    for region in (HOME, AWAY):
        assert shown(scene, session_id, region)[0] == "renamed"
        assert scene.at(region).sessions.retrieve(scene.call(), session_id).record.archived_at is not None


def test_of_two_that_end_a_session_at_once_in_a_region_the_one_whose_object_stands_counts_everywhere(
    scene: Scene,
) -> None:
    """The one that looked first puts last: the row says what the object says, and so does its answer."""
    session_id = begin(scene)
    scene.deliver()
    restore = scene.remember_index()
    early = scene.clock.now_us()
    scene.clock.advance(3)
    first = scene.at(HOME).sessions.archive(scene.call(), session_id).record.archived_at
    restore()  # the second read the row before, by a clock that is behind
    scene.clock.advance(-2)
    second = scene.at(HOME).sessions.archive(scene.call(), session_id).record.archived_at
    assert early < scene.clock.now_us() < (first or 0)
    scene.deliver()
    rows = [scene.cloud.rows(region, "keys")[WORKSPACE, session_id] for region in (HOME, AWAY)]
    assert first == second == rows[0]["archived_at"] == rows[1]["archived_at"]


def test_a_change_that_has_not_been_projected_is_not_taken_for_projected(scene: Scene) -> None:
    """Neither the beginning of a session nor a later context shows that its change has arrived."""
    session_id = begin(scene)
    scene.deliver()
    retitle(scene, session_id, "renamed")
    changes = [event for event in scene.cloud.pending if not event.replica]
    scene.cloud.pending.clear()
    scene.clock.advance(5)
    scene.at(AWAY).sessions.context(scene.call(), session_id, refresh=True)
    scene.deliver()
    (change,) = [parse_key(event.key) for event in changes]
    assert isinstance(change, SessionKey)
    place = SessionRow.key(WORKSPACE, session_id)
    rows = {place: scene.cloud.rows(AWAY, "keys")[WORKSPACE, session_id]}
    assert not _shows(rows, place, change)
    scene.cloud.pending += changes
    scene.deliver()
    rows = {place: scene.cloud.rows(AWAY, "keys")[WORKSPACE, session_id]}
    assert _shows(rows, place, change)


def row_of(scene: Scene, session_id: str, at: str = HOME) -> SessionRow:
    return SessionRow.from_attributes(scene.cloud.rows(at, "keys")[WORKSPACE, session_id])


def asked(scene: Scene, session_id: str, at: str = HOME, refresh: bool = False) -> str:
    return scene.at(at).sessions.context(scene.call(), session_id, refresh=refresh).text


def test_a_change_of_a_session_that_has_not_arrived_is_no_context(scene: Scene) -> None:
    """Its row is made there of the change, beside which the beginning and its context come later."""
    made = scene.create("/MEMORY.md", "one")
    scene.deliver()
    session_id = begin(scene)
    first = asked(scene, session_id)
    retitle(scene, session_id, "there", at=AWAY)
    [change] = [key for key, _ in scene.objects(AWAY) if f"{AWAY}/session/" in key]
    body = SessionRecord.from_json(dict(scene.objects(AWAY))[change])
    assert (body.title, body.pinned_at, body.pins) == ("there", None, ())
    assert row_of(scene, session_id, AWAY).context is None
    scene.update(made, "two")
    assert asked(scene, session_id, AWAY) == first
    scene.deliver()
    assert row_of(scene, session_id) == row_of(scene, session_id, AWAY)
    assert row_of(scene, session_id).context == f"0000000001/{HOME}"
    assert asked(scene, session_id) == asked(scene, session_id, AWAY) == first


def test_a_session_is_changed_twice_where_it_has_not_arrived_and_its_context_is_refreshed(scene: Scene) -> None:
    made = scene.create("/MEMORY.md", "one")
    scene.deliver()
    session_id = begin(scene)
    retitle(scene, session_id, "second", at=AWAY)
    scene.deliver()
    scene.clock.advance(1)
    retitle(scene, session_id, "third", at=AWAY)
    scene.update(made, "two")
    scene.deliver()
    refreshed = asked(scene, session_id, AWAY, refresh=True)
    assert "two" in refreshed
    scene.deliver()
    assert asked(scene, session_id) == asked(scene, session_id, AWAY) == refreshed
    assert shown(scene, session_id) == shown(scene, session_id, AWAY) == ("third", {})


def test_a_context_that_an_earlier_release_put_at_the_key_of_a_change_is_a_change_alone(scene: Scene) -> None:
    """Its change had the session's pins, and the refresh after it took the next key of a change."""
    made = scene.create("/MEMORY.md", "one")
    session_id = begin(scene)
    scene.deliver()
    first = asked(scene, session_id)
    at_home, away = (SessionLog(scene.cloud.sites[region].region) for region in (HOME, AWAY))
    began = at_home.began(WORKSPACE, session_id)
    assert began is not None and began.pins
    earlier: list[tuple[SessionRecord, SessionKey]] = []
    for sequence in (6_790_000_000, 6_790_000_001):
        record, key, _ = away.put(replace(began, title="t", updated=f"6790000000/{AWAY}", updated_at=7), sequence)
        earlier.append((record, key))
    place = SessionRow.key(WORKSPACE, session_id)
    stuck = replace(row_of(scene, session_id), context=earlier[-1][1].rank, updated=f"6790000000/{AWAY}")
    scene.cloud.sites[HOME].region.index.commit([Change(place, None, stuck.to_attributes(), unconditional=True)])
    scene.update(made, "two")
    scene.deliver()
    rows = {place: scene.cloud.rows(HOME, "keys")[WORKSPACE, session_id]}
    assert all(_shows(rows, place, key) for _, key in earlier)
    assert row_of(scene, session_id).context is None
    assert asked(scene, session_id) == asked(scene, session_id, AWAY) == first
    refreshed = asked(scene, session_id, refresh=True)
    assert "two" in refreshed
    scene.deliver()
    assert asked(scene, session_id) == asked(scene, session_id, AWAY) == refreshed


def test_a_refresh_counts_though_the_row_has_a_change_for_its_context(scene: Scene) -> None:
    made = scene.create("/MEMORY.md", "one")
    session_id = begin(scene)
    scene.deliver()
    stuck = replace(row_of(scene, session_id), context=f"6790000000/{AWAY}")
    place = SessionRow.key(WORKSPACE, session_id)
    scene.cloud.sites[HOME].region.index.commit([Change(place, None, stuck.to_attributes(), unconditional=True)])
    scene.update(made, "two")
    refreshed = asked(scene, session_id, refresh=True)
    assert "two" in refreshed
    scene.deliver()
    assert row_of(scene, session_id) == row_of(scene, session_id, AWAY)
    assert row_of(scene, session_id).context == f"{scene.clock.now_us() // 1_000_000:010d}/{HOME}"
    assert asked(scene, session_id) == asked(scene, session_id, AWAY) == refreshed


def test_sessions_of_all_regions_are_listed_by_their_birth_in_every_region(scene: Scene) -> None:
    begun = []
    for number in range(6):
        begun.append(begin(scene, at=HOME if number % 2 else AWAY))
        scene.clock.advance(0.001)
    scene.deliver()
    for region in (HOME, AWAY):
        assert listed(scene, region) == begun[::-1]
        assert listed(scene, region, limit=2) == begun[::-1]


def test_a_listing_of_sessions_is_the_same_after_the_tables_were_rebuilt(scene: Scene) -> None:
    begun = [begin(scene, at=region) for region in (HOME, AWAY)]
    retitle(scene, begun[0], "renamed")
    scene.at(HOME).sessions.archive(scene.call(), begun[0])
    scene.deliver()
    before = listed(scene), shown(scene, begun[0]), scene.cloud.rows(HOME, "keys")
    Operator(scene.cloud, MemoryQueue()).run()
    assert scene.cloud.sites[HOME].region.view().index.generation == 2
    assert (listed(scene), shown(scene, begun[0]), scene.cloud.rows(HOME, "keys")) == before


def test_a_listing_of_sessions_out_of_an_emptied_table_is_refused(scene: Scene) -> None:
    begin(scene)
    scene.deliver()
    scene.cloud.claim_complete(HOME, scene.clock.now_us())
    index = scene.cloud.sites[HOME].region.index
    api_key = ApiKeyRow.key(WORKSPACE, f"apikey_{scene.api_key.split('-')[3]}")
    keys = [RowKey("keys", pk, sk) for pk, sk in scene.cloud.rows(HOME, "keys")]
    for key in [*keys, mark_key("keys")]:
        if key != api_key:
            index.commit([Change(key, None, None, unconditional=True)])
    with pytest.raises(Unavailable):
        listed(scene)
