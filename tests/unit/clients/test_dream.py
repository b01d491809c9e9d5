"""``memolith dream diff``: what a dream proposes, or wrote, for each of its three outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest

from memolith.adapters.models.extractive import MODEL
from memolith.adapters.models.recorded import RecordedModel
from memolith.app.api import proposal_views
from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import HttpApi
from memolith.clients.cli import dream as commands
from memolith.clients.cli import dream_replay
from memolith.clients.cli.dream import LAST, _address, _changes, _recent
from memolith.clients.cli.dream_replay import Replay, Replayer, answering
from memolith.clients.cli.failures import ApiFailed
from memolith.clients.cli.main import run
from memolith.core.errors import InvalidRequest
from memolith.core.remarks import log_path
from memolith.ports.model import Ask, Model, Purpose, Rejected
from tests.api.dreams.stage import TEXTS, Asked, Stage, choose, tell
from tests.api.loopback import serving
from tests.unit.app.scene import HOME
from tests.unit.clients.desk import HOSTILE, steering


class Sent:
    """The command line's way to the API, without a network."""

    def __init__(self, stage: Stage) -> None:
        self._client = httpx2.Client(transport=stage.gateway, base_url="https://memolith.test")
        self._key = stage.scene.api_key

    def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        answer = self._client.request(
            method, path, params=dict(query or {}), json=body, headers={"x-api-key": self._key}
        )
        assert answer.status_code == 200, answer.text
        return cast(dict[str, Any], answer.json())


def test_the_difference_of_a_dream_says_which_lines_one_answer_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    stage.fill()
    api = ApiClient(cast(HttpApi, Sent(stage)))
    dream = stage.done(stage.create(output_behavior={"type": "propose"}))
    monkeypatch.setattr(proposal_views, "PROPOSAL_SENT_MAX_BYTES", 0)
    changes = _changes(api, api.get(f"/v1/dreams/{dream.id}"))
    see = f"memolith proposals show {stage.scene.store} {dream.model_extra['x_memolith']['proposal_id']}"
    said = f"no lines: one answer has no room for all of them; `{see}` says how to read the texts"
    assert {(one["path"], one["diff"], one["why_none"]) for one in changes} == {
        ("/new.md", "", said), ("/old.md", "", said),
    }  # fmt: skip


@pytest.mark.parametrize("behavior", ["propose", "create_new", "update_existing"])
def test_the_difference_of_a_dream_shows_each_memory_that_it_changes_or_deletes(behavior: str) -> None:
    stage = Stage()
    stage.fill()
    api = ApiClient(cast(HttpApi, Sent(stage)))
    output = {"type": behavior, **({"memory_store_id": stage.scene.store} if behavior == "update_existing" else {})}
    inputs = [{"type": "memory_store", "memory_store_id": stage.scene.store}]
    dream = api.post("/v1/dreams", {"inputs": inputs, "model": "m", "output_behavior": output})
    stage.tick()
    changes = {one["path"]: one["diff"] for one in _changes(api, api.get(f"/v1/dreams/{dream['id']}"))}
    assert set(changes) == {"/new.md", "/old.md"}
    assert "+## Earlier" in changes["/new.md"]
    assert "says Ada" in changes["/new.md"]
    assert "-Note well" in changes["/old.md"]


def test_where_the_proposal_of_a_dream_is_decided_its_difference_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was an empty line for each edit."""
    stage = Stage()
    stage.fill()
    dream = stage.done(stage.create(output_behavior={"type": "propose"}))
    proposal = ApiClient(cast(HttpApi, Sent(stage))).get(f"/v1/dreams/{dream.id}")["x_memolith"]["proposal_id"]
    stage.client.post(
        f"/v1/memory_stores/{stage.scene.store}/proposals/{proposal}/reject", cast_to=object, body={"reason": "no"}
    )
    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        with pytest.raises(SystemExit):
            run(["dream", "diff", dream.id])
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("  ")[0] for line in lines} == {"/new.md", "/old.md"}
    assert all("the proposal is rejected" in line and proposal in line for line in lines)


def replayed(stage: Stage, dream: Any, *more: Any) -> Replay:
    api = ApiClient(cast(HttpApi, Sent(stage)))
    found = api.get(f"/v1/dreams/{dream.id}")
    service, cassette = (*more, None, None)[:2]
    return Replayer(api, answering(found, service, None, None, cassette)).replay(found)


def test_a_dream_that_is_begun_without_a_model_asks_the_one_of_its_store(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line named `default`, which no service has."""
    stage = Stage()
    choose(stage, model="claude-haiku-4-5")
    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        for words in ([], ["--model", "claude-opus-4-8"]):
            with pytest.raises(SystemExit) as ended:
                run(["dream", "start", stage.scene.store, "--no-wait", *words])
            assert not ended.value.code
    assert {run.model for run in stage.runs()} == {"claude-haiku-4-5", "claude-opus-4-8"}
    assert "claude-haiku-4-5" in capsys.readouterr().out


@pytest.mark.parametrize("ends", ["failed", "canceled"])
def test_waiting_for_a_dream_that_comes_to_nothing_ends_with_exit_code_1_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ends: str
) -> None:
    stage = Stage()
    stage.fill()

    def refuse() -> None:
        raise Rejected("the model's service refuses the question: 400")

    def sleep(_: float) -> None:
        if ends == "failed":
            stage.tick()
        else:
            [record] = stage.runs()
            stage.client.beta.dreams.cancel(record.run_id)

    stage.model.before = refuse
    monkeypatch.setattr(commands, "time", SimpleNamespace(sleep=sleep))
    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        with pytest.raises(SystemExit) as ended:
            run(["dream", "start", stage.scene.store, "--json"])
    answer = capsys.readouterr()
    found = json.loads(answer.out)
    assert (ended.value.code, found["status"]) == (1, ends)
    reason = "refuses the question: 400" if ends == "failed" else "memolith dream diff"
    assert answer.err.startswith(f"error: the dream {found['id']} ended as {ends}")
    assert reason in answer.err


def test_a_dream_of_the_default_model_is_replayed_with_the_one_that_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service has no model of that name."""
    asked: list[str] = []

    def service(model_id: str) -> Model:
        asked.append(model_id)
        return Asked()

    monkeypatch.setattr(dream_replay, "service_of", lambda name, url: service)
    dream = {"model": {"id": "small"}, "x_memolith": {"model_answered": "claude-haiku-4-5-20251001"}}
    answering(dream, "anthropic", None, None, None)
    answering(dream, "anthropic", "small", None, None)
    assert asked == ["claude-haiku-4-5-20251001", "small"]
    with pytest.raises(InvalidRequest, match="must name a model of the service"):
        answering({**dream, "x_memolith": {"model_answered": MODEL}}, "anthropic", None, None, None)


def test_a_replay_whose_model_gives_no_answer_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was reported as a defect of Memolith."""
    stage = Stage()
    stage.fill()
    dream = stage.done(stage.create(output_behavior={"type": "propose"}))
    stage.scene.clock.advance(60)
    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        with pytest.raises(SystemExit) as ended:
            run(["dream", "replay", dream.id, "--service", "anthropic"])
    told = capsys.readouterr().err
    assert (ended.value.code, told.startswith("error: the model gave no answer: ")) == (1, True), told
    assert "one of Memolith's" in told


@pytest.mark.parametrize("behavior", ["propose", "update_existing"])
def test_a_dream_that_is_replayed_comes_to_the_same_and_writes_nothing(behavior: str) -> None:
    stage = Stage()
    stage.fill()
    told = [tell(stage, ("user.message", "I prefer tabs over spaces in Makefiles."))]
    existing = {"type": behavior, **({"memory_store_id": stage.scene.store} if behavior != "propose" else {})}
    dream = stage.create(more=[{"type": "sessions", "session_ids": told}], output_behavior=existing)
    stage.scene.clock.advance(60)
    dream = stage.done(dream)
    stage.scene.clock.advance(60)
    stage.scene.create("/later.md", "what is written afterwards is not read")
    stage.scene.deliver()
    objects, rows = len(stage.scene.objects()), stage.scene.cloud.rows(HOME, "versions")
    done = replayed(stage, dream)
    assert done.outcomes and done.is_same
    assert (done.model, done.prompt_sha256) == (dream.x_memolith["model_answered"], dream.x_memolith["prompt_sha256"])
    assert (len(stage.scene.objects()), stage.scene.cloud.rows(HOME, "versions")) == (objects, rows)


def test_a_replay_hands_over_a_remark_that_came_into_its_log_late_as_the_dream_did() -> None:
    stage = Stage()
    path = log_path(stage.scene.clock.now_us())
    made = stage.scene.create(path, "- 00:01 The port of the gateway is 8443.\n")
    stage.scene.deliver()
    for text in ("- 00:00 The port of the indexer is 9443.\n- 00:01 The port of the gateway is 8443.\n", None):
        stage.scene.clock.advance(3_600)
        dream = stage.done(stage.create(output_behavior={"type": "propose"}))
        stage.scene.clock.advance(120)
        done = replayed(stage, dream)
        assert (done.is_same, len(done.outcomes)) == (True, 2)
        if text is not None:
            stage.scene.update(made, text)
            stage.scene.deliver()


def test_a_replay_of_recorded_answers_is_the_same_byte_for_byte_and_another_answer_is_in_order(tmp_path: Path) -> None:
    stage = Stage()
    stage.fill()
    dream = stage.done(stage.create(output_behavior={"type": "propose"}))
    stage.scene.clock.advance(60)
    cassette = tmp_path / "answers.jsonl"
    first = replayed(stage, dream, "extractive", cassette)
    recorded = cassette.read_bytes()
    assert replayed(stage, dream, None, cassette) == first
    assert cassette.read_bytes() == recorded
    [path, *_] = first.outcomes
    changed = json.loads(recorded.splitlines()[-1])
    changed["data"]["edits"] = []
    cassette.write_text(json.dumps(changed) + "\n")
    other = replayed(stage, dream, None, cassette)
    assert (other.is_same, other.outcomes[path]) == (False, "only_then")
    assert path in other.diff(path)
    cassette.write_text("")
    with pytest.raises(Rejected, match="has no answer"):
        RecordedModel(cassette).ask(Ask((), (), Purpose.CONSOLIDATE, ""))


def test_only_a_dream_that_is_over_and_whose_texts_are_there_is_replayed() -> None:
    stage = Stage()
    stage.fill()
    pending = stage.create()
    with pytest.raises(InvalidRequest, match="completed"):
        replayed(stage, pending)
    with pytest.raises(InvalidRequest, match="must be one of"):
        replayed(stage, pending, "abacus")
    into_new = stage.done(stage.create(output_behavior={"type": "create_new"}))
    with pytest.raises(InvalidRequest, match="into its input"):
        replayed(stage, into_new)


def test_recent_takes_the_newest_sessions_of_which_something_was_said_and_last_the_newest_dream() -> None:
    stage = Stage()
    stage.fill()
    api, store = ApiClient(cast(HttpApi, Sent(stage))), stage.scene.store
    with pytest.raises(ApiFailed, match="no dream"):
        _address(api, LAST)
    told = []
    for _ in range(3):
        stage.scene.clock.advance(1)
        told.append(tell(stage, ("user.message", "Remember that we deploy on Thursdays.")))
    made = [stage.create() for _ in range(2)]
    assert _recent(api, store, 2) == [told[2], told[1]], "the sessions of the dreams say nothing, and are newer"
    assert _recent(api, store, 0) == []
    assert (_address(api, LAST), _address(api, made[0].id)) == (f"/v1/dreams/{made[1].id}", f"/v1/dreams/{made[0].id}")


def test_what_a_dream_says_that_would_steer_a_terminal_is_shown_and_not_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stage = Stage()
    stage.fill({path: text.replace("staging", f"staging {HOSTILE.splitlines()[0]}") for path, text in TEXTS.items()})
    dream = stage.done(stage.create(output_behavior={"type": "propose"}))
    stage.scene.clock.advance(60)
    cassette = tmp_path / "answers.jsonl"
    replayed(stage, dream, "extractive", cassette)
    answer = json.loads(cassette.read_text().split("\n")[-2])
    cassette.write_text(json.dumps({**answer, "data": {**answer["data"], "edits": []}}) + "\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        for words in (["diff", dream.id], ["replay", dream.id, "--cassette", str(cassette)]):
            for option in ([], ["--json"]):
                with pytest.raises(SystemExit):
                    run(["dream", *words, *option])
                said = capsys.readouterr().out
                assert steering(said) == "", words
                assert option or "\\x1b[2J" in said, words


def test_every_command_about_dreams_answers_with_one_json_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = Stage()
    stage.fill()

    def told(*words: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            run(["dream", *words, "--json"])
        answer = capsys.readouterr()
        assert ended.value.code in (None, 0), answer.err
        return json.loads(answer.out)

    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        first = told("start", stage.scene.store, "--no-wait")
        assert told("cancel", first["id"])["status"] == "canceled"
        second = told("start", stage.scene.store, "--no-wait")
        stage.tick()
        assert told("show", second["id"])["status"] == "completed"
        assert {one["path"] for one in told("diff", second["id"])} == {"/new.md", "/old.md"}
        stage.scene.clock.advance(60)
        assert told("replay", second["id"])["same"]
        assert told("revert", second["id"])["proposal"]["status"] == "rejected"
        assert [one["id"] for one in told("list")] == [second["id"], first["id"]]


def test_a_dream_that_cannot_be_taken_back_whole_says_what_stays_and_ends_with_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = Stage()
    stage.fill()
    dream = stage.done(stage.update())
    stage.client.beta.memory_stores.memories.create(stage.scene.store, path="/old.md", content="A person wrote this.")
    with serving(stage.api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", stage.scene.api_key)
        with pytest.raises(SystemExit) as ended:
            run(["dream", "revert", dream.id])
    assert ended.value.code == 3
    lines = [line.split("\t")[:2] for line in capsys.readouterr().out.splitlines()]
    assert sorted(line for line in lines if line[0] in ("reverted", "changed_since")) == [
        ["changed_since", "/old.md"],
        ["reverted", "/new.md"],
    ]
