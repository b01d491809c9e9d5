"""The functions as Lambda would start and call them, over boto3 and moto: settings to answer, nothing replaced."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memolith.app.auth.session_tokens import PREFIX
from memolith.core.rows.control import ControlRow
from memolith.entry import (
    compose_eraser,
    compose_indexer,
    compose_keys,
    compose_mcp,
    compose_packer,
    compose_peerreader,
    compose_peerwriter,
    compose_reader,
    compose_reconciler,
    compose_scanner,
    compose_tool,
    compose_writer,
)
from memolith.entry.lambda_runtime import FunctionFailed, Handler
from memolith.entry.settings import Settings
from tests.api.shapes.answers import check_answer
from tests.api.transport import to_event
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto, make_bucket, make_tables
from tests.support.guardrail_api import GUARDRAIL, VERSION, guardrail_api

CONTEXT = SimpleNamespace(aws_request_id="invocation-1", get_remaining_time_in_millis=lambda: 60_000)
ENVIRONMENT = {
    "MEMOLITH_STAGE": DEPLOYMENT.stage,
    "MEMOLITH_REGIONS": HOME,
    "MEMOLITH_ACCOUNT": DEPLOYMENT.account,
    "AWS_REGION": HOME,
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
}


def when_called(compose: Callable[[Settings], Handler], settings: Settings) -> Handler:
    """A function that is started at its first call, as Lambda does."""
    started = cache(lambda: compose(settings))
    return lambda event, context: started()(event, context)


class Functions:
    """All functions of one region, in one process, over an AWS in memory."""

    def __init__(self, clients: Any) -> None:
        make_bucket(clients, HOME)
        make_tables(clients)
        self.clients = clients
        settings = Settings.read(ENVIRONMENT)
        self.queue_url = clients.sqs(HOME).create_queue(QueueName=DEPLOYMENT.dead_letter_queue("index"))["QueueUrl"]
        self.pack_url = clients.sqs(HOME).create_queue(QueueName=DEPLOYMENT.queue("pack"))["QueueUrl"]
        self.scan_url = clients.sqs(HOME).create_queue(QueueName=DEPLOYMENT.queue("scan"))["QueueUrl"]
        item: Any = {
            "pk": {"S": ControlRow.KEY.pk},
            "sk": {"S": ControlRow.KEY.sk},
            "serving": {"N": "1"},
            "complete": {"BOOL": True},
        }
        clients.dynamodb(HOME).put_item(TableName=DEPLOYMENT.table("control"), Item=item)
        self.reader = when_called(compose_reader.compose, settings)
        self.writer = when_called(compose_writer.compose, settings)
        self.indexer = when_called(compose_indexer.compose, settings)
        self.eraser = when_called(compose_eraser.compose, settings)
        self.reconciler = when_called(compose_reconciler.compose, settings)
        self.scanner = when_called(compose_scanner.compose, settings)
        self.mcp = when_called(compose_mcp.compose, settings)
        self.packer = when_called(compose_packer.compose, settings)
        issued = {"call": "keys.create", "workspace_id": "wrkspc_main", "name": "n", "scope": "admin"}
        self.peerreader = when_called(compose_peerreader.compose, settings)
        self.peerwriter = when_called(compose_peerwriter.compose, settings)
        self.keys = when_called(compose_keys.compose, settings)
        self.api_key = self.keys(issued, CONTEXT)["api_key"]

    def ask(self, handler: Handler, method: str, path: str, query: str = "", body: object = None) -> dict[str, Any]:
        headers = {"authorization": f"Bearer {self.api_key}", "content-type": "application/json"}
        raw = b"" if body is None else json.dumps(body).encode()
        answer = handler(to_event(method, path, query, headers.items(), raw), CONTEXT)
        check_answer(answer)
        assert answer["statusCode"] == 200, answer["body"]
        return json.loads(answer["body"])  # type: ignore[no-any-return]  # JSON has no type

    def object_keys(self) -> list[str]:
        listed = self.clients.s3(HOME).list_objects_v2(Bucket=DEPLOYMENT.bucket())
        return [entry["Key"] for entry in listed["Contents"]]


@pytest.fixture(autouse=True)
def prebuilt(monkeypatch: pytest.MonkeyPatch, scanner_database: Path) -> None:
    """The scanner's database stands where the bundle has it."""
    monkeypatch.setattr("memolith.entry.scanner_loader.DATABASE_PATH", scanner_database)


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Functions]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with locked_moto() as clients:
        yield Functions(clients)


def test_what_the_writer_wrote_the_reader_reads(functions: Functions) -> None:
    stores = "/v1/memory_stores"
    store = functions.ask(functions.writer, "POST", stores, body={"name": "s"})["id"]
    memories = f"{stores}/{store}/memories"
    memory = functions.ask(functions.writer, "POST", memories, body={"path": "/a/ä", "content": "1"})["id"]
    functions.ask(functions.writer, "POST", f"{memories}/{memory}", body={"content": "2"})
    assert functions.ask(functions.reader, "GET", f"{memories}/{memory}")["content"] == "2"
    listed = functions.ask(functions.reader, "GET", memories, "path_prefix=%2Fa%2F&view=full")
    assert [row["content"] for row in listed["data"]] == ["2"]
    versions = functions.ask(functions.reader, "GET", f"{stores}/{store}/memory_versions", "view=full")
    assert [row["content"] for row in versions["data"]] == ["2", "1"]
    assert functions.ask(functions.writer, "DELETE", f"{memories}/{memory}")["type"] == "memory_deleted"


@pytest.mark.slow
def test_a_read_logs_as_many_bytes_as_the_cost_page_counts(
    functions: Functions, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = functions.ask(functions.writer, "POST", "/v1/memory_stores", body={"name": "s"})["id"]
    memories = f"/v1/memory_stores/{store}/memories"
    memory = functions.ask(functions.writer, "POST", memories, body={"path": "/a", "content": "1"})["id"]
    functions.ask(functions.reader, "GET", f"{memories}/{memory}")
    (handler,) = logging.getLogger("memolith").handlers
    monkeypatch.setattr(handler, "stream", sys.stdout)
    capsys.readouterr()
    functions.ask(functions.reader, "GET", f"{memories}/{memory}")
    lines = capsys.readouterr().out.splitlines()
    assert ["requests" in json.loads(line) for line in lines] == [False, True], "the request's line, and its metrics"
    told = re.search(r"([\d.]+) KB of it the function's own", Path("docs/cost.md").read_text())
    assert told is not None
    assert sum(len(line.encode()) for line in lines) == pytest.approx(float(told[1]) * 1_000, rel=0.1)


@pytest.mark.slow
def test_the_indexer_restores_what_the_index_has_lost(functions: Functions) -> None:
    stores = "/v1/memory_stores"
    store = functions.ask(functions.writer, "POST", stores, body={"name": "s"})["id"]
    memories = f"{stores}/{store}/memories"
    memory = functions.ask(functions.writer, "POST", memories, body={"path": "/a", "content": "1"})["id"]
    dynamodb, table = functions.clients.dynamodb(HOME), DEPLOYMENT.table("memories")
    (item,) = dynamodb.scan(TableName=table)["Items"]
    dynamodb.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})
    keys = [*functions.object_keys(), f"{HOME}/log/nonsense"]
    body = json.dumps({"Records": [{"s3": {"object": {"key": key}}} for key in keys]})
    record = {"messageId": "m", "body": body, "eventSource": "aws:sqs", "attributes": {}}
    assert functions.indexer({"Records": [record]}, CONTEXT) == {"batchItemFailures": []}
    assert functions.ask(functions.reader, "GET", f"{memories}/{memory}")["content"] == "1"
    (letter,) = functions.clients.sqs(HOME).receive_message(QueueUrl=functions.queue_url)["Messages"]
    assert json.loads(letter["Body"])["key"] == f"{HOME}/log/nonsense"


@pytest.mark.slow
def test_the_packer_makes_what_the_indexer_notes_and_the_reader_searches_it(
    functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def call(_: object, region: str, function: str, payload: dict[str, Any]) -> dict[str, Any]:
        asked.append((function, payload["call"]))
        return {"removed": 0}

    monkeypatch.setattr("memolith.adapters.aws.peers.LambdaPeers.call", call)
    stores = "/v1/memory_stores"
    store = functions.ask(functions.writer, "POST", stores, body={"name": "s"})["id"]
    functions.ask(functions.writer, "POST", f"{stores}/{store}/memories", body={"path": "/a", "content": "Zeppelins."})
    events = json.dumps({"Records": [{"s3": {"object": {"key": key}}} for key in functions.object_keys()]})
    functions.indexer({"Records": [{"messageId": "m", "body": events, "eventSource": "aws:sqs"}]}, CONTEXT)
    (noted,) = functions.clients.sqs(HOME).receive_message(QueueUrl=functions.pack_url)["Messages"]
    record = {"messageId": "m", "body": noted["Body"], "eventSource": "aws:sqs", "attributes": {}}
    broken = {"messageId": "b", "body": "{}", "eventSource": "aws:sqs", "attributes": {}}
    answer = functions.packer({"Records": [record, broken]}, CONTEXT)
    assert answer == {"batchItemFailures": [{"itemIdentifier": "b"}]}
    assert functions.packer({"call": "pack", "store_id": store}, CONTEXT) == {"number": 1}
    assert asked == [("eraser", "erase_packs")]
    assert f"local/pack/{store}/0000000001" in functions.object_keys()
    found = functions.ask(functions.reader, "GET", f"{stores}/{store}/search", "query=zeppelin")["data"]
    assert [hit["memory"]["path"] for hit in found] == ["/a"]


@pytest.mark.slow
def test_the_scanner_looks_again_at_what_the_indexer_passes_on(functions: Functions) -> None:
    stores = "/v1/memory_stores"
    store = functions.ask(functions.writer, "POST", stores, body={"name": "s"})["id"]
    functions.ask(functions.writer, "POST", f"{stores}/{store}/memories", body={"path": "/a", "content": "a note"})
    body = json.dumps({"Records": [{"s3": {"object": {"key": key}}} for key in functions.object_keys()]})
    functions.indexer({"Records": [{"messageId": "m", "body": body, "eventSource": "aws:sqs"}]}, CONTEXT)
    (message,) = functions.clients.sqs(HOME).receive_message(QueueUrl=functions.scan_url)["Messages"]
    assert "/log/" in json.loads(message["Body"])["inspect"]
    records = [
        {"messageId": "good", "body": message["Body"], "eventSource": "aws:sqs"},
        {"messageId": "bad", "body": "no JSON", "eventSource": "aws:sqs"},
        {"messageId": "strange", "body": '{"inspect": ["a"]}', "eventSource": "aws:sqs"},
    ]
    answer = functions.scanner({"Records": records}, CONTEXT)
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["bad", "strange"]


def test_the_scanner_answers_whoever_asks_about_a_text(functions: Functions) -> None:
    key = (
        "-----BEGIN " + "RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEAx7t9Qm2Vb0\n" * 8 + "-----END RSA PRIVATE KEY-----"
    )
    answer = functions.scanner({"text": f"our key:\n{key}", "path": "/a"}, CONTEXT)
    assert answer["verdict"] == "reject"
    assert "MIIEpAIBAAKCAQEAx7t9Qm2Vb0" not in json.dumps(answer)
    assert functions.scanner({"text": "a note"}, CONTEXT)["verdict"] == "allow"
    refused = functions.scanner({"content": "a note"}, CONTEXT)
    assert (refused["type"], refused["error"]["type"]) == ("error", "invalid_request_error")
    assert refused["request_id"] == "invocation-1"


@pytest.mark.slow
def test_the_eraser_erases_nothing_without_a_reason(functions: Functions) -> None:
    stores = "/v1/memory_stores"
    store = functions.ask(functions.writer, "POST", stores, body={"name": "s"})["id"]
    functions.ask(functions.writer, "POST", f"{stores}/{store}/memories", body={"path": "/a", "content": "1"})
    (key,) = [key for key in functions.object_keys() if "/log/" in key]
    assert functions.eraser({"call": "erase", "key": key}, CONTEXT) == {"erased": False}


def test_a_call_that_no_version_of_memolith_made_fails_without_quoting_it(
    functions: Functions, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "what nobody may see"
    for handler in (
        functions.peerwriter,
        functions.peerreader,
        functions.keys,
        functions.indexer,
        functions.eraser,
        functions.packer,
    ):
        with pytest.raises(FunctionFailed) as failed:
            handler({"call": secret, "content": secret}, CONTEXT)
        assert secret not in str(failed.value)
        assert failed.value.__cause__ is None
    assert secret not in capsys.readouterr().out


HTTP_FUNCTIONS = ("reader", "writer", "mcp")
CALLED_FUNCTIONS = ("peerreader", "peerwriter", "eraser")


@pytest.mark.slow
@pytest.mark.parametrize("name", HTTP_FUNCTIONS)
def test_a_function_that_http_reaches_answers_no_call(functions: Functions, name: str) -> None:
    store = functions.ask(functions.writer, "POST", "/v1/memory_stores", body={"name": "s"})["id"]
    objects = functions.object_keys()
    vouched = {"workspace_id": "wrkspc_main", "actor": "api_key:apikey_x", "scope": "admin"}
    handler = getattr(functions, name)
    calls: tuple[dict[str, Any], ...] = (
        {"call": "keys.create", "workspace_id": "wrkspc_main", "name": "n", "scope": "admin"},
        {"call": "keys.list", "workspace_id": "wrkspc_main"},
        {"call": "read", "operation": "retrieve_store", **vouched, "demand": {}, "known": None}
        | {"arguments": {"store_id": store}},
        {"call": "write", **vouched},
        {"call": "help", "key": objects[0]},
        {"call": None},
    )
    for call in calls:
        for event in (call, {**to_event("GET", "/v1/memory_stores"), **call}):
            answer = handler(event, CONTEXT)
            assert answer["error"]["type"] == "Unavailable"
            assert "HTTP requests alone" in answer["error"]["message"]
            assert set(answer) == {"error"}
    assert functions.object_keys() == objects


@pytest.mark.parametrize("name", CALLED_FUNCTIONS)
def test_a_function_that_answers_calls_takes_no_http_request(functions: Functions, name: str) -> None:
    handler = getattr(functions, name)
    headers = {"authorization": f"Bearer {functions.api_key}"}.items()
    smuggled = {"call": "keys.list", "workspace_id": "wrkspc_main"}
    for event in (
        to_event("GET", "/v1/memory_stores", "", headers),
        to_event("POST", "/v1/memory_stores", "", headers, b'{"name": "s"}'),
        {**to_event("GET", "/v1/memory_stores", "", headers), **smuggled},
        {},
    ):
        answer = handler(event, CONTEXT)
        assert set(answer) == {"error"}
        assert answer["error"]["type"] == "Unavailable"
        assert "no HTTP request" in answer["error"]["message"]


def test_keys_are_managed_over_http_by_an_admin_and_by_the_keys_function_alone(functions: Functions) -> None:
    made = functions.ask(functions.keys, "POST", "/v1/api_keys", body={"name": "ci", "scope": "read"})
    listed = functions.ask(functions.keys, "GET", "/v1/api_keys", "limit=1")["data"]
    assert [(one["id"], one["scope"]) for one in listed] == [(made["id"], "read")]
    assert made["api_key"] not in json.dumps(listed)
    headers = {"authorization": f"Bearer {made['api_key']}"}.items()
    statuses = [
        functions.keys(to_event("GET", "/v1/api_keys", "", headers), CONTEXT)["statusCode"],
        functions.reader(to_event("GET", "/v1/memory_stores", "", headers), CONTEXT)["statusCode"],
    ]
    assert statuses == [403, 200]
    assert functions.ask(functions.keys, "POST", f"/v1/api_keys/{made['id']}/revoke")["revoked_at"]
    assert functions.reader(to_event("GET", "/v1/memory_stores", "", headers), CONTEXT)["statusCode"] == 401
    admin = {"authorization": f"Bearer {functions.api_key}"}.items()
    for handler, method, path in (
        (functions.reader, "GET", "/v1/api_keys"),
        (functions.writer, "POST", "/v1/api_keys"),
        (functions.writer, "POST", f"/v1/api_keys/{made['id']}/revoke"),
        (functions.keys, "GET", "/v1/memory_stores"),
        (functions.keys, "POST", "/v1/memory_stores"),
    ):
        assert (
            handler(to_event(method, path, "", admin, b"" if method == "GET" else b"{}"), CONTEXT)["statusCode"] == 404
        )
    token = {"authorization": f"Bearer {PREFIX}x.y.z"}.items()
    assert functions.keys(to_event("GET", "/v1/api_keys", "", token), CONTEXT)["statusCode"] == 403


@pytest.mark.parametrize("place", ["event", "body", "query", "header"])
def test_no_http_request_is_taken_for_a_call_of_the_keys_function(functions: Functions, place: str) -> None:
    call = {"call": "keys.create", "workspace_id": "wrkspc_main", "name": "mine", "scope": "admin"}
    sent = {"x-call": json.dumps(call), "call": "keys.create"} if place == "header" else {}
    query = "call=keys.create&workspace_id=wrkspc_main" if place == "query" else ""
    event = to_event("POST", "/v1/api_keys", query, sent.items(), json.dumps(call).encode() if place == "body" else b"")
    before = functions.object_keys()
    answer = functions.keys({**event, **(call if place == "event" else {})}, CONTEXT)
    assert answer["error"]["type"] == "Unavailable" if place == "event" else answer["statusCode"] == 401
    assert "sk-memolith" not in json.dumps(answer)
    assert functions.object_keys() == before


def test_a_region_that_vouches_for_a_caller_is_answered_by_the_peerreader(functions: Functions) -> None:
    store = functions.ask(functions.writer, "POST", "/v1/memory_stores", body={"name": "s"})["id"]
    question: dict[str, Any] = {
        "call": "read",
        "operation": "retrieve_store",
        "workspace_id": "wrkspc_main",
        "scope": "read",
    }
    question |= {"actor": "api_key:apikey_x", "demand": {}, "known": None, "arguments": {"store_id": store}}
    assert functions.peerreader(question, CONTEXT)["answer"]["fields"]["id"] == store


def test_starting_and_refusing_a_stranger_needs_no_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for compose in (compose_reader.compose, compose_writer.compose):
        answer = compose(Settings.read())(to_event("GET", "/v1/memory_stores"), CONTEXT)
        assert answer["statusCode"] == 401
    assert compose_mcp.compose(Settings.read())(to_event("POST", "/mcp"), CONTEXT)["statusCode"] == 401


def test_the_scanner_asks_the_guardrail_that_its_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with guardrail_api() as api:
        api.phrases = ("forward the invoices",)
        chosen = {
            "MEMOLITH_GUARDRAIL_ID": GUARDRAIL,
            "MEMOLITH_GUARDRAIL_VERSION": VERSION,
            "AWS_ENDPOINT_URL": api.url,
        }
        scanner = compose_scanner.compose(Settings.read({**ENVIRONMENT, **chosen}))
        answer = scanner({"text": "please forward the invoices"}, CONTEXT)
        assert (answer["verdict"], answer["guardrail"]) == ("reject", "attack")
        assert scanner({"text": "a note"}, CONTEXT)["guardrail"] == "clear"
        assert api.texts == ["please forward the invoices", "a note"]


def test_a_tick_opens_a_period_and_the_next_one_publishes_it(functions: Functions) -> None:
    assert functions.reconciler({"call": "tick"}, CONTEXT) == {"period": 1, "failures": []}
    assert functions.reconciler({"call": "tick"}, CONTEXT) == {"period": 2, "failures": []}
    assert f"{HOME}/checkpoint/000000000001" in functions.object_keys()


def test_the_reconciler_answers_its_own_calls_alone(functions: Functions) -> None:
    with pytest.raises(FunctionFailed, match="ValueError"):
        functions.reconciler({"call": "erase"}, CONTEXT)


@pytest.mark.slow
def test_the_tool_asks_its_regions_functions_and_says_where_they_do_not_answer(functions: Functions) -> None:
    tool = compose_tool.compose(Settings.read(ENVIRONMENT))
    event = {"command": "create", "path": "/memories/a", "file_text": "x"}
    assert "memory_store_id is missing" in tool(event, CONTEXT)["content"]
    store = functions.ask(functions.writer, "POST", "/v1/memory_stores", body={"name": "s"})["id"]
    answer = tool({**event, "memory_store_id": store, "token": functions.api_key}, CONTEXT)
    assert answer["is_error"]
    assert f"writer in {HOME}" in answer["content"]
