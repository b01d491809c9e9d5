"""What is counted at the ports is what boto3 sends: the same calls on S3 and DynamoDB as moto plays them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.compose import region_on_aws
from memolith.adapters.layered import CallCounts, InterceptedIndex, InterceptedObjects
from memolith.adapters.memory import MemorySealing, RecordingMetrics
from memolith.app.api.service import Memolith
from memolith.app.kernel.results import Credentials, Memory, RequestContext
from memolith.app.replication.service import make_reconciler
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from memolith.wire.rpc import keys_calls
from tests.contract.moto_world import DEPLOYMENT, HOME, locked_moto, make_bucket, make_tables

SINGLE = {"dynamodb.PutItem", "dynamodb.UpdateItem", "dynamodb.DeleteItem"}


class OnAws:
    """One region on moto, counted twice: at its ports, and where boto3 sends."""

    def __init__(self, clients: Clients) -> None:
        for bucket_region in DEPLOYMENT.regions:
            make_bucket(clients, bucket_region)
        make_tables(clients)
        self.counts, self.sent = CallCounts(), Counter[str]()
        region = region_on_aws(clients, DEPLOYMENT, RecordingMetrics())
        region.index.commit([Change(ControlRow.KEY, None, ControlRow(serving=1, complete=True).to_attributes())])
        make_reconciler(region, MemorySealing(MemorySealing.keys_of((HOME,)), HOME)).tick()
        region.objects = InterceptedObjects(region.objects, HOME, self.counts)
        region.index = InterceptedIndex(region.index, HOME, self.counts)
        self.memolith = Memolith(region, LettingAllThrough())
        clients.s3(HOME, attempts=1)
        self._events = [client.meta.events for client in clients._clients.values()]
        for events in self._events:
            events.register("before-call", self._count)
        request = {"call": "keys.create", "workspace_id": "wrkspc_main", "name": "test", "scope": "admin"}
        issued = keys_calls(self.memolith.api_keys)(request)
        digest = sha256(issued["api_key"].encode()).hexdigest()
        self.call = RequestContext(Credentials("wrkspc_main", issued["key_id"], digest))
        self.store = self.memolith.stores.create(self.call, name="n", description="", metadata={}).id

    def leave(self) -> None:
        """The clients are others' too."""
        for events in self._events:
            events.unregister("before-call", self._count)

    def _count(self, model: Any, **_: Any) -> None:
        name = f"{model.service_model.service_name}.{model.name}"
        self.sent["dynamodb.single_write" if name in SINGLE else name] += 1

    def create(self, path: str) -> Memory:
        return self.memolith.memories.create(self.call, self.store, path=path, content="first", full=False)

    def update(self, memory: Memory, content: str | None, path: str | None = None, expected: str | None = None) -> None:
        self.memolith.memories.update(
            self.call,
            self.store,
            memory.id,
            content=content,
            path=path,
            expected_content_sha256=expected,
            full=False,
        )


@pytest.fixture(scope="module")
def on_aws() -> Iterator[OnAws]:
    with locked_moto() as clients:
        counted = OnAws(clients)
        yield counted
        counted.leave()


@pytest.mark.slow
def test_every_call_is_counted_as_it_is_sent(on_aws: OnAws) -> None:
    made = on_aws.create("/n/a")
    for act in (
        lambda: on_aws.create("/n/b"),
        lambda: on_aws.update(made, "second", expected=made.content_sha256),
        lambda: on_aws.update(made, "second"),
        lambda: on_aws.update(made, None, path="/n/c"),
        lambda: on_aws.memolith.memories.retrieve(on_aws.call, on_aws.store, made.id, full=True),
        lambda: on_aws.memolith.memories.page(
            on_aws.call, on_aws.store, path_prefix=None, depth=0, limit=10, after=None, full=True
        ),
        lambda: on_aws.memolith.memories.delete(on_aws.call, on_aws.store, made.id, expected_content_sha256=None),
    ):
        on_aws.counts.clear()
        on_aws.sent.clear()
        act()
        assert on_aws.sent == on_aws.counts.requests


def test_an_update_sends_three_requests_and_nothing_else(on_aws: OnAws) -> None:
    made = on_aws.create("/n/three")
    on_aws.sent.clear()
    on_aws.update(made, "second", expected=made.content_sha256)
    assert on_aws.sent == {"dynamodb.BatchGetItem": 1, "s3.PutObject": 1, "dynamodb.TransactWriteItems": 1}
