"""One deployment in this process, with the wire in front, and ways to talk to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import anthropic
import httpx2

from memolith.adapters.memory import ManualClock, RecordingMetrics, SeededRandomness
from memolith.app.api.service import Memolith
from memolith.app.safety.write_gate import TextScanner
from memolith.wire.http import HttpApi
from memolith.wire.routes.table import KEY_ROUTES, ROUTES
from tests.api.model import Model
from tests.api.shapes.answers import check_answer
from tests.api.transport import Answer, Gateway, to_event
from tests.support.cloud import Cloud

BASE_URL = "https://memolith.test"
EVERY_ROUTE = (*ROUTES, *KEY_ROUTES)
DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, taken apart; of a stream the body is its text, as ``stream``."""

    status: int
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def error(self) -> dict[str, Any]:
        """The error in it; fails where there is none."""
        return self.body["error"]  # type: ignore[no-any-return]  # JSON has no type


class Backend:
    """Use cases under the wire. Every answer is checked against what holds for any answer.

    Args:
        memolith: the use cases of the region that is asked.
        birthplace: the use cases of the region that is asked to create stores; by default the same.
        after_birth: called when a store was created.
        metrics: what the use cases count in; by default counters of its own.
        served: who answers requests instead, over the same use cases and metrics: a server somewhere.

    Attributes:
        clock: stands still until a test moves it.
        issue_key: workspace and scope -> a key's text; of the real use cases also by `expires_at` and `stores`.
        api_key: a key of workspace ``main`` that may do everything.
        region, home: where requests land, and where the stores' home is.
    """

    def __init__(
        self,
        memolith: Memolith,
        clock: ManualClock,
        issue_key: Callable[..., str],
        birthplace: Memolith | None = None,
        after_birth: Callable[[], None] = lambda: None,
        metrics: RecordingMetrics | None = None,
        served: Answer | None = None,
    ) -> None:
        self.clock = clock
        self.memolith = memolith
        self.issue_key = issue_key
        self._after_birth = after_birth
        self.metrics = metrics or RecordingMetrics()
        self.region, self.home = memolith.region, (birthplace or memolith).region
        born = birthplace or memolith
        self._http = served or HttpApi(memolith, clock, SeededRandomness(), self.metrics, EVERY_ROUTE).answer
        self._births = served or HttpApi(born, clock, SeededRandomness(1), self.metrics).answer
        self.gateway = Gateway(self.answer)
        self.api_key = issue_key("main", "admin")

    def answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """As Lambda would be asked. Time passes between two calls."""
        self.clock.advance(0.001)
        born = event["rawPath"] == "/v1/memory_stores" and event["requestContext"]["http"]["method"] == "POST"
        answer = dict((self._births if born else self._http)(event))
        if born:
            self._after_birth()
        check_answer(answer)
        return answer

    def client(self, api_key: str | None = None, **options: Any) -> anthropic.Anthropic:
        """The unchanged SDK."""
        return anthropic.Anthropic(
            api_key=api_key or self.api_key,
            base_url=BASE_URL,
            http_client=httpx2.Client(transport=self.gateway),
            **options,
        )

    def async_client(self) -> anthropic.AsyncAnthropic:
        """The unchanged SDK, its other half."""
        return anthropic.AsyncAnthropic(
            api_key=self.api_key, base_url=BASE_URL, http_client=httpx2.AsyncClient(transport=self.gateway)
        )

    def raw(
        self,
        method: str,
        path: str,
        query: str = "",
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request as it would be on the wire; a `body` that is not bytes is sent as JSON."""
        answer = self.answer(self.event(method, path, query, body, headers))
        streamed = answer["headers"]["content-type"].startswith("text/event-stream")
        shown = {"stream": answer["body"]} if streamed else json.loads(answer["body"])
        return Reply(answer["statusCode"], answer["headers"], shown)

    def event(
        self,
        method: str,
        path: str,
        query: str = "",
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The event of such a request."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {"content-type": "application/json", "authorization": f"Bearer {self.api_key}", **(headers or {})}
        return to_event(method, path, query, sent.items(), raw)


def model_backend(cap: int = 10_000) -> Backend:
    """The reference model under the wire."""
    clock = ManualClock()
    model = Model(clock, cap)
    return Backend(cast(Memolith, model), clock, lambda workspace, scope: model.issue_key(workspace, scope).text)


def memolith_backend(cap: int = 10_000, scanner: TextScanner | None = None) -> Backend:
    """The real use cases of one region, over adapters in memory; without a `scanner` every text is let through."""
    clock = ManualClock()
    cloud = Cloud(("us-east-1",), clock=clock, memories_per_store=cap, scanner=scanner, erase_delay_us=7 * DAY_US)
    cloud.claim_complete("us-east-1", clock.now_us())
    return Backend(cloud.sites["us-east-1"].memolith, clock, _issuer(cloud))


def _issuer(cloud: Cloud) -> Callable[..., str]:
    return lambda name, scope, **limits: cloud.key(scope, f"wrkspc_{name}", **limits)


def far_backend(cap: int = 10_000) -> Backend:
    """The real use cases of two regions: stores are born in one, everything else is asked in the other.

    Nothing is replicated between them but keys and new stores, so all that the second region answers of memories it
    learned from its own calls, or fetched; and since nobody else calls, it is complete.
    """
    clock = ManualClock()
    cloud = Cloud(("us-east-1", "eu-west-1"), clock=clock, memories_per_store=cap, erase_delay_us=7 * DAY_US)

    def deliver_stores() -> None:
        while records := [position for position, event in enumerate(cloud.pending) if "/store/" in event.key]:
            cloud.deliver_one(records[0])

    here, there = cloud.sites["eu-west-1"], cloud.sites["us-east-1"]
    cloud.claim_complete("eu-west-1", clock.now_us() + 365 * DAY_US)
    return Backend(here.memolith, clock, _issuer(cloud), there.memolith, deliver_stores)
