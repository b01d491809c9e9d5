"""Asks a policy, instead of reading it: may this principal do that?

The judge is the policy engine of the local cloud's emulator; conditions that it does not see in a request are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ministack.core.iam_evaluator import EvalContext, evaluate, evaluate_resource_policy, parse_policy_document

from tests.infra.synthesized import ACCOUNT, HERE


def role(name: str) -> str:
    """A role's ARN, as AWS compares it."""
    return f"arn:aws:iam::{ACCOUNT}:role/{name}"


def by_resource(
    document: Mapping[str, Any],
    principal: str,
    action: str,
    resource: str,
    *,
    tls: bool = True,
    service: str | None = None,
    keys: Mapping[str, str] | None = None,
) -> str:
    """What a bucket's or queue's policy says: ``Allow``, ``Deny`` or ``ImplicitDeny``."""
    context = _context(principal, action, resource, tls, keys or {})
    return str(evaluate_resource_policy(dict(document), context, service=service).decision)


def by_role(document: Mapping[str, Any], action: str, resource: str) -> str:
    """What a role's policy says."""
    context = _context(role("it"), action, resource, True, {})
    return str(evaluate(context, [parse_policy_document(dict(document))]).decision)


def _context(principal: str, action: str, resource: str, tls: bool, keys: Mapping[str, str]) -> EvalContext:
    return EvalContext(
        principal_arn=principal,
        principal_type="AssumedRole",
        principal_account=ACCOUNT,
        action=action,
        resource_arn=resource,
        region=HERE,
        secure_transport=tls,
        service_context=dict(keys),
    )
