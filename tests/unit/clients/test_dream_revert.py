"""``memolith dream revert``: what stays of a dream is listed, and the exit code says that something does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from memolith.clients.cli.main import run
from tests.api.dreams.stage import Stage
from tests.api.loopback import serving

Command = Callable[..., tuple[object, str]]


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.fill()
    return stage


@pytest.fixture
def command(stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """`memolith dream` at a command line: the exit code, and what is on standard output."""

    def ended(*words: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ending:
            run(["dream", *words])
        return ending.value.code or 0, capsys.readouterr().out

    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        yield ended


def approve(stage: Stage, dream: Any) -> None:
    proposal_id = dream.model_extra["x_memolith"]["proposal_id"]
    stage.memolith.proposals.approve(stage.scene.call(), stage.scene.store, proposal_id)
    stage.scene.deliver()


def rewrite(stage: Stage, path: str) -> None:
    """A person changes the memory at a path."""
    [memory] = [one for one in stage.client.beta.memory_stores.memories.list(stage.scene.store) if one.path == path]
    assert memory.type == "memory"
    stage.client.beta.memory_stores.memories.update(
        memory.id, memory_store_id=stage.scene.store, content="A person wrote this."
    )


def test_edits_of_an_approved_dream_that_stay_are_listed_and_the_exit_code_is_3(stage: Stage, command: Command) -> None:
    """It said that the proposal is reverted, and ended with 0."""
    dream = stage.done(stage.create(output_behavior={"type": "propose"}))
    approve(stage, dream)
    rewrite(stage, "/new.md")
    code, out = command("revert", dream.id)
    outcomes = {line.split("  ")[2].split(":")[0]: line.split("  ")[0] for line in out.splitlines()[:-1]}
    assert (code, outcomes) == (Exit.IN_PART, {"/new.md": "changed_since", "/old.md": "reverted"})
    assert out.splitlines()[-1].endswith("  reverted")
    assert stage.texts()["/new.md"] == "A person wrote this."
    code, out = command("revert", dream.id, "--json")
    assert (code, json.loads(out)["proposal"]["status"]) == (Exit.IN_PART, "reverted")


def test_edits_that_a_dream_into_its_input_had_staged_and_that_stay_are_listed_too(
    stage: Stage, command: Command
) -> None:
    guarded = {"approval": {"paths": [{"prefix": "/policy/"}]}}
    stage.fill({"/policy/a.md": "a\n", "/b.md": "b\n"})
    stage.client.beta.memory_stores.update(stage.scene.store, extra_body=guarded)
    stage.scene.deliver()
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    versions = {one.path: one.memory_version_id for one in listed if one.type == "memory"}
    edit = {"op": "replace", "old": None, "new": None, "to": None, "why": "w", "content": "c\n"}
    edits = [{**edit, "path": path, "sources": [versions[path]]} for path in ("/policy/a.md", "/b.md")]
    stage.model.said = [{"open": [], "edits": edits, "summary": "", "done": True}]
    dream = stage.done(stage.update())
    approve(stage, dream)
    stage.client.beta.memory_stores.update(stage.scene.store, extra_body={"approval": {"paths": []}})
    stage.scene.deliver()
    rewrite(stage, "/policy/a.md")
    code, out = command("revert", dream.id)
    written, proposed, _ = out.splitlines()
    assert (code, written.split("\t")[:2]) == (Exit.IN_PART, ["reverted", "/b.md"])
    assert proposed.startswith("changed_since  replace  /policy/a.md")


@pytest.mark.parametrize("approved", [False, True])
def test_a_dream_of_which_nothing_stays_ends_with_0(stage: Stage, command: Command, approved: bool) -> None:
    dream = stage.done(stage.create(output_behavior={"type": "propose"}))
    if approved:
        approve(stage, dream)
    for _ in range(2):
        code, out = command("revert", dream.id)
        assert (code, out.splitlines()[-1].split()[-1]) == (0, "reverted" if approved else "rejected")
