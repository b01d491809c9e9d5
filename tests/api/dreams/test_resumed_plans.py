"""A plan that is taken up again is carried out to its end, and nothing of it a second time that a person has undone."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from memolith.adapters.layered import Call, Crash, Fault, Faulty
from memolith.app.api import dream_runner
from memolith.app.api.dream_plan import kept_plan
from memolith.app.api.dream_run import Taken
from tests.api.dreams.stage import TEXTS, Stage
from tests.api.dreams.test_erased_plans import proposals
from tests.api.dreams.test_forgotten_steps import pause_after_asking, steps
from tests.api.dreams.test_steps import Killing

MADE, REPLACED = "what the model made", "what the model wrote instead"
DREAMT = {"/made.md": MADE, "/moved.md": TEXTS["/new.md"], "/other.md": REPLACED}
"""The store as the dream leaves it by itself: it makes, renames, replaces and deletes a memory."""


def say_one_edit_of_each_kind(stage: Stage) -> None:
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    source = next(one.memory_version_id for one in listed if one.type == "memory")
    nothing = dict.fromkeys(("content", "old", "new", "to")) | {"why": "w", "sources": [source]}
    edits = [
        {**nothing, "op": "create", "path": "/made.md", "content": MADE},
        {**nothing, "op": "rename", "path": "/new.md", "to": "/moved.md"},
        {**nothing, "op": "replace", "path": "/other.md", "content": REPLACED},
        {**nothing, "op": "delete", "path": "/old.md"},
    ]
    stage.model.said = [{"open": [], "edits": edits, "summary": "", "done": True}]


def undo(stage: Stage) -> dict[str, str]:
    """Take back as a person whatever the dream has written so far; return what the store has in the end by that."""
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    found = {one.path: one for one in listed if one.type == "memory"}
    expected = dict(DREAMT)
    if "/made.md" in found:
        stage.scene.delete(found["/made.md"].id)
        del expected["/made.md"]
    if "/moved.md" in found:
        stage.scene.update(found["/moved.md"].id, path="/better.md")
        expected["/better.md"] = expected.pop("/moved.md")
    if stage.texts()["/other.md"] == REPLACED:
        stage.scene.update(found["/other.md"].id, TEXTS["/other.md"])
        expected["/other.md"] = TEXTS["/other.md"]
    if "/old.md" not in found:
        stage.scene.create("/old.md", TEXTS["/old.md"])
        expected["/old.md"] = TEXTS["/old.md"]
    return expected


def counts(stage: Stage, dream: Any) -> tuple[str, int, int, int, int]:
    over: Any = stage.client.beta.dreams.retrieve(dream.id)
    told = over.model_extra["x_memolith"]
    return over.status, told["created"], told["changed"], told["deleted"], told["conflicts"]


class KilledAtPut:
    """Has the caller die once the entry of that number is in a log, before any index has it."""

    def __init__(self, number: int) -> None:
        self._left = number

    def strike(self, call: Call) -> Fault | None:
        self._left -= call.name == "objects.put_if_absent" and "/log/" in call.subjects[0]
        return Fault.CRASH_AFTER if self._left == 0 else None


def kill_once_it_has_made_a_memory(stage: Stage) -> Any:
    """Let a dream be killed between the put of the memory that it makes and all else; return the dream."""
    say_one_edit_of_each_kind(stage)
    dream = stage.update()
    assert stage.runner is not None
    with stage.scene.intercepted_by(Faulty(KilledAtPut(1))), pytest.raises(Crash):
        stage.runner.tick(stage.workspace)
    stage.scene.deliver()
    assert stage.texts() == {**TEXTS, "/made.md": MADE}
    return dream


def test_a_memory_that_a_dream_made_before_it_was_killed_and_a_person_deleted_stays_deleted(stage: Stage) -> None:
    dream = kill_once_it_has_made_a_memory(stage)
    expected = undo(stage)
    stage.scene.clock.advance(61)
    stage.tick()
    assert "/made.md" not in expected
    assert (stage.texts(), counts(stage, dream)) == (expected, ("completed", 1, 2, 1, 0))


def test_what_a_dream_wrote_before_its_store_had_agents_propose_is_neither_proposed_nor_a_conflict(
    stage: Stage,
) -> None:
    dream = kill_once_it_has_made_a_memory(stage)
    stage.client.beta.memory_stores.update(stage.scene.store, extra_body={"approval": {"agents": "propose"}})
    stage.scene.clock.advance(61)
    stage.tick()
    assert counts(stage, dream) == ("completed", 1, 0, 0, 0)
    assert len(proposals(stage)) == 3
    assert stage.texts() == {**TEXTS, "/made.md": MADE}


@pytest.mark.slow
def test_what_a_person_undid_of_a_dream_that_was_killed_stays_undone_wherever_it_was_killed() -> None:
    def killed_at(number: int | None) -> tuple[int, dict[str, str]]:
        stage = Stage(seed=3)
        stage.fill()
        say_one_edit_of_each_kind(stage)
        dream, killing = stage.update(), Killing(number)
        assert stage.runner is not None
        with stage.scene.intercepted_by(Faulty(killing)), suppress(Crash):
            stage.runner.tick(stage.workspace)
        stage.scene.deliver()
        expected = undo(stage)
        for _ in range(2):
            stage.scene.clock.advance(61)
            stage.tick()
        assert (stage.texts(), counts(stage, dream)) == (expected, ("completed", 1, 2, 1, 0)), number
        return killing.calls, expected

    calls, undone = killed_at(None)
    assert calls > 20
    met = [killed_at(number)[1] for number in range(calls // 2, calls + 1)]
    assert DREAMT in met and undone in met
    assert any("/made.md" not in expected and "/moved.md" in expected for expected in met), "killed between two writes"


def test_a_plan_that_an_earlier_release_kept_is_carried_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    of_earlier = {"reviewed", "written", "memories", "dropped", "used"}

    def keep_as_earlier(*args: Any) -> dict[str, Any]:
        plan = kept_plan(*args)
        return {name: plan[name] for name in of_earlier}

    monkeypatch.setattr(dream_runner, "kept_plan", keep_as_earlier)
    say_one_edit_of_each_kind(stage)
    dream = stage.update()
    pause_after_asking(stage, dream)
    assert set(json.loads(steps(stage)["plan"])) == of_earlier | {"schema", "remarks_until"}
    stage.model.before = lambda: None
    assert stage.runner is not None
    assert stage.runner.take_up(dream.id) is Taken.ENDED
    assert len(stage.model.asks) == 1
    assert (stage.texts(), counts(stage, dream)) == (DREAMT, ("completed", 1, 2, 1, 0))
