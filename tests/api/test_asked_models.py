"""Which model a laptop asks, under which name: no text goes to a service for a model that no one chose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.memory import ManualClock, RecordingMetrics, SeededRandomness
from memolith.adapters.models.catalog import Catalog
from memolith.adapters.models.extractive import ExtractiveModel
from memolith.ports.model import Answer, Ask, Model
from tests.api.harness import Backend, Reply
from tests.api.laptop import laptop_backends
from tests.support.folders import quick_folder

SAID = "From now on deploy the engine on Thursdays, never on Fridays."


class Service:
    """A service of models that keeps what it was asked for, and answers as the stand-in does."""

    window_tokens = 1_000_000

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._named = ""

    def model(self, model_id: str) -> Model:
        self._named = model_id
        return self

    def ask(self, ask: Ask) -> Answer:
        self.asked.append(self._named)
        return ExtractiveModel().ask(ask)

    def tokens(self, ask: Ask) -> int:
        return 1


def extracted(root: Path, service: Service, pipelines: dict[str, Any], **options: Any) -> Reply:
    """Extract a session, on a laptop with a service of models, of a store with a policy."""
    models = Catalog(service.model, ManualClock(), SeededRandomness(1), RecordingMetrics(), **options)
    with laptop_backends(root, models) as build:
        backend: Backend = build(10_000)
        store = backend.client().beta.memory_stores.create(name="Team notes").id
        changed = backend.raw("POST", f"/v1/memory_stores/{store}", body={"pipelines": pipelines})
        assert changed.status == 200, changed.body
        resources = [{"type": "memory_store", "memory_store_id": store}]
        session = backend.raw("POST", "/v1/sessions", body={"resources": resources}).body["id"]
        events = [{"type": "user.message", "content": [{"type": "text", "text": SAID}]}]
        told = backend.raw("POST", f"/v1/sessions/{session}/transcript", body={"events": events})
        assert told.status == 200, told.body
        return backend.raw("POST", f"/v1/sessions/{session}/extract", body={})


@pytest.mark.parametrize(
    ("pipelines", "asked"),
    [({"model": "claude-haiku-4-5"}, "claude-haiku-4-5"), ({"max_tokens_per_day": 0}, "qwen3:8b")],
)
def test_an_extraction_that_is_called_for_asks_the_stores_model_or_the_servers(
    pipelines: dict[str, Any], asked: str
) -> None:
    service = Service()
    with quick_folder() as root:
        reply = extracted(root, service, pipelines, default="qwen3:8b")
    assert (reply.status, reply.body.get("outcome")) == (200, "proposed"), reply.body
    assert service.asked == [asked]


def test_no_text_is_sent_to_a_service_where_no_model_is_named() -> None:
    service = Service()
    with quick_folder() as root:
        reply = extracted(root, service, {"max_tokens_per_day": 0})
    assert (reply.status, service.asked) == (400, [])
    message = reply.error["message"]
    assert "no model is named" in message and "`pipelines.model`" in message and "MEMOLITH_MODEL_ID" in message
