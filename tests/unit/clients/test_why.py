"""``memolith why``: which version brought a line, and the proposal, dream, model and sources behind it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memolith.clients.cli import why
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.main import run
from memolith.clients.cli.why import origin_of_line
from memolith.core.proposed_edits import EditRequest
from tests.api.dreams.stage import TEXTS, Stage
from tests.api.loopback import serving
from tests.unit.clients.desk import Desk


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        run(["why", *words, "--json"])
    answer = capsys.readouterr()
    assert ended.value.code in (None, 0), answer.err
    return json.loads(answer.out)


@pytest.mark.slow
@pytest.mark.parametrize("behavior", ["propose", "update_existing"])
def test_a_line_leads_to_its_dream_with_model_prompt_and_sources(
    behavior: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = Stage()
    stage.fill()
    listed = stage.client.beta.memory_stores.memories.list(stage.scene.store)
    read = {one.path: one.memory_version_id for one in listed if one.type == "memory"}
    sources = sorted([read["/old.md"], read["/new.md"]])
    if behavior == "propose":
        dream = stage.done(stage.create(extra_body={"output_behavior": {"type": "propose"}}))
        proposal_id = dream.model_extra["x_memolith"]["proposal_id"]
        stage.memolith.proposals.approve(stage.scene.call(), stage.scene.store, proposal_id)
    else:
        dream, proposal_id = stage.done(stage.update()), None
    lines = str(stage.texts()["/new.md"]).splitlines()
    later(stage, monkeypatch)
    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        first = told(capsys, stage.scene.store, f"/new.md:{lines.index(TEXTS['/new.md']) + 1}")
        merged = told(capsys, stage.scene.store, f"/new.md:{lines.index('## Earlier') + 1}")
        newest = told(capsys, stage.scene.store, "/new.md")
    assert (first["operation"], first["text"], first.get("dream")) == ("created", TEXTS["/new.md"], None)
    assert first["by"].startswith("apikey_")
    assert (merged["text"], merged["operation"], merged["dream"]) == ("## Earlier", "modified", dream.id)
    assert (merged["model"], merged["tokens"]) == ("memolith-extractive-1", 20)
    assert merged["prompt_sha256"] == dream.model_extra["x_memolith"]["prompt_sha256"]
    assert (merged.get("proposal"), sorted(merged["sources"])) == (proposal_id, sources)
    assert newest["version"] == merged["version"]


def later(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dreams and proposals after the version, more than are looked through; none of them hides what it rests on."""
    monkeypatch.setattr(why, "DREAMS_MAX", 1)
    monkeypatch.setattr(why, "PROPOSALS_MAX", 1)
    stage.scene.clock.advance(60)
    for number in range(2):
        stage.done(stage.update())
        edits = [EditRequest("create", f"/later/{number}", content="x")]
        agent = stage.scene.cloud.key("write", holder="agent")
        proposals, store = stage.memolith.proposals, stage.scene.store
        made = proposals.open(stage.scene.call(agent), store, why="", edits=edits)
        proposals.approve(stage.scene.call(), store, made.id)
    stage.scene.deliver()


def version(name: str, content: str | None, operation: str = "modified") -> dict[str, Any]:
    return {"id": name, "content": content, "operation": operation}


def test_a_line_that_only_moved_is_as_old_as_it_was() -> None:
    versions = [version("v3", "new\na\nb\n"), version("v2", "a\nb\n"), version("v1", "a\n")]
    assert [origin_of_line(versions, number, "/p").version["id"] for number in (1, 2, 3)] == ["v3", "v1", "v2"]


def test_an_erased_text_ends_the_search_and_is_said() -> None:
    found = origin_of_line([version("v3", "a\n"), version("v2", "a\n"), version("v1", None)], 1, "/p")
    assert (found.version["id"], found.is_certain) == ("v2", False)


@pytest.mark.parametrize(("text", "said"), [("a\n", "1 line"), ("a\nb\n", "2 lines")])
def test_a_line_after_the_last_is_told_how_many_there_are(text: str, said: str, desk: Desk) -> None:
    desk.put("/p.md", text)
    told = desk.fails(Exit.NOT_FOUND, "why", desk.store, "/p.md:99")
    assert told.splitlines()[0] == f"error: /p.md has {said}"


def test_a_line_that_is_not_there_is_not_found() -> None:
    for versions, number in (([version("v1", "a\n")], 2), ([version("v1", None, "deleted")], 1), ([], 0)):
        with pytest.raises(ApiFailed):
            origin_of_line(versions, number, "/p")
