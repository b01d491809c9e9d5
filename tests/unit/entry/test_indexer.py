"""The indexer's messages: each for itself, repeatable, and what can never be read is set aside with the reason."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote_plus

import pytest

from infra.constructs.functions.indexer import SHAPE as INDEXER
from infra.constructs.queues import RECEIVES_MAX
from memolith.adapters.layered.gathered import GatheredQueue
from memolith.adapters.memory import ManualClock, MemoryQueue, RecordingMetrics
from memolith.app.indexer.indexer import Indexer
from memolith.app.indexer.rebuild import BatchProjector
from memolith.app.indexer.service import make_indexer
from memolith.core.errors import Unavailable
from memolith.core.rows.base import RowKey
from memolith.core.rows.control import ControlRow
from memolith.entry.compose_indexer import EventConsumer, dispatch
from memolith.ports import errors as port_errors
from memolith.ports.index import Change
from tests.support.cloud import Cloud

REGION = "us-east-1"


class Taken:
    """What was asked of the queue for messages that failed."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.unavailable = False

    def come_back(self, queue: str, receipt: str, seconds: int) -> None:
        if self.unavailable:
            raise port_errors.Unavailable("AccessDenied")
        self.asked.append((queue, receipt, seconds))


class Requests:
    """A queue that tells what each of its requests carried."""

    def __init__(self) -> None:
        self.sent: list[list[str]] = []
        self.unavailable = False

    def send(self, messages: Sequence[str]) -> None:
        if self.unavailable:
            raise port_errors.Unavailable("closed")
        self.sent.append(list(messages))


class World:
    """One region's indexer over adapters in memory, with an object to fold."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cloud = Cloud((REGION,), clock=self.clock)
        site = self.cloud.sites[REGION]
        call = self.cloud.call(self.cloud.key())
        self.store_id = site.memolith.stores.create(call, name="s", description="", metadata={}).id
        site.memolith.memories.create(call, self.store_id, path="/a", content="x", full=False)
        self.keys = [event.key for event in self.cloud.pending]
        self.indexing = site.indexing
        self.dead_letters = MemoryQueue()
        self.metrics = RecordingMetrics()
        self.taken = Taken()
        self.folder = BatchProjector(site.region, site.indexing)
        self.requested = Requests()
        self.scans = GatheredQueue(self.requested)

    def asks_for_scans(self) -> None:
        """From now on the indexer requests the post-commit scan of each new version."""
        self.indexing = make_indexer(self.cloud.sites[REGION].region, inspections=self.scans)

    def answer(self, *bodies: str, receives: int = 1, left_s: int = 60) -> Mapping[str, Any]:
        return self.answer_records([_record(f"m{n}", body, receives) for n, body in enumerate(bodies)], left_s)

    def answer_records(self, records: Sequence[dict[str, Any]], left_s: int = 60) -> Mapping[str, Any]:
        folding = EventConsumer(self.indexing, self.folder, self.dead_letters, self.metrics)
        ends_us = self.clock.now_us() + left_s * 1_000_000
        context = SimpleNamespace(get_remaining_time_in_millis=lambda: (ends_us - self.clock.now_us()) // 1_000)
        answer = dispatch(self.indexing, folding, self.taken, self.scans, self.metrics)
        return answer({"Records": records}, context)

    def counted(self) -> tuple[int, int]:
        """How many messages were tried, and how many of them failed."""
        return self.metrics.total("messages"), self.metrics.total("messages_failed")

    def letters(self) -> list[dict[str, str]]:
        return [json.loads(letter) for letter in self.dead_letters.take(100)]


def _record(message_id: str, body: str, receives: int = 1) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "body": body,
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{REGION}:123456789012:memolith-test-index",
        "attributes": {"ApproximateReceiveCount": str(receives)},
        "receiptHandle": f"receipt of {message_id}",
    }


def s3_event(*keys: str) -> str:
    return json.dumps({"Records": [{"eventName": "ObjectCreated:Put", "s3": {"object": {"key": key}}} for key in keys]})


@pytest.fixture
def world() -> World:
    return World()


def test_what_arrived_is_folded_into_an_empty_index(world: World) -> None:
    database = world.cloud.sites[REGION].database
    database.drop(1)
    database.make(1)
    assert world.answer(s3_event(*map(quote_plus, world.keys))) == {"batchItemFailures": []}
    assert [row["path"] for row in world.cloud.rows(REGION, "memories").values()] == ["/a"]
    assert world.metrics.total("objects_folded") == len(world.keys)
    assert world.answer(s3_event(*world.keys), s3_event(*world.keys)) == {"batchItemFailures": []}
    assert world.letters() == []


def test_what_has_no_rows_is_counted_apart_from_what_is_folded(world: World) -> None:
    """Checkpoints arrive at every tick and touch no table: they do not show that folding goes on."""
    checkpoint, part = f"{REGION}/checkpoint/000000000001", f"{REGION}/checkpoint/000000000001/a/00001"
    world.indexing = FailingFor(world.indexing, world.keys)
    world.answer(s3_event(checkpoint), s3_event(part), s3_event("local/witness/x"), s3_event(world.keys[0]))
    assert world.metrics.counts["objects_folded", (("source", "other"),)] == 3
    assert world.metrics.counts["objects_folded", (("source", "event"),)] == 0
    assert world.counted() == (4, 1)


def test_a_key_that_is_none_of_ours_is_set_aside_with_the_reason_and_stops_nothing(world: World) -> None:
    good = world.keys[-1]
    answer = world.answer(s3_event("us-east-1/log/nonsense", good, "a%2Fb+c"), s3_event(good))
    assert answer == {"batchItemFailures": []}
    assert [letter["key"] for letter in world.letters()] == ["us-east-1/log/nonsense", "a/b c"]
    assert world.metrics.total("objects_folded") == 2
    assert world.metrics.total("objects_malformed") == 2


@pytest.mark.parametrize(
    "body",
    [
        "",
        "no JSON",
        "[]",
        "null",
        "{}",
        '"rebuild"',
        '{"Records":[{}]}',
        '{"Records":1}',
        '{"rebuild":{}}',
        '{"fold_again":{}}',
        '{"fold_again":1}',
        '{"Records":[{"s3":{"object":{"key":"%ff"}}}]}',
    ],
)
def test_a_message_of_no_known_kind_is_set_aside_whole(world: World, body: str) -> None:
    assert world.answer(body, s3_event(world.keys[0])) == {"batchItemFailures": []}
    (letter,) = world.letters()
    assert letter["message"] == body
    assert "neither" in letter["reason"]


def test_the_event_that_s3_sends_when_notifications_are_set_up_is_passed_over(world: World) -> None:
    body = json.dumps({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"})
    assert world.answer(body) == {"batchItemFailures": []}
    assert world.letters() == []


def test_a_batch_of_a_rebuild_is_folded_into_the_generation_it_names(world: World) -> None:
    world.cloud.sites[REGION].database.make(2)
    keys = [*world.keys, "us-east-1/log/nonsense"]
    building = ControlRow(serving=1, complete=False, building=2, run="run_1").to_attributes()
    world.cloud.sites[REGION].region.index.commit([Change(ControlRow.KEY, None, building, unconditional=True)])
    body = json.dumps({"rebuild": {"generation": 2, "run": "run_1", "batch": 0, "keys": keys}})
    assert world.answer(body) == {"batchItemFailures": []}
    rows = world.cloud.sites[REGION].database.table("memories", 2).order.rows
    assert len(rows) == 1
    assert [letter["key"] for letter in world.letters()] == ["us-east-1/log/nonsense"]


def test_an_entry_whose_paths_rows_disagreed_is_folded_with_them_though_its_memory_is_known(world: World) -> None:
    before = world.cloud.rows(REGION, "paths")
    row = RowKey("paths", world.store_id, "/a")
    world.cloud.sites[REGION].region.index.commit([Change(row, None, None, unconditional=True)])
    assert world.answer(s3_event(world.keys[-1])) == {"batchItemFailures": []}
    assert world.cloud.rows(REGION, "paths") == {}
    assert world.answer(json.dumps({"fold_again": {"key": world.keys[-1]}})) == {"batchItemFailures": []}
    assert world.cloud.rows(REGION, "paths") == before


@pytest.mark.parametrize("body", [s3_event("us-east-1/log/nonsense"), "no JSON"])
def test_a_letter_that_is_sent_back_and_still_cannot_be_read_is_the_same_letter(world: World, body: str) -> None:
    world.answer(body)
    first = world.letters()
    world.answer(json.dumps(first[0]))
    assert world.letters() == first


def test_a_letter_that_is_sent_back_is_folded_if_it_can_be_read_by_now(world: World) -> None:
    database = world.cloud.sites[REGION].database
    database.drop(1)
    database.make(1)
    letters = [json.dumps({"key": key, "reason": "was not understood"}) for key in world.keys[:-1]]
    letters.append(json.dumps({"message": s3_event(world.keys[-1]), "reason": "was not understood"}))
    assert world.answer(*letters) == {"batchItemFailures": []}
    assert [row["path"] for row in world.cloud.rows(REGION, "memories").values()] == ["/a"]
    assert world.letters() == []


class FailingFor(Indexer):
    """An indexing that cannot fold some keys now."""

    def __init__(self, inner: Indexer, keys: Sequence[str]) -> None:
        self._inner, self._failing = inner, keys

    def object_arrived(self, key: str, paths_too: bool = False, object_version: str | None = None) -> None:
        if key in self._failing:
            raise Unavailable("a secret")
        self._inner.object_arrived(key, paths_too, object_version)


def test_a_message_that_fails_comes_back_alone(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.indexing = FailingFor(world.indexing, [world.keys[0]])
    answer = world.answer(s3_event(world.keys[0]), s3_event(world.keys[1]), s3_event(world.keys[1], world.keys[0]))
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["m0", "m2"]
    assert world.metrics.total("objects_folded") == 2
    assert world.counted() == (3, 2)
    assert "a secret" not in "".join(str(record.__dict__) for record in caplog.records)


class Slow(Indexer):
    """An indexing that takes ten seconds for each object."""

    def __init__(self, inner: Indexer, clock: ManualClock) -> None:
        self._inner, self._clock = inner, clock
        self.folded: list[str] = []

    def object_arrived(self, key: str, paths_too: bool = False, object_version: str | None = None) -> None:
        self._clock.advance(10)
        self._inner.object_arrived(key, paths_too, object_version)
        self.folded.append(key)


def test_a_batch_that_would_outlast_the_function_is_done_in_part_and_the_rest_comes_back_soon(world: World) -> None:
    world.indexing = slow = Slow(world.indexing, world.clock)
    answer = world.answer(*[s3_event(world.keys[-1])] * 10, left_s=60)
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == [f"m{n}" for n in range(4, 10)]
    assert len(slow.folded) == 4
    assert world.counted() == (4, 0), "what was not begun says nothing of the version"
    assert world.taken.asked == [("memolith-test-index", f"receipt of m{n}", 10) for n in range(4, 10)]


def test_one_message_of_a_batch_is_tried_however_little_time_is_left(world: World) -> None:
    answer = world.answer(s3_event(world.keys[0]), s3_event(world.keys[0]), left_s=1)
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["m1"]
    assert world.metrics.total("objects_folded") == 1


def test_what_came_back_most_often_is_tried_first_so_that_it_is_not_set_aside_untried(world: World) -> None:
    records = [_record(f"m{receives}", s3_event(world.keys[0]), receives) for receives in (1, 4, 2)]
    answer = world.answer_records(records, left_s=1)
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["m2", "m1"]


def test_what_fails_comes_back_soon_at_first_and_is_set_aside_no_sooner_than_by_the_queues_own_time(
    world: World,
) -> None:
    world.indexing = FailingFor(world.indexing, [world.keys[0]])
    for receives in range(1, RECEIVES_MAX + 1):
        world.answer(s3_event(world.keys[0]), s3_event(world.keys[1]), receives=receives)
    assert {asked[:2] for asked in world.taken.asked} == {("memolith-test-index", "receipt of m0")}
    pauses_s = [pause_s for _, _, pause_s in world.taken.asked]
    assert pauses_s[0] < 30 and pauses_s == sorted(pauses_s)
    assert sum(pauses_s[: RECEIVES_MAX - 1]) >= (RECEIVES_MAX - 1) * 6 * INDEXER.timeout.to_seconds()


def test_what_cannot_be_had_back_soon_comes_back_when_the_queue_says(world: World) -> None:
    world.taken.unavailable = True
    world.indexing = FailingFor(world.indexing, [world.keys[0]])
    answer = world.answer(s3_event(world.keys[0]), s3_event(world.keys[1]))
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["m0"]
    assert world.metrics.total("objects_folded") == 1


def test_a_whole_batch_that_fails_is_reported_message_by_message(world: World) -> None:
    world.indexing = FailingFor(world.indexing, world.keys)
    answer = world.answer(s3_event(world.keys[0]), s3_event(world.keys[1]))
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["m0", "m1"]


def test_a_letter_that_cannot_be_sent_brings_its_message_back(world: World) -> None:
    class Closed(MemoryQueue):
        def send(self, messages: Sequence[str]) -> None:
            raise port_errors.Unavailable("closed")

    world.dead_letters = Closed()
    answer = world.answer("no JSON", s3_event(world.keys[0]))
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["m0"]


def test_a_direct_call_is_no_batch(world: World) -> None:
    folding = EventConsumer(world.indexing, world.folder, world.dead_letters, world.metrics)
    with pytest.raises(ValueError, match="no such call"):
        dispatch(world.indexing, folding, world.taken, world.scans, world.metrics)({"call": "nonsense"}, None)


def test_the_scans_that_a_batch_asks_for_are_sent_in_one_request_at_its_end(world: World) -> None:
    world.asks_for_scans()
    entry = world.keys[-1]
    answer = world.answer(s3_event(entry), "no JSON", s3_event(entry), s3_event(world.keys[0]))
    assert answer == {"batchItemFailures": []}
    assert world.requested.sent == [[json.dumps({"inspect": entry})] * 2]
    assert world.answer(s3_event(world.keys[0])) == {"batchItemFailures": []}
    assert len(world.requested.sent) == 1, "a batch without a text requests nothing, and nothing is sent twice"


def test_a_batch_whose_scans_cannot_be_requested_comes_back_as_a_whole(world: World) -> None:
    world.asks_for_scans()
    world.requested.unavailable = True
    answer = world.answer(s3_event(world.keys[-1]), s3_event(world.keys[0]))
    assert [failure["itemIdentifier"] for failure in answer["batchItemFailures"]] == ["m0", "m1"]
    assert [pause for _, _, pause in world.taken.asked] == [10, 10]
    assert world.counted() == (2, 2)
    world.requested.unavailable = False
    world.answer(s3_event(world.keys[-1]), s3_event(world.keys[0]))
    assert len(world.requested.sent) == 1


def test_a_direct_call_requests_the_scan_of_what_it_projects_before_it_is_answered(world: World) -> None:
    world.asks_for_scans()
    folding = EventConsumer(world.indexing, world.folder, world.dead_letters, world.metrics)
    dispatch(world.indexing, folding, world.taken, world.scans, world.metrics)(
        {"call": "arrived", "key": world.keys[-1]}, None
    )
    assert world.requested.sent == [[json.dumps({"inspect": world.keys[-1]})]]
