"""A session and the API keys that its tokens come from: what ends with what, where, and how many reads that takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jwt
import pytest
from jwt import PyJWK

from memolith.adapters.jwk import made
from memolith.adapters.layered import Call as PortCall
from memolith.app.api.transcripts import EventDraft, EventFilter
from memolith.app.auth.session_tokens import ALGORITHM, PREFIX
from memolith.app.kernel.results import RequestContext, Session, StoreToAttach
from memolith.core.errors import PermissionDenied, Unauthenticated
from memolith.core.objects.session_record import SessionRecord
from memolith.core.rows.base import RowKey
from memolith.core.rows.identity import ApiKeyRow, SessionRow
from memolith.core.trust import name_of
from memolith.ports.index import Change
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene


def begin(scene: Scene, api_key: str, at: str = HOME) -> Session:
    stores = [StoreToAttach(scene.store, "read_write", "")]
    return scene.at(at).sessions.create(scene.call(api_key), stores, title=None, metadata={}, token_lifetime_s=43_200)


def key_id(api_key: str) -> str:
    return f"apikey_{api_key.split('-')[3]}"


def opens(scene: Scene, token: str | None, at: str = HOME) -> bool:
    memolith = scene.at(at)
    try:
        memolith.stores.retrieve(RequestContext(memolith.sessions.verify(token or "")), scene.store)
    except Unauthenticated:
        return False
    return True


def revoke(scene: Scene, api_key: str, at: str = HOME) -> None:
    scene.at(at).api_keys.revoke(WORKSPACE, key_id(api_key))


def put_row(scene: Scene, key: RowKey, row: Mapping[str, Any] | None, at: str = HOME) -> None:
    scene.cloud.sites[at].region.index.commit([Change(key, None, row, unconditional=True)])


def without_keys(token: str | None) -> str:
    """The token as a release before this one signed it."""
    claims = jwt.decode((token or "").removeprefix(PREFIX), options={"verify_signature": False})
    del claims["keys"]
    return signed(claims)


def signed(claims: dict[str, Any]) -> str:
    """A token of these claims under the cloud's signing key."""
    key = PyJWK.from_dict(dict(made(b"1" * 32)), ALGORITHM)
    return PREFIX + jwt.encode(claims, key, algorithm=ALGORITHM, headers={"kid": "k1"})


@pytest.mark.parametrize("revoked_at", [HOME, AWAY])
def test_a_revoked_keys_token_ends_at_once_where_it_was_revoked_and_elsewhere_with_the_key(
    scene: Scene, revoked_at: str
) -> None:
    key = scene.cloud.key("write")
    token = begin(scene, key).token
    scene.deliver()
    assert opens(scene, token) and opens(scene, token, at=AWAY)
    revoke(scene, key, at=revoked_at)
    other = AWAY if revoked_at == HOME else HOME
    assert not opens(scene, token, at=revoked_at)
    assert opens(scene, token, at=other), "the revocation is still under way"
    scene.deliver()
    assert not opens(scene, token, at=other)


def test_a_sessions_call_reads_its_key_in_the_one_batch_that_reads_the_store(scene: Scene) -> None:
    token = begin(scene, scene.cloud.key("write")).token
    scene.deliver()
    calls: list[str] = []

    def noted(call: PortCall, act: Any) -> Any:
        calls.append(call.name)
        return act()

    with scene.intercepted_by(noted):
        assert opens(scene, token)
    assert calls == ["index.read"]


def test_a_token_opens_where_neither_its_session_nor_its_key_has_arrived(scene: Scene) -> None:
    issued = scene.at(HOME).api_keys.create(WORKSPACE, "n", "write")
    token = begin(scene, issued.api_key).token
    assert opens(scene, token, at=AWAY)


def test_a_token_whose_keys_row_is_gone_ends_by_the_revocation_in_the_bucket(scene: Scene) -> None:
    key = scene.cloud.key("write")
    token = begin(scene, key).token
    revoke(scene, key)
    scene.deliver()
    put_row(scene, ApiKeyRow.key(WORKSPACE, key_id(key)), None)
    assert not opens(scene, token)


def test_a_token_of_an_earlier_release_ends_with_the_key_that_its_sessions_row_names(scene: Scene) -> None:
    """Neither the token nor the record names the key; the record's `created_by` does."""
    key = scene.cloud.key("write")
    session = begin(scene, key)
    scene.deliver()
    place = SessionRow.key(WORKSPACE, session.record.session_id)
    attributes = scene.cloud.sites[HOME].region.index.read([place])[place]
    fields = json.loads(attributes["record"])
    for name in ("key_id", "updated", "updated_at", "agent_id", "agent_version", "environment_id"):
        del fields[name]
    put_row(scene, place, {**attributes, "record": json.dumps(fields)})
    token = without_keys(session.token)
    assert opens(scene, token)
    revoke(scene, key)
    assert not opens(scene, token)


def test_a_token_of_an_earlier_release_whose_session_has_not_arrived_still_opens(scene: Scene) -> None:
    token = without_keys(begin(scene, scene.cloud.key("write")).token)
    assert opens(scene, token, at=AWAY)


def test_a_record_from_before_names_its_key_by_its_actor() -> None:
    record = SessionRecord(WORKSPACE, "sesn_x", None, {}, (), 1, "api_key:apikey_x", key_id="apikey_x")
    fields = json.loads(record.to_json())
    del fields["key_id"]
    assert SessionRecord.from_json(json.dumps(fields).encode()) == record
    by_another = replace(record, created_by="user:user_1", key_id=None)
    assert SessionRecord.from_json(by_another.to_json()) == by_another


@pytest.mark.parametrize("first", ["read", "write"])
def test_a_token_may_do_no_more_than_each_key_that_it_comes_from(scene: Scene, first: str) -> None:
    memolith, stores = scene.at(HOME), [StoreToAttach(scene.store, "read_only", "")]
    begun_by = scene.call(scene.cloud.key(first))
    made = memolith.sessions.create(begun_by, stores, title=None, metadata={}, token_lifetime_s=3_600)
    scene.deliver()
    session_id = made.record.session_id
    tokens = {
        scope: memolith.sessions.renew(scene.call(scene.cloud.key(scope)), session_id, 60).token
        for scope in ("read", "write", "admin")
    }
    drafts = [EventDraft("user.message", {"content": "x"}, "a")]
    for scope, token in tokens.items():
        call = RequestContext(memolith.sessions.verify(token or ""))
        assert memolith.transcripts.page(call, session_id, filter=EventFilter(), limit=1, after=None) is not None
        if "read" in (first, scope):
            with pytest.raises(PermissionDenied, match="at most read; this needs write"):
                memolith.transcripts.record(call, session_id, drafts)
        else:
            assert memolith.transcripts.record(call, session_id, drafts) is not None


def test_a_token_that_names_what_is_no_key_opens_nothing(scene: Scene) -> None:
    token = begin(scene, scene.api_key).token or ""
    claims = jwt.decode(token.removeprefix(PREFIX), options={"verify_signature": False})
    for keys in (["x"], "apikey_x", 7, [None]):
        assert not opens(scene, signed({**claims, "keys": keys}))


def test_a_token_names_the_sessions_key_though_it_has_not_arrived_where_the_token_was_asked_for(scene: Scene) -> None:
    issued = scene.at(HOME).api_keys.create(WORKSPACE, "n", "write")
    key_events, scene.cloud.pending[:] = list(scene.cloud.pending), []
    session = begin(scene, issued.api_key)
    scene.deliver()
    renewed = scene.at(AWAY).sessions.renew(scene.call(), session.record.session_id, 600)
    scene.cloud.pending += key_events
    scene.deliver()
    assert opens(scene, renewed.token, at=AWAY)
    revoke(scene, issued.api_key)
    scene.deliver()
    assert not opens(scene, renewed.token, at=AWAY)


def test_what_a_session_writes_where_its_services_key_has_not_arrived_is_of_unknown_class(scene: Scene) -> None:
    """An agent's class is above a service's: that nobody knows who holds the key must not raise the session's."""
    issued = scene.at(HOME).api_keys.create(WORKSPACE, "n", "write", holder="service")
    key_events, scene.cloud.pending[:] = list(scene.cloud.pending), []
    token = begin(scene, issued.api_key).token
    scene.deliver()

    def written(path: str, token: str | None, at: str) -> str:
        memolith = scene.at(at)
        call = RequestContext(memolith.sessions.verify(token or ""))
        return name_of(memolith.memories.create(call, scene.store, path=path, content="x", full=False).trust)

    assert written("/a.md", token, AWAY) == "unknown"
    assert written("/b.md", without_keys(token), AWAY) == "unknown"
    assert written("/c.md", token, HOME) == "tool_internal"
    scene.cloud.pending += key_events
    scene.deliver()
    assert written("/d.md", token, AWAY) == written("/e.md", without_keys(token), AWAY) == "tool_internal"
