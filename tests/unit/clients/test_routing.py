"""The unchanged SDK over several regions: what goes on to the next one, and what is never sent twice. Ours."""

from __future__ import annotations

from collections.abc import Callable

import anthropic
import httpx2
import pytest

from memolith.clients.sdk.routing import AVOIDED_S, RegionsTransport, http_client
from tests.api.harness import Backend, model_backend

NEAR = "https://near.example/stage"
FAR = "https://far.example"

Answer = Callable[[httpx2.Request], httpx2.Response]


class Network(httpx2.BaseTransport):
    """Both regions over one API; what `near` does is a test's to choose.

    Attributes:
        seen: host and method of every request, in order.
        now_s: the clock.
    """

    def __init__(self, backend: Backend, near: Answer | None = None) -> None:
        self.backend = backend
        self.near = near
        self.far: Answer | None = None
        self.seen: list[tuple[str, str]] = []
        self.now_s = 0.0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        assert request.headers["host"] == request.url.host
        self.seen.append((request.url.host.partition(".")[0], request.method))
        is_near = request.url.host == "near.example"
        if is_near:
            assert request.url.path.startswith("/stage/v1/"), "the region's own path stands before the API's"
            request.url = request.url.copy_with(raw_path=request.url.raw_path.removeprefix(b"/stage"))
        assert request.url.path.startswith("/v1/")
        if answer := self.near if is_near else self.far:
            return answer(request)
        return self.backend.gateway.handle_request(request)

    def client(self, max_retries: int = 0) -> anthropic.Anthropic:
        transport = RegionsTransport([NEAR, FAR], inner=self, now_s=lambda: self.now_s)
        return anthropic.Anthropic(
            base_url=NEAR,
            api_key=self.backend.api_key,
            http_client=httpx2.Client(transport=transport),
            max_retries=max_retries,
        )


def breaks(error: type[httpx2.TransportError]) -> Answer:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise error("broken", request=request)

    return answer


def says(status: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: httpx2.Response(status, headers=named, json={"message": "no"}, request=request)


@pytest.fixture
def network() -> Network:
    return Network(model_backend())


NO_CONNECTION = [breaks(httpx2.ConnectError), breaks(httpx2.ConnectTimeout)]
BROKEN = [breaks(httpx2.ReadError), breaks(httpx2.ReadTimeout), breaks(httpx2.RemoteProtocolError)]
NOTHING_DONE = says(503, x_memolith_region="near")
GATEWAY = [says(status) for status in (500, 502, 503, 504)]


@pytest.mark.parametrize("near", [*NO_CONNECTION, *BROKEN, NOTHING_DONE, *GATEWAY])
def test_a_read_goes_on_whatever_became_of_it(network: Network, near: Answer) -> None:
    network.near = near
    assert network.client().beta.memory_stores.list().data == []
    assert network.seen == [("near", "GET"), ("far", "GET")]


@pytest.mark.parametrize("near", [*NO_CONNECTION, NOTHING_DONE])
def test_a_write_goes_on_where_nothing_was_done(network: Network, near: Answer) -> None:
    network.near = near
    store = network.client().beta.memory_stores.create(name="Notes")
    assert network.seen == [("near", "POST"), ("far", "POST")]
    network.near = None
    assert network.client().beta.memory_stores.retrieve(store.id).name == "Notes"


@pytest.mark.parametrize("near", [*BROKEN, *GATEWAY])
def test_a_write_that_may_have_been_done_is_sent_once_though_the_sdk_repeats(network: Network, near: Answer) -> None:
    network.near = near
    with pytest.raises(anthropic.InternalServerError):
        network.client(max_retries=2).beta.memory_stores.create(name="Notes")
    assert network.seen == [("near", "POST")]


def test_a_write_whose_connection_broke_is_told_as_memolith_tells_what_it_does_not_know(network: Network) -> None:
    network.near = breaks(httpx2.ReadError)
    with pytest.raises(anthropic.InternalServerError) as unknown:
        network.client().beta.memory_stores.create(name="Notes")
    assert (unknown.value.status_code, unknown.value.type) == (504, "timeout_error")
    assert unknown.value.response.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("status", [400, 401, 404, 409, 429])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_a_region_decided_is_decided(network: Network, status: int, method: str) -> None:
    network.near = says(status, x_should_retry="false", x_memolith_region="near")
    with pytest.raises(anthropic.APIStatusError) as told:
        network.client().request(object, anthropic._models.FinalRequestOptions(method=method, url="/v1/memory_stores"))
    assert told.value.status_code == status
    assert network.seen == [("near", method)]


def test_an_unknown_outcome_that_memolith_tells_is_not_tried_elsewhere(network: Network) -> None:
    network.near = says(504, x_should_retry="false", x_memolith_region="near")
    with pytest.raises(anthropic.InternalServerError):
        network.client(max_retries=2).beta.memory_stores.create(name="Notes")
    assert network.seen == [("near", "POST")]


def test_a_region_that_did_not_answer_is_asked_last_for_a_while(network: Network) -> None:
    network.near = breaks(httpx2.ConnectError)
    client = network.client()
    client.beta.memory_stores.list()
    network.near = None
    network.now_s += AVOIDED_S - 1
    client.beta.memory_stores.list()
    network.now_s += 2
    client.beta.memory_stores.list()
    assert [host for host, _ in network.seen] == ["near", "far", "far", "near"]


def test_a_region_that_answers_but_could_not_do_it_now_is_asked_first_again(network: Network) -> None:
    network.near = NOTHING_DONE
    client = network.client()
    client.beta.memory_stores.list()
    client.beta.memory_stores.list()
    assert [host for host, _ in network.seen] == ["near", "far", "near", "far"]


def test_where_every_region_says_that_nothing_was_done_the_sdk_repeats_by_itself(network: Network) -> None:
    network.near = network.far = NOTHING_DONE
    with pytest.raises(anthropic.InternalServerError) as told:
        network.client(max_retries=1).beta.memory_stores.create(name="Notes")
    assert told.value.status_code == 503
    assert [host for host, _ in network.seen] == ["near", "far", "near", "far"]


def test_where_no_region_is_reached_the_caller_is_told(network: Network) -> None:
    network.near = network.far = breaks(httpx2.ConnectError)
    with pytest.raises(anthropic.APIConnectionError):
        network.client().beta.memory_stores.create(name="Notes")
    assert [host for host, _ in network.seen] == ["near", "far"]


def test_what_is_sent_to_the_next_region_is_the_same_request(network: Network) -> None:
    client = network.client()
    store = client.beta.memory_stores.create(name="Notes")
    network.near = breaks(httpx2.ConnectError)
    memory = client.beta.memory_stores.memories.create(store.id, path="/ä b.md", content="täxt", view="full")
    assert (memory.path, memory.content) == ("/ä b.md", "täxt")
    listed = client.beta.memory_stores.memories.list(store.id, path_prefix="/").data
    assert [one.path for one in listed] == ["/ä b.md"]


@pytest.mark.parametrize("urls", [[], [NEAR, NEAR], [NEAR, f"{NEAR}/"], ["near.example"], ["ftp://near.example"]])
def test_addresses_that_cannot_be_meant_are_refused(urls: list[str]) -> None:
    with pytest.raises(ValueError, match="base_urls"):
        http_client(urls)


def test_the_sdks_own_client_takes_it(network: Network) -> None:
    client = anthropic.Anthropic(base_url=NEAR, api_key="k", http_client=http_client([NEAR, FAR]), timeout=35)
    assert client.with_options(max_retries=0).base_url.host == "near.example"
