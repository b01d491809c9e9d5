"""Least privilege: each function may do what its row names, here and nowhere else, and nothing besides.

The table of `rights` is the design's, written out; it is compared with what is deployed in both directions.
"""

from __future__ import annotations

import pytest

from tests.infra.policies import by_role
from tests.infra.rights import (
    ALWAYS_IN_TABLE,
    MAY,
    RECONCILER,
    as_list,
    bucket,
    common,
    each,
    function,
    grants,
    kms_keys,
    queue,
    table,
)
from tests.infra.synthesized import ACCOUNT, ALWAYS, FAR, HERE, THERE, App


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


def test_the_eraser_notes_erasures_in_the_control_table_and_nothing_else_there(one_region: App) -> None:
    statements = [one for one in grants(one_region, "eraser")["Statement"] if one["Sid"] == "NoteErasures"]
    assert [one["Condition"] for one in statements] == [
        {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["erasure#*"]}}
    ]
