"""Bedrock's `ApplyGuardrail` as its reference describes it, on a port of this machine.

It answers what the real one would for a guardrail with a prompt-attack filter that knows a few phrases. What the real
one refuses it refuses: another path, another shape, a text of more than 25 text units.
Source: Amazon Bedrock API reference, "ApplyGuardrail"; botocore checks each answer against its description of the API.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3

from memolith.adapters.aws.clients import Clients, Limits

TEXT_UNIT_CHARACTERS = 1_000
TEXT_UNITS_MAX = 25
GUARDRAIL, VERSION = "gr4test", "3"

_PATH = re.compile(r"/guardrail/([a-z0-9]+)/version/([1-9][0-9]{0,7}|DRAFT)/apply")


@dataclass(slots=True)
class GuardrailApi:
    """The stand-in.

    Attributes:
        url: where it listens.
        clients: boto3 clients that talk to it.
        phrases: what its filter knows.
        action: of the filter on a hit: ``BLOCKED``, or ``NONE`` where it only detects.
        filters: whether the guardrail has content filters at all.
        failures: HTTP status and error to answer the next requests with.
        texts: what it was asked.
    """

    url: str
    clients: Clients
    phrases: tuple[str, ...] = ()
    action: str = "BLOCKED"
    filters: bool = True
    failures: list[tuple[int, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def answer(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        if self.failures:
            status, code = self.failures.pop(0)
            return status, {"__type": code, "message": "secret text"}
        match = _PATH.fullmatch(path)
        if match is None or match[1] != GUARDRAIL or match[2] != VERSION:
            return 404, {"__type": "ResourceNotFoundException"}
        request = json.loads(body)
        known = {"source", "content", "outputScope"}
        if not request.keys() <= known or request.get("source") not in ("INPUT", "OUTPUT"):
            return 400, {"__type": "ValidationException"}
        text = "".join(block["text"]["text"] for block in request["content"])
        units = -(-len(text) // TEXT_UNIT_CHARACTERS)
        if not text.strip() or units > TEXT_UNITS_MAX:
            return 400, {"__type": "ValidationException"}
        self.texts.append(text)
        return 200, self._assessed(text, units if self.filters else 0, request.get("outputScope") == "FULL")

    def _assessed(self, text: str, units: int, full: bool) -> dict[str, Any]:
        found = self.filters and any(phrase in text for phrase in self.phrases)
        said = {
            "type": "PROMPT_ATTACK",
            "confidence": "HIGH" if found else "NONE",
            "filterStrength": "HIGH",
            "action": self.action if found else "NONE",
            "detected": found,
        }
        listed = [said] if found or (full and self.filters) else []
        usage = dict.fromkeys(
            (
                "topicPolicyUnits",
                "wordPolicyUnits",
                "sensitiveInformationPolicyUnits",
                "sensitiveInformationPolicyFreeUnits",
                "contextualGroundingPolicyUnits",
            ),
            0,
        )
        return {
            "usage": {**usage, "contentPolicyUnits": units},
            "action": "GUARDRAIL_INTERVENED" if found and self.action == "BLOCKED" else "NONE",
            "outputs": [{"text": "blocked"}] if found and self.action == "BLOCKED" else [],
            "assessments": [{"contentPolicy": {"filters": listed}}] if listed else [],
        }


@contextmanager
def guardrail_api() -> Iterator[GuardrailApi]:
    """The stand-in on a free port, gone afterwards."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, answer = api.answer(self.path, self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            if "__type" in answer:
                self.send_header("x-amzn-errortype", answer["__type"])
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{listening.server_address[1]}"
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test")
    api = GuardrailApi(url, Clients(url, Limits(10.0, 30.0, 30.0), session))
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join(5)
