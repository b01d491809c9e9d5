"""What a dream has changed is shown line by line, and a person takes it back."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.api import dream_changes
from memolith.app.api.memories import Memories
from memolith.app.kernel.results import Memory
from memolith.core.sent_size import sent_size
from tests.api.dreams.stage import TEXTS, Stage
from tests.unit.app.scene import AWAY, HOME


def ask(stage: Stage, method: str, path: str, status: int = 200, key: str | None = None) -> Any:
    with httpx2.Client(transport=stage.gateway, base_url="https://memolith.test") as client:
        reply = client.request(method, path, headers={"x-api-key": key or stage.scene.api_key})
    assert reply.status_code == status, reply.text
    return reply.json()


def person(stage: Stage) -> str:
    return stage.scene.cloud.key("write", holder="person")


def test_a_dreams_changes_are_the_lines_that_it_wrote_and_a_person_takes_them_back(stage: Stage) -> None:
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    read = [one.memory_version_id for one in listed if one.type == "memory" and one.path != "/other.md"]
    dream = stage.done(stage.update())
    assert stage.texts() != TEXTS
    assert "memver_" not in json.dumps(stage.scene.cloud.rows(HOME, "keys")[dream.id, "dream"]), "no row has sources"
    stage.client.beta.dreams.archive(dream.id)
    changes = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")
    assert (changes["type"], changes["proposal"]) == ("dream_changes", None)
    found = {one["path"]: one for one in changes["data"]}
    assert {path: one["operation"] for path, one in found.items()} == {"/new.md": "modified", "/old.md": "deleted"}
    assert f"-{TEXTS['/old.md']}" in found["/old.md"]["diff"]["text"]
    assert "says Ada" in found["/new.md"]["diff"]["text"]
    assert {path: sorted(one["sources"]) for path, one in found.items()} == dict.fromkeys(found, sorted(read))
    reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
    assert {one["path"]: one["outcome"] for one in reversal["data"]} == {"/new.md": "reverted", "/old.md": "reverted"}
    assert stage.texts() == TEXTS
    versions = len(list(stage.client.beta.memory_stores.memory_versions.list(stage.scene.store)))
    again = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
    assert {one["outcome"] for one in again["data"]} == {"unchanged"}
    assert len(list(stage.client.beta.memory_stores.memory_versions.list(stage.scene.store))) == versions


@pytest.mark.parametrize("set_right", ["asked for", "begun"])
def test_a_dream_that_was_asked_for_or_begun_while_a_clock_was_ahead_shows_its_changes_and_is_taken_back(
    stage: Stage, set_right: str
) -> None:
    """The clock is set right as soon as it is asked for, or while its model is asked."""
    dream = stage.update()

    def set_clock_right() -> None:
        stage.scene.clock.advance(-3_600)
        stage.model.before = lambda: None

    if set_right == "begun":
        stage.model.before = set_clock_right
    else:
        set_clock_right()
    stage.done(dream)
    stage.scene.clock.advance(60)
    changes = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")["data"]
    assert {one["path"] for one in changes} == {"/new.md", "/old.md"}
    reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
    assert {one["outcome"] for one in reversal["data"]} == {"reverted"}
    assert stage.texts() == TEXTS


@pytest.mark.parametrize(("refused", "status"), [(1, 503), (2, 504)])
def test_a_dream_that_was_taken_back_in_part_is_not_told_as_left_as_it_was(
    stage: Stage, refused: int, status: int
) -> None:
    """The bucket refuses the first, or the second, of two writes."""
    dream, key = stage.done(stage.update()), person(stage)
    with stage.scene.struck_by(Strike(Fault.REFUSED, "objects.put_if_absent", refused)):
        answer = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", status, key)
    assert ("in part" in answer["error"]["message"]) == (status == 504)
    stage.scene.clock.advance(11)  # for as long the path of the refused creation may be held
    ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=key)
    assert stage.texts() == TEXTS


def test_changes_that_one_answer_has_no_room_for_are_left_out_and_say_so(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    dream = stage.done(stage.update())
    whole = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")["data"]
    assert [one["diff_left_out"] for one in whole] == [False, False]
    sizes = [sent_size(one["diff"]["text"]) for one in whole]
    for room, kept in ((sum(sizes), [True, True]), (sum(sizes) - 1, [True, False]), (0, [False, False])):
        monkeypatch.setattr(dream_changes, "PROPOSAL_SENT_MAX_BYTES", room)
        found = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")["data"]
        assert [one["diff"] for one in found] == [
            one["diff"] if is_kept else None for one, is_kept in zip(whole, kept, strict=True)
        ]
        assert [one["diff_left_out"] for one in found] == [not is_kept for is_kept in kept]
    reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
    assert {one["outcome"] for one in reversal["data"]} == {"reverted"}
    assert stage.texts() == TEXTS


def test_the_changes_of_a_dream_that_proposes_share_one_answer_with_its_proposal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.fill({"/policy/a.md": "a\n" * 50, "/b.md": "b\n" * 50})
    stage.client.beta.memory_stores.update(
        stage.scene.store, extra_body={"approval": {"paths": [{"prefix": "/policy/"}]}}
    )
    stage.scene.deliver()
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    versions = {one.path: one.memory_version_id for one in listed if one.type == "memory"}
    edit = {"op": "replace", "old": None, "new": None, "to": None, "why": "w"}
    edits = [
        {**edit, "path": path, "content": "c\n" * 50, "sources": [versions[path]]} for path in ("/policy/a.md", "/b.md")
    ]
    stage.model.said = [{"open": [], "edits": edits, "summary": "", "done": True}]
    dream = stage.done(stage.update())
    whole = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")
    [proposed], [written] = whole["proposal"]["edits"], whole["data"]
    sizes = [sent_size(text) for text in (proposed["content"], proposed["diff"]["text"], written["diff"]["text"])]
    for room, is_kept in ((sum(sizes), True), (sum(sizes) - 1, False)):
        monkeypatch.setattr(dream_changes, "PROPOSAL_SENT_MAX_BYTES", room)
        found = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")
        assert found["proposal"] == whole["proposal"]
        assert [one["diff_left_out"] for one in found["data"]] == [not is_kept]


def test_what_a_dreams_edits_rest_on_is_erased_with_the_store(stage: Stage) -> None:
    stage.done(stage.update())
    stage.scene.deliver()
    assert all(any(run.sources for run in stage.runs(region)) for region in (HOME, AWAY))
    stage.erase_store()
    assert [run.sources for run in (*stage.runs(HOME), *stage.runs(AWAY)) if run.sources] == []


def test_what_was_changed_since_a_dream_stays_when_it_is_taken_back(stage: Stage) -> None:
    dream = stage.done(stage.update())
    memories = stage.client.beta.memory_stores.memories
    new = next(one for one in memories.list(stage.scene.store) if one.path == "/new.md")
    assert new.type == "memory"
    memories.update(new.id, memory_store_id=stage.scene.store, content="A person wrote this.")
    memories.create(stage.scene.store, path="/old.md", content="And this, where the dream deleted.")
    reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
    assert {one["outcome"] for one in reversal["data"]} == {"changed_since"}
    assert stage.texts()["/new.md"] == "A person wrote this."
    assert stage.texts()["/old.md"] == "And this, where the dream deleted."


def taken_away(stage: Stage, path: str, gone: bool) -> Memory:
    """A person deletes the memory at a path, or renames it; return it as it was there."""
    [memory] = [one for one in stage.scene.page().items if one.path == path]
    assert isinstance(memory, Memory)
    if gone:
        stage.scene.delete(memory)
    else:
        stage.scene.update(memory, path="/mine.md")
    return memory


@pytest.mark.parametrize("gone", [True, False])
def test_a_memory_that_a_person_deleted_or_renamed_is_not_made_again_once_the_dreams_version_is_redacted(
    stage: Stage, gone: bool
) -> None:
    dream = stage.done(stage.update())
    new = taken_away(stage, "/new.md", gone)
    stage.client.beta.memory_stores.memory_versions.redact(new.version_id, memory_store_id=stage.scene.store)
    changes = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")["data"]
    assert {one["path"]: one["diff"] is None for one in changes} == {"/new.md": True, "/old.md": False}
    reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
    outcomes = {one["path"]: one["outcome"] for one in reversal["data"]}
    assert outcomes == {"/new.md": "changed_since", "/old.md": "reverted"}
    assert "/new.md" not in stage.texts()


@pytest.mark.parametrize("gone", [True, False])
def test_what_a_person_deleted_or_renamed_since_its_dream_was_taken_back_is_not_made_once_more(
    stage: Stage, gone: bool
) -> None:
    dream, key = stage.done(stage.update()), person(stage)
    ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=key)
    taken_away(stage, "/old.md", gone)
    reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=key)
    outcomes = {one["path"]: one["outcome"] for one in reversal["data"]}
    assert outcomes == {"/new.md": "unchanged", "/old.md": "changed_since"}
    assert "/old.md" not in stage.texts()


def test_a_text_that_was_empty_is_empty_again_when_what_a_dream_put_there_is_withheld(stage: Stage) -> None:
    stage.fill({"/empty.md": ""})
    [was] = [one for one in stage.scene.page().items if one.path == "/empty.md"]
    assert isinstance(was, Memory)
    edit = {"op": "replace", "path": "/empty.md", "content": "bad", "old": None, "new": None, "to": None, "why": "so"}
    edit["sources"] = [was.version_id]  # type: ignore[assignment]  # a list beside texts
    stage.model.said = [{"open": [], "edits": [edit], "summary": "", "done": True}]
    dream = stage.done(stage.update())
    stage.scene.judge(stage.scene.read(was.id, full=False))
    [one] = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))["data"]
    assert one["outcome"] == "reverted"
    assert stage.texts()["/empty.md"] == ""


def test_what_a_dream_made_is_deleted_when_it_is_taken_back(stage: Stage) -> None:
    version = next(iter(stage.client.beta.memory_stores.memory_versions.list(stage.scene.store))).id
    edit = {"op": "create", "path": "/made.md", "content": "made", "old": None, "new": None, "to": None, "why": "so"}
    edit["sources"] = [version]  # type: ignore[assignment]  # a list beside texts
    stage.model.said = [{"open": [], "edits": [edit], "summary": "", "done": True}]
    dream = stage.done(stage.update())
    assert stage.texts()["/made.md"] == "made"
    for outcome in ("reverted", "unchanged"):
        [one] = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))["data"]
        assert (one["path"], one["outcome"]) == ("/made.md", outcome)
    assert stage.texts() == TEXTS


def test_the_lines_of_a_rename_say_where_from_and_where_to_as_those_of_a_proposal_do(stage: Stage) -> None:
    version = next(iter(stage.client.beta.memory_stores.memory_versions.list(stage.scene.store))).id
    edit = {"op": "rename", "path": "/new.md", "to": "/moved.md", "content": None, "old": None, "new": None}
    said = {"open": [], "edits": [edit | {"why": "so", "sources": [version]}], "summary": "", "done": True}
    diffs = []
    for behavior in ({"type": "propose"}, {"type": "update_existing", "memory_store_id": stage.scene.store}):
        stage.model.said = [said]
        dream = stage.done(stage.create(extra_body={"output_behavior": behavior}))
        found = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")
        [one] = found["data"] or found["proposal"]["edits"]
        diffs.append(one["diff"]["text"])
    assert diffs == ["rename from /new.md\nrename to /moved.md\n"] * 2


def test_a_memory_that_is_renamed_while_its_dream_is_taken_back_stays_where_it_is(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = next(iter(stage.client.beta.memory_stores.memory_versions.list(stage.scene.store))).id
    nothing = dict.fromkeys(("content", "old", "new", "to")) | {"why": "so", "sources": [version]}
    edits = [
        {**nothing, "op": "create", "path": "/made.md", "content": "made"},
        {**nothing, "op": "rename", "path": "/new.md", "to": "/moved.md"},
    ]
    stage.model.said = [{"open": [], "edits": edits, "summary": "", "done": True}]
    dream = stage.done(stage.update())
    theirs = {"/made.md": "/kept.md", "/moved.md": "/mine.md"}
    real = Memories.retrieve

    def rename_what_was_read(self: Memories, *args: Any, **options: Any) -> Memory:
        found = real(self, *args, **options)
        stage.scene.update(found, path=theirs[found.path])
        return found

    monkeypatch.setattr(Memories, "retrieve", rename_what_was_read)
    reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
    outcomes = {one["path"]: one["outcome"] for one in reversal["data"]}
    assert outcomes == {"/made.md": "changed_since", "/new.md": "changed_since"}
    assert stage.texts() == {
        **{path: TEXTS[path] for path in ("/old.md", "/other.md")},
        "/kept.md": "made",
        "/mine.md": TEXTS["/new.md"],
    }


@pytest.mark.parametrize(("approved", "status"), [(False, "rejected"), (True, "reverted")])
def test_a_dream_that_proposed_is_taken_back_with_its_proposal(stage: Stage, approved: bool, status: str) -> None:
    dream = stage.done(stage.create(extra_body={"output_behavior": {"type": "propose"}}))
    proposal = ask(stage, "GET", f"/v1/dreams/{dream.id}/changes")["proposal"]
    assert [edit["diff"]["text"] != "" for edit in proposal["edits"]] == [True, True]
    if approved:
        stage.memolith.proposals.approve(stage.scene.call(), stage.scene.store, proposal["id"])
    for _ in range(2):
        reversal = ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", key=person(stage))
        assert (reversal["proposal"]["status"], reversal["data"]) == (status, [])
    assert stage.texts() == TEXTS


def test_only_a_person_takes_a_dream_back_and_only_one_that_is_over_and_wrote_into_its_input(stage: Stage) -> None:
    waiting = stage.update()
    ask(stage, "POST", f"/v1/dreams/{waiting.id}/revert", 400, person(stage))
    dream = stage.done(waiting)
    before = stage.texts()
    ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", 403, stage.scene.cloud.key("write"))
    ask(stage, "POST", f"/v1/dreams/{dream.id}/revert", 403, stage.scene.cloud.key("read"))
    copied = stage.done(stage.create())
    for method, below in (("GET", "changes"), ("POST", "revert")):
        error = ask(stage, method, f"/v1/dreams/{copied.id}/{below}", 400, person(stage))
        assert copied.outputs[0].memory_store_id in error["error"]["message"]
        ask(stage, method, "/v1/dreams/drm_useast1_01m83b139sgy7nmp15vwsq4br0/" + below, 404)
    assert stage.texts() == before
