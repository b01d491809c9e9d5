"""A text that is erased while a dream copies, or carries its plan out, is written and proposed by it no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.adapters.layered import Call
from memolith.app.api.dream_edits import DreamEdits
from memolith.app.api.dream_run import Taken
from memolith.app.api.memories import Memories
from tests.api.dreams.stage import Stage, proposed
from tests.api.dreams.test_forgotten_steps import SECRET, pause_after_asking, redact, secret_edit, steps


def erase_before_the_plan_is_carried_out(stage: Stage, monkeypatch: pytest.MonkeyPatch, ids: tuple[str, str]) -> None:
    """Redact a text, once, after the plan was kept, or found, and before anything of it is done."""
    real = DreamEdits.carry_out

    def redact_first(self: DreamEdits, *args: Any, **options: Any) -> None:
        monkeypatch.setattr(DreamEdits, "carry_out", real)
        redact(stage, *ids)
        real(self, *args, **options)

    monkeypatch.setattr(DreamEdits, "carry_out", redact_first)


def taken_up(stage: Stage, dream: Any) -> Taken:
    assert stage.runner is not None
    return stage.runner.take_up(dream.id)


def proposals(stage: Stage) -> list[str]:
    found = stage.memolith.proposals.page(stage.scene.call(), stage.scene.store, status="open", limit=9, after=None)
    return [one.id for one in found.items]


@pytest.mark.parametrize("behavior", ["update_existing", "propose"])
def test_a_plan_with_a_text_that_is_redacted_once_it_is_kept_is_neither_written_nor_proposed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, behavior: str
) -> None:
    ids = secret_edit(stage)
    proposes = {"extra_body": {"output_behavior": {"type": "propose"}}}
    dream = stage.create(**proposes) if behavior == "propose" else stage.update()
    erase_before_the_plan_is_carried_out(stage, monkeypatch, ids)
    assert taken_up(stage, dream) is Taken.PAUSED
    assert (steps(stage), proposals(stage)) == ({}, [])
    assert "/merged.md" not in stage.texts()
    assert taken_up(stage, dream) is Taken.ENDED
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"
    assert SECRET not in stage.model.asks[1].turns[0].text
    assert SECRET not in stage.texts().values()


def test_a_plan_with_a_text_that_is_redacted_once_another_worker_found_it_is_not_carried_out(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = secret_edit(stage)
    dream = stage.update()
    pause_after_asking(stage, dream)
    assert "plan" in steps(stage)
    stage.model.before = lambda: None
    erase_before_the_plan_is_carried_out(stage, monkeypatch, ids)
    assert taken_up(stage, dream) is Taken.PAUSED
    assert steps(stage) == {}
    assert "/merged.md" not in stage.texts()
    assert taken_up(stage, dream) is Taken.ENDED
    assert SECRET not in stage.texts().values()


def test_a_text_that_is_redacted_while_a_dream_copies_is_not_copied(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret_id, version_id = secret_edit(stage)
    stage.model.said = []
    dream = stage.create()
    output = stage.runs()[0].output_store_id
    real = Memories.create

    def redact_meanwhile(self: Memories, *args: Any, **options: Any) -> Any:
        monkeypatch.setattr(Memories, "create", real)
        assert options["path"] < "/secret.md", "it is copied later"
        redact(stage, secret_id, version_id)
        return real(self, *args, **options)

    monkeypatch.setattr(Memories, "create", redact_meanwhile)
    assert taken_up(stage, dream) is Taken.PAUSED
    assert stage.texts(output), "what was copied stays"
    assert SECRET not in stage.texts(output).values()
    assert taken_up(stage, dream) is Taken.ENDED
    assert stage.client.beta.dreams.retrieve(dream.id).status == "completed"
    assert stage.texts(output)["/secret.md"] == "nothing"


def test_a_copy_that_is_redacted_while_a_dream_into_it_waits_takes_the_steps_and_is_asked_about_no_more(
    stage: Stage,
) -> None:
    secret_edit(stage)
    stage.model.said = []
    dream = stage.create()
    output = stage.runs()[0].output_store_id
    pause_after_asking(stage, dream)
    assert SECRET in stage.model.asks[0].turns[0].text
    stage.scene.deliver()
    stage.model.before = lambda: None
    [copy] = [one for one in stage.client.beta.memory_stores.memories.list(output) if one.path == "/secret.md"]
    assert copy.type == "memory"
    stage.client.beta.memory_stores.memories.update(copy.id, memory_store_id=output, content="nothing")
    stage.client.beta.memory_stores.memory_versions.redact(copy.memory_version_id, memory_store_id=output)
    assert steps(stage) == {}
    assert taken_up(stage, dream) is Taken.ENDED
    assert SECRET not in stage.model.asks[1].turns[0].text
    assert SECRET not in stage.texts(output).values()


class AfterPut:
    """Does something, once, when the entry of that number is in a log."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self._left, self._act = number, act

    def __call__(self, call: Call, act: Callable[[], Any]) -> Any:
        result = act()
        if call.name == "objects.put_if_absent" and "/log/" in call.subjects[0]:
            self._left -= 1
            if self._left == 0:
                self._act()
        return result


def say_creations(stage: Stage, *answers: tuple[str, ...]) -> None:
    """Have the model answer each question with the creation of memories at some paths."""
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    sources = [next(one.memory_version_id for one in listed if one.type == "memory")]
    nothing = {"op": "create", "content": "made", "why": "w", "sources": sources, "old": None, "new": None, "to": None}
    stage.model.said = [
        {"open": [], "edits": [{**nothing, "path": path} for path in paths], "summary": "", "done": True}
        for paths in answers
    ]


def of_the_dream(stage: Stage, dream: Any) -> tuple[int, list[str], int, list[str]]:
    """Return what a dream counts as made, dropped and in conflict, and the paths of what it says it wrote."""
    found: Any = stage.client.beta.dreams.retrieve(dream.id)
    told = found.model_extra["x_memolith"]
    written = stage.memolith.dream_reversals.changes(stage.scene.call(), dream.id).written
    record = stage.memolith.dreams.retrieve(stage.scene.call(), dream.id)
    resting = sorted(str(one.path) for one in written if one.after.memory_id in record.sources)
    return told["created"], told["dropped"], told["conflicts"], resting


def test_what_a_dream_wrote_and_proposed_before_an_erasure_counts_and_so_does_each_edit_that_comes_too_late(
    stage: Stage,
) -> None:
    stage.client.beta.memory_stores.update(
        stage.scene.store, extra_body={"approval": {"paths": [{"prefix": "/policy/"}]}}
    )
    secret_id, version_id = secret_edit(stage)
    say_creations(stage, ("/policy/x", "/a", "/b"), ("/policy/x", "/policy/y", "/c"))
    dream = stage.update()
    with stage.scene.intercepted_by(AfterPut(1, lambda: redact(stage, secret_id, version_id))):
        assert taken_up(stage, dream) is Taken.PAUSED
    [proposal_id] = proposals(stage)
    assert of_the_dream(stage, dream) == (1, [], 0, ["/a"])
    assert taken_up(stage, dream) is Taken.ENDED
    assert of_the_dream(stage, dream) == (2, ["proposed_before"], 0, ["/a", "/c"])
    assert (proposals(stage), proposed(stage, stage.client.beta.dreams.retrieve(dream.id))) == (
        [proposal_id],
        ["/policy/x"],
    )


def test_what_a_dream_wrote_before_it_had_no_more_time_counts_once(stage: Stage) -> None:
    say_creations(stage, ("/a", "/b"))
    dream = stage.update()
    assert stage.runner is not None
    with stage.scene.intercepted_by(AfterPut(1, lambda: stage.scene.clock.advance(1_000))):
        assert stage.runner.take_up(dream.id, stage.scene.clock.now_us() + 500_000_000) is Taken.PAUSED
    assert of_the_dream(stage, dream) == (1, [], 0, ["/a"])
    assert stage.runner.take_up(dream.id, stage.scene.clock.now_us() - 1) is Taken.PAUSED, "it looks at no edit"
    assert of_the_dream(stage, dream) == (1, [], 0, ["/a"])
    assert taken_up(stage, dream) is Taken.ENDED
    assert of_the_dream(stage, dream) == (2, [], 0, ["/a", "/b"])


def test_a_redaction_in_another_store_takes_no_step_of_a_dream(stage: Stage) -> None:
    pause_after_asking(stage, stage.create())
    kept = steps(stage)
    other = stage.scene.create_store("other").id
    stage.scene.deliver()
    memory = stage.client.beta.memory_stores.memories.create(other, path="/a.md", content="one")
    stage.client.beta.memory_stores.memories.update(memory.id, memory_store_id=other, content="two")
    stage.client.beta.memory_stores.memory_versions.redact(memory.memory_version_id, memory_store_id=other)
    stage.scene.deliver()
    assert steps(stage) == kept
