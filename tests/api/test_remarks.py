"""Remarks over HTTP: a line in the log of the day, whoever else writes there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from memolith.core.remarks import remarks_of
from tests.api.harness import Backend
from tests.api.test_trust import Desk

TEXT = "Deploy on Thursdays: the on-call engineer is in then."


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


@pytest.fixture
def store(backend: Backend) -> str:
    return backend.client().beta.memory_stores.create(name="Team notes").id


def logs(backend: Backend, store: str) -> dict[str, str]:
    listed = backend.client().beta.memory_stores.memories.list(store, view="full", path_prefix="/logs/")
    return {one.path: one.content or "" for one in listed if one.type == "memory"}


def test_remarks_stand_in_the_log_of_the_day_in_their_order_and_each_is_a_version(backend: Backend, store: str) -> None:
    address = f"/v1/memory_stores/{store}/log"
    first = backend.raw("POST", address, body={"text": TEXT})
    second = backend.raw("POST", address, body={"text": "Two lines:\n- 00:00 this is no other remark"})
    again = backend.raw("POST", address, body={"text": "Two lines:\n- 00:00 this is no other remark"})
    assert [reply.status for reply in (first, second, again)] == [200] * 3
    assert [(reply.body["number"], reply.body["unchanged"]) for reply in (first, second, again)] == [
        (1, False), (2, False), (2, True),
    ]  # fmt: skip
    assert again.body["memory_version_id"] == second.body["memory_version_id"]
    [(path, content)] = logs(backend, store).items()
    assert path == first.body["path"] == second.body["path"]
    said = remarks_of(path, content)
    assert [one.text for one in said] == [TEXT, "Two lines:\n- 00:00 this is no other remark"]


@pytest.mark.parametrize(
    "header",
    [{"x-memolith-consistency": "home"}, {"x-memolith-min-version": "memver_01kb0000000000000000000000"}],
    ids=lambda header: next(iter(header)),
)
def test_what_a_read_may_demand_is_ignored_by_a_remark_which_reads_the_log_first(
    backend: Backend, store: str, header: dict[str, str]
) -> None:
    texts = ("first", "second", "third")
    replies = [
        backend.raw("POST", f"/v1/memory_stores/{store}/log", body={"text": text}, headers=header) for text in texts
    ]
    assert [(reply.status, reply.body.get("number")) for reply in replies] == [(200, 1), (200, 2), (200, 3)]


@pytest.mark.parametrize("body", [{}, {"text": ""}, {"text": "x" * 2_001}, {"text": " \n"}, {"text": 1}, {"x": "y"}])
def test_what_is_no_remark_is_refused(backend: Backend, store: str, body: dict[str, object]) -> None:
    reply = backend.raw("POST", f"/v1/memory_stores/{store}/log", body=body)
    assert (reply.status, reply.body["error"]["type"]) == (400, "invalid_request_error")
    assert logs(backend, store) == {}


def test_a_key_that_may_only_read_remarks_nothing(backend: Backend, store: str) -> None:
    reader = {"authorization": f"Bearer {backend.issue_key('main', 'read')}"}
    reply = backend.raw("POST", f"/v1/memory_stores/{store}/log", body={"text": TEXT}, headers=reader)
    assert reply.status == 403


def test_a_remark_waits_for_a_person_where_the_store_says_so(backend: Backend, store: str) -> None:
    policy = {"approval": {"paths": [{"prefix": "/logs/"}]}}
    assert backend.raw("POST", f"/v1/memory_stores/{store}", body=policy).status == 200
    reply = backend.raw("POST", f"/v1/memory_stores/{store}/log", body={"text": TEXT})
    assert (reply.status, reply.body["type"], logs(backend, store)) == (202, "proposal", {})


def test_a_remark_that_waits_is_answered_without_the_log_that_its_session_has_not_read(backend: Backend) -> None:
    desk = Desk(backend)
    address = f"/v1/memory_stores/{desk.store}/log"
    _, sunk = desk.begin(desk.agent)
    desk.read(sunk, desk.web_note())
    desk.ask("POST", address, sunk, {"text": "from the web"})
    policy = {"approval": {"paths": [{"prefix": "/logs/"}]}}
    desk.ask("POST", f"/v1/memory_stores/{desk.store}", desk.backend.api_key, policy)
    _, token = desk.begin(desk.agent)
    staged = desk.ask("POST", address, token, {"text": TEXT}, status=202)
    [edit] = staged["edits"]
    assert (edit["content"], edit["content_left_out"], edit["trust"]) == (None, True, "tool_external")
    assert "from the web" not in str(staged)
    assert desk.create(token, "/before.md", "x")["trust"] == "agent"
    [edit] = desk.ask("GET", f"/v1/memory_stores/{desk.store}/proposals/{staged['id']}", token)["edits"]
    assert [remark.text for remark in remarks_of(edit["path"], edit["content"])] == ["from the web", TEXT]
    assert desk.create(token, "/after.md", "x")["trust"] == "tool_external"


def test_of_many_who_remark_at_once_no_remark_is_lost(backend: Backend, store: str) -> None:
    def remark(number: int) -> int:
        address = f"/v1/memory_stores/{store}/log"
        return next(
            tries
            for tries in range(20)
            if backend.raw("POST", address, body={"text": f"remark {number}"}).status == 200
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(remark, range(24)))
    found = [one.text for path, content in logs(backend, store).items() for one in remarks_of(path, content)]
    assert sorted(found) == sorted(f"remark {number}" for number in range(24))
