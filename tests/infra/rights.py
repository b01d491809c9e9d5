"""What each function may do, as the design has it, and what its role was granted in a template."""

from __future__ import annotations

from typing import Any

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
