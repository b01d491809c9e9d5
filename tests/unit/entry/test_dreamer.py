"""The dreamer as Lambda would start and wake it, over boto3 and moto: from a request to a dream that is over."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from memolith.adapters import jwk
from memolith.adapters.aws.peers import LambdaPeers
from memolith.adapters.memory import ManualClock, MemoryQueue, RecordingMetrics
from memolith.app.api.dream_run import Taken
from memolith.entry import compose_dreamer, compose_reconciler, compose_writer
from memolith.entry.compose_dreamer import RESERVED_MS, NamedDreams
from memolith.entry.settings import Settings, SettingsError
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto
from tests.unit.entry.test_functions import CONTEXT, ENVIRONMENT, Functions

ON = {**ENVIRONMENT, "MEMOLITH_DREAMS": "extractive"}
SAME = "the staging database in Frankfurt is read-only for everyone but the release bot of the team"


@pytest.fixture(autouse=True)
def prebuilt(monkeypatch: pytest.MonkeyPatch, scanner_database: Any) -> None:
    """The scanner's database stands where the bundle has it."""
    monkeypatch.setattr("memolith.entry.scanner_loader.DATABASE_PATH", scanner_database)


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Functions]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with locked_moto() as clients:
        yield Functions(clients)


class Woken:
    """A Lambda's context: how much time is left."""

    aws_request_id = "invocation-1"

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


def _batch(*bodies: str) -> dict[str, Any]:
    records = [
        {"messageId": f"m{n}", "receiptHandle": f"r{n}", "body": body, "attributes": {}, "messageAttributes": {}}
        | {"md5OfBody": "", "eventSource": "aws:sqs", "eventSourceARN": "arn", "awsRegion": HOME}
        for n, body in enumerate(bodies)
    ]
    return {"Records": records}


def _ask(functions: Functions, writer: Any, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    return functions.ask(writer, method, path, body=body)


@pytest.mark.slow
def test_a_dream_is_asked_for_named_by_the_tick_and_done_by_the_dreamer(
    functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def invoked(_: object, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        assert (region, function) == (HOME, "eraser"), "the dreamer asks no one else"
        return functions.eraser(dict(payload), CONTEXT)

    monkeypatch.setattr(LambdaPeers, "call", invoked)
    url = functions.clients.sqs(HOME).create_queue(QueueName=DEPLOYMENT.queue("dream"))["QueueUrl"]
    secrets, keys = functions.clients.secrets(HOME), {"k9": jwk.made(b"9" * 32)}
    for name, kept in ((DEPLOYMENT.signing_secret, keys), (DEPLOYMENT.verification_secret, jwk.public_of(keys))):
        secrets.create_secret(Name=name, SecretString=jwk.written(kept))
    settings = Settings.read(ON)
    writer, reconciler = compose_writer.compose(settings), compose_reconciler.compose(settings)
    dreamer = compose_dreamer.compose(settings)
    store = _ask(functions, writer, "POST", "/v1/memory_stores", {"name": "s"})["id"]
    for path, text in (("/old.md", f"Note well: {SAME}, says Ada."), ("/new.md", f"It is so: {SAME}.")):
        _ask(functions, writer, "POST", f"/v1/memory_stores/{store}/memories", {"path": path, "content": text})
    asked = {"inputs": [{"type": "memory_store", "memory_store_id": store}], "model": "small"}
    behavior = {"type": "update_existing", "memory_store_id": store}
    dream = _ask(functions, writer, "POST", "/v1/dreams", {**asked, "output_behavior": behavior})["id"]
    assert reconciler({"call": "tick"}, CONTEXT)["failures"] == []
    assert reconciler({"call": "tick"}, CONTEXT)["failures"] == []
    messages = functions.clients.sqs(HOME).receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert [json.loads(one["Body"]) for one in messages] == [{"dream": dream}], "once in five minutes, and no text"
    assert dreamer(_batch(messages[0]["Body"]), Woken()) == {"batchItemFailures": []}
    assert not [key for key in functions.object_keys() if key.startswith("local/dream/")]
    over = functions.ask(functions.reader, "GET", f"/v1/dreams/{dream}")
    assert (over["status"], over["x_memolith"]["model_answered"]) == ("completed", "memolith-extractive-1")
    listed = functions.ask(functions.reader, "GET", f"/v1/memory_stores/{store}/memories")["data"]
    assert [one["path"] for one in listed] == ["/new.md"]
    reconciler({"call": "tick"}, CONTEXT)
    assert "Messages" not in functions.clients.sqs(HOME).receive_message(QueueUrl=url)
    _extracts_by_itself(functions, writer, reconciler, dreamer, store, url)
    assert dreamer(_batch(messages[0]["Body"]), Woken()) == {"batchItemFailures": []}, "a message that came twice"


def _extracts_by_itself(functions: Functions, writer: Any, reconciler: Any, dreamer: Any, store: str, url: str) -> None:
    """The tick names a store whose policy has sessions extracted, and the dreamer proposes what one taught."""
    _ask(functions, writer, "POST", f"/v1/memory_stores/{store}", {"pipelines": {"auto_extract": "propose"}})
    resources = [{"type": "memory_store", "memory_store_id": store, "access": "read_write"}]
    session = _ask(functions, writer, "POST", "/v1/sessions", {"resources": resources})["id"]
    text = "From now on deploy the engine on Thursdays, never on Fridays."
    event = {"type": "user.message", "content": [{"type": "text", "text": text}]}
    _ask(functions, writer, "POST", f"/v1/sessions/{session}/transcript", {"events": [event]})
    _ask(functions, writer, "POST", f"/v1/sessions/{session}/archive")
    assert reconciler({"call": "tick"}, CONTEXT)["failures"] == []
    [message] = functions.clients.sqs(HOME).receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    assert json.loads(message["Body"]) == {"store": store}
    for _ in range(2):
        assert dreamer(_batch(message["Body"]), Woken()) == {"batchItemFailures": []}
    proposals = functions.ask(functions.reader, "GET", f"/v1/memory_stores/{store}/proposals")["data"]
    assert [one["proposed_by"]["session_id"] for one in proposals] == [session], "once, however often it is named"


@pytest.mark.slow
def test_without_dreams_in_the_record_none_can_be_asked_for_and_a_tick_looks_for_none(functions: Functions) -> None:
    store = functions.ask(functions.writer, "POST", "/v1/memory_stores", body={"name": "s"})["id"]
    asked = {"inputs": [{"type": "memory_store", "memory_store_id": store}], "model": "small"}
    with pytest.raises(AssertionError, match="dreams are off"):
        functions.ask(functions.writer, "POST", "/v1/dreams", body=asked)
    assert functions.reconciler({"call": "tick"}, CONTEXT)["failures"] == []
    with pytest.raises(LookupError):
        compose_dreamer.compose(Settings.read(ENVIRONMENT))


def test_a_message_that_names_no_dream_comes_back_and_a_direct_call_is_refused(functions: Functions) -> None:
    dreamer = compose_dreamer.compose(Settings.read(ON))
    failed = dreamer(_batch('{"other": 1}', '{"dream": 7}'), Woken())
    assert [one["itemIdentifier"] for one in failed["batchItemFailures"]] == ["m0", "m1"]
    with pytest.raises(Exception, match="ValueError"):
        dreamer({"call": "dream"}, Woken())


def test_a_dream_without_time_left_is_named_again_and_one_that_is_over_is_not() -> None:
    queue, clock, metrics = MemoryQueue(), ManualClock(), RecordingMetrics()
    until: list[int] = []

    def take_up(run_id: str, until_us: int) -> Taken:
        until.append(until_us - clock.now_us())
        return Taken.PAUSED if run_id == "drm_long" else Taken.ENDED

    dreams = NamedDreams(SimpleNamespace(take_up=take_up), SimpleNamespace(), queue, clock, metrics)  # type: ignore[arg-type]  # what is asked of it
    dreams.message('{"dream": "drm_long"}', 900_000)
    dreams.message('{"dream": "drm_short"}', 900_000)
    assert list(queue.messages) == ['{"dream": "drm_long"}']
    assert until == [(900_000 - RESERVED_MS) * 1_000] * 2


def test_the_models_of_dreams_are_read_from_the_environment_and_a_wrong_one_is_named() -> None:
    models = '{"small": ["claude-haiku-4-5", [1, 5, 1.25, 0.1]], "large": ["claude-opus-4-5", null]}'
    told = Settings.read({**ENVIRONMENT, "MEMOLITH_DREAMS": "anthropic", "MEMOLITH_DREAM_MODELS": models}).dreams
    assert told is not None
    assert told.models == {"small": "claude-haiku-4-5", "large": "claude-opus-4-5"}
    assert told.prices["claude-haiku-4-5"] == told.prices["small"] == (1.0, 5.0, 1.25, 0.1)
    assert Settings.read(ENVIRONMENT).dreams is None
    for wrong in ({"MEMOLITH_DREAMS": "gemini"}, {"MEMOLITH_DREAMS": "openai", "MEMOLITH_DREAM_MODELS": "[1]"}):
        with pytest.raises(SettingsError, match="MEMOLITH_DREAM"):
            Settings.read({**ENVIRONMENT, **wrong})
