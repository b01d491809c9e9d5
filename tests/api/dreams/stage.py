"""A region with dreams, the real SDK in front of it, and a model that says what a test tells it to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import anthropic
import httpx2

from memolith.adapters.memory import RecordingMetrics, SeededRandomness
from memolith.adapters.models.extractive import ExtractiveModels
from memolith.adapters.models.validated import Validated
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.api.transcripts import EventDraft
from memolith.app.kernel.no_models import NO_MODELS
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.object_keys import RunKey, parse_key
from memolith.core.objects.run_record import RunRecord
from memolith.ports.model import Answer, Ask, Model, Models, Usage
from memolith.wire.http import HttpApi
from tests.api.transport import Gateway
from tests.unit.app.scene import AWAY, HOME, Scene

SAME = "the staging database in Frankfurt is read-only for everyone but the release bot of the team"
TEXTS = {
    "/old.md": f"Note well: {SAME}, says Ada.",
    "/new.md": f"It is so: {SAME}.",
    "/other.md": "Completely different words about the deployment of the website to production on Fridays.",
}


class Asked:
    """A model around the stand-in that keeps what it is asked, and does something before it answers."""

    window_tokens = 1_000_000

    def __init__(self) -> None:
        self.asks: list[Ask] = []
        self.before: Callable[[], None] = lambda: None
        self.said: list[Mapping[str, Any]] = []
        self._model = ExtractiveModels().named("any")

    def named(self, model_id: str) -> Model:
        return self

    def ask(self, ask: Ask) -> Answer:
        self.asks.append(ask)
        self.before()
        if self.said:
            return Validated(Saying(self.said.pop(0))).ask(ask)
        return replace(self._model.ask(ask), usage=Usage(10, 5, 3, 2))

    def tokens(self, ask: Ask) -> int:
        return 1


class Saying:
    window_tokens = 1_000_000

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = said

    def ask(self, ask: Ask) -> Answer:
        return Answer(json.dumps(self._said), Usage(1, 1), "said")

    def tokens(self, ask: Ask) -> int:
        return 1


class Stage:
    """A region with dreams, the real SDK in front of it, and what does the dreams."""

    def __init__(self, models: Models | None = None, *, enabled: bool = True, **options: Any) -> None:
        self.scene = scene = Scene(**options)
        self.model = Asked()
        region, cloud = scene.cloud.sites[HOME].region, scene.cloud
        chosen = (models or self.model) if enabled else NO_MODELS
        self.memolith = Memolith(region, LettingAllThrough(), cloud.signing, SqlitePacks(), models=chosen)
        self.runner = self.memolith.dream_runner(60_000_000) if enabled else None
        self.api = HttpApi(self.memolith, scene.clock, SeededRandomness(9), RecordingMetrics())
        self.gateway = Gateway(self.api.answer)
        self.client = self.client_of(scene.api_key)

    def client_of(self, api_key: str) -> anthropic.Anthropic:
        http_client = httpx2.Client(transport=self.gateway)
        return anthropic.Anthropic(
            api_key=api_key, base_url="https://memolith.test", http_client=http_client, max_retries=0
        )

    def fill(self, texts: Mapping[str, str] = TEXTS) -> None:
        for path, text in texts.items():
            self.scene.clock.advance(1)
            self.scene.create(path, text)
        self.scene.deliver()

    def create(self, **asked: Any) -> Any:
        self.scene.clock.advance(1)
        inputs = [{"type": "memory_store", "memory_store_id": self.scene.store}, *asked.pop("more", [])]
        return self.client.beta.dreams.create(**{"inputs": inputs, "model": "claude-x", **asked})

    def update(self, **asked: Any) -> Any:
        existing = {"type": "update_existing", "memory_store_id": self.scene.store}
        return self.create(output_behavior=existing, **asked)

    def tick(self) -> None:
        assert self.runner is not None
        self.runner.tick(self.workspace)
        self.scene.deliver()

    @property
    def workspace(self) -> str:
        return self.scene.call().credentials.workspace_id

    def done(self, dream: Any) -> Any:
        self.tick()
        return self.client.beta.dreams.retrieve(dream.id)

    def texts(self, store_id: str | None = None) -> dict[str, str | None]:
        listed = self.client.beta.memory_stores.memories.list(store_id or self.scene.store, view="full", limit=20)
        return {one.path: one.content for one in listed if one.type == "memory"}

    def runs(self, region: str = HOME) -> list[RunRecord]:
        keys = self.scene.cloud.buckets.page(region, "", None, 1_000).keys
        found = [self.scene.cloud.buckets.current(region, key) for key in keys if isinstance(parse_key(key), RunKey)]
        return [RunRecord.from_json(one.body) for one in found if one is not None]

    def erase_store(self) -> None:
        """Delete the store, and let time go by until both regions' sweeps have erased it."""
        self.client.beta.memory_stores.delete(self.scene.store)
        for _ in range(4):
            self.scene.clock.advance(3_600)
            self.scene.deliver()
            for region in (HOME, AWAY):
                self.scene.cloud.peers.call(region, "eraser", {"call": "sweep"})


def choose(stage: Stage, **policy: Any) -> dict[str, Any]:
    found = stage.client.beta.memory_stores.update(stage.scene.store, extra_body={"pipelines": policy})
    stage.scene.deliver()
    return dict((found.model_extra or {})["pipelines"])


def proposed(stage: Stage, dream: Any) -> list[str]:
    proposal_id = dream.model_extra["x_memolith"]["proposal_id"]
    found = stage.memolith.proposals.retrieve(stage.scene.call(), stage.scene.store, proposal_id)
    return sorted(str(edit.path) for edit in found.edits or ())


def tell(stage: Stage, *events: tuple[str, str]) -> str:
    session = stage.client.post(
        "/v1/sessions",
        body={"resources": [{"type": "memory_store", "memory_store_id": stage.scene.store, "access": "read_write"}]},
        cast_to=object,
    )
    session_id = str(session["id"])  # type: ignore[index]  # JSON has no type
    drafts = [
        EventDraft(type, {"content": [{"type": "text", "text": text}]}, f"c{n}")
        for n, (type, text) in enumerate(events)
    ]
    stage.memolith.transcripts.record(stage.scene.call(), session_id, drafts)
    return session_id


def do(act: Callable[[], object]) -> None:
    act()
