"""Policies see the condition keys that AWS sets: the bucket policy that goes to AWS is the one that is tried here.

The emulator never sets ``s3:if-none-match``, ``s3:if-match`` and ``s3:ObjectCreationOperation``, so a policy that
requires a conditional put refuses correct ones too; its ``aws:PrincipalArn`` of a role's session is the session's ARN
where AWS gives the role's; and it is plain HTTP on the loopback, which ``aws:SecureTransport`` should not be tried on.
Nor does it set ``dynamodb:LeadingKeys``, so a permission for some partitions of a table is one for all of them; here it
is set for requests of one item, from the partition key that all of Memolith's tables have. A request that names a KMS
key by its alias is checked against the alias, where AWS checks it against the key; ``kms:ResourceAliases`` is not set.

Source: Amazon S3 user guide, "Enforce conditional writes on Amazon S3 buckets"; IAM user guide, "aws:PrincipalArn";
Amazon DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control"; AWS KMS developer guide,
"Use aliases to control access to KMS keys".
"""

from __future__ import annotations

import json
import re
from typing import Any

from memolith.core.tables import PARTITION_KEY
from scripts.local_cloud.patches import Patch, need

_SESSION = re.compile(r"arn:(?P<partition>[^:]+):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/.+")


def role_of(arn: str) -> str:
    """Return the role's ARN for an assumed role's session, without the role's path; any other ARN as it is."""
    match = _SESSION.fullmatch(arn)
    return f"arn:{match['partition']}:iam::{match['account']}:role/{match['role']}" if match else arn


def put_object_keys(query: dict[str, Any], headers: dict[str, str]) -> dict[str, str]:
    """Return the condition keys of a request under `s3:PutObject`: a put, a part, an upload's start or end."""
    multipart = "uploads" in query or "partNumber" in query
    keys = {"s3:ObjectCreationOperation": "false" if multipart else "true"}
    for header in ("if-none-match", "if-match"):
        if headers.get(header):
            keys[f"s3:{header}"] = headers[header]
    return keys


def leading_keys(request: Any) -> dict[str, list[str]]:
    """Return ``dynamodb:LeadingKeys`` of a parsed request that names one item; nothing for any other."""
    if not isinstance(request, dict):
        return {}
    partition = (request.get("Item") or request.get("Key") or {}).get(PARTITION_KEY)
    return {"dynamodb:LeadingKeys": list(partition.values())} if isinstance(partition, dict) else {}


def key_of(arn: str) -> str:
    """Return the ARN of the KMS key behind an alias's ARN; any other ARN as it is."""
    from ministack.services import kms

    record = kms._resolve_key(arn) if ":alias/" in arn else None
    return arn if record is None else str(record["Arn"])


def aliases_of(key_arn: str) -> list[str]:
    """Return the names of a KMS key's aliases."""
    from ministack.services import kms

    key_id = key_arn.rpartition("/")[2]
    return sorted(arn.split(":", 5)[5] for arn, target in kms._aliases.items() if target == key_id)


def _apply() -> None:
    from ministack.core import iam_actions, iam_evaluator
    from ministack.services import kms

    need(iam_actions, "s3_service_context", "dynamodb_service_context")
    need(iam_actions, "extract_resource_arn")
    need(iam_evaluator, "_resolve_condition_key", "_conditions_met")
    need(kms, "_resolve_key", "_aliases")
    service_context = iam_actions.s3_service_context
    resolve = iam_evaluator._resolve_condition_key

    def with_put_keys(
        action: str, query: dict[str, Any] | None, path: str = "", headers: dict[str, str] | None = None
    ) -> Any:
        context = service_context(action, query, path, headers)
        return {**put_object_keys(query or {}, headers or {}), **context} if action == "s3:PutObject" else context

    def as_on_aws(key: str, context: Any) -> Any:
        if key.lower() == "aws:securetransport":
            return "true"
        if key.lower() == "kms:resourcealiases":
            return aliases_of(context.resource_arn)
        value = resolve(key, context)
        return role_of(value) if key.lower() == "aws:principalarn" and isinstance(value, str) else value

    resource_arn = iam_actions.extract_resource_arn

    def of_the_key(service: str, *more: Any, **named: Any) -> Any:
        arn = resource_arn(service, *more, **named)
        return key_of(arn) if service == "kms" else arn

    rows_context = iam_actions.dynamodb_service_context

    def with_leading_keys(body: bytes) -> Any:
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            request = None
        return {**leading_keys(request), **rows_context(body)}

    iam_actions.s3_service_context = with_put_keys
    iam_actions.dynamodb_service_context = with_leading_keys
    iam_actions.extract_resource_arn = of_the_key
    iam_evaluator._resolve_condition_key = as_on_aws


PATCH = Patch("condition_keys", "with --enforce-iam, correct conditional puts are refused", _apply)
