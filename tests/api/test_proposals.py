"""Proposals as callers of the API see them. Which rules hold is in tests/unit/app/api/test_proposals.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memolith.core.limits import PROPOSAL_MAX_BYTES
from tests.api.harness import Backend
from tests.api.test_limits import LAMBDA_ANSWER_MAX_BYTES


@pytest.fixture
def backend(sessions_backend: Backend) -> Backend:
    return sessions_backend


class Desk:
    """One store, an agent who proposes and a person who decides."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.store = str(backend.client().beta.memory_stores.create(name="Team notes").id)
        self.person = backend.issue_key("main", "write", holder="person")
        self.agent = backend.issue_key("main", "write", holder="agent")

    def ask(self, method: str, path: str, by: str, body: object = None, query: str = "", status: int = 200) -> Any:
        address = f"/v1/memory_stores/{self.store}/{path}" if not path.startswith("/") else path
        reply = self.backend.raw(method, address, query, body, {"authorization": f"Bearer {by}"})
        assert reply.status == status, reply.body
        return reply.body

    def propose(self, *edits: dict[str, Any], by: str | None = None, status: int = 200, **fields: Any) -> Any:
        return self.ask("POST", "proposals", by or self.agent, {"edits": list(edits), **fields}, status=status)

    def paths(self) -> list[str]:
        return [one["path"] for one in self.ask("GET", "memories", self.person)["data"]]


@pytest.fixture
def desk(backend: Backend) -> Desk:
    return Desk(backend)


def test_a_proposal_is_listed_shown_approved_and_reverted(desk: Desk) -> None:
    made = desk.propose(
        {"op": "create", "path": "/a.md", "content": "new\n", "why": "asked twice"}, why="what was learned", key="run-1"
    )
    assert (made["type"], made["status"], made["why"]) == ("proposal", "open", "what was learned")
    listed = desk.ask("GET", "proposals", desk.person)["data"]
    assert [(one["id"], one["edits"], one["why"]) for one in listed] == [(made["id"], None, None)]
    shown = desk.ask("GET", f"proposals/{made['id']}", desk.person, query="diff=unified")
    [edit] = shown["edits"]
    assert (edit["diff"]["text"], edit["conflict"], edit["trust"]) == (
        "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+new\n",
        None,
        "agent",
    )
    assert desk.paths() == []
    approved = desk.ask("POST", f"proposals/{made['id']}/approve", desk.person)
    [edit] = approved["edits"]
    assert (approved["status"], approved["complete"], edit["result"]["outcome"]) == ("approved", True, "applied")
    memory = desk.ask("GET", f"memories/{edit['result']['memory_id']}", desk.person)
    assert (memory["content"], memory["trust"]) == ("new\n", "approved")
    reverted = desk.ask("POST", f"proposals/{made['id']}/revert", desk.person)
    assert (reverted["status"], reverted["edits"][0]["reversal"]["outcome"]) == ("reverted", "reverted")
    assert desk.paths() == []
    assert [one["id"] for one in desk.ask("GET", "proposals", desk.person, query="status=reverted")["data"]] == [
        made["id"]
    ]


def test_an_edit_that_is_stale_has_the_error_that_a_direct_write_would_have(desk: Desk) -> None:
    memory = desk.ask("POST", "memories", desk.person, {"path": "/a.md", "content": "first"})
    made = desk.propose({"op": "replace", "path": "/a.md", "content": "second"})
    desk.ask("POST", f"memories/{memory['id']}", desk.person, {"content": "a person's"})
    [edit] = desk.ask("GET", f"proposals/{made['id']}", desk.person)["edits"]
    assert edit["conflict"] == "the memory's text is not what the author of the edit saw"
    [edit] = desk.ask("POST", f"proposals/{made['id']}/approve", desk.person)["edits"]
    assert (edit["result"]["outcome"], edit["result"]["error"]["status"]) == ("stale", 409)


@pytest.mark.parametrize(
    ("edit", "status", "named"),
    [
        ({"op": "create", "path": "/a.md"}, 400, "edits.0.content"),
        ({"op": "create", "path": "a.md", "content": "x"}, 400, "edits.0.path"),
        ({"op": "rename", "path": "/a.md"}, 400, "edits.0.to"),
        ({"op": "delete", "path": "/a.md", "content": "x"}, 400, "edits.0.content"),
        ({"op": "merge", "path": "/a.md"}, 400, "edits.0.op"),
        ({"op": "delete", "path": "/none.md"}, 404, "edits.0.path"),
    ],
)
def test_an_edit_at_fault_is_refused_by_the_name_of_its_field(
    desk: Desk, edit: dict[str, Any], status: int, named: str
) -> None:
    assert named in desk.propose(edit, status=status)["error"]["message"]


def test_a_proposal_is_decided_by_a_person_and_not_by_its_author(desk: Desk) -> None:
    made = desk.propose({"op": "create", "path": "/a.md", "content": "x"}, by=desk.person)
    for change, by in (("approve", desk.person), ("approve", desk.agent), ("revert", desk.agent)):
        refused = desk.ask("POST", f"proposals/{made['id']}/{change}", by, status=403)
        assert refused["error"]["type"] == "permission_error"
    desk.ask("POST", f"proposals/{made['id']}/reject", desk.agent, {"reason": "no"}, status=403)
    withdrawn = desk.ask("POST", f"proposals/{made['id']}/withdraw", desk.person)
    assert (withdrawn["status"], withdrawn["decided_by"]) == ("withdrawn", withdrawn["proposed_by"])
    refused = desk.ask("POST", f"proposals/{made['id']}/approve", desk.backend.api_key, status=400)
    assert "withdrawn already" in refused["error"]["message"]


def test_a_session_sees_its_own_proposals_alone(desk: Desk) -> None:
    resources = [{"type": "memory_store", "memory_store_id": desk.store}]
    tokens = [desk.ask("POST", "/v1/sessions", desk.person, {"resources": resources})["token"] for _ in range(2)]
    made = desk.propose({"op": "create", "path": "/a.md", "content": "x"}, by=tokens[0])
    assert [one["id"] for one in desk.ask("GET", "proposals", tokens[0])["data"]] == [made["id"]]
    assert desk.ask("GET", "proposals", tokens[1])["data"] == []
    desk.ask("GET", f"proposals/{made['id']}", tokens[1], status=404)
    desk.ask("POST", f"proposals/{made['id']}/approve", tokens[0], status=403)


def test_erasing_a_decided_proposal_leaves_nothing_of_its_texts(desk: Desk) -> None:
    made = desk.propose({"op": "create", "path": "/secret.md", "content": "personal"}, why="because")
    desk.ask("POST", f"proposals/{made['id']}/erase", desk.backend.api_key, status=400)
    desk.ask("POST", f"proposals/{made['id']}/reject", desk.person, {"reason": "too personal"})
    desk.ask("POST", f"proposals/{made['id']}/erase", desk.person, status=403)
    for _ in range(2):
        erased = desk.ask("POST", f"proposals/{made['id']}/erase", desk.backend.api_key)
        [edit] = erased["edits"]
        assert (erased["erased"], erased["why"], edit["path"], edit["content"]) == (True, "", None, None)
    shown = desk.ask("GET", f"proposals/{made['id']}", desk.person)
    assert (shown["status"], shown["reason"], shown["edits"][0]["content"]) == ("rejected", "", None)


def test_a_page_of_proposals_goes_on_where_it_ended(desk: Desk) -> None:
    made = [desk.propose({"op": "create", "path": f"/{n}.md", "content": "x"})["id"] for n in range(3)]
    first = desk.ask("GET", "proposals", desk.person, query="limit=2")
    then = desk.ask("GET", "proposals", desk.person, query=f"limit=2&page={first['next_page']}")
    assert [one["id"] for one in (*first["data"], *then["data"])] == made[::-1]
    assert then["next_page"] is None


LARGEST = [(op, text) for op in ("delete", "replace", "create") for text in ("a", 'a = "b"; ', "ж")]


@pytest.mark.slow
@pytest.mark.parametrize(("op", "text"), [*LARGEST, ("delete", "\x01")])
def test_the_largest_proposal_fits_into_an_answer_and_says_which_lines_are_left_out(
    desk: Desk, op: str, text: str
) -> None:
    """Control characters cannot be in the texts as well: a body has no room for them."""
    line = text * (78 // len(text.encode())) + "\n"
    whole = line * (100_000 // len(line.encode()))
    paths = [f"/{number:02}.md" for number in range(60 if op == "delete" else 7)]
    memories = desk.backend.client().beta.memory_stores.memories
    for path in paths if op != "create" else ():
        memories.create(desk.store, path=path, content=f"{path}\n{whole}")
    new = {"create": whole, "replace": whole.upper()}.get(op)
    asked = [{"op": op, "path": path, **({} if new is None else {"content": new})} for path in paths]
    body = json.dumps({"edits": asked}, ensure_ascii=False).encode()
    made = desk.ask("POST", "proposals", desk.agent, body)
    assert sum(len((edit["content"] or "").encode()) for edit in made["edits"]) <= PROPOSAL_MAX_BYTES
    address = f"/v1/memory_stores/{desk.store}/proposals/{made['id']}"
    answer = desk.backend.answer(desk.backend.event("GET", address, "diff=unified"))
    assert answer["statusCode"] == 200
    assert len(json.dumps(answer).encode()) < LAMBDA_ANSWER_MAX_BYTES
    shown = json.loads(answer["body"])["edits"]
    assert [edit["content"] for edit in shown] == [edit["content"] for edit in made["edits"]]
    assert not any(edit["content_left_out"] for edit in shown)
    assert [edit["diff"] is None for edit in shown] == [edit["diff_left_out"] for edit in shown]
    assert shown[0]["diff"] is not None
    assert op != "delete" or shown[-1]["diff_left_out"]
