"""The bucket: private, versioned, kept; and the two rules that no function's code can break."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.infra.policies import by_resource, by_role, role
from tests.infra.synthesized import ACCOUNT, FAR, HERE, ROOT, THERE, App

BUCKET = f"arn:aws:s3:::memolith-test-{ACCOUNT}-{HERE}"
WRITER = role(f"memolith-test-writer-{HERE}")
ERASER = role(f"memolith-test-eraser-{HERE}")
WRITTEN_ONCE = [
    "log",
    "store",
    "key",
    "cut",
    "verdict",
    "session",
    "transcript",
    "checkpoint",
    "redaction",
    "proposal",
    "resolution",
]
NEVER_DELETED = WRITTEN_ONCE


def policy_of(app: App) -> dict[str, Any]:
    (policy,) = app.base(HERE).properties("AWS::S3::BucketPolicy")
    document: dict[str, Any] = policy["PolicyDocument"]
    return document


def bucket_of(app: App) -> dict[str, Any]:
    (bucket,) = app.base(HERE).properties("AWS::S3::Bucket")
    return bucket


def test_the_bucket_is_versioned_encrypted_and_private(one_region: App) -> None:
    bucket = bucket_of(one_region)
    assert bucket["BucketName"] == f"memolith-test-{ACCOUNT}-{HERE}"
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["ServerSideEncryptionByDefault"] == {
        "SSEAlgorithm": "AES256"
    }
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}


def test_no_lifecycle_rule_removes_an_object(one_region: App) -> None:
    (rule,) = bucket_of(one_region)["LifecycleConfiguration"]["Rules"]
    assert set(rule) == {"Id", "Status", "AbortIncompleteMultipartUpload"}


def test_the_bucket_survives_whatever_happens_to_its_stack(one_region: App) -> None:
    (bucket,) = one_region.base(HERE).resources("AWS::S3::Bucket").values()
    assert bucket["DeletionPolicy"] == bucket["UpdateReplacePolicy"] == "Retain"


def test_every_created_object_is_reported_to_one_queue_and_to_nothing_else(one_region: App) -> None:
    notification = bucket_of(one_region)["NotificationConfiguration"]
    assert notification == {
        "QueueConfigurations": [
            {"Event": "s3:ObjectCreated:*", "Queue": f"arn:aws:sqs:<region>:{ACCOUNT}:memolith-test-index"}
        ]
    }


def test_the_queue_accepts_the_bucket_before_the_bucket_names_the_queue(one_region: App) -> None:
    template = one_region.base(HERE)
    (bucket,) = template.resources("AWS::S3::Bucket").values()
    policies = template.resources("AWS::SQS::QueuePolicy")
    (first,) = set(bucket["DependsOn"]) & set(policies)
    assert "s3.amazonaws.com" in str(policies[first])


def test_the_queue_accepts_this_bucket_of_this_account_only(one_region: App) -> None:
    queue = f"arn:aws:sqs:<region>:{ACCOUNT}:memolith-test-index"
    (document,) = [
        policy["PolicyDocument"]
        for policy in one_region.base(HERE).properties("AWS::SQS::QueuePolicy")
        if "s3.amazonaws.com" in str(policy)
    ]

    def asked(bucket: str, account: str) -> str:
        keys = {"aws:sourcearn": bucket, "aws:sourceaccount": account}
        return by_resource(document, "*", "sqs:SendMessage", queue, service="s3.amazonaws.com", keys=keys)

    assert asked(BUCKET, ACCOUNT) == "Allow"
    assert asked("arn:aws:s3:::another", ACCOUNT) == "ImplicitDeny"
    assert asked(BUCKET, "999988887777") == "ImplicitDeny"


@pytest.mark.parametrize("kind", WRITTEN_ONCE)
@pytest.mark.parametrize("prefix", [HERE, THERE])
def test_a_put_without_the_condition_is_denied_to_all_but_the_eraser(one_region: App, kind: str, prefix: str) -> None:
    key = f"{BUCKET}/{prefix}/{kind}/memstore_1/a/0001-0.0000000001"
    document = policy_of(one_region)
    assert by_resource(document, WRITER, "s3:PutObject", key) == "Deny"
    assert by_resource(document, ERASER, "s3:PutObject", key) == "ImplicitDeny"
    assert by_resource(document, WRITER, "s3:PutObject", key, keys={"s3:if-none-match": "*"}) == "ImplicitDeny"


@pytest.mark.parametrize("kind", NEVER_DELETED)
@pytest.mark.parametrize("action", ["s3:DeleteObject", "s3:DeleteObjectVersion"])
def test_nobody_but_the_eraser_deletes(one_region: App, kind: str, action: str) -> None:
    key = f"{BUCKET}/{THERE}/{kind}/memstore_1/a/0001-0.0000000001"
    document = policy_of(one_region)
    assert by_resource(document, WRITER, action, key) == "Deny"
    assert by_resource(document, f"arn:aws:iam::{ACCOUNT}:user/admin", action, key) == "Deny"
    assert by_resource(document, ERASER, action, key) == "ImplicitDeny"


def test_another_regions_eraser_is_not_exempt(two_regions: App) -> None:
    other = role(f"memolith-test-eraser-{THERE}")
    key = f"{BUCKET}/{HERE}/log/memstore_1/a/0001-0.0000000001"
    assert by_resource(policy_of(two_regions), other, "s3:DeleteObjectVersion", key) == "Deny"


CONDITIONAL = {"s3:if-none-match": "*"}
OWN_FUNCTIONS = ["writer", "scanner", "reconciler", "eraser"]


def own_slot(region: str) -> str:
    return f"{BUCKET}/{region}/log/memstore_1/a/0001-0.0000000001"


@pytest.mark.parametrize("name", OWN_FUNCTIONS)
def test_no_function_of_another_region_puts_under_the_buckets_own_prefix(three_regions: App, name: str) -> None:
    document = policy_of(three_regions)
    for other in (THERE, FAR):
        stranger = role(f"memolith-test-{name}-{other}")
        assert by_resource(document, stranger, "s3:PutObject", own_slot(HERE), keys=CONDITIONAL) == "Deny"


@pytest.mark.parametrize("prefix", [THERE, FAR])
def test_another_regions_writer_may_bring_what_it_or_a_third_region_wrote(three_regions: App, prefix: str) -> None:
    """A store that asks for two regions: its log goes on from what homes before have written."""
    stranger = role(f"memolith-test-writer-{THERE}")
    decision = by_resource(policy_of(three_regions), stranger, "s3:PutObject", own_slot(prefix), keys=CONDITIONAL)
    assert decision == "ImplicitDeny"
    (made,) = three_regions.base(THERE).named("AWS::IAM::Role", "RoleName", f"memolith-test-writer-{THERE}")["Policies"]
    assert by_role(made["PolicyDocument"], "s3:PutObject", own_slot(prefix)) == "Allow"


@pytest.mark.parametrize("name", OWN_FUNCTIONS)
def test_the_regions_own_functions_are_not_kept_from_its_prefix(three_regions: App, name: str) -> None:
    own = role(f"memolith-test-{name}-{HERE}")
    assert (
        by_resource(policy_of(three_regions), own, "s3:PutObject", own_slot(HERE), keys=CONDITIONAL) == "ImplicitDeny"
    )


def test_an_operator_may_bring_an_object_back_where_nothing_is(three_regions: App) -> None:
    operator = f"arn:aws:iam::{ACCOUNT}:user/operator"
    decision = by_resource(policy_of(three_regions), operator, "s3:PutObject", own_slot(HERE), keys=CONDITIONAL)
    assert decision == "ImplicitDeny"


# ---- what a person deletes ------------------------------------------------------------------------------------------

DELETE_PAGE = "delete-objects.md"
ORDERED = re.compile(
    r"\b(delete|deleted|remove)\b[^.]*\b(every region's bucket|S3\s+version of that|marker)"
    r"|delete marker[^.]*\bremove\b|s3api delete-object|s3 rm"
)
"""That a person is to delete an object, a version of it or a delete marker in a region's bucket."""


@pytest.mark.parametrize("action", ["s3:DeleteObject", "s3:DeleteObjectVersion"])
def test_an_operator_deletes_only_without_the_statement_that_the_page_takes_out(one_region: App, action: str) -> None:
    document, operator = policy_of(one_region), f"arn:aws:iam::{ACCOUNT}:user/operator"
    assert by_resource(document, operator, action, own_slot(HERE)) == "Deny"
    others = [one for one in document["Statement"] if one.get("Sid") != "OnlyTheEraserDeletes"]
    assert len(others) == len(document["Statement"]) - 1
    assert by_resource({**document, "Statement": others}, operator, action, own_slot(HERE)) == "ImplicitDeny"


def test_a_page_that_has_a_person_delete_in_a_bucket_links_how_the_policy_lets_them() -> None:
    pages = {page.name: page.read_text() for page in (ROOT / "docs/operations").glob("*.md")}
    how = pages.pop(DELETE_PAGE)
    ordering = {name for name, text in pages.items() if ORDERED.search(text)}
    assert {"fail-over.md", "dead-letters.md", "integrity-broken.md", "erasure.md"} <= ordering
    for name in ordering:
        assert f"({DELETE_PAGE})" in pages[name], name
        assert f"({name})" in how, name
    for text in (how, *pages.values()):
        for command in re.findall(r"s3api delete-object[^\n]*", text):
            assert "--version-id" in command, "it would put a delete marker"


@pytest.mark.parametrize("action", ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"])
def test_replicas_are_not_hindered(one_region: App, action: str) -> None:
    key = f"{BUCKET}/{THERE}/log/memstore_1/a/0001-0.0000000001"
    replicator = role(f"memolith-test-replication-{THERE}")
    assert by_resource(policy_of(one_region), replicator, action, key) == "ImplicitDeny"


@pytest.mark.parametrize("resource", [BUCKET, f"{BUCKET}/{HERE}/log/a"])
def test_plain_http_is_denied_to_everyone(one_region: App, resource: str) -> None:
    assert by_resource(policy_of(one_region), ERASER, "s3:GetObject", resource, tls=False) == "Deny"


def test_the_policy_grants_nothing(one_region: App) -> None:
    assert {statement["Effect"] for statement in policy_of(one_region)["Statement"]} == {"Deny"}


@pytest.mark.slow
def test_on_the_local_cloud_the_policy_is_the_same(two_regions: App, emulated: App) -> None:
    assert policy_of(emulated) == policy_of(two_regions)
