"""Ours: each region knows up to when it is complete, by its own schedule; and a read may ask for more than that."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic
from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.compose import region_on_aws
from memolith.adapters.aws.names import Deployment
from memolith.adapters.memory import RecordingMetrics
from memolith.core import decide
from memolith.core.drafts import Draft
from memolith.core.limits import ACKNOWLEDGED_WITHIN_US
from memolith.core.log_position import LogKey, Slot
from memolith.core.object_keys import CheckpointKey
from memolith.core.objects.checkpoint import Checkpoint
from memolith.core.objects.entry import Actor, Operation
from memolith.core.rows.content import MemoryRow
from memolith.core.times import parse_rfc3339, rfc3339
from memolith.wire.freshness import COMPLETE_UNTIL, LAG_MS, UNKNOWN
from tests.e2e.conftest import until

pytestmark = pytest.mark.e2e

FIRST_S, EVERY_S = 240, 60
"""How long a new deployment takes at most until it knows anything; and the schedule's minute."""
HOME = {"x-memolith-consistency": "home"}


def complete_until_us(sdk: Anthropic) -> int:
    """What a read in a region says, in microseconds; 0 while it is unknown."""
    said = sdk.beta.memory_stores.with_raw_response.list(limit=1).headers
    if said[COMPLETE_UNTIL] == UNKNOWN:
        assert LAG_MS not in said
        return 0
    assert int(said[LAG_MS]) >= 0
    return parse_rfc3339(said[COMPLETE_UNTIL])


def tick(aws: Clients, dev: dict[str, Any], region: str) -> None:
    """What the schedule does every minute, now; beside the schedule, which may be at it."""

    def ticked() -> bool:
        name = dev["regions"][region]["functions"]["reconciler"]
        answer = aws.functions(region).invoke(FunctionName=name, Payload=b'{"call": "tick"}')
        return bool(json.load(answer["Payload"])["failures"] == [])

    until(ticked)


def until_complete(
    aws: Clients, dev: dict[str, Any], sdk: dict[str, Anthropic], region: str, wanted_us: int, within_s: float = 120.0
) -> None:
    """Waits until a region is complete up to a moment, more often than the schedule would let it move."""

    def is_complete() -> bool:
        for name in sdk:
            tick(aws, dev, name)
        return complete_until_us(sdk[region]) >= wanted_us

    until(is_complete, within_s)


@contextmanager
def held(dev: dict[str, Any], *prefixes: str) -> Iterator[None]:
    """Objects whose keys begin so are not replicated; all others overtake them."""
    _replication(dev, {"hold": list(prefixes)})
    try:
        yield
    finally:
        _replication(dev, {"hold": []})


def _replication(dev: dict[str, Any], settings: dict[str, Any]) -> None:
    url = f"{dev['replication']['control_url']}/replication"
    request = urllib.request.Request(url, json.dumps(settings).encode(), method="POST")  # noqa: S310 - our own address
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - our own address
        assert answer.status == 200


@contextmanager
def without_events(aws: Clients, dev: dict[str, Any], region: str) -> Iterator[None]:
    """The indexer of the region is told of no object that is put meanwhile, then or later."""
    s3, bucket = aws.s3(region), dev["regions"][region]["bucket"]
    queues = s3.get_bucket_notification_configuration(Bucket=bucket)["QueueConfigurations"]
    kept = [one for one in queues if not one["QueueArn"].endswith(":memolith-dev-index")]
    assert len(kept) == len(queues) - 1
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={"QueueConfigurations": kept})
    try:
        yield
    finally:
        s3.put_bucket_notification_configuration(
            Bucket=bucket, NotificationConfiguration={"QueueConfigurations": queues}
        )


@dataclass(frozen=True)
class Checkpoints:
    """A home's checkpoints as they have arrived in another region's bucket."""

    aws: Clients
    bucket: str
    home: str
    region: str

    def last(self) -> Checkpoint:
        s3 = self.aws.s3(self.region)
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=f"{self.home}/checkpoint/")
        keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
        return self.at(max(int(key.split("/")[2]) for key in keys if len(key.split("/")) == 3))

    def at(self, period: int) -> Checkpoint:
        found = self.aws.s3(self.region).get_object(Bucket=self.bucket, Key=str(CheckpointKey(self.home, period)))
        return Checkpoint.from_json(found["Body"].read())


@pytest.fixture(scope="module")
def written(sdk: dict[str, Anthropic], regions: tuple[str, ...]) -> BetaManagedAgentsMemory:
    """A memory that said "one" at first, and "two" since; made before the other tests of this module."""
    store = sdk[regions[0]].beta.memory_stores.create(name="the past")
    memories = sdk[regions[0]].beta.memory_stores.memories
    made = memories.create(store.id, path="/a.md", content="one")
    memories.update(made.id, memory_store_id=store.id, content="two")
    return made


@pytest.mark.usefixtures("written")
def test_a_watermark_stops_before_what_is_missing_and_goes_on_by_itself_when_it_has_come_though_its_event_never_does(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients, dev: dict[str, Any]
) -> None:
    home, there = regions[:2]
    checkpoints = Checkpoints(aws, dev["regions"][there]["bucket"], home, there)
    until(lambda: complete_until_us(sdk[there]), FIRST_S)
    memories = {name: sdk[name].beta.memory_stores.memories for name in regions}
    with without_events(aws, dev, there):
        with held(dev, f"{home}/log/{store_id}/"):
            tick(aws, dev, home)
            missing = memories[home].create(store_id, path="/missing.md", content="on its way")
            written_us = parse_rfc3339(missing.created_at.isoformat())
            tick(aws, dev, home)
            naming = until(lambda: _naming(checkpoints, missing.memory_version_id))
            before = checkpoints.at(naming.period - 1)
            assert before.until <= written_us < naming.until
            until(lambda: _ticked_to(aws, dev, there, sdk, before.until))
            tick(aws, dev, home)
            until(lambda: checkpoints.last().period > naming.period)
            tick(aws, dev, there)
            with pytest.raises(anthropic.NotFoundError):
                memories[there].retrieve(missing.id, memory_store_id=store_id)
            assert complete_until_us(sdk[there]) == before.until
            so_far = {name: complete_until_us(sdk[name]) for name in regions}
        until(lambda: complete_until_us(sdk[there]) > written_us, 2.5 * EVERY_S)
        assert memories[there].retrieve(missing.id, memory_store_id=store_id).content == "on its way"
        for name in regions:
            until(lambda name=name: complete_until_us(sdk[name]) > so_far[name], 2.5 * EVERY_S)  # type: ignore[misc]  # a lambda with a default has no type


def _naming(checkpoints: Checkpoints, version_id: str) -> Checkpoint | None:
    last = checkpoints.last()
    for period in range(max(1, last.period - 5), last.period + 1):
        found = checkpoints.at(period)
        if any(name.version_id == version_id for name in found.names):
            return found
    return None


def _ticked_to(aws: Clients, dev: dict[str, Any], region: str, sdk: dict[str, Anthropic], wanted_us: int) -> bool:
    tick(aws, dev, region)
    said = complete_until_us(sdk[region])
    assert said <= wanted_us, "complete up to a moment after the write that is missing"
    return said == wanted_us


def test_a_read_elsewhere_that_demands_the_homes_answer_or_a_version_gets_it_before_it_has_arrived(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, dev: dict[str, Any]
) -> None:
    home, there = (sdk[name].beta.memory_stores.memories for name in regions[:2])
    made = home.create(store_id, path="/a.md", content="before")
    until(_shows(there, store_id, made.id, "before"))
    with held(dev, f"{regions[0]}/log/{store_id}/"):
        changed = home.update(made.id, memory_store_id=store_id, content="after")
        other = home.create(store_id, path="/b.md", content="")
        assert _shows(there, store_id, made.id, "before")()
        assert _shows(there, store_id, made.id, "after", HOME)()
        assert [one.path for one in there.list(store_id, extra_headers=HOME)] == ["/a.md", "/b.md"]
        assert [one.path for one in there.list(store_id)] == ["/a.md"]
        demanded = {"x-memolith-min-version": changed.memory_version_id}
        assert _shows(there, store_id, made.id, "after", demanded)()
        assert _shows(there, store_id, other.id, "", {"x-memolith-min-version": other.memory_version_id})()


def test_a_read_elsewhere_at_home_finds_the_write_whose_writer_died_and_whose_event_never_came(
    sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str, aws: Clients, dev: dict[str, Any]
) -> None:
    home, there = (sdk[name].beta.memory_stores.memories for name in regions[:2])
    made = home.create(store_id, path="/a.md", content="before")
    until(_shows(there, store_id, made.id, "before"))
    with held(dev, f"{regions[0]}/log/{store_id}/"), without_events(aws, dev, regions[0]):
        put_and_die(aws, regions, store_id, made.id, "after")
        assert _shows(home, store_id, made.id, "before")()
        assert _shows(there, store_id, made.id, "after", HOME)()
        assert _shows(home, store_id, made.id, "after")()


def put_and_die(aws: Clients, regions: tuple[str, ...], store_id: str, memory_id: str, content: str) -> None:
    """A version as a writer at home puts it that then dies: it stands in the log, and nothing tells of it."""
    region = region_on_aws(aws, Deployment("dev", "000000000000", regions, regions[0]), RecordingMetrics())
    key = MemoryRow.key(store_id, memory_id)
    head = MemoryRow.from_attributes(region.view([key]).rows[key])
    draft = Draft(region.new_id("memver"), memory_id, Actor("api_key", "test"), region.clock.now_us())
    log_key = LogKey(store_id, head.path_hash, Slot.parse(head.slot).following)
    entry = decide.follows(draft, head, log_key, decide.Commit(Operation.MODIFIED, head.path or "", content))
    region.objects.put_if_absent(str(entry.key), content.encode(), entry.to_metadata(), entry.content_sha256)


def test_elsewhere_too_the_past_is_as_it_was_once_it_is_complete(
    sdk: dict[str, Anthropic],
    regions: tuple[str, ...],
    written: BetaManagedAgentsMemory,
    aws: Clients,
    dev: dict[str, Any],
) -> None:
    there = sdk[regions[1]]
    memories, store_id = there.beta.memory_stores.memories, written.memory_store_id
    then_us = parse_rfc3339(written.created_at.isoformat())
    as_of = {"as_of": rfc3339(then_us)}
    until_complete(aws, dev, sdk, regions[1], then_us + ACKNOWLEDGED_WITHIN_US)
    assert memories.retrieve(written.id, memory_store_id=store_id, extra_query=as_of).content == "one"
    assert memories.retrieve(written.id, memory_store_id=store_id).content == "two"
    listed = memories.list(store_id, view="full", extra_query=as_of)
    assert [one.content for one in listed if one.type == "memory"] == ["one"]
    assert list(memories.list(store_id, extra_query={"as_of": rfc3339(then_us - 1)})) == []


def _shows(
    memories: Any, store_id: str, memory_id: str, content: str, headers: dict[str, str] | None = None
) -> Callable[[], bool]:
    def shows() -> bool:
        try:
            found = memories.retrieve(memory_id, memory_store_id=store_id, extra_headers=headers)
        except anthropic.NotFoundError:
            return False
        return bool(found.content == content)

    return shows
