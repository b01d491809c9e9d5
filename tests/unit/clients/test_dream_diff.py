"""``memolith dream diff``: what cannot be compared is named, and nothing is shown that did not happen."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memolith.app.api import dream_changes
from memolith.app.kernel.results import Memory
from memolith.clients.cli.dream_replay import Replay
from memolith.clients.cli.main import run
from tests.api.dreams.stage import TEXTS, Stage
from tests.api.loopback import serving

Command = Callable[..., tuple[str, str]]
HIDDEN = "no lines: a text of it is withheld or gone"
ONE_LINE = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\reight"
"""What Python's `str.splitlines` takes for eight lines, and every tool that applies a difference for one."""


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.fill()
    return stage


@pytest.fixture
def command(stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """`memolith` at a command line, which ends with 0: standard output, and standard error."""

    def ended(*words: str) -> tuple[str, str]:
        with pytest.raises(SystemExit) as ending:
            run(list(words))
        out, err = capsys.readouterr()
        assert not ending.value.code, err
        return out, err

    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        yield ended


def at(stage: Stage, path: str) -> Memory:
    [memory] = [one for one in stage.scene.page().items if one.path == path]
    assert isinstance(memory, Memory)
    return memory


def withhold(stage: Stage, path: str) -> None:
    stage.scene.judge(stage.scene.read(at(stage, path).id, full=False))
    stage.scene.deliver()


def answer(stage: Stage, *edits: dict[str, Any]) -> None:
    """The model says these edits, each resting on one memory of the store."""
    other = dict.fromkeys(("content", "old", "new", "to")) | {"why": "so", "sources": [at(stage, "/new.md").version_id]}
    stage.model.said = [{"open": [], "edits": [other | edit for edit in edits], "summary": "", "done": True}]


def test_what_a_dream_wrote_and_is_withheld_is_named_and_no_deletion(stage: Stage, command: Command) -> None:
    """Every line of it was shown as deleted; what the dream had made was not shown at all."""
    made = {"op": "create", "path": "/made.md", "content": "made"}
    answer(stage, made, {"op": "replace", "path": "/other.md", "content": "other"})
    dream = stage.done(stage.update())
    withhold(stage, "/made.md")
    withhold(stage, "/other.md")
    out, _ = command("dream", "diff", dream.id)
    assert out.splitlines() == [f"/made.md  created; {HIDDEN}", f"/other.md  modified; {HIDDEN}"]
    out, _ = command("dream", "diff", dream.id, "--json")
    assert json.loads(out) == [
        {"path": "/made.md", "diff": "", "why_none": f"created; {HIDDEN}"},
        {"path": "/other.md", "diff": "", "why_none": f"modified; {HIDDEN}"},
    ]


@pytest.mark.parametrize("behavior", ["propose", "update_existing"])
def test_a_rename_without_another_text_is_shown(stage: Stage, command: Command, behavior: str) -> None:
    """It was, of a dream that proposes, and was not of one into its input."""
    answer(
        stage,
        {"op": "rename", "path": "/new.md", "to": "/moved.md"},
        {"op": "replace", "path": "/other.md", "content": "other"},
    )
    dream = stage.done(stage.update() if behavior != "propose" else stage.create(output_behavior={"type": behavior}))
    out, _ = command("dream", "diff", dream.id)
    assert "rename from /new.md\nrename to /moved.md\n--- a/other.md\n+++ b/other.md\n" in out


def test_what_is_withheld_in_the_input_of_a_dream_into_a_new_store_is_named(stage: Stage, command: Command) -> None:
    """It ended the command with a KeyError."""
    withhold(stage, "/other.md")
    dream = stage.done(stage.create())
    out, _ = command("dream", "diff", dream.id)
    assert f"/other.md  no lines: its text in {stage.scene.store} is withheld or damaged" in out.splitlines()
    assert f"-{TEXTS['/old.md']}" in out.splitlines()


def test_what_is_withheld_in_both_stores_and_is_the_same_is_no_difference(stage: Stage, command: Command) -> None:
    dream = stage.done(stage.create())
    withhold(stage, "/other.md")
    copied = dream.outputs[0].memory_store_id
    assert stage.texts(copied)["/other.md"] == TEXTS["/other.md"]
    assert "/other.md" not in command("dream", "diff", dream.id)[0]


def test_a_comparison_with_a_new_store_says_that_it_shows_what_was_changed_since(
    stage: Stage, command: Command
) -> None:
    """An edit after the dream was shown as the dream's."""
    dream = stage.done(stage.create())
    stage.scene.update(at(stage, "/other.md"), "A person wrote this.")
    stage.scene.deliver()
    out, err = command("dream", "diff", dream.id, "--json")
    assert "/other.md" in {one["path"] for one in json.loads(out)}
    assert err == "note: both stores are compared as they are now: what was changed in either since is shown, too\n"
    assert command("dream", "diff", stage.done(stage.update()).id)[1] == ""


def test_lines_for_which_one_answer_has_no_room_are_shown_by_the_command_that_is_named(
    stage: Stage, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {"op": "create", "path": "/made.md", "content": "made"}
    answer(stage, made, {"op": "replace", "path": "/other.md", "content": "other"})
    dream = stage.done(stage.update())
    monkeypatch.setattr(dream_changes, "PROPOSAL_SENT_MAX_BYTES", 0)
    out, _ = command("dream", "diff", dream.id)
    first, second = out.splitlines()
    assert first.startswith("/made.md  created; no lines: one answer has no room for all of them; `memolith cat ")
    assert second.startswith("/other.md  modified; no lines: one answer has no room for all of them; `memolith diff ")
    named = [re.findall("`memolith (.+)`", line)[0] for line in (first, second)]
    assert command(*shlex.split(named[0]))[0] == "made"
    assert "+other" in command(*shlex.split(named[1]))[0]


def test_only_a_line_feed_ends_a_line_of_what_differs_from_a_dreams_new_store(stage: Stage, command: Command) -> None:
    """The line was cut at each of the others, and every piece was said to have no newline at the end of the file."""
    dream = stage.done(stage.create())
    stage.scene.update(at(stage, "/other.md"), f"{ONE_LINE}\nlast\n")
    stage.scene.deliver()
    out, _ = command("dream", "diff", dream.id, "--json")
    assert {one["path"]: one["diff"] for one in json.loads(out)}["/other.md"] == (
        "--- a/other.md\n+++ b/other.md\n@@ -1,2 +1 @@\n"
        f"-{ONE_LINE}\n-last\n+{TEXTS['/other.md']}\n\\ No newline at end of file\n"
    )


def test_only_a_line_feed_ends_a_line_of_what_comes_differently_of_a_dream_that_is_replayed() -> None:
    done = Replay("", "", (), {}, again={"/a.md": f"{ONE_LINE}\nlast\n"}, then={"/a.md": "last\n"})
    assert done.diff("/a.md") == f"--- a/a.md\n+++ b/a.md\n@@ -1 +1,2 @@\n+{ONE_LINE}\n last\n"
    alone = Replay("", "", (), {"/b.md": f"{ONE_LINE}\n"}, again={"/b.md": None}, then={})
    assert alone.diff("/b.md") == f"--- a/b.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-{ONE_LINE}\n"
