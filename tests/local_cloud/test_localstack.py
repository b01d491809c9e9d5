"""LocalStack, as far as it can be told without one: which endpoint, which stacks, which function a request goes to."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from infra.deployment import merged, parse
from scripts.local_cloud import custom_resources, localstack
from scripts.local_cloud.aws import Clients
from scripts.local_cloud.deployment import BOOTSTRAP_VERSION, Plan, is_bootstrapped
from scripts.local_cloud.front_door import FrontDoor, function_for

REGION = "us-east-1"


@contextmanager
def serving(answer: Any) -> Iterator[str]:
    """A server that answers by `answer(handler)`, which returns (status, body)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer(self)
            self.send_response(status)
            self.send_header("x-told", "yes")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_DELETE = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("names", "endpoint"),
    [
        ({}, None),
        ({"LOCALSTACK_HOST": "localhost:4510"}, "http://localhost:4510"),
        ({"LOCALSTACK_HOST": "stack.test"}, "http://stack.test:4566"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "http://127.0.0.1:9"),
        ({"AWS_ENDPOINT_URL": " "}, None),
    ],
    ids=["nothing", "a host with its port", "a host", "an address", "nothing in it"],
)
def test_the_environment_names_an_endpoint_as_localstack_client_reads_it(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, str], endpoint: str | None
) -> None:
    for name in (*localstack.NAMED_BY, "USE_SSL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    assert localstack.endpoint_of_environment() == endpoint


def test_a_port_that_is_no_number_is_refused_by_the_variables_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("LOCALSTACK_HOST", "localhost:http")
    with pytest.raises(ValueError, match="LOCALSTACK_HOST must be HOST or HOST:PORT"):
        localstack.endpoint_of_environment()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "body", "services"),
    [
        (200, {"services": {"s3": "running"}, "version": "4.9.2"}, frozenset({"s3"})),
        (200, {"services": {"s3": "running"}}, None),
        (200, ["no object"], None),
        (404, {}, None),
    ],
    ids=["LocalStack", "another emulator", "another answer", "no answer"],
)
def test_a_localstack_is_told_by_its_health(status: int, body: Any, services: frozenset[str] | None) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        return (status, json.dumps(body).encode()) if handler.path == "/_localstack/health" else (404, b"")

    with serving(answer) as endpoint:
        assert localstack.services_of(endpoint) == services


def test_ministack_is_no_localstack_though_it_answers_at_its_address_of_health() -> None:
    health = {"services": {"s3": "available"}, "edition": "light", "version": "1.5.33"}
    with serving(lambda handler: (200, json.dumps(health).encode())) as endpoint:
        assert localstack.services_of(endpoint) is None


def test_without_http_apis_requests_come_in_by_function_urls_and_nothing_needs_layers() -> None:
    needs = localstack.record_for(frozenset({"s3", "lambda", "apigateway"}))
    plan = Plan("http://x", "dev", (REGION,), {"limits": {"memories_per_store": 7}}, needs)
    deployment = parse(json.loads(plan.context()))
    assert (deployment.front_door, deployment.layers, deployment.bundling) == ("function_urls", False, "lambda")
    assert deployment.limits.memories_per_store == 7
    assert localstack.record_for(frozenset({"apigatewayv2"}))["front_door"] == "http_api"


def test_what_the_caller_overrides_goes_before_what_the_endpoint_needs() -> None:
    plan = Plan("http://x", "dev", (REGION,), {"bundling": "host"}, localstack.record_for(frozenset()))
    assert merged(json.loads(plan.context()), {})["bundling"] == "host"


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/memory_stores?limit=1", "reader"),
        ("POST", "/v1/memory_stores", "writer"),
        ("DELETE", "/v1/memory_stores/x", "writer"),
        ("POST", "/mcp", "mcp"),
        ("GET", "/mcp/memstore_x?a=1", "mcp"),
        ("POST", "/mcpx", "writer"),
        ("PUT", "/v1/memory_stores", None),
    ],
)
def test_a_request_goes_to_the_function_that_the_apis_routes_send_it_to(
    method: str, path: str, name: str | None
) -> None:
    assert function_for(method, path) == name


@pytest.fixture
def door() -> Iterator[str]:
    """The front door of one region, before functions that answer with what they were asked."""

    def echo(handler: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        sent = handler.rfile.read(int(handler.headers.get("content-length") or 0)).decode()
        told = [handler.command, handler.headers["host"], handler.path, handler.headers.get("x-api-key"), sent]
        return 202, json.dumps(told).encode()

    urls = {name: f"http://{name}.lambda-url.{REGION}.localhost.test:4566/" for name in ("reader", "writer", "mcp")}
    with serving(echo) as endpoint:
        front = FrontDoor(endpoint, {REGION: urls})
        threading.Thread(target=front.serve_forever, daemon=True).start()
        yield front.url
        front.shutdown()
        front.server_close()


def test_the_front_door_passes_a_request_on_as_it_is_and_the_answer_back(door: str) -> None:
    request = urllib.request.Request(
        f"{door}/{REGION}/v1/a%2Fb?query=%C3%A9", data="é".encode(), headers={"x-api-key": "k"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert (answer.status, answer.headers["x-told"]) == (202, "yes")
        host = f"writer.lambda-url.{REGION}.localhost.test:4566"
        assert json.load(answer) == ["POST", host, "/v1/a%2Fb?query=%C3%A9", "k", "é"]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), [("PUT", f"/{REGION}/v1/a"), ("GET", "/eu-west-1/v1/a"), ("GET", "/")])
def test_what_has_no_function_is_not_found_at_the_front_door(door: str, method: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(door + path, method=method), timeout=10)
    assert refused.value.code == 404


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/api_keys?limit=1", "keys"),
        ("POST", "/v1/api_keys", "keys"),
        ("POST", "/v1/api_keys/apikey_x/revoke", "keys"),
        ("GET", "/v1/api_keys/apikey_x/revoke", "reader"),
        ("GET", "/v1/api_keys/apikey_x", "reader"),
        ("DELETE", "/v1/api_keys", "writer"),
        ("GET", "/mcp/x", "mcp"),
    ],
)
def test_the_front_door_leads_to_the_function_that_the_gateway_would(method: str, path: str, name: str) -> None:
    assert function_for(method, path) == name


def test_a_function_that_does_not_answer_is_a_502() -> None:
    front = FrontDoor("http://127.0.0.1:9", {REGION: {"reader": "http://x.lambda-url.test/"}})
    threading.Thread(target=front.serve_forever, daemon=True).start()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{front.url}/{REGION}/v1/a", timeout=10)
    front.shutdown()
    front.server_close()
    assert refused.value.code == 502


def assembly(folder: Path, resources: dict[str, Any]) -> Path:
    """A cloud assembly of one stack with these resources."""
    stack = {
        "type": "aws:cloudformation:stack",
        "environment": f"aws://000000000000/{REGION}",
        "properties": {"templateFile": "t.json"},
    }
    (folder / "manifest.json").write_text(json.dumps({"artifacts": {"memolith-dev-base": stack}}))
    (folder / "t.json").write_text(json.dumps({"Resources": resources}))
    return folder


def test_the_work_of_custom_resources_is_done_where_none_is_made(tmp_path: Path) -> None:
    made = assembly(
        tmp_path,
        {
            "Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "copies"}},
            "Rules": {
                "Type": "Custom::MemolithReplication",
                "Properties": {
                    "Bucket": "source",
                    "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                    "Rules": [
                        {
                            "ID": "all",
                            "Status": "Enabled",
                            "Priority": "1",
                            "Filter": {"Prefix": "us-east-1/"},
                            "DeleteMarkerReplication": {"Status": "Disabled"},
                            "Destination": {"Bucket": "arn:aws:s3:::target"},
                        }
                    ],
                },
            },
            "Key": {
                "Type": "Custom::MemolithFirstSigningKey",
                "Properties": {"Private": "signing", "Public": "verification"},
            },
        },
    )
    with mock_aws():
        clients = Clients("https://s3.amazonaws.com")
        clients._made = {}
        import boto3

        for service in ("s3", "secretsmanager"):
            clients._made[service, REGION] = boto3.client(
                service, region_name=REGION, aws_access_key_id="x", aws_secret_access_key="x"
            )
        s3, secrets = clients.s3(REGION), clients.client("secretsmanager", REGION)
        for bucket in ("source", "target"):
            s3.create_bucket(Bucket=bucket)
            s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        for name in ("signing", "verification"):
            secrets.create_secret(Name=name, SecretString="made by CloudFormation")
        assert custom_resources.carry_out(clients, made) == 2
        rules = s3.get_bucket_replication(Bucket="source")["ReplicationConfiguration"]
        assert (rules["Role"], rules["Rules"][0]["Priority"]) == ("arn:aws:iam::000000000000:role/copies", 1)
        signing = secrets.get_secret_value(SecretId="signing")["SecretString"]
        assert json.loads(signing)["keys"][0]["kid"] == "k1"
        custom_resources.carry_out(clients, made)
        assert secrets.get_secret_value(SecretId="signing")["SecretString"] == signing


def test_whether_an_endpoint_is_bootstrapped_is_asked_of_it() -> None:
    answers = [
        (400, b'{"__type": "ParameterNotFound"}'),
        (200, json.dumps({"Parameter": {"Name": BOOTSTRAP_VERSION, "Value": "30"}}).encode()),
    ]
    with serving(lambda handler: answers.pop(0)) as endpoint:
        clients = Clients(endpoint)
        assert not is_bootstrapped(clients, REGION)
        assert is_bootstrapped(clients, REGION)
