"""Least privilege: each function may do what its row names, here and nowhere else, and nothing besides.

The table below is the design's, written out; it is compared with what is deployed in both directions.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.policies import by_role
from tests.infra.synthesized import ACCOUNT, ALWAYS, FAR, HERE, THERE, App

REGIONS = [HERE, THERE, FAR]
GENERATIONS = ["memories", "logs", "paths", "versions", "verdicts", "stores", "keys"]

PUT_AT_HOME = ["log", "store", "redaction", "verdict", "proposal", "run"]
PUT_BEYOND = ["cut", "log", "redaction", "store"]


def table(name: str) -> str:
    return f"arn:aws:dynamodb:{HERE}:{ACCOUNT}:table/memolith-test-{name}"


def bucket(region: str) -> str:
    return f"arn:aws:s3:::memolith-test-{ACCOUNT}-{region}"


def queue(name: str) -> str:
    return f"arn:aws:sqs:{HERE}:{ACCOUNT}:memolith-test-{name}"


def kms_keys(region: str) -> str:
    return f"arn:aws:kms:{region}:{ACCOUNT}:key/*"


def function(name: str, region: str) -> str:
    """What callers of a function invoke: its alias."""
    return f"arn:aws:lambda:{region}:{ACCOUNT}:function:memolith-test-{name}:live"


def log(name: str) -> str:
    return f"arn:aws:logs:{HERE}:{ACCOUNT}:log-group:/aws/lambda/memolith-test-{name}:log-stream:*"


def each(actions: list[str], resources: list[str]) -> set[tuple[str, str]]:
    return {(action, resource) for action in actions for resource in resources}


INDEX = [table(f"{name}-g*") for name in GENERATIONS] + [table("journal")]
SECOND_ORDERS = [table("versions-g*/index/by_memory"), table("versions-g*/index/by_time")]
READ = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
WRITE = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"]

READ_INDEX = each(READ, [*INDEX, *SECOND_ORDERS, table("control")])
WRITE_INDEX = each(WRITE, INDEX)
READ_SIGNING_KEYS = each(
    ["secretsmanager:GetSecretValue"], [f"arn:aws:secretsmanager:{HERE}:{ACCOUNT}:secret:memolith-test-signing-??????"]
)
READ_VERIFICATION_KEYS = each(
    ["secretsmanager:GetSecretValue"],
    [f"arn:aws:secretsmanager:{HERE}:{ACCOUNT}:secret:memolith-test-verification-??????"],
)
READ_TARGETS = each(
    ["secretsmanager:GetSecretValue"], [f"arn:aws:secretsmanager:{HERE}:{ACCOUNT}:secret:memolith-test-gateway-??????"]
)
READ_OBJECTS = each(["s3:GetObject"], [f"{bucket(region)}/*" for region in REGIONS]) | each(
    ["s3:ListBucket"], [bucket(region) for region in REGIONS]
)


def common(name: str) -> set[tuple[str, str]]:
    traces = each(["xray:PutTraceSegments", "xray:PutTelemetryRecords"], ["*"])
    return each(["logs:CreateLogStream", "logs:PutLogEvents"], [log(name)]) | traces


ERASED_TABLES = ("memories", "paths", "versions")

MAY: dict[str, set[tuple[str, str]]] = {
    "reader": READ_INDEX
    | READ_OBJECTS
    | READ_VERIFICATION_KEYS
    | each(["kms:GetPublicKey"], [kms_keys(region) for region in (HERE, THERE, FAR)])
    | each(
        ["lambda:InvokeFunction"],
        [
            function("peerreader", THERE),
            function("peerreader", FAR),
            function("indexer", HERE),
            function("packer", HERE),
        ],
    ),
    "peerreader": READ_INDEX
    | READ_OBJECTS
    | each(
        ["lambda:InvokeFunction"],
        [
            function("peerreader", THERE),
            function("peerreader", FAR),
            function("indexer", HERE),
            function("packer", HERE),
        ],
    ),
    "keys": READ_INDEX
    | each(WRITE, [table("keys-g*"), table("journal")])
    | READ_OBJECTS
    | each(["s3:PutObject"], [f"{bucket(HERE)}/{HERE}/key/*"]),
    "peerwriter": READ_INDEX
    | WRITE_INDEX
    | READ_OBJECTS
    | each(["s3:PutObject"], [f"{bucket(HERE)}/{HERE}/{kind}/*" for kind in [*PUT_AT_HOME, "resolution"]])
    | each(["s3:PutObject"], [f"{bucket(region)}/*/{kind}/*" for region in (THERE, FAR) for kind in PUT_BEYOND])
    | each(
        ["lambda:InvokeFunction"],
        [function("peerwriter", THERE), function("peerwriter", FAR), function("eraser", HERE)],
    ),
    "writer": READ_INDEX
    | WRITE_INDEX
    | READ_OBJECTS
    | READ_SIGNING_KEYS
    | READ_VERIFICATION_KEYS
    | each(
        ["s3:PutObject"],
        [f"{bucket(HERE)}/{HERE}/{kind}/*" for kind in [*PUT_AT_HOME, "resolution", "job", "session", "transcript"]],
    )
    | each(["s3:PutObject"], [f"{bucket(region)}/*/{kind}/*" for region in (THERE, FAR) for kind in PUT_BEYOND])
    | each(
        ["lambda:InvokeFunction"],
        [function("peerwriter", THERE), function("peerwriter", FAR), function("eraser", HERE)],
    ),
    "dreamer": READ_INDEX
    | WRITE_INDEX
    | READ_OBJECTS
    | each(["s3:PutObject"], [f"{bucket(HERE)}/{HERE}/{kind}/*" for kind in [*PUT_AT_HOME, "job", "session"]])
    | each(["s3:PutObject"], [f"{bucket(region)}/*/{kind}/*" for region in (THERE, FAR) for kind in PUT_BEYOND])
    | each(["s3:PutObject"], [f"{bucket(HERE)}/local/dream/*"])
    | each(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], [queue("dream")])
    | each(["sqs:SendMessage"], [queue("dream")])
    | each(
        ["lambda:InvokeFunction"],
        [function("peerwriter", THERE), function("peerwriter", FAR), function("eraser", HERE)],
    )
    | each(
        ["bedrock:CountTokens", "bedrock:InvokeModel"],
        [
            f"arn:aws:bedrock:{HERE}:{ACCOUNT}:inference-profile/global.anthropic.claude-haiku-4-5",
            "arn:aws:bedrock:*::foundation-model/anthropic.claude-haiku-4-5",
        ],
    ),
    "indexer": READ_INDEX
    | WRITE_INDEX
    | READ_OBJECTS
    | each(["s3:PutObject"], [f"{bucket(HERE)}/{HERE}/session/*"])
    | each(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], [queue("index"), queue("rebuild")])
    | each(["sqs:ChangeMessageVisibility"], [queue("index"), queue("rebuild")])
    | each(["sqs:SendMessage"], [queue("index-dlq"), queue("scan"), queue("pack")])
    | each(["dynamodb:PutItem"], [table("control")])
    | each(["lambda:InvokeFunction"], [function("peerwriter", HERE), function("eraser", HERE)]),
    "eraser": READ_INDEX
    | each(WRITE, [table("control")])
    | each(["dynamodb:DeleteItem", "dynamodb:UpdateItem"], [table(f"{name}-g*") for name in ERASED_TABLES])
    | each(["s3:GetObject", "s3:GetObjectVersion", "s3:PutObject", "s3:DeleteObjectVersion"], [f"{bucket(HERE)}/*"])
    | each(["s3:ListBucket", "s3:ListBucketVersions"], [bucket(HERE)])
    | each(["s3:GetObject"], [f"{bucket(region)}/*" for region in (THERE, FAR)])
    | each(["s3:ListBucket"], [bucket(THERE), bucket(FAR)]),
    "scanner": READ_INDEX
    | each(WRITE, [table("verdicts-g*"), table("journal")])
    | READ_OBJECTS
    | each(["s3:PutObject"], [f"{bucket(HERE)}/{HERE}/verdict/*"])
    | each(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], [queue("scan")]),
    "packer": READ_INDEX
    | READ_OBJECTS
    | each(["s3:PutObject"], [f"{bucket(HERE)}/local/pack/*"])
    | each(["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], [queue("pack")])
    | each(["lambda:InvokeFunction"], [function("eraser", HERE)]),
    "tool": each(["lambda:InvokeFunction"], [function("reader", HERE), function("writer", HERE)]) | READ_TARGETS,
    "mcp": each(["lambda:InvokeFunction"], [function("reader", HERE), function("writer", HERE)]),
}


ALWAYS_IN_TABLE = [name for name in MAY if name in ALWAYS]

RECONCILER = (
    READ_INDEX
    | WRITE_INDEX
    | each(WRITE, [table("control")])
    | READ_OBJECTS
    | each(["s3:PutObject"], [f"{bucket(HERE)}/*"])
    | each(["sqs:SendMessage"], [queue("index"), queue("rebuild"), queue("dream")])
    | each(["kms:Sign"], [kms_keys(HERE)])
    | each(["kms:GetPublicKey"], [kms_keys(region) for region in (HERE, THERE, FAR)])
    | each(
        ["lambda:InvokeFunction"],
        [function(name, region) for name in ("peerwriter", "reconciler") for region in (THERE, FAR)]
        + [function("peerwriter", HERE), function("eraser", HERE)],
    )
)


def grants(app: App, name: str) -> dict[str, Any]:
    made = app.base(HERE).named("AWS::IAM::Role", "RoleName", f"memolith-test-{name}-{HERE}")
    (policy,) = made["Policies"]
    document: dict[str, Any] = policy["PolicyDocument"]
    return document


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@pytest.mark.parametrize("name", MAY)
def test_a_function_may_what_its_row_names_and_nothing_else(three_regions: App, name: str) -> None:
    granted: set[tuple[str, str]] = set()
    for statement in grants(three_regions, name)["Statement"]:
        assert statement["Effect"] == "Allow"
        granted |= each(as_list(statement["Action"]), as_list(statement["Resource"]))
    assert granted == MAY[name] | common(name)


def test_the_reconciler_may_do_what_its_row_names(three_regions: App) -> None:
    granted: set[tuple[str, str]] = set()
    for statement in grants(three_regions, "reconciler")["Statement"]:
        granted |= each(as_list(statement["Action"]), as_list(statement["Resource"]))
    assert granted == RECONCILER | common("reconciler")
    made = three_regions.base(HERE).named("AWS::Lambda::Function", "FunctionName", "memolith-test-reconciler")
    assert (made["Timeout"], made["MemorySize"]) == (900, 512)


def test_a_schedule_wakes_the_reconciler_of_each_region_every_minute(three_regions: App) -> None:
    for region in REGIONS:
        rule = three_regions.base(region).named("AWS::Events::Rule", "Name", "memolith-test-tick")
        (target,) = rule["Targets"]
        assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
        assert (target["Input"], target["RetryPolicy"]) == ('{"call":"tick"}', {"MaximumRetryAttempts": 0})
        hourly = three_regions.base(region).named("AWS::Events::Rule", "Name", "memolith-test-compare")
        assert (hourly["ScheduleExpression"], hourly["Targets"][0]["Input"]) == ("rate(1 hour)", '{"call":"compare"}')


def test_a_comparison_in_parts_is_begun_by_one_rule_and_each_part_goes_on_by_another(
    equipped: App,
) -> None:
    rules = {one["Name"]: one for one in equipped.base(HERE).properties("AWS::Events::Rule")}
    asked = {
        name.removeprefix("memolith-test-"): [json.loads(target["Input"]) for target in rule["Targets"]]
        for name, rule in rules.items()
        if "compare" in name
    }
    parts = [{"call": "compare", "part": part} for part in range(1, 8)]
    begun = [{"call": "compare", "parts": 7}]
    assert asked == {"compare": begun, "compare-from-1": parts[:5], "compare-from-6": parts[5:]}


@pytest.mark.parametrize("name", MAY)
def test_the_role_has_no_other_policy(three_regions: App, name: str) -> None:
    template = three_regions.base(HERE)
    made = template.named("AWS::IAM::Role", "RoleName", f"memolith-test-{name}-{HERE}")
    assert "ManagedPolicyArns" not in made
    assert template.resources("AWS::IAM::Policy") == {}
    principals = [statement["Principal"] for statement in made["AssumeRolePolicyDocument"]["Statement"]]
    assert principals == [{"Service": "lambda.amazonaws.com"}]


OWN_SLOT = f"{bucket(HERE)}/{HERE}/log/memstore_1/9f2c/0001-0.0000000042"
OTHERS_SLOT = f"{bucket(HERE)}/{THERE}/log/memstore_1/9f2c/0001-0.0000000042"
GUARDRAIL = f"arn:aws:bedrock:{HERE}:{ACCOUNT}:guardrail/gr4"
SIGNING_SECRET = f"arn:aws:secretsmanager:{HERE}:{ACCOUNT}:secret:memolith-test-signing-AbCdEf"
VERIFICATION_SECRET = f"arn:aws:secretsmanager:{HERE}:{ACCOUNT}:secret:memolith-test-verification-AbCdEf"
ABROAD = f"{bucket(THERE)}/{HERE}/log/memstore_1/9f2c/0001-0.0000000042"


@pytest.mark.parametrize(
    ("name", "action", "resource", "may"),
    [
        ("reader", "s3:GetObject", ABROAD, True),
        ("reader", "s3:PutObject", OWN_SLOT, False),
        ("reader", "kms:Sign", kms_keys(HERE), False),
        ("reader", "secretsmanager:GetSecretValue", SIGNING_SECRET, False),
        ("reader", "secretsmanager:GetSecretValue", VERIFICATION_SECRET, True),
        ("reader", "secretsmanager:PutSecretValue", VERIFICATION_SECRET, False),
        ("writer", "secretsmanager:GetSecretValue", SIGNING_SECRET, True),
        ("writer", "secretsmanager:PutSecretValue", VERIFICATION_SECRET, False),
        ("reader", "dynamodb:PutItem", table("memories-g1"), False),
        ("reader", "dynamodb:GetItem", table("memories-g7"), True),
        ("reader", "lambda:InvokeFunction", function("indexer", HERE), True),
        ("reader", "lambda:InvokeFunction", function("writer", HERE), False),
        ("reader", "lambda:InvokeFunction", function("writer", THERE), False),
        ("reader", "lambda:InvokeFunction", function("indexer", THERE), False),
        ("writer", "s3:PutObject", OWN_SLOT, True),
        ("writer", "s3:PutObject", OTHERS_SLOT, False),
        ("writer", "s3:PutObject", ABROAD, True),
        ("writer", "s3:PutObject", f"{bucket(THERE)}/{HERE}/checkpoint/2026", False),
        ("writer", "s3:PutObject", f"{bucket(THERE)}/{HERE}/key/wrkspc_1/apikey_1/0000000001", False),
        ("writer", "s3:DeleteObject", ABROAD, False),
        ("writer", "s3:PutObject", f"{bucket(HERE)}/{HERE}/checkpoint/2026", False),
        ("writer", "s3:DeleteObject", OWN_SLOT, False),
        ("writer", "dynamodb:UpdateItem", table("control"), False),
        ("writer", "lambda:InvokeFunction", function("writer", HERE), False),
        ("writer", "s3:PutObject", f"{bucket(HERE)}/{HERE}/key/wrkspc_1/apikey_1/0000000001", False),
        ("peerwriter", "s3:PutObject", f"{bucket(HERE)}/{HERE}/key/wrkspc_1/apikey_1/0000000001", False),
        ("peerwriter", "s3:PutObject", f"{bucket(HERE)}/{HERE}/session/wrkspc_1/sesn_1/0000000001", False),
        ("peerwriter", "secretsmanager:GetSecretValue", SIGNING_SECRET, False),
        ("keys", "s3:PutObject", f"{bucket(HERE)}/{HERE}/key/wrkspc_1/apikey_1/0000000001", True),
        ("keys", "s3:PutObject", OWN_SLOT, False),
        ("keys", "dynamodb:PutItem", table("memories-g1"), False),
        ("indexer", "s3:PutObject", OWN_SLOT, False),
        ("indexer", "sqs:SendMessage", queue("index"), False),
        ("indexer", "dynamodb:UpdateItem", table("paths-g2"), True),
        ("eraser", "s3:PutObject", OTHERS_SLOT, True),
        ("eraser", "s3:DeleteObjectVersion", OTHERS_SLOT, True),
        ("eraser", "s3:DeleteObjectVersion", ABROAD, False),
        ("eraser", "s3:GetObject", ABROAD, True),
        ("eraser", "s3:PutObject", ABROAD, False),
        ("eraser", "s3:GetObjectVersion", ABROAD, False),
        ("eraser", "dynamodb:PutItem", table("memories-g1"), False),
        ("eraser", "dynamodb:UpdateItem", table("versions-g2"), True),
        ("eraser", "dynamodb:UpdateItem", table("logs-g1"), False),
        ("eraser", "dynamodb:UpdateItem", table("stores-g1"), False),
        ("eraser", "lambda:InvokeFunction", function("writer", HERE), False),
        ("scanner", "s3:GetObject", OWN_SLOT, True),
        ("scanner", "s3:PutObject", OWN_SLOT, False),
        ("scanner", "s3:PutObject", f"{bucket(HERE)}/{HERE}/verdict/memstore_1/memver_1/0000000001", True),
        ("scanner", "s3:PutObject", f"{bucket(HERE)}/{THERE}/verdict/memstore_1/memver_1/0000000001", False),
        ("scanner", "s3:PutObject", f"{bucket(THERE)}/{HERE}/verdict/memstore_1/memver_1/0000000001", False),
        ("scanner", "s3:DeleteObject", f"{bucket(HERE)}/{HERE}/verdict/memstore_1/memver_1/0000000001", False),
        ("scanner", "dynamodb:PutItem", table("memories-g1"), False),
        ("scanner", "sqs:SendMessage", queue("scan"), False),
        ("scanner", "lambda:InvokeFunction", function("writer", HERE), False),
        ("scanner", "bedrock:ApplyGuardrail", GUARDRAIL, False),
        ("packer", "s3:GetObject", OWN_SLOT, True),
        ("packer", "s3:PutObject", f"{bucket(HERE)}/local/pack/memstore_1/0000000001", True),
        ("packer", "s3:PutObject", f"{bucket(THERE)}/local/pack/memstore_1/0000000001", False),
        ("packer", "s3:PutObject", OWN_SLOT, False),
        ("packer", "s3:DeleteObjectVersion", f"{bucket(HERE)}/local/pack/memstore_1/0000000001", False),
        ("packer", "dynamodb:PutItem", table("memories-g1"), False),
        ("packer", "lambda:InvokeFunction", function("writer", HERE), False),
        ("indexer", "sqs:SendMessage", queue("pack"), True),
        ("reader", "s3:PutObject", f"{bucket(HERE)}/local/pack/memstore_1/0000000001", False),
        ("reader", "lambda:InvokeFunction", function("packer", THERE), False),
        ("tool", "lambda:InvokeFunction", function("reader", HERE), True),
        ("tool", "lambda:InvokeFunction", function("writer", HERE), True),
        ("tool", "lambda:InvokeFunction", function("writer", THERE), False),
        ("tool", "lambda:InvokeFunction", function("eraser", HERE), False),
        ("tool", "lambda:InvokeFunction", function("tool", HERE), False),
        ("mcp", "lambda:InvokeFunction", function("writer", HERE), True),
        ("mcp", "lambda:InvokeFunction", function("writer", FAR), False),
        ("mcp", "secretsmanager:GetSecretValue", SIGNING_SECRET, False),
        ("mcp", "dynamodb:GetItem", table("keys-g1"), False),
        ("tool", "s3:GetObject", OWN_SLOT, False),
        ("tool", "dynamodb:GetItem", table("keys-g1"), False),
        ("tool", "secretsmanager:GetSecretValue", SIGNING_SECRET, False),
        ("indexer", "sqs:SendMessage", queue("scan"), True),
        ("reader", "dynamodb:GetItem", f"arn:aws:dynamodb:{THERE}:{ACCOUNT}:table/memolith-test-memories-g1", False),
        ("reader", "dynamodb:GetItem", f"arn:aws:dynamodb:{HERE}:{ACCOUNT}:table/memolith-other-memories-g1", False),
    ],
)
def test_a_role_answers_as_the_design_says(
    three_regions: App, name: str, action: str, resource: str, may: bool
) -> None:
    decision = by_role(grants(three_regions, name), action, resource)
    assert decision == ("Allow" if may else "ImplicitDeny")


def test_a_guardrail_is_asked_where_the_record_names_one_and_nowhere_else(equipped: App) -> None:
    app = equipped
    assert by_role(grants(app, "scanner"), "bedrock:ApplyGuardrail", GUARDRAIL) == "Allow"
    assert by_role(grants(app, "scanner"), "bedrock:ApplyGuardrail", f"{GUARDRAIL}x") == "ImplicitDeny"
    for name in set(ALWAYS) & set(MAY) - {"scanner"}:
        assert by_role(grants(app, name), "bedrock:ApplyGuardrail", GUARDRAIL) == "ImplicitDeny"
    told = app.base(HERE).named("AWS::Lambda::Function", "FunctionName", "memolith-test-scanner")
    assert told["Environment"]["Variables"]["MEMOLITH_GUARDRAIL_ID"] == "gr4"
    assert told["Environment"]["Variables"]["MEMOLITH_GUARDRAIL_VERSION"] == "3"
    assert "GUARDRAIL" not in str(app.base(THERE).body)


def test_the_indexer_notes_the_batches_of_a_rebuild_and_never_which_generation_serves(three_regions: App) -> None:
    (statement,) = [
        statement
        for statement in grants(three_regions, "indexer")["Statement"]
        if statement["Resource"] == table("control") and statement["Action"] == "dynamodb:PutItem"
    ]
    assert statement["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["rebuild#*"]}}


def test_a_deployment_of_one_region_names_no_other(one_region: App) -> None:
    for name in ALWAYS_IN_TABLE:
        assert THERE not in str(grants(one_region, name))


@pytest.mark.parametrize("name", ALWAYS_IN_TABLE)
def test_a_function_is_told_everything_that_it_derives_names_from(two_regions: App, name: str) -> None:
    made = two_regions.base(THERE).named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
    assert made["Environment"]["Variables"] == {
        "MEMOLITH_FUNCTION_ALIAS": "live",
        "MEMOLITH_STAGE": "test",
        "MEMOLITH_REGIONS": f"{HERE},{THERE}",
        "MEMOLITH_ACCOUNT": ACCOUNT,
        "MEMOLITH_INDEX_GENERATION": "3",
        "MEMOLITH_MAX_MEMORIES_PER_STORE": "10000",
        "MEMOLITH_ERASE_DELAY_DAYS": "7",
        "MEMOLITH_LOG_LEVEL": "INFO",
        "POWERTOOLS_SERVICE_NAME": name,
    }


@pytest.mark.parametrize(
    ("name", "timeout_s", "memory_mb"),
    [
        ("reader", 29, 1024),
        ("writer", 29, 1024),
        ("peerreader", 29, 1024),
        ("peerwriter", 29, 1024),
        ("keys", 29, 512),
        ("indexer", 60, 512),
        ("eraser", 300, 512),
        ("scanner", 60, 1024),
        ("packer", 180, 2048),
        ("tool", 120, 512),
        ("mcp", 29, 1024),
    ],
)
def test_a_function_is_as_large_as_the_design_says(one_region: App, name: str, timeout_s: int, memory_mb: int) -> None:
    made = one_region.base(HERE).named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
    assert (made["Timeout"], made["MemorySize"]) == (timeout_s, memory_mb)
    assert (made["Runtime"], made["Architectures"], made["Handler"]) == ("python3.13", ["x86_64"], "handler.handler")


@pytest.mark.parametrize("name", ALWAYS_IN_TABLE)
def test_a_function_is_traced_and_logs_json_that_expires(one_region: App, name: str) -> None:
    template = one_region.base(HERE)
    made = template.named("AWS::Lambda::Function", "FunctionName", f"memolith-test-{name}")
    assert made["TracingConfig"] == {"Mode": "Active"}
    assert made["LoggingConfig"]["LogFormat"] == "JSON"
    group = template.named("AWS::Logs::LogGroup", "LogGroupName", f"/aws/lambda/memolith-test-{name}")
    assert group["RetentionInDays"] == 30


def test_every_function_carries_the_dependencies_and_some_the_scanner_or_the_mcp_sdk_too(one_region: App) -> None:
    layers = {
        made["FunctionName"]: len(made.get("Layers", []))
        for made in one_region.base(HERE).properties("AWS::Lambda::Function")
    }
    bare = [name for name, count in layers.items() if count == 0]
    assert bare == [f"memolith-test-first-region-{HERE}"]  # it compares two texts
    more = ["memolith-test-mcp", "memolith-test-peerwriter", "memolith-test-scanner", "memolith-test-writer"]
    assert sorted(name for name, count in layers.items() if count > 1) == more


def test_a_rerank_model_may_be_asked_by_what_reads_in_its_region_and_no_other_model(equipped: App) -> None:
    app = equipped
    model = f"arn:aws:bedrock:{HERE}::foundation-model/cohere.rerank-v3-5:0"
    for name in ALWAYS_IN_TABLE:
        verdict = "Allow" if name in ("reader", "peerreader") else "ImplicitDeny"
        assert by_role(grants(app, name), "bedrock:InvokeModel", model) == verdict, name
        assert by_role(grants(app, name), "bedrock:InvokeModel", f"{model}x") == "ImplicitDeny", name
        assert by_role(grants(app, name), "bedrock:Rerank", "*") == verdict, name
    told = app.base(HERE).named("AWS::Lambda::Function", "FunctionName", "memolith-test-reader")
    assert told["Environment"]["Variables"]["MEMOLITH_RERANK_MODEL_ARN"] == model
    assert "RERANK" not in str(app.base(THERE).body).upper()


def test_a_search_model_is_carried_by_what_searches_where_the_record_names_one(furnished: App, one_region: App) -> None:
    app = furnished
    before = {made["FunctionName"]: made for made in one_region.base(HERE).properties("AWS::Lambda::Function")}
    carrying = []
    for made in app.base(HERE).properties("AWS::Lambda::Function"):
        name, told = made["FunctionName"], str(made.get("Environment", {})).count("'MEMOLITH_SEARCH_MODEL': 'use'")
        layers = len(made.get("Layers", [])) - len(before[name].get("Layers", []))
        assert layers == told
        carrying += [name] if layers else []
    names = ("packer", "peerreader", "reader", "scanner")
    assert sorted(carrying) == [f"memolith-test-{name}" for name in names]
    assert by_role(grants(app, "packer"), "sqs:SendMessage", queue("pack")) == "Allow", "what is left to encode"
    assert by_role(grants(one_region, "packer"), "sqs:SendMessage", queue("pack")) == "ImplicitDeny"


def test_the_eraser_is_woken_every_minute_with_its_one_call(one_region: App) -> None:
    rule = one_region.base(HERE).named("AWS::Events::Rule", "Name", "memolith-test-erasure-sweep")
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
    (target,) = rule["Targets"]
    assert (target["Input"], target["RetryPolicy"]) == ('{"call":"sweep"}', {"MaximumRetryAttempts": 0})


def test_the_eraser_notes_erasures_in_the_control_table_and_nothing_else_there(one_region: App) -> None:
    statements = [one for one in grants(one_region, "eraser")["Statement"] if one["Sid"] == "NoteErasures"]
    assert [one["Condition"] for one in statements] == [
        {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["erasure#*"]}}
    ]


def test_lambda_repeats_no_scheduled_event_and_keeps_none_for_hours(two_regions: App) -> None:
    for region in (HERE, THERE):
        template = two_regions.base(region)
        rules = template.properties("AWS::Events::Rule")
        scheduled = {target["Arn"].split(":")[6] for rule in rules for target in rule["Targets"]}
        configured = {one["FunctionName"]: one for one in template.properties("AWS::Lambda::EventInvokeConfig")}
        assert set(configured) == scheduled == {"memolith-test-eraser", "memolith-test-reconciler"}
        for one in configured.values():
            assert (one["Qualifier"], one["MaximumRetryAttempts"]) == ("live", 0)
            assert one["MaximumEventAgeInSeconds"] <= 300
