"""What was revoked, ended or deleted opens nothing while the table that said so is emptied, and is built again."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import CallCounts
from memolith.app.kernel.results import UNSET, Credentials, RequestContext
from memolith.core.errors import InvalidRequest, NotFound, Unauthenticated, Unavailable
from memolith.core.log_position import Epoch, Slot
from memolith.core.metadata import patched
from memolith.core.object_keys import ApiKeyKey, SessionKey, StoreKey
from memolith.core.rows.control import ControlRow
from memolith.core.rows.identity import ApiKeyRow, SessionRow, StoreRow
from tests.support.cloud import WORKSPACE
from tests.unit.app.api.test_transcripts import parts, record, said
from tests.unit.app.auth.test_session_keys import begin, key_id, opens, put_row, revoke
from tests.unit.app.replication.test_watermark import empty, settle, tick
from tests.unit.app.scene import AWAY, HOME, Scene

EMPTIED = ("was emptied", "was emptied, and its first record came again")


def emptied(scene: Scene, how: str, session_id: str, api_key: str) -> None:
    """The table of keys lost its rows, and the region knows; `how` says what came since."""
    put_row(scene, ControlRow.KEY, ControlRow(serving=1, complete=False).to_attributes())
    put_row(scene, SessionRow.key(WORKSPACE, session_id), None)
    put_row(scene, ApiKeyRow.key(WORKSPACE, key_id(api_key)), None)
    if how == EMPTIED[1]:
        for name in (SessionKey(HOME, WORKSPACE, session_id, 1), ApiKeyKey(HOME, WORKSPACE, key_id(api_key), 1)):
            scene.cloud.sites[HOME].indexing.object_arrived(str(name))


@pytest.mark.parametrize("how", EMPTIED)
@pytest.mark.parametrize("ended_in", [HOME, AWAY])
def test_a_session_that_has_ended_stays_so_where_the_table_of_sessions(scene: Scene, ended_in: str, how: str) -> None:
    key = scene.cloud.key("write")
    session = begin(scene, key)
    session_id = session.record.session_id
    scene.deliver()
    scene.at(ended_in).sessions.archive(scene.call(key), session_id)
    scene.deliver()
    emptied(scene, how, session_id, key)
    assert not opens(scene, session.token)
    with pytest.raises(InvalidRequest, match="has been ended"):
        scene.at(HOME).sessions.renew(scene.call(key), session_id, 60)
    own = scene.at(HOME).sessions
    assert own.retrieve(scene.call(key), session_id).record.archived_at is not None
    scene.at(HOME).session_trust.lower(WORKSPACE, session_id, "m")
    assert not opens(scene, session.token), "nor after something of it was recorded"


@pytest.mark.parametrize("how", EMPTIED)
@pytest.mark.parametrize("revoked_in", [HOME, AWAY])
def test_a_key_that_was_revoked_opens_nothing_where_the_table_of_keys(scene: Scene, revoked_in: str, how: str) -> None:
    key = scene.at(HOME).api_keys.create(WORKSPACE, "n", "write").api_key
    session = begin(scene, key)
    scene.deliver()
    revoke(scene, key, at=revoked_in)
    scene.deliver()
    emptied(scene, how, session.record.session_id, key)
    with pytest.raises(Unauthenticated, match="has been revoked"):
        scene.at(HOME).stores.retrieve(scene.call(key), scene.store)
    assert not opens(scene, session.token)


@pytest.mark.parametrize("how", EMPTIED)
@pytest.mark.parametrize("deleted_in", [HOME, AWAY])
def test_a_store_that_was_deleted_is_not_found_where_the_table_of_stores(
    scene: Scene, deleted_in: str, how: str
) -> None:
    memory = scene.create("/a", "text")
    scene.at(deleted_in).stores.delete(scene.call(), scene.store)
    scene.deliver()
    put_row(scene, ControlRow.KEY, ControlRow(serving=1, complete=False).to_attributes())
    put_row(scene, StoreRow.key(scene.store), None)
    if how == EMPTIED[1]:
        scene.cloud.sites[HOME].indexing.object_arrived(str(StoreKey(scene.store, Slot(Epoch(1, HOME), 1))))
    with pytest.raises(NotFound):
        scene.at(HOME).stores.retrieve(scene.call(), scene.store)
    with pytest.raises(NotFound):
        scene.read(memory)
    with pytest.raises(NotFound):
        scene.update(memory, "other")


def test_an_ended_session_whose_row_alone_is_gone_opens_nothing(scene: Scene) -> None:
    session = begin(scene, scene.api_key)
    scene.at(HOME).sessions.archive(scene.call(), session.record.session_id)
    scene.deliver()
    put_row(scene, SessionRow.key(WORKSPACE, session.record.session_id), None)
    assert not opens(scene, session.token)


def test_a_session_that_was_ended_where_nothing_of_it_was_indexed_is_not_open_once_its_first_record_is(
    scene: Scene,
) -> None:
    """The records of its begin and its end have arrived in the bucket; their events come after the call."""
    session = begin(scene, scene.api_key)
    session_id = session.record.session_id
    scene.at(HOME).sessions.archive(scene.call(), session_id)
    scene.deliver()
    put_row(scene, SessionRow.key(WORKSPACE, session_id), None, at=AWAY)
    ended = scene.at(AWAY).sessions.archive(scene.call(), session_id).record
    assert ended.archived_at == scene.at(HOME).sessions.retrieve(scene.call(), session_id).record.archived_at
    scene.cloud.sites[AWAY].indexing.object_arrived(str(SessionKey(HOME, WORKSPACE, session_id, 1)))
    assert not opens(scene, session.token, at=AWAY)
    assert scene.at(AWAY).sessions.retrieve(scene.call(), session_id).record.archived_at == ended.archived_at


def test_looking_for_the_end_of_a_session_costs_a_get_for_each_region_and_for_a_whole_table_nothing(
    scene: Scene,
) -> None:
    session = begin(scene, scene.api_key)
    scene.deliver()

    def cost() -> dict[str, int]:
        counts = CallCounts()
        with scene.intercepted_by(counts):
            assert opens(scene, session.token)
        return dict(counts.requests)

    assert cost() == {"dynamodb.BatchGetItem": 1}
    put_row(scene, SessionRow.key(WORKSPACE, session.record.session_id), None)
    assert cost() == {"dynamodb.BatchGetItem": 1, "s3.GetObject": len(scene.cloud.regions)}


def test_a_stranger_who_names_a_key_of_an_emptied_table_has_nothing_looked_up(scene: Scene) -> None:
    put_row(scene, ControlRow.KEY, ControlRow(serving=1, complete=False).to_attributes())
    counts = CallCounts()
    stranger = RequestContext(Credentials(WORKSPACE, key_id(scene.api_key), "0" * 64))
    with scene.intercepted_by(counts), pytest.raises(Unauthenticated, match="not known"):
        scene.at(HOME).stores.retrieve(stranger, scene.store)
    assert counts.requests == {"dynamodb.BatchGetItem": 1}


KEYS_EMPTIED = pytest.mark.parametrize(
    ("noticed", "came_again"),
    [
        pytest.param(False, False, id="just now"),
        pytest.param(True, False, id="before the last tick"),
        pytest.param(True, True, id="before the last tick, and the session's first record came again"),
    ],
)
"""When the table of keys was emptied, and what has come since."""


def empty_keys(scene: Scene, session: str, noticed: bool, came_again: bool) -> None:
    settle(scene)
    empty(scene, "keys")
    if came_again:
        scene.cloud.sites[HOME].indexing.object_arrived(str(SessionKey(HOME, WORKSPACE, session, 1)))
    if noticed:
        tick(scene, HOME)
    assert scene.cloud.sites[HOME].region.view().complete is not noticed


@pytest.mark.parametrize("metadata", [{"b": "2"}, {"a": None}], ids=["another pair", "without the pair"])
@KEYS_EMPTIED
def test_a_change_of_a_session_undoes_no_earlier_one_though_the_table_with_that_was_emptied(
    scene: Scene, noticed: bool, came_again: bool, metadata: dict[str, str | None]
) -> None:
    session = begin(scene, scene.api_key).record.session_id
    scene.deliver()
    scene.at(HOME).sessions.update(scene.call(), session, title="title", metadata={"a": "1"})
    scene.deliver()
    empty_keys(scene, session, noticed, came_again)
    before = scene.objects()
    with pytest.raises(Unavailable, match="try another region"):
        scene.at(HOME).sessions.update(scene.call(), session, title=UNSET, metadata=metadata)
    assert scene.objects() == before
    changed = scene.at(AWAY).sessions.update(scene.call(), session, title=UNSET, metadata=metadata).record
    assert (changed.title, dict(changed.metadata)) == ("title", patched({"a": "1"}, metadata))


@pytest.mark.parametrize("ordered_in", [HOME, AWAY])
@KEYS_EMPTIED
def test_no_event_is_taken_after_the_order_to_erase_though_the_table_that_said_so_was_emptied(
    scene: Scene, ordered_in: str, noticed: bool, came_again: bool
) -> None:
    session = begin(scene, scene.cloud.key("write")).record.session_id
    scene.deliver()
    record(scene, session, said("before", "a"))
    scene.deliver()
    scene.at(ordered_in).sessions.delete(scene.call(), session)
    scene.deliver()
    empty_keys(scene, session, noticed, came_again)
    before = parts(scene, session)
    with pytest.raises(InvalidRequest, match="erased"):
        record(scene, session, said("after", "b"))
    assert parts(scene, session) == before
