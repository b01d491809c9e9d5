"""What a hostile body costs, whoever sends it: bounded work, and an answer in the API's error format.

The machine's speed is nobody's promise, so that no time is compared: what is counted is the calls of ports, how often
the parser is entered, and the memory. The processor's time is printed (``pytest -s``).
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from memolith.adapters.layered import CallCounts
from memolith.adapters.memory import ManualClock, SeededRandomness
from memolith.app.auth.key_searches import SEARCHES_AT_ONCE
from memolith.wire import strict_json
from memolith.wire.http import HttpApi
from memolith.wire.routes.table import KEY_ROUTES, ROUTES
from memolith.wire.rpc import keys_calls
from tests.api.shapes.answers import check_answer
from tests.api.transport import to_event
from tests.support.cloud import WORKSPACE, Cloud

REGION = "us-east-1"
STRANGERS_MEMORY_MAX_BYTES = 20_000_000
CALLERS_MEMORY_MAX_BYTES = 30_000_000
MEGABYTE = 1_000_000


def filled(head: bytes, item: bytes, tail: bytes, size_bytes: int = 1_020_000) -> bytes:
    """A body of that size: a list, an object or a text, of one item again and again."""
    return head + item * ((size_bytes - len(head) - len(tail)) // len(item)) + tail


def numbered(head: bytes, item: bytes, tail: bytes, count: int) -> bytes:
    return head + b",".join(item % number for number in range(count)) + tail


HOSTILE: dict[str, bytes] = {
    "340,000 empty objects": filled(b"[{}", b",{}", b"]"),
    "340,000 resources": filled(b'{"resources":[{}', b",{}", b"]}"),
    "340,000 versions": filled(b'{"versions":[{}', b",{}", b"]}"),
    "500,000 rules": filled(b'{"name":"n","scan_policy":{"allow":[1', b",1", b"]}}"),
    "500,000 rules of a version": filled(b'{"versions":[{"withheld":{"reason":"r","rules":[1', b",1", b"]}}]}"),
    "500,000 resources that are numbers": filled(b'{"resources":[1', b",1", b"]}"),
    "340,000 lists in what is let pass": filled(b'{"agent":[[]', b",[]", b"]}"),
    "100,000 pairs": numbered(b'{"name":"n","metadata":{', b'"%d":""', b"}}", 100_000),
    "100,000 fields": numbered(b"{", b'"%d":0', b"}", 100_000),
    "900 objects of 64 unknown fields": b'{"resources":['
    + b",".join([numbered(b"{", b'"x%d":0', b"}", 64)] * 900)
    + b"]}",
    "nested lists, open": b"[" * MEGABYTE,
    "nested lists, closed": b"[" * 500_000 + b"]" * 500_000,
    "nested objects": b'{"a":' * 200_000,
    "lists nested 900 deep in what is let pass": b'{"agent":' + b"[" * 900 + b"]" * 900 + b"}",
    "a number of a million digits": b'{"name":' + b"9" * MEGABYTE + b"}",
    "numbers of 4,000 digits": filled(b'{"resources":[1', b"," + b"9" * 4_000, b"]}"),
    "a fraction of a million digits": b'{"name":0.' + b"9" * MEGABYTE + b"}",
    "a text of a megabyte": filled(b'{"name":"', b"x", b'","path":"/a","content":1,"reason":2}'),
    "a content of a megabyte": filled(b'{"path":"/a","content":"', b"x", b'"}'),
    "170,000 escapes": filled(b'{"content":"', b"\\u0000", b'"}'),
    "lone surrogates": filled(b'{"reason":"', b"\\ud800", b'"}'),
    "a field's name of a megabyte": filled(b'{"', b"n", b'":1}'),
    "one field again and again": filled(b'{"name":"n"', b',"name":"n"', b"}"),
    "no UTF-8": b"\xff" * MEGABYTE,
    "UTF-8 cut short": b'{"name":"' + b"\xe2\x82" * 400_000 + b'"}',
    "zeros": b"\x00" * MEGABYTE,
    "blanks beyond the limit": b" " * 1_100_000,
    "more than a body may be": filled(b'{"content":"', b"x", b'"}', 1_100_000),
}


EVENTS = {
    name: to_event("POST", "/", "", [("content-type", "application/json")], body) for name, body in HOSTILE.items()
}
EVENTS["no base64"] = {**EVENTS["zeros"], "body": "!" * MEGABYTE, "isBase64Encoded": True}
EVERY_ROUTE = (*ROUTES, *KEY_ROUTES)
TAKE_NO_BODY = ("archive", "cancel", "redact", "restore", "dismiss", "revoke")


def told(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")


def ids_of(path: tuple[str, ...]) -> Iterator[str]:
    """Ids of the form that belongs at each place of a route."""
    ulid = "01m80gqgrfyn8361t51thggc0z"
    first = {
        "memory_stores": f"memstore_useast1_{ulid}",
        "sessions": f"sesn_useast1_{ulid}",
        "dreams": f"drm_useast1_{ulid}",
        "api_keys": f"apikey_useast1_{ulid}",
    }[path[1]]
    yield first
    while True:
        yield f"{'mem' if 'memories' in path else 'memver'}_{ulid}"


@dataclass
class Region:
    """A deployment behind the wire, whose calls are counted."""

    cloud: Cloud = field(init=False)
    counts: CallCounts = field(default_factory=CallCounts)
    parsed: int = 0

    def __post_init__(self) -> None:
        clock = ManualClock()
        self.cloud = Cloud((REGION,), clock=clock, interceptor=self.counts)
        self.memolith = self.cloud.sites[REGION].memolith
        self.api = HttpApi(self.memolith, clock, SeededRandomness(), self.cloud.metrics, EVERY_ROUTE)
        self.key = self.cloud.key()
        made = self.memolith.stores.create(self.cloud.call(self.key), name="n", description="", metadata={})
        self.store_id = made.id
        self.routes = [
            (method, "/" + "/".join(next(ids) if part == "*" else part for part in route.path))
            for route in EVERY_ROUTE
            for method in route.methods
            if method != "GET"
            for ids in [ids_of(route.path)]
        ]

    def send(self, key: str | None) -> Iterator[tuple[str, int]]:
        """Every body to every route that takes one, and some to the others, which all refuse any in the same way.

        Yields which, and the status; the answer has the API's shape.
        """
        for method, path in self.routes:
            takes_none = method == "DELETE" or path.rpartition("/")[2] in TAKE_NO_BODY
            path = path.replace(next(ids_of(("v1", "memory_stores"))), self.store_id)
            for name, event in list(EVENTS.items())[: 3 if takes_none else None]:
                self.counts.clear()
                answer = self.api.answer(
                    {
                        **event,
                        "rawPath": path,
                        "headers": {"content-type": "application/json"}
                        | ({} if key is None else {"authorization": f"Bearer {key}"}),
                        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default"},
                    }
                )
                check_answer(answer)
                yield f"{name} to {method} {path}", answer["statusCode"]

    def token(self, access: str = "read_write") -> tuple[str, str]:
        """A session's id, and its token."""
        resources = [{"type": "memory_store", "memory_store_id": self.store_id, "access": access}]
        body = json.dumps({"resources": resources}).encode()
        event = to_event("POST", "/v1/sessions", "", [("authorization", f"Bearer {self.key}")], body)
        made = json.loads(self.api.answer(event)["body"])
        return made["id"], made["token"]


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> Region:
    region = Region()
    decode = strict_json.decode

    def counting(body: bytes, *limits: int) -> Any:
        region.parsed += 1
        return decode(body, *limits)

    monkeypatch.setattr(strict_json, "decode", counting)
    return region


def revoked_key(region: Region) -> str:
    text = region.cloud.key()
    key_id = region.cloud.call(text).credentials.key_id  # type: ignore[union-attr]  # an API key's, and no session's
    keys_calls(region.memolith.api_keys)({"call": "keys.revoke", "workspace_id": WORKSPACE, "key_id": key_id})
    return text


def ended_token(region: Region) -> str:
    session_id, token = region.token()
    region.memolith.sessions.archive(region.cloud.call(region.key), session_id)
    return token


STRANGERS: Mapping[str, tuple[Callable[[Region], str | None], int]] = {
    "nobody": (lambda region: None, 0),
    "a key of another vendor": (lambda region: "sk-ant-x", 0),
    "a key that nobody issued": (lambda region: "sk-memolith-main-useast1_01kb0000000000000000000000-" + "a" * 64, 1),
    "a wrong secret": (lambda region: region.key[:-64] + "a" * 64, 1),
    "a revoked key": (revoked_key, 1),
    "a forged token": (lambda region: region.token()[1][:-4] + "AAAA", 0),
    "an ended session's token": (ended_token, 1),
}
"""Who is let in nowhere, and how many index reads it takes to tell."""


@pytest.mark.slow
@pytest.mark.parametrize("who", STRANGERS)
def test_a_strangers_body_is_answered_with_401_and_never_parsed(region: Region, who: str) -> None:
    credential, reads = STRANGERS[who]
    key = credential(region)
    region.parsed = searches = requests = 0
    began_s = time.process_time()
    tracemalloc.start()
    try:
        for sent, status in region.send(key):
            assert (status, region.parsed) == (401, 0), sent
            requests += 1
            searches += region.counts.calls.pop("objects.list", 0)
            assert region.counts.calls == ({"index.read": reads} if reads else {}), sent
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert searches <= SEARCHES_AT_ONCE
    assert peak_bytes <= STRANGERS_MEMORY_MAX_BYTES
    told(f"{who}: {requests} requests, {time.process_time() - began_s:.2f} s of CPU, peak {peak_bytes:,} bytes")


@pytest.mark.slow
def test_a_callers_hostile_body_is_refused_in_the_apis_format_for_one_index_read(region: Region) -> None:
    began_s = time.process_time()
    longest: dict[str, float] = {}
    before_s = began_s
    for sent, status in region.send(region.key):
        assert 400 <= status < 500, sent
        assert status != 401, sent
        assert region.counts.calls == {"index.read": 1}, sent
        now_s = time.process_time()
        name = sent.partition(" to ")[0]
        longest[name], before_s = max(longest.get(name, 0.0), now_s - before_s), now_s
    assert region.parsed > 0
    slowest = sorted(longest.items(), key=lambda one: -one[1])[:5]
    told(f"a caller: {time.process_time() - began_s:.2f} s of CPU; slowest: {slowest}")
    store = region.memolith.stores.retrieve(region.cloud.call(region.key), region.store_id)
    assert store.archived_at is None


HEAVIEST = (
    "340,000 resources",
    "500,000 rules",
    "340,000 lists in what is let pass",
    "100,000 fields",
    "900 objects of 64 unknown fields",
    "nested lists, closed",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVIEST)
def test_the_memory_that_a_callers_hostile_body_takes_is_bounded(region: Region, name: str) -> None:
    """Some twenty bytes for a byte of JSON are what Python's own lists take; with every fault collected it was 700."""
    headers = [("content-type", "application/json"), ("authorization", f"Bearer {region.key}")]
    event = to_event("POST", "/v1/sessions", "", headers, HOSTILE[name])
    tracemalloc.start()
    try:
        answer = region.api.answer(event)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 400 <= answer["statusCode"] < 500
    told(f"{name}: peak {peak_bytes:,} bytes")
    assert peak_bytes <= CALLERS_MEMORY_MAX_BYTES


@pytest.mark.parametrize(
    ("method", "path", "query", "otherwise"),
    [
        ("GET", "/v1/memory_stores", "limit=0", 400),
        ("GET", "/v1/memory_stores", "page=x", 400),
        ("DELETE", "/v1/memory_stores/memstore_x/memories/mem_x", "expected_content_sha256=x", 400),
        ("DELETE", "/v1/memory_stores/memstore_x/memories/mem_x", "", 404),
        ("GET", "/v1/memory_stores/memstore_x/memories/mem_x", "", 404),
        ("GET", "/v1/memory_stores/memstore_x/memory_versions/x", "", 404),
    ],
)
@pytest.mark.parametrize("who", ["a key that nobody issued", "a wrong secret", "a revoked key"])
def test_a_stranger_is_told_that_before_what_else_is_wrong(
    region: Region, who: str, method: str, path: str, query: str, otherwise: int
) -> None:
    def status(key: str, **headers: str) -> int:
        event = to_event(method, path, query, [("authorization", f"Bearer {key}"), *headers.items()])
        return int(region.api.answer(event)["statusCode"])

    unknown = str(STRANGERS[who][0](region))
    assert (status(unknown), status(region.key)) == (401, otherwise)
    for headers, refused in (
        ({"x-memolith-consistency": "yesterday"}, 400),
        ({"anthropic-workspace-id": "wrkspc_former"}, 403),
    ):
        assert (status(unknown, **headers), status(region.key, **headers)) == (401, refused)


def test_a_token_that_is_not_enough_is_first_told_where_it_has_ended(region: Region) -> None:
    _, token = region.token()
    for text, refused in ((token, 403), (str(ended_token(region)), 401)):
        for path in ("/v1/memory_stores", "/v1/sessions", "/v1/dreams"):
            event = to_event("GET", path, "", [("authorization", f"Bearer {text}")])
            assert region.api.answer(event)["statusCode"] == refused, path
