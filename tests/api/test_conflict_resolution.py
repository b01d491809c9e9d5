"""A conflict that a person resolves, over HTTP: once, for one side or for both, and never by a machine."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from memolith.app.kernel.results import RequestContext
from memolith.core.errors import InvalidRequest, PermissionDenied
from tests.api.harness import Backend
from tests.unit.app.scene import AWAY, HOME, INDEXED
from tests.unit.app.searched import Searched

FIRST, SECOND = "# Gateway\n\n- [limit] The timeout is 30 s\n", "- [limit] The timeout of [[Gateway]] is 60 s\n"


@pytest.fixture
def store(sessions_backend: Backend) -> str:
    return sessions_backend.client().beta.memory_stores.create(name="Team notes").id


def put(backend: Backend, store: str, path: str, content: str) -> Any:
    return backend.client().beta.memory_stores.memories.create(store, path=path, content=content)


def asked(backend: Backend, store: str, what: str, **query: object) -> Any:
    reply = backend.raw("GET", f"/v1/memory_stores/{store}/{what}", urlencode(query))
    assert reply.status == 200, reply.body
    return reply.body


def listed(backend: Backend, store: str, status: str = "open") -> list[Any]:
    return list(asked(backend, store, "conflicts", status=status)["conflicts"])


def resolve(backend: Backend, store: str, conflict: Any, keep: str) -> Any:
    body = {"memory_version_ids": [side["memory_version_id"] for side in conflict["sides"]], "keep": keep}
    path = f"/v1/memory_stores/{store}/conflicts/{conflict['id']}/resolve"
    return backend.raw("POST", path, body=json.dumps(body).encode())


@pytest.fixture
def conflict(sessions_backend: Backend, store: str) -> Any:
    put(sessions_backend, store, "/gateway.md", FIRST)
    put(sessions_backend, store, "/ops.md", SECOND)
    put(sessions_backend, store, "/pizza.md", "# Pizza\n\n- [day] Pizza is on Fridays\n")
    [one] = listed(sessions_backend, store)
    return one


def test_a_side_that_a_person_chose_is_listed_with_who_and_when_and_is_open_no_more(
    sessions_backend: Backend, store: str, conflict: Any
) -> None:
    keep = conflict["sides"][0]["statement_id"]
    reply = resolve(sessions_backend, store, conflict, keep)
    assert (reply.status, reply.body["keep"], reply.body["conflict_id"]) == (200, keep, conflict["id"])
    assert reply.body["resolved_by"]["type"] == "api_actor"
    assert listed(sessions_backend, store) == []
    [one] = listed(sessions_backend, store, "resolved")
    assert (one["id"], one["status"], one["resolution"]) == (conflict["id"], "resolved", reply.body)
    assert one["sides"] == conflict["sides"], "nothing was changed for it"


def test_a_conflict_is_resolved_once_and_a_repetition_is_answered_with_what_holds(
    sessions_backend: Backend, store: str, conflict: Any
) -> None:
    first = resolve(sessions_backend, store, conflict, "both").body
    assert resolve(sessions_backend, store, conflict, "both").body == first
    other = resolve(sessions_backend, store, conflict, conflict["sides"][1]["statement_id"])
    assert (other.status, other.body["error"]["type"]) == (400, "invalid_request_error")
    assert "resolved already: both" in other.body["error"]["message"]


def test_nothing_is_decided_about_a_memory_that_was_changed_since_it_was_listed(
    sessions_backend: Backend, store: str, conflict: Any
) -> None:
    memories = sessions_backend.client().beta.memory_stores.memories
    memory_id = conflict["sides"][0]["memory"]["memory_id"]
    memories.update(memory_id, memory_store_id=store, content="- [limit] The timeout of [[Gateway]] is 5 s\n")
    reply = resolve(sessions_backend, store, conflict, "both")
    assert (reply.status, reply.body["error"]["type"]) == (400, "invalid_request_error")
    assert "memory_version_ids" in reply.body["error"]["message"]
    assert "list the conflicts again" in reply.body["error"]["message"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"keep": "first"}, "keep"),
        ({"keep": f"stmt_{'0' * 40}"}, "keep"),
        ({"memory_version_ids": []}, "memory_version_ids"),
        ({"memory_version_ids": ["memver_x", "memver_y"]}, "memory_version_ids"),
        ({"reason": "it is newer"}, "reason"),
    ],
)
def test_a_request_that_names_no_side_is_refused_by_the_name_of_its_field(
    sessions_backend: Backend, store: str, conflict: Any, change: dict[str, object], field: str
) -> None:
    body = {"memory_version_ids": [side["memory_version_id"] for side in conflict["sides"]], "keep": "both", **change}
    path = f"/v1/memory_stores/{store}/conflicts/{conflict['id']}/resolve"
    reply = sessions_backend.raw("POST", path, body=json.dumps(body).encode())
    assert reply.status == 400
    assert reply.body["error"]["message"].startswith(field)
    assert listed(sessions_backend, store) == [conflict]


def test_a_conflict_that_is_none_between_these_versions_is_not_resolved(
    sessions_backend: Backend, store: str, conflict: Any
) -> None:
    other = conflict | {"id": f"conf_{'0' * 40}"}
    assert "conflict_id" in resolve(sessions_backend, store, other, "both").body["error"]["message"]
    assert resolve(sessions_backend, store, conflict | {"id": "conf_x"}, "both").status == 404


def test_what_is_in_dispute_is_marked_in_every_answer_until_it_is_resolved(
    sessions_backend: Backend, store: str, conflict: Any
) -> None:
    backend = sessions_backend
    marks = [{"conflict_id": conflict["id"], "line": 3}]

    def shown() -> tuple[object, ...]:
        hits = {
            one["memory"]["path"]: one["disputed"] for one in asked(backend, store, "search", query="timeout")["data"]
        }
        [recalled] = [
            one for one in asked(backend, store, "recall", query="timeout")["memories"] if one["path"] == "/gateway.md"
        ]
        [context] = asked(backend, store, "context", url="gateway.md")["results"]
        stated = asked(backend, store, "observations")["observations"]
        return (
            hits["/gateway.md"],
            recalled["disputed"],
            context["primary_result"]["disputed"],
            [one["disputed"] for one in context["observations"]],
            {one["content"]: one["disputed"] for one in stated}["Pizza is on Fridays"],
        )

    assert shown() == (marks, marks, marks, [[conflict["id"]]], [])
    resolve(backend, store, conflict, "both")
    assert shown() == ([], [], [], [[]], [])


# ---- who decides, and where ------------------------------------------------------------------------------------------


class Contradicted(Searched):
    """A store with two statements that contradict each other."""

    def __init__(self) -> None:
        super().__init__()
        self.made = [self.create("/gateway.md", FIRST), self.create("/ops.md", SECOND)]
        self.deliver()

    def conflicts(self, at: str = HOME, *, resolved: bool = False) -> Any:
        page = self.at(at).conflicts.page
        return page(
            self.call(), self.store, path_prefix=None, superseded=False, limit=10, resolved=resolved
        ).items  # fmt: skip

    def decide(self, keep: str, *, at: str = HOME, call: RequestContext | None = None) -> Any:
        [one] = self.conflicts() or self.conflicts(resolved=True)
        versions = [side.version_id for side in one.sides]
        resolve = self.at(at).conflict_resolutions.resolve
        return resolve(call or self.call(), self.store, one.id, version_ids=versions, keep=keep)


def test_a_resolution_holds_as_long_as_both_statements_say_what_they_said() -> None:
    scene = Contradicted()
    decided = scene.decide("both")
    ops = scene.made[1]
    scene.update(ops, f"Read on Monday.\n\n{SECOND}")
    assert scene.conflicts() == (), "another line of the memory has changed"
    scene.update(ops, SECOND.replace("60", "90"))
    [one] = scene.conflicts()
    assert one.id != decided.conflict_id
    scene.update(ops, SECOND)
    assert scene.conflicts() == ()


def test_a_key_that_no_person_holds_and_a_session_resolve_nothing() -> None:
    scene = Contradicted()
    machine = scene.call(scene.cloud.key("write"))
    with pytest.raises(PermissionDenied, match="person"):
        scene.decide("both", call=machine)
    assert len(scene.conflicts()) == 1


def test_a_conflict_that_is_resolved_elsewhere_is_known_where_the_call_landed_and_everywhere_once_it_is_indexed() -> (
    None
):
    scene = Contradicted()
    decided = scene.decide("both", at=AWAY)
    assert [one.resolution for one in scene.conflicts(AWAY, resolved=True)] == [decided]
    assert scene.conflicts(HOME) == ()
    scene.deliver()
    for table in INDEXED:
        assert scene.cloud.rows(AWAY, table) == scene.cloud.rows(HOME, table), table


@pytest.mark.parametrize("keep", ["both", "one side"])
def test_what_was_decided_at_the_last_home_holds_at_the_next_that_has_the_record_and_has_not_indexed_it(
    keep: str,
) -> None:
    """The move brings what is missing in the bucket, and its event tells of nothing that was there before."""
    scene = Contradicted()
    [one] = scene.conflicts()
    decided = scene.decide("both")
    [event] = [event for event in scene.cloud.pending if "/resolution/" in event.key]
    scene.cloud.buckets.replicate(event, AWAY)
    scene.drop_events()
    moved = scene.cloud.peers.call(AWAY, "reconciler", {"call": "homes.move", "store_id": scene.store})
    assert moved["state"] == "moved"
    if keep == "both":
        assert scene.decide("both", at=AWAY) == decided
    else:
        with pytest.raises(InvalidRequest, match="resolved already: both"):
            scene.decide(one.sides[0].statement_id, at=AWAY)
    assert scene.conflicts(AWAY) == ()
    assert [one.resolution for one in scene.conflicts(AWAY, resolved=True)] == [decided]


def test_of_two_people_who_resolve_one_conflict_at_once_one_decides_and_the_other_is_told() -> None:
    scene = Contradicted()
    [one] = scene.conflicts()
    keep = one.sides[0].statement_id
    other: list[Any] = []

    def meanwhile(call: Any, act: Any) -> Any:
        if call.name == "objects.put_if_absent" and not other:
            other.append(None)
            other[0] = scene.decide("both")
        return act()

    with scene.intercepted_by(meanwhile), pytest.raises(InvalidRequest, match="resolved already: both"):
        scene.decide(keep)
    [resolved] = scene.conflicts(resolved=True)
    assert resolved.resolution == other[0]


def test_a_text_that_is_withheld_since_is_no_side_that_is_chosen() -> None:
    scene = Contradicted()
    [one] = scene.conflicts()
    versions = [side.version_id for side in one.sides]
    scene.judge(scene.made[0])
    with pytest.raises(InvalidRequest, match="memory_version_ids"):
        scene.at(HOME).conflict_resolutions.resolve(
            scene.call(), scene.store, one.id, version_ids=versions, keep="both"
        )


def test_the_record_of_a_resolution_says_nothing_of_what_was_said() -> None:
    scene = Contradicted()
    scene.decide("both")
    [key] = scene.cloud.buckets.page(HOME, f"{HOME}/resolution/", None, 10).keys
    stored = scene.cloud.buckets.current(HOME, key)
    assert stored is not None
    for said in ("timeout", "gateway", "limit"):
        assert said not in stored.body.decode().lower()
