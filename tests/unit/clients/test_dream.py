"""``memolith dream diff``: what a dream proposes, or wrote, for each of its three outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import httpx2
import pytest

from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import HttpApi
from memolith.clients.cli.dream import LAST, _changes, _id, _recent
from memolith.clients.cli.failures import ApiFailed
from memolith.clients.cli.main import run
from tests.api.loopback import serving
from tests.api.test_dreams import Stage, _tell


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


def test_recent_takes_the_newest_sessions_of_which_something_was_said_and_last_the_newest_dream() -> None:
    stage = Stage()
    stage.fill()
    api, store = ApiClient(cast(HttpApi, Sent(stage))), stage.scene.store
    with pytest.raises(ApiFailed, match="no dream"):
        _id(api, LAST)
    told = []
    for _ in range(3):
        stage.scene.clock.advance(1)
        told.append(_tell(stage, ("user.message", "Remember that we deploy on Thursdays.")))
    made = [stage.create() for _ in range(2)]
    assert _recent(api, store, 2) == [told[2], told[1]], "the sessions of the dreams say nothing, and are newer"
    assert _recent(api, store, 0) == []
    assert (_id(api, LAST), _id(api, made[0].id)) == (made[1].id, made[0].id)


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
