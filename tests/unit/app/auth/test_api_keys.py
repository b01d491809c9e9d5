"""API keys: issued once, found wherever their objects are, ended from anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.auth.api_keys import key_text
from memolith.app.indexer.indexer import Malformed
from memolith.app.kernel.results import Credentials, RequestContext
from memolith.core.errors import OutcomeUnknown, Unauthenticated, Unavailable
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.wire.rpc import indexer_calls, keys_calls
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene


def direct(scene: Scene, call: str, at: str = HOME, **fields: Any) -> Mapping[str, Any]:
    return keys_calls(scene.at(at).api_keys)({"call": f"keys.{call}", "workspace_id": WORKSPACE, **fields})


def issue(scene: Scene, at: str = HOME, scope: str = "read", name: str = "ci") -> Mapping[str, Any]:
    return direct(scene, "create", at, name=name, scope=scope)


def works(scene: Scene, api_key: str, at: str = HOME) -> bool:
    try:
        scene.at(at).stores.retrieve(scene.call(api_key), scene.store)
    except Unauthenticated:
        return False
    return True


def test_a_key_is_in_order_once_and_kept_as_a_hash_alone(scene: Scene) -> None:
    issued = issue(scene)
    secret = issued["api_key"].rsplit("-", 1)[1]
    assert len(secret) == 64
    (listed,) = [key for key in direct(scene, "list")["keys"] if key["key_id"] == issued["key_id"]]
    assert listed["name"] == "ci" and listed["scope"] == "read" and listed["revoked_at"] is None
    assert "secret_sha256" not in listed
    for key in scene.cloud.buckets.page(HOME, "", None, 1000).keys:
        current = scene.cloud.buckets.current(HOME, key)
        assert current is not None and secret.encode() not in current.body
    assert secret not in repr(scene.cloud.rows(HOME, "keys"))


def test_a_key_works_where_it_was_made_at_once_and_elsewhere_once_its_object_is_there(scene: Scene) -> None:
    issued = issue(scene)
    assert works(scene, issued["api_key"])
    assert not works(scene, issued["api_key"], at=AWAY)
    scene.deliver()
    assert works(scene, issued["api_key"], at=AWAY)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_key_whose_row_is_gone_is_found_in_the_bucket(scene: Scene, region: str) -> None:
    restore = scene.remember_index(region)
    issued = issue(scene)
    scene.deliver()
    restore()
    assert works(scene, issued["api_key"], at=region)


def test_a_revoked_key_whose_row_is_gone_is_found_revoked(scene: Scene) -> None:
    restore = scene.remember_index()
    issued = issue(scene)
    scene.deliver()
    direct(scene, "revoke", AWAY, key_id=issued["key_id"])
    scene.deliver()
    restore()
    with pytest.raises(Unauthenticated, match="revoked"):
        scene.at(HOME).stores.retrieve(scene.call(issued["api_key"]), scene.store)


@pytest.mark.parametrize(("made", "ended"), [(HOME, HOME), (HOME, AWAY), (AWAY, HOME)])
def test_a_key_is_ended_from_any_region_at_once_there_and_then_everywhere(scene: Scene, made: str, ended: str) -> None:
    issued = issue(scene, at=made)
    scene.deliver()
    answer = direct(scene, "revoke", ended, key_id=issued["key_id"])
    assert answer["record"]["revoked_at"] == scene.clock.now_us()
    assert not works(scene, issued["api_key"], at=ended)
    other = AWAY if ended == HOME else HOME
    assert works(scene, issued["api_key"], at=other), "the object is still under way"
    scene.deliver()
    assert not works(scene, issued["api_key"], at=other)


def test_a_revocation_reaches_a_region_before_the_key_itself_and_absorbs_it(scene: Scene) -> None:
    issued = issue(scene)
    (creation,) = scene.cloud.pending
    scene.cloud.pending.clear()
    direct(scene, "revoke", HOME, key_id=issued["key_id"])
    scene.deliver()
    scene.cloud.pending.append(creation)
    scene.deliver()
    for region in (HOME, AWAY):
        assert not works(scene, issued["api_key"], at=region)


def test_ending_a_key_again_keeps_when_it_ended(scene: Scene) -> None:
    issued = issue(scene)
    scene.deliver()
    first = direct(scene, "revoke", key_id=issued["key_id"])
    scene.clock.advance(60)
    assert direct(scene, "revoke", key_id=issued["key_id"]) == first
    scene.deliver()
    again = direct(scene, "revoke", AWAY, key_id=issued["key_id"])
    assert again["record"] == first["record"]


def test_two_regions_that_end_a_key_agree_on_the_earlier_moment(scene: Scene) -> None:
    issued = issue(scene)
    scene.deliver()
    first = direct(scene, "revoke", HOME, key_id=issued["key_id"])["record"]["revoked_at"]
    scene.clock.advance(60)
    direct(scene, "revoke", AWAY, key_id=issued["key_id"])
    scene.deliver()
    for region in (HOME, AWAY):
        keys = {key["key_id"]: key for key in direct(scene, "list", region)["keys"]}
        assert keys[issued["key_id"]]["revoked_at"] == first


def test_every_region_can_be_asked_to_confirm_a_revocation(scene: Scene) -> None:
    """What `keys revoke` does besides: it does not wait for replication."""
    issued = issue(scene)
    scene.deliver()
    key = direct(scene, "revoke", key_id=issued["key_id"])["key"]
    assert fold_key(scene, key=key) == {"region": AWAY, "confirmed": True}
    assert not works(scene, issued["api_key"], at=AWAY)


def fold_key(scene: Scene, **fields: object) -> Mapping[str, Any]:
    return indexer_calls(scene.cloud.sites[AWAY].indexing)({"call": "fold_key", **fields})


FORGED_ID = "apikey_useast1_" + "0" * 26


def forged(digest: str) -> ApiKeyRecord:
    return ApiKeyRecord(WORKSPACE, FORGED_ID, "forged", "admin", digest, 1)


def test_the_indexer_takes_no_ones_word_for_an_api_key_that_no_object_tells_of(scene: Scene) -> None:
    text = key_text(WORKSPACE, FORGED_ID, "0" * 64)
    record = forged(hashlib.sha256(text.encode()).hexdigest())
    with pytest.raises(KeyError):
        fold_key(scene, record=asdict(record))
    missing = fold_key(scene, key=f"{HOME}/key/{WORKSPACE}/{FORGED_ID}/0000000001", record=asdict(record))
    assert missing["error"]["type"] == "NotFound"
    assert not works(scene, text, at=AWAY)
    assert FORGED_ID not in repr(scene.cloud.rows(AWAY, "keys"))


@pytest.mark.parametrize(
    "key",
    [
        "",
        f"{HOME}/key/{WORKSPACE}/{FORGED_ID}",
        f"mars-north-1/key/{WORKSPACE}/{FORGED_ID}/0000000001",
        f"{HOME}/redaction/memstore_useast1_{'0' * 26}/memver_useast1_{'0' * 26}",
    ],
)
def test_the_indexer_confirms_nothing_but_records_of_api_keys_of_the_deployment(scene: Scene, key: str) -> None:
    assert fold_key(scene, key=key)["error"]["fields"]["field"] == "key"


def test_a_record_that_stands_under_another_api_keys_name_is_not_projected(scene: Scene) -> None:
    """Whoever may put under one name decides nothing about another."""
    issued = issue(scene)
    scene.deliver()
    stolen = key_text(WORKSPACE, issued["key_id"], "0" * 64)
    record = replace(forged(hashlib.sha256(stolen.encode()).hexdigest()), key_id=issued["key_id"])
    key = f"{HOME}/key/{WORKSPACE}/{FORGED_ID}/0000000001"
    scene.cloud.sites[HOME].region.objects.put_if_absent(key, record.to_json(), {})
    assert fold_key(scene, key=key)["error"]["fields"]["field"] == "key"
    with pytest.raises(Malformed):
        scene.cloud.sites[HOME].indexing.object_arrived(key)
    assert works(scene, issued["api_key"], at=AWAY) and not works(scene, stolen, at=AWAY)


def test_a_key_that_never_was_cannot_be_ended(scene: Scene) -> None:
    answer = direct(scene, "revoke", key_id="apikey_useast1_" + "0" * 26)
    assert answer["error"]["type"] == "NotFound"


@pytest.mark.parametrize(
    ("fields", "culprit"),
    [
        ({"workspace_id": "main"}, "workspace_id"),
        ({"workspace_id": "wrkspc_A"}, "workspace_id"),
        ({"scope": "owner"}, "scope"),
        ({"name": ""}, "name"),
        ({"name": "x" * 256}, "name"),
    ],
)
def test_a_key_is_not_issued_for_what_is_malformed(scene: Scene, fields: dict[str, str], culprit: str) -> None:
    answer = direct(scene, "create", **{"name": "n", "scope": "read", **fields})
    assert answer["error"]["type"] == "InvalidRequest"
    assert answer["error"]["fields"]["field"] == culprit


@pytest.mark.parametrize(
    ("workspace_id", "key_id"),
    [
        (WORKSPACE, "apikey_useast1_" + "0" * 26),
        (WORKSPACE, "apikey_nowhere_" + "0" * 26),
        (WORKSPACE, "apikey_x"),
        ("wrkspc_none", "apikey_useast1_" + "0" * 26),
        ("nonsense", "nonsense"),
    ],
)
def test_who_presents_nothing_of_ours_is_told_no_more_than_that(scene: Scene, workspace_id: str, key_id: str) -> None:
    with pytest.raises(Unauthenticated, match="not known"):
        scene.at(HOME).stores.retrieve(RequestContext(Credentials(workspace_id, key_id, "0" * 64)), scene.store)


def test_a_key_of_one_workspace_does_not_open_another_under_its_name(scene: Scene) -> None:
    call = scene.call(scene.cloud.key(workspace_id="wrkspc_other"))
    forged = RequestContext(replace(call.credentials, workspace_id=WORKSPACE))
    with pytest.raises(Unauthenticated):
        scene.at(HOME).stores.retrieve(forged, scene.store)


def test_a_key_that_cannot_be_looked_up_is_unavailable_and_not_unknown(scene: Scene) -> None:
    restore = scene.remember_index()
    issued = issue(scene)
    restore()
    with scene.struck_by(Strike(Fault.REFUSED, "objects.list")), pytest.raises(Unavailable):
        works(scene, issued["api_key"])


@pytest.mark.parametrize("fault", [Fault.CONTENDED, Fault.LOST_REQUEST, Fault.LOST_REPLY])
def test_a_key_whose_put_is_undecided_or_in_doubt_is_put_again(scene: Scene, fault: Fault) -> None:
    with scene.struck_by(Strike(fault, "objects.put_if_absent")):
        issued = issue(scene)
    assert works(scene, issued["api_key"])


def test_a_key_whose_put_is_refused_after_a_lost_reply_is_not_told_as_unwritten(scene: Scene) -> None:
    put = "objects.put_if_absent"
    with scene.struck_by(Strike(Fault.LOST_REPLY, put), Strike(Fault.REFUSED, put, 2)):
        answer = issue(scene)
    assert answer["error"]["type"] == OutcomeUnknown.__name__


def test_a_key_whose_fold_is_contended_or_in_doubt_is_folded_all_the_same(scene: Scene) -> None:
    for fault in (Fault.CONTENDED, Fault.LOST_REPLY, Fault.LOST_REQUEST):
        with scene.struck_by(Strike(fault, "index.commit")):
            assert works(scene, issue(scene)["api_key"])


def test_a_workspace_may_have_more_keys_than_one_page(scene: Scene) -> None:
    for number in range(105):
        issue(scene, name=f"key {number}")
    assert len(direct(scene, "list")["keys"]) == 106


# ---- limits --------------------------------------------------------------------------------------------------------


def test_the_limits_of_a_key_are_the_same_in_every_region_and_after_its_revocation(scene: Scene) -> None:
    until = scene.clock.now_us() + 60_000_000
    issued = direct(scene, "create", name="n", scope="read", expires_at=until, stores=[scene.store])
    direct(scene, "revoke", key_id=issued["key_id"])
    scene.deliver()
    for region in (HOME, AWAY):
        (key,) = [one for one in direct(scene, "list", region)["keys"] if one["key_id"] == issued["key_id"]]
        assert (key["expires_at"], key["stores"]) == (until, [scene.store])
        assert key["revoked_at"] is not None


def test_an_expired_key_whose_row_is_gone_is_found_expired(scene: Scene) -> None:
    restore = scene.remember_index()
    issued = direct(scene, "create", name="n", scope="read", expires_at=scene.clock.now_us() + 1_000_000)
    restore()
    assert works(scene, issued["api_key"])
    scene.clock.advance(1)
    with pytest.raises(Unauthenticated, match="expired"):
        scene.at(HOME).stores.retrieve(scene.call(issued["api_key"]), scene.store)


def test_the_revocation_of_a_key_without_limits_is_confirmed_by_a_release_that_knows_none(scene: Scene) -> None:
    """It refuses a record with a field that it does not know, and would confirm nothing."""
    record = direct(scene, "revoke", key_id=issue(scene)["key_id"])["record"]
    known_before = {"workspace_id", "key_id", "name", "scope", "secret_sha256", "created_at", "revoked_at"}
    assert set(record) == known_before


@pytest.mark.parametrize("call", ["create", "revoke"])
@pytest.mark.parametrize("refused", ["index.commit", "index.read"])
def test_a_record_of_a_key_that_is_not_indexed_is_not_told_as_unwritten(scene: Scene, call: str, refused: str) -> None:
    """The SDK would send the call again, and issue another key."""
    fields = {"name": "n", "scope": "read"} if call == "create" else {"key_id": issue(scene)["key_id"]}
    put = len(key_objects(scene))
    occurrence = 2 if refused == "index.read" and call == "revoke" else 1
    with scene.struck_by(Strike(Fault.REFUSED, refused, occurrence)):
        answer = direct(scene, call, **fields)
    assert len(key_objects(scene)) == put + 1
    assert answer["error"]["type"] == OutcomeUnknown.__name__


def key_objects(scene: Scene) -> list[str]:
    return [key for key, _ in scene.objects() if "/key/" in key]
