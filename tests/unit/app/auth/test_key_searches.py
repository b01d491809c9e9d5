"""Keys that nobody issued: what they cost, and that a key which somebody did issue is found all the same."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import ManualClock
from memolith.app.auth.key_searches import (
    KEPT_MAX,
    MISSING_FOR_US,
    SEARCHES_AT_ONCE,
    SEARCHES_PER_SECOND,
    KeySearches,
)
from memolith.app.kernel.results import Credentials, RequestContext
from memolith.core.errors import Unauthenticated, Unavailable
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from memolith.wire.rpc import keys_calls
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene


def made_up(number: int = 0) -> RequestContext:
    return RequestContext(Credentials(WORKSPACE, f"apikey_useast1_{number:026d}", "0" * 64))


def knock(scene: Scene, call: RequestContext, at: str = HOME) -> CallCounts:
    """What a request with such a key costs."""
    counts = CallCounts()
    with scene.intercepted_by(counts), pytest.raises(Unauthenticated, match="not known"):
        scene.at(at).stores.retrieve(call, scene.store)
    return counts


def issue(scene: Scene, at: str = HOME) -> str:
    fields = {"call": "keys.create", "workspace_id": WORKSPACE, "name": "ci", "scope": "read"}
    return str(keys_calls(scene.at(at).api_keys)(fields)["api_key"])


def rebuilding(scene: Scene, region: str = HOME) -> None:
    index = scene.cloud.sites[region].region.index
    control = {**index.read([ControlRow.KEY])[ControlRow.KEY], "complete": False}
    index.commit([Change(ControlRow.KEY, None, control, unconditional=True)])


def test_a_key_that_does_not_exist_costs_a_listing_a_region_once_and_then_the_index_read_alone(scene: Scene) -> None:
    assert knock(scene, made_up()).requests == {
        "dynamodb.BatchGetItem": 1,
        "s3.ListObjectsV2": len(scene.cloud.regions),
    }
    for _ in range(20):
        assert knock(scene, made_up()).requests == {"dynamodb.BatchGetItem": 1}


def test_a_key_that_was_not_found_is_searched_for_again_after_a_while(scene: Scene) -> None:
    knock(scene, made_up())
    scene.clock.advance(MISSING_FOR_US / 1_000_000)
    assert knock(scene, made_up()).requests["s3.ListObjectsV2"] == len(scene.cloud.regions)


def test_keys_that_are_all_different_are_searched_for_a_few_in_a_second(scene: Scene) -> None:
    lists = sum(knock(scene, made_up(number)).requests.get("s3.ListObjectsV2", 0) for number in range(200))
    assert lists == SEARCHES_AT_ONCE * len(scene.cloud.regions)
    scene.clock.advance(3)
    lists = sum(knock(scene, made_up(200 + number)).requests.get("s3.ListObjectsV2", 0) for number in range(200))
    assert lists == 3 * SEARCHES_PER_SECOND * len(scene.cloud.regions)


def test_a_new_key_works_in_another_region_although_it_was_tried_there_too_early(scene: Scene) -> None:
    api_key = issue(scene)
    knock(scene, scene.call(api_key), AWAY)
    scene.deliver()
    assert scene.at(AWAY).stores.retrieve(scene.call(api_key), scene.store).id == scene.store


def test_a_key_whose_object_has_arrived_and_is_not_indexed_is_found_while_strangers_knock(scene: Scene) -> None:
    restore = scene.remember_index(AWAY)
    api_key = issue(scene)
    scene.deliver()
    restore()
    for number in range(SEARCHES_AT_ONCE - 1):
        knock(scene, made_up(number), AWAY)
    for _ in range(30):
        assert scene.at(AWAY).stores.retrieve(scene.call(api_key), scene.store).id == scene.store


def test_whoever_presents_a_wrong_secret_for_such_a_key_is_searched_for_no_more_often(scene: Scene) -> None:
    restore = scene.remember_index()
    text = issue(scene)
    scene.deliver()
    restore()
    forged = RequestContext(Credentials(WORKSPACE, scene.call(text).credentials.key_id, "0" * 64))  # type: ignore[union-attr]  # an API key's, and no session's
    lists = sum(knock(scene, forged).requests.get("s3.ListObjectsV2", 0) for _ in range(50))
    assert lists == SEARCHES_AT_ONCE * len(scene.cloud.regions)


def test_in_an_index_that_is_being_rebuilt_a_key_that_cannot_be_searched_for_is_not_called_unknown(
    scene: Scene,
) -> None:
    """Its row may not be there yet: the caller is told to come again, and not that its key is wrong."""
    restore = scene.remember_index()
    api_key = issue(scene)
    scene.deliver()
    restore()
    rebuilding(scene)
    for number in range(SEARCHES_AT_ONCE):
        knock(scene, made_up(number))
    with pytest.raises(Unavailable, match="being rebuilt"):
        scene.at(HOME).stores.retrieve(scene.call(api_key), scene.store)
    scene.clock.advance(1)
    assert scene.at(HOME).stores.retrieve(scene.call(api_key), scene.store).id == scene.store


def test_a_key_whose_row_is_lost_opens_after_a_stranger_presented_it_for_another_workspace(scene: Scene) -> None:
    restore = scene.remember_index()
    api_key = issue(scene)
    scene.deliver()
    restore()
    rebuilding(scene)
    key_id = scene.call(api_key).credentials.key_id  # type: ignore[union-attr]  # an API key's, and no session's
    knock(scene, RequestContext(Credentials("wrkspc_stranger", key_id, "0" * 64)))
    assert scene.at(HOME).stores.retrieve(scene.call(api_key), scene.store).id == scene.store


def test_a_key_is_revoked_however_many_strangers_knock(scene: Scene) -> None:
    restore = scene.remember_index()
    api_key = issue(scene)
    scene.deliver()
    restore()
    for number in range(50):
        knock(scene, made_up(number))
    key_id = scene.call(api_key).credentials.key_id  # type: ignore[union-attr]  # an API key's, and no session's
    answer = keys_calls(scene.at(HOME).api_keys)({"call": "keys.revoke", "workspace_id": WORKSPACE, "key_id": key_id})
    assert answer["record"]["revoked_at"] is not None


def test_what_is_remembered_is_bounded_and_the_oldest_is_forgotten() -> None:
    searches = KeySearches(ManualClock())
    for number in range(KEPT_MAX + 1):
        searches.note_missing(str(number))
    assert not searches.is_missing("0")
    assert all(searches.is_missing(str(number)) for number in range(1, KEPT_MAX + 1))


def test_a_clock_that_is_set_back_neither_remembers_for_longer_nor_allows_more() -> None:
    clock = ManualClock()
    searches = KeySearches(clock)
    searches.note_missing("key")
    assert sum(searches.take() for _ in range(100)) == SEARCHES_AT_ONCE
    clock.advance(-3_600)
    assert not searches.is_missing("key")
    assert not searches.take()
    clock.advance(1)
    assert searches.take()
