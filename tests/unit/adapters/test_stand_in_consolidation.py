"""What the stand-in makes of a store and of notes: a consolidation by rules, within what one answer may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.models.extractive import ExtractiveModels
from memolith.adapters.models.forms import EDITS_MAX, SOURCES_MAX
from memolith.core.limits import CONTENT_MAX_BYTES, PATH_MAX_BYTES
from memolith.core.pipelines.framing import framed
from memolith.ports.model import AnswerForm, Ask, Purpose, Role, Turn

SENTENCE = "the staging database in Frankfurt is read-only for everyone but the release bot of the team"


def _consolidate(memories: dict[str, str | None], notes: list[dict[str, object]]) -> dict[str, str | None]:
    """Return the store after the stand-in's edits."""
    edits = _edits(memories, notes)
    after = dict(memories)
    for edit in edits:
        if edit["op"] == "delete":
            del after[str(edit["path"])]
        else:
            after[str(edit["path"])] = str(edit["content"])
    return after


def _edits(memories: dict[str, str | None], notes: list[dict[str, object]]) -> list[dict[str, object]]:
    edits: list[dict[str, object]] = _consolidation(memories, notes)["edits"]
    return edits


def _consolidation(memories: dict[str, str | None], notes: list[dict[str, object]]) -> dict[str, Any]:
    listed = [
        {"path": path, "version": f"memver_{number}", "updated_at": f"2026-01-01T00:{number:02}", "text": text}
        for number, (path, text) in enumerate(memories.items())
    ]
    turn = Turn(Role.USER, framed({"memories": listed, "notes": notes, "removed": []}))
    ask = Ask((), (turn,), Purpose.CONSOLIDATE, "k", AnswerForm.CONSOLIDATION)
    data: dict[str, Any] = ExtractiveModels().named("any").ask(ask).data
    return data


def _note(body: str, **more: object) -> dict[str, object]:
    return {"id": "n1", "type": "project", "name": "Staging database", "description": body, "body": body, **more}


def test_the_stand_in_makes_memories_of_notes_and_an_index_and_then_has_nothing_to_do() -> None:
    notes = [_note(SENTENCE)]
    after = _consolidate({}, notes)
    assert set(after) == {"/project/staging-database.md", "/MEMORY.md"}
    assert "project/staging-database.md" in str(after["/MEMORY.md"])
    assert _edits(after, notes) == []


def test_the_newest_wording_stands_and_the_one_before_is_kept() -> None:
    after = _consolidate({}, [_note(SENTENCE)])
    changed = _note(SENTENCE.replace("read-only", "closed"))
    later = _consolidate(after, [changed])
    text = str(later["/project/staging-database.md"])
    assert "closed" in text.partition("## Earlier")[0]
    assert "read-only" in text.partition("## Earlier")[2]
    assert _edits(later, [changed]) == []


def test_memories_that_say_the_same_become_one_and_no_word_is_lost() -> None:
    memories: dict[str, str | None] = {
        "/old.md": f"Note well: {SENTENCE}, says Ada.",
        "/new.md": f"It is so: {SENTENCE}.",
        "/other.md": "Completely different words about the deployment of the website to production on Fridays.",
    }
    after = _consolidate(memories, [])
    assert set(after) == {"/new.md", "/other.md"}
    assert "says Ada" in str(after["/new.md"])
    assert _edits(after, []) == []


@pytest.mark.parametrize("make", [lambda: {"/a.md": "short"}, lambda: {"/a.md": "same same", "/b.md": "same same"}])
def test_a_store_with_nothing_to_merge_gets_no_edit(make: Callable[[], dict[str, str | None]]) -> None:
    assert _edits(make(), []) == []


def _facts(count: int) -> list[dict[str, object]]:
    return [
        _note(
            f"Fact {number}: {number * 7} is that of {number}.",
            id=f"n.{number:03}",
            at=f"{number:03}",
            name=f"{number}",
        )
        for number in range(count)
    ]


def test_the_stand_in_takes_the_earliest_notes_that_one_answer_has_room_for_and_is_not_done() -> None:
    data = _consolidation({}, _facts(EDITS_MAX + 1))
    assert data["done"] is False
    *taken, index = data["edits"]
    assert [edit["sources"] for edit in taken] == [[f"n.{number:03}"] for number in range(EDITS_MAX - 1)]
    assert (index["path"], len(data["edits"])) == ("/MEMORY.md", EDITS_MAX)


@pytest.mark.slow
def test_the_stand_in_takes_all_notes_in_as_many_answers_as_it_needs() -> None:
    memories: dict[str, str | None] = {}
    facts = _facts(2 * EDITS_MAX)
    for _ in range(3):
        memories = _consolidate(memories, facts)
    assert all(any(str(fact["body"]) in str(text) for text in memories.values()) for fact in facts)
    assert _consolidation(memories, facts) == {"open": [], "edits": [], "summary": "", "done": True}


def test_a_later_wording_is_not_taken_before_an_earlier_note_for_which_there_is_no_room() -> None:
    facts = _facts(EDITS_MAX)
    again = {**facts[0], "id": "n.900", "at": "900", "body": "Fact 0 is another one now."}
    data = _consolidation({}, [*facts, again])
    assert data["done"] is False
    assert not any("n.900" in edit["sources"] for edit in data["edits"])


def test_an_answer_of_the_stand_in_that_has_room_for_all_notes_is_done() -> None:
    data = _consolidation({}, _facts(EDITS_MAX - 1))
    assert (data["done"], len(data["edits"])) == (True, EDITS_MAX)


def test_the_stand_in_merges_as_many_memories_as_one_answer_has_room_for_and_the_others_in_the_next() -> None:
    memories: dict[str, str | None] = {f"/{number:03}.md": f"{SENTENCE}, says {number}." for number in range(70)}
    first = _edits(memories, [])
    assert (len(first), {str(edit["op"]) for edit in first}) == (EDITS_MAX - 1, {"replace", "delete"})
    after = _consolidate(memories, [])
    assert len(after) == 70 - (EDITS_MAX - 2)
    assert len(_consolidate(after, [])) == 1


def test_notes_come_before_merges_where_one_answer_has_no_room_for_both() -> None:
    memories: dict[str, str | None] = {"/a.md": f"{SENTENCE}, says Ada.", "/b.md": f"{SENTENCE}, says Ben."}
    data = _consolidation(memories, _facts(EDITS_MAX - 1))
    assert data["done"] is True
    assert {edit["op"] for edit in data["edits"]} == {"create"}
    assert len(_consolidate(memories, _facts(EDITS_MAX - 4))) == EDITS_MAX - 4 + 2, "one of the two, and the index"


def test_memories_that_say_the_same_stay_two_where_one_would_be_too_long() -> None:
    text = " ".join(f"word{number}" for number in range(7_000))
    memories: dict[str, str | None] = {"/a.md": f"{text} a", "/b.md": f"{text} b", "/c.md": f"{SENTENCE}."}
    assert _edits(memories, []) == []
    memories["/d.md"] = f"{SENTENCE}, says Dan."
    assert {str(edit["path"]) for edit in _edits(memories, [])} == {"/c.md", "/d.md"}, "the others are merged as ever"


def test_a_note_replaces_a_long_wording_that_has_no_room_beside_it() -> None:
    long = "x" * (CONTENT_MAX_BYTES - 20)
    after = _consolidate({"/project/staging-database.md": long}, [_note(SENTENCE)])
    assert SENTENCE in str(after["/project/staging-database.md"])
    assert "xxx" not in str(after["/project/staging-database.md"])


def test_of_many_notes_about_one_memory_the_edit_names_the_newest_as_its_sources() -> None:
    notes = [_note(f"Wording {number}.", id=f"n.{number:03}", at=f"{number:03}") for number in range(SOURCES_MAX + 6)]
    [edit, _] = _edits({}, notes)
    assert edit["sources"] == [f"n.{number:03}" for number in range(6, SOURCES_MAX + 6)]


def test_a_memory_with_the_longest_path_is_merged_too() -> None:
    path = f"/{'a' * (PATH_MAX_BYTES - 4)}.md"
    memories: dict[str, str | None] = {"/old.md": f"{SENTENCE}, says Ada.", path: f"{SENTENCE}."}
    assert [edit["op"] for edit in _edits(memories, [])] == ["replace", "delete"]
