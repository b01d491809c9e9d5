"""A dream that proposes leaves out the edits that cannot be proposed, and counts them; the others are proposed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.layered import Crash
from memolith.app.api.proposals import Proposals
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.scanner import Verdict
from tests.api.dreams.stage import TEXTS, Stage, do, proposed

PARTS = {"content": None, "old": None, "new": None, "to": None, "why": "w"}


@pytest.fixture(autouse=True)
def _hostile_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = LettingAllThrough.scan

    def scanned(self: LettingAllThrough, text: str, *args: Any, **options: Any) -> Any:
        report = scan(self, text, *args, **options)
        return replace(report, verdict=Verdict.REJECT) if "HOSTILE" in text else report

    monkeypatch.setattr(LettingAllThrough, "scan", scanned)


def answered(stage: Stage, *edits: dict[str, Any]) -> None:
    """Have the model say some edits, each resting on a memory of the store."""
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    sources = [next(one.memory_version_id for one in listed if one.type == "memory")]
    said = [{**PARTS, "op": "create", "content": "good", "sources": sources, **one} for one in edits]
    stage.model.said = [{"open": [], "edits": said, "summary": "", "done": True}]


def dream(stage: Stage) -> Any:
    return stage.done(stage.create(extra_body={"output_behavior": {"type": "propose"}}))


REFUSED: dict[str, dict[str, Any]] = {
    "by_the_scanner": {"path": "/bad.md", "content": "HOSTILE"},
    "by_its_path": {"path": "../../etc/passwd"},
    "as_it_changes_nothing": {"path": "/old.md", "op": "replace", "content": TEXTS["/old.md"]},
    "by_its_reason": {"path": "/bad.md", "why": "HOSTILE"},
}


@pytest.mark.parametrize("why", REFUSED)
def test_an_edit_that_is_refused_is_left_out_of_the_proposal_and_counted(stage: Stage, why: str) -> None:
    answered(stage, {"path": "/a.md"}, REFUSED[why], {"path": "/b.md"})
    over = dream(stage)
    assert (over.status, over.error, over.model_extra["x_memolith"]["dropped"]) == ("completed", None, ["refused"])
    assert proposed(stage, over) == ["/a.md", "/b.md"]


CHANGES: dict[str, tuple[Callable[[Stage, dict[str, str]], object], dict[str, Any]]] = {
    "changed": (lambda stage, ids: stage.scene.update(ids["/old.md"], "x"), {"op": "replace", "path": "/old.md"}),
    "deleted": (lambda stage, ids: stage.scene.delete(ids["/old.md"]), {"op": "replace", "path": "/old.md"}),
    "created": (lambda stage, ids: stage.scene.create("/taken.md", "x"), {"path": "/taken.md"}),
    "created_where_it_goes": (
        lambda stage, ids: stage.scene.create("/taken.md", "x"),
        {"op": "rename", "path": "/old.md", "to": "/taken.md", "content": None},
    ),
}


@pytest.mark.parametrize("how", CHANGES)
def test_an_edit_of_what_changed_while_the_model_thought_is_a_conflict_and_the_others_are_proposed(
    stage: Stage, how: str
) -> None:
    change, edit = CHANGES[how]
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    ids = {one.path: one.id for one in listed if one.type == "memory"}
    answered(stage, {"path": "/a.md"}, edit, {"path": "/b.md"})
    stage.model.before = lambda: do(lambda: change(stage, ids))
    over = dream(stage)
    assert (over.status, over.model_extra["x_memolith"]["conflicts"]) == ("completed", 1)
    assert over.model_extra["x_memolith"]["dropped"] == []
    assert proposed(stage, over) == ["/a.md", "/b.md"]


def test_a_dream_whose_every_edit_is_refused_is_completed_without_a_proposal(stage: Stage) -> None:
    answered(stage, *({"path": f"/{number}.md", "content": "HOSTILE"} for number in range(60)))
    over = dream(stage)
    assert (over.status, over.model_extra["x_memolith"]["dropped"]) == ("completed", ["refused"] * 60)
    assert over.model_extra["x_memolith"]["proposal_id"] is None


def test_an_edit_that_was_refused_counts_also_where_the_dream_is_taken_up_again_once_it_has_proposed_the_others(
    stage: Stage,
) -> None:
    answered(stage, {"path": "/a.md"}, {"path": "/bad.md", "content": "HOSTILE"})
    asked = stage.create(extra_body={"output_behavior": {"type": "propose"}})
    real = Proposals.open

    def die_after(self: Proposals, *args: Any, **options: Any) -> Any:
        real(self, *args, **options)
        raise Crash

    assert stage.runner is not None
    with pytest.MonkeyPatch.context() as patched, pytest.raises(Crash):
        patched.setattr(Proposals, "open", die_after)
        stage.runner.tick(stage.workspace)
    stage.scene.clock.advance(61)
    over = stage.done(asked)
    assert (over.status, over.model_extra["x_memolith"]["dropped"]) == ("completed", ["proposed_before"])
    assert proposed(stage, over) == ["/a.md"]
