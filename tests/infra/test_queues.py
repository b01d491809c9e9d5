"""The queues: what cannot be handled is set aside, not lost, and somebody is told."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from infra.record_checks import POLLED_BY
from memolith.adapters.aws.names import QUEUES as names_of_queues
from memolith.core.objects.search_pack import REFRESH_DELAY_S
from tests.infra.policies import by_resource, role
from tests.infra.rights import as_list, grants
from tests.infra.synthesized import ACCOUNT, HERE, ROOT, App

QUEUES = ["index", "rebuild", "scan", "pack"]
READERS = {"index": "indexer", "rebuild": "indexer", "scan": "scanner", "pack": "packer"}
TWO_WEEKS_S = 14 * 24 * 3600


def test_the_command_line_knows_every_queue_there_is(one_region: App) -> None:
    names = {queue["QueueName"] for queue in one_region.base(HERE).properties("AWS::SQS::Queue")}
    assert names == {f"memolith-test-{name}{end}" for name in names_of_queues for end in ("", "-dlq")}


@pytest.mark.parametrize("name", QUEUES)
def test_a_message_is_set_aside_after_five_receives(one_region: App, name: str) -> None:
    queue = one_region.base(HERE).named("AWS::SQS::Queue", "QueueName", f"memolith-test-{name}")
    assert queue["RedrivePolicy"] == {
        "deadLetterTargetArn": f"arn:aws:sqs:<region>:{ACCOUNT}:memolith-test-{name}-dlq",
        "maxReceiveCount": 5,
    }


@pytest.mark.parametrize("name", [*QUEUES, *(f"{name}-dlq" for name in QUEUES)])
def test_messages_are_encrypted_and_kept_for_two_weeks(one_region: App, name: str) -> None:
    queue = one_region.base(HERE).named("AWS::SQS::Queue", "QueueName", f"memolith-test-{name}")
    assert queue["SqsManagedSseEnabled"] is True
    assert queue["MessageRetentionPeriod"] == TWO_WEEKS_S


@pytest.mark.parametrize("name", QUEUES)
def test_a_message_stays_hidden_for_six_times_its_readers_timeout(one_region: App, name: str) -> None:
    template = one_region.base(HERE)
    reader = template.named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{READERS[name]}")
    queue = template.named("AWS::SQS::Queue", "QueueName", f"memolith-test-{name}")
    assert queue["VisibilityTimeout"] == 6 * reader["Timeout"]


def test_no_more_of_a_function_is_invoked_at_once_than_a_reservation_of_it_has_to_allow(three_regions: App) -> None:
    invoked: Counter[str] = Counter()
    for mapping in three_regions.base(HERE).properties("AWS::Lambda::EventSourceMapping"):
        name = mapping["FunctionName"].removeprefix("memolith-test-").removesuffix(":live")
        invoked[name] += mapping["ScalingConfig"]["MaximumConcurrency"]
    assert invoked == three_regions.deployment.polled
    assert invoked.keys() == POLLED_BY.keys()


@pytest.mark.parametrize("name", QUEUES)
def test_its_function_reads_it_and_reports_each_message_by_itself(one_region: App, name: str) -> None:
    (mapping,) = [
        mapping
        for mapping in one_region.base(HERE).properties("AWS::Lambda::EventSourceMapping")
        if mapping["EventSourceArn"].endswith(f":memolith-test-{name}")
    ]
    assert mapping["FunctionName"] == f"memolith-test-{READERS[name]}:live"
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BatchSize"] == {"rebuild": 1, "pack": 5}.get(name, 10), "some messages are much work"


def test_a_runbook_stops_a_function_that_a_queue_wakes_by_the_queue_and_says_how_it_goes_on() -> None:
    """With a concurrency of 0 each message is received, throttled, and after five times a dead letter."""
    woken = {*READERS.values(), "dreamer"}
    for page in sorted((ROOT / "docs/operations").glob("*.md")):
        text = page.read_text()
        stopped = re.findall(r"put-function-concurrency[^`\n]*memolith-STAGE-([a-z]+)", text)
        assert woken.isdisjoint(stopped), page.name
    dreams = (ROOT / "docs/operations/dreams.md").read_text()
    assert "list-event-source-mappings --region REGION --function-name memolith-STAGE-dreamer:live" in dreams
    for state in ("--no-enabled", "--enabled"):
        assert f"update-event-source-mapping --region REGION --uuid UUID {state}" in dreams


def test_the_pages_say_from_when_on_the_two_weeks_of_a_dead_letter_count() -> None:
    """SQS moves a message with the time at which it was sent. Source: SQS developer guide, "dead-letter queues"."""
    for page in ("README.md", "dead-letters.md"):
        text = " ".join((ROOT / "docs/operations" / page).read_text().split())
        assert "two weeks after its message was first sent" in text, page


def may_wake_themselves(app: App) -> set[str]:
    """Name the functions whose roles let them send to a queue that wakes them."""
    template = app.base(HERE)
    woken: dict[str, set[str]] = {}
    for mapping in template.properties("AWS::Lambda::EventSourceMapping"):
        function = mapping["FunctionName"].removesuffix(":live")
        woken.setdefault(function, set()).add(mapping["EventSourceArn"].rpartition(":")[2])
    sending = set()
    for function, queues in woken.items():
        for statement in grants(app, function.removeprefix("memolith-test-"))["Statement"]:
            to = {resource.rpartition(":")[2] for resource in as_list(statement["Resource"])}
            if "sqs:SendMessage" in as_list(statement["Action"]) and queues & to:
                sending.add(function)
    return sending


@pytest.mark.parametrize(
    ("deployed", "themselves"),
    [("one_region", set()), ("furnished", {"packer"}), ("three_regions", {"dreamer"})],
)
def test_lambda_lets_those_functions_alone_go_on_that_wake_themselves(
    request: pytest.FixtureRequest, deployed: str, themselves: set[str]
) -> None:
    app: App = request.getfixturevalue(deployed)
    functions = app.base(HERE).properties("AWS::Lambda::Function")
    allowed = {one["FunctionName"] for one in functions if one.get("RecursiveLoop") == "Allow"}
    assert may_wake_themselves(app) == {f"memolith-test-{name}" for name in themselves}
    assert allowed == may_wake_themselves(app)


def test_a_message_that_a_pack_is_behind_waits_for_more_changes(one_region: App) -> None:
    delays = {
        queue["QueueName"]: queue.get("DelaySeconds", 0)
        for queue in one_region.base(HERE).properties("AWS::SQS::Queue")
    }
    assert {name for name, delay_s in delays.items() if delay_s} == {"memolith-test-pack"}
    assert delays["memolith-test-pack"] == REFRESH_DELAY_S


@pytest.mark.parametrize("name", [*QUEUES, *(f"{name}-dlq" for name in QUEUES)])
def test_plain_http_is_denied(one_region: App, name: str) -> None:
    arn = f"arn:aws:sqs:<region>:{ACCOUNT}:memolith-test-{name}"
    (document,) = [
        policy["PolicyDocument"]
        for policy in one_region.base(HERE).properties("AWS::SQS::QueuePolicy")
        if policy["PolicyDocument"]["Statement"][0]["Resource"] == arn
    ]
    indexer = role(f"memolith-test-indexer-{HERE}")
    assert by_resource(document, indexer, "sqs:SendMessage", arn, tls=False) == "Deny"
    assert by_resource(document, indexer, "sqs:SendMessage", arn) != "Deny"


@pytest.mark.parametrize("name", QUEUES)
def test_one_dead_letter_rings(one_region: App, name: str) -> None:
    alarm = one_region.base(HERE).named("AWS::CloudWatch::Alarm", "AlarmName", f"memolith-test-{name}-dlq")
    assert alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("GreaterThanThreshold", 0)
    assert "memolith-test-alarms" in str(alarm["AlarmActions"])


@pytest.mark.parametrize(
    "name",
    ["reader", "writer", "peerreader", "peerwriter", "keys", "indexer", "eraser", "scanner", "packer", "tool", "mcp"],
)
@pytest.mark.parametrize("trouble", ["errors", "throttles"])
def test_a_function_in_trouble_rings(one_region: App, name: str, trouble: str) -> None:
    alarm = one_region.base(HERE).named("AWS::CloudWatch::Alarm", "AlarmName", f"memolith-test-{name}-{trouble}")
    assert alarm["MetricName"] == trouble.title()
    assert alarm["Dimensions"] == [{"Name": "FunctionName", "Value": f"memolith-test-{name}"}]
    assert "memolith-test-alarms" in str(alarm["AlarmActions"])
