"""cdk-nag's exceptions, each with its reason, beside what it is about."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Accept findings on `construct` and on what stands below it.

    Args:
        construct: What the findings are about; as far down the tree as possible.
        reasons: Finding to reason. A finding with details is named with them, for example
            ``AwsSolutions-IAM5[Resource::*]``, so that a second wildcard is still found.
    """
    Validations.of(construct).acknowledge(*(Acknowledgment(id=rule, reason=reason) for rule, reason in reasons.items()))
