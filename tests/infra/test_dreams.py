"""Dreams: off by default, and where they are on, one function alone may ask a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.deployment import FUNCTIONS, parse
from infra.dreaming import Dreams
from infra.record_checks import InvalidDeployment
from tests.infra.conftest import Synthesize
from tests.infra.policies import by_role
from tests.infra.rights import grants, queue
from tests.infra.synthesized import ACCOUNT, FAR, HERE, THERE, App, record

PROFILE = f"arn:aws:bedrock:{HERE}:{ACCOUNT}:inference-profile/global.anthropic.claude-haiku-4-5"
MODEL = "arn:aws:bedrock:{}::foundation-model/anthropic.claude-haiku-4-5"
KEY = f"arn:aws:secretsmanager:{HERE}:{ACCOUNT}:secret:memolith-test-models-AbCdEf"
ANTHROPIC = {
    "service": "anthropic",
    "models": {"small": {"id": "claude-haiku-4-5", "usd_per_million": [1, 5, 1.25, 0.1]}},
    "concurrency": 3,
}


@pytest.fixture(scope="module")
def keyed(synthesized: Synthesize) -> App:
    """A deployment whose dreams ask a service with a key."""
    return synthesized(record(HERE, dreams=ANTHROPIC))


def test_a_record_that_says_nothing_of_dreams_deploys_nothing_for_them(one_region: App) -> None:
    """The eraser's right to what dreams kept stays: they may have been on before, and an erasure covers that."""
    template = one_region.base(HERE)
    assert "dream" not in json.dumps(template.body).lower().replace("/*/dream/*", "")


def test_where_dreams_are_on_a_function_a_queue_and_their_alarms_are_deployed(three_regions: App) -> None:
    for region in (HERE, THERE, FAR):
        template = three_regions.base(region)
        made = template.named("AWS::Lambda::Function", "FunctionName", "memolith-test-dreamer")
        assert (made["Timeout"], made["ReservedConcurrentExecutions"]) == (900, 5)
        (mapping,) = [
            one
            for one in template.properties("AWS::Lambda::EventSourceMapping")
            if one["EventSourceArn"].endswith(":memolith-test-dream")
        ]
        assert (mapping["BatchSize"], mapping["ScalingConfig"]) == (1, {"MaximumConcurrency": 5})
        waits = template.named("AWS::SQS::Queue", "QueueName", "memolith-test-dream")
        assert waits["VisibilityTimeout"] == 6 * made["Timeout"]
        assert waits["RedrivePolicy"]["deadLetterTargetArn"].endswith(":memolith-test-dream-dlq")
        log = template.named("AWS::Logs::LogGroup", "LogGroupName", "/aws/lambda/memolith-test-dreamer")
        assert log["RetentionInDays"] == 30
        names = {
            one["AlarmName"].removeprefix("memolith-test-") for one in template.properties("AWS::CloudWatch::Alarm")
        }
        assert names >= {
            "dreams-late",
            "dreams-failing",
            "dream-dlq",
            "dream-age",
            "dreamer-errors",
            "dreamer-throttles",
        }


def test_the_dreamer_alone_may_ask_the_models_of_dreams(three_regions: App) -> None:
    for arn in (PROFILE, MODEL.format(HERE), MODEL.format("us-west-2")):
        may = {
            name for name in FUNCTIONS if by_role(grants(three_regions, name), "bedrock:InvokeModel", arn) == "Allow"
        }
        assert may == {"dreamer"}
    other = MODEL.format(HERE).replace("haiku", "opus")
    assert by_role(grants(three_regions, "dreamer"), "bedrock:InvokeModel", other) == "ImplicitDeny"


@pytest.mark.slow
def test_the_dreamer_alone_may_read_the_key_of_a_service_and_asks_no_model_of_bedrock(keyed: App) -> None:
    may = {name for name in FUNCTIONS if by_role(grants(keyed, name), "secretsmanager:GetSecretValue", KEY) == "Allow"}
    assert may == {"dreamer"}
    assert by_role(grants(keyed, "dreamer"), "bedrock:InvokeModel", MODEL.format(HERE)) == "ImplicitDeny"
    made = keyed.base(HERE).named("AWS::Lambda::Function", "FunctionName", "memolith-test-dreamer")
    assert made["ReservedConcurrentExecutions"] == 3
    settings = made["Environment"]["Variables"]
    assert settings["MEMOLITH_DREAMS"] == "anthropic"
    assert json.loads(settings["MEMOLITH_DREAM_MODELS"]) == {"small": ["claude-haiku-4-5", [1, 5, 1.25, 0.1]]}
    layers = {one["LayerName"] for one in keyed.base(HERE).properties("AWS::Lambda::LayerVersion")}
    assert "memolith-test-anthropic" in layers


@pytest.mark.parametrize(
    ("name", "action", "resource", "may"),
    [
        ("dreamer", "secretsmanager:GetSecretValue", KEY.replace("models", "signing"), False),
        (
            "dreamer",
            "s3:PutObject",
            f"arn:aws:s3:::memolith-test-{ACCOUNT}-{HERE}/{HERE}/job/m/consolidate/all/1",
            True,
        ),
        ("dreamer", "s3:PutObject", f"arn:aws:s3:::memolith-test-{ACCOUNT}-{HERE}/{HERE}/transcript/w/s/1", False),
        ("dreamer", "s3:PutObject", f"arn:aws:s3:::memolith-test-{ACCOUNT}-{HERE}/{HERE}/key/w/k/1", False),
        ("dreamer", "sqs:SendMessage", queue("index"), False),
        ("reconciler", "sqs:SendMessage", queue("dream"), True),
        ("reconciler", "sqs:ReceiveMessage", queue("dream"), False),
        ("writer", "sqs:SendMessage", queue("dream"), False),
        ("peerwriter", "bedrock:InvokeModel", PROFILE, False),
    ],
)
def test_what_dreams_add_to_a_role_is_this_alone(
    three_regions: App, name: str, action: str, resource: str, may: bool
) -> None:
    assert (by_role(grants(three_regions, name), action, resource) == "Allow") == may


def test_a_model_may_have_an_id_of_its_own_in_each_region() -> None:
    dreams = Dreams("bedrock", {"small": {"id": {HERE: "us.amazon.nova-lite-v1:0", THERE: "eu.amazon.nova-lite-v1:0"}}})
    assert dreams.ids(THERE) == {"small": "eu.amazon.nova-lite-v1:0"}
    with pytest.raises(InvalidDeployment, match=FAR):
        dreams.ids(FAR)


@pytest.mark.parametrize(
    ("dreams", "field"),
    [
        ({}, "dreams.service"),
        ({"service": "other"}, "dreams.service"),
        ({"service": "bedrock"}, "dreams.models"),
        ({"service": "bedrock", "models": {"": {"id": "x"}}}, "dreams.models"),
        ({"service": "bedrock", "models": {"small": {}}}, "dreams.models.small.id"),
        ({"service": "bedrock", "models": {"small": {"id": "x", "usd_per_million": [1]}}}, "usd_per_million"),
        ({"service": "extractive", "url": "http://x"}, "dreams.url"),
        ({"service": "extractive", "concurrency": 1}, "dreams.concurrency"),
        ({"service": "extractive", "nothing": 1}, "dreams"),
        ("on", "dreams"),
    ],
)
def test_a_record_of_dreams_that_breaks_a_rule_is_refused(dreams: Any, field: str) -> None:
    with pytest.raises(InvalidDeployment, match=field):
        parse(record(HERE, dreams=dreams))
