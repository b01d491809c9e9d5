"""Checks of the deployment's record (`infra.deployment`): each names the field, its value and its rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

CONTEXT_KEY = "memolith"


class InvalidDeployment(ValueError):
    """The record breaks a rule. The message names the field, the value and the rule."""

    def __init__(self, field_name: str, value: object, rule: str) -> None:
        super().__init__(f"cdk.json, context '{CONTEXT_KEY}', field '{field_name}': {value!r} {rule}")
        self.field_name = field_name


def mapping(field_name: str, value: Any) -> Mapping[str, Any]:
    """Return an object. Raises InvalidDeployment."""
    if not isinstance(value, Mapping):
        raise InvalidDeployment(field_name, value, "must be an object")
    return value


def region_list(field_name: str, value: Any) -> tuple[Any, ...]:
    """Return a list of regions as a tuple. Raises InvalidDeployment."""
    if not isinstance(value, (list, tuple)):
        raise InvalidDeployment(field_name, value, "must be a list of region names")
    return tuple(value)


def text(field_name: str, value: object, pattern: re.Pattern[str], rule: str) -> None:
    """Check a text. Raises InvalidDeployment."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InvalidDeployment(field_name, value, rule)


def whole(field_name: str, value: object, least: int, most: int) -> None:
    """Check a whole number. Raises InvalidDeployment."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidDeployment(field_name, value, f"must be a whole number from {least} to {most}")


def one_of(field_name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Check one of a few values. Raises InvalidDeployment."""
    if not any(value == one and type(value) is type(one) for one in allowed):
        raise InvalidDeployment(field_name, value, f"must be one of {', '.join(map(str, allowed))}")


POLLED_BY = {
    "indexer": "2 x limits.indexer_concurrency",
    "scanner": "limits.scanner_concurrency",
    "packer": "fixed",
    "dreamer": "dreams.concurrency",
}
"""The functions that queues invoke, and what says how often at once."""


def reservation(function: str, value: int, polled: int) -> None:
    """Check the reserved concurrency of a function that queues invoke `polled` times at once. Raises InvalidDeployment.

    With less, Lambda takes messages that it then refuses to hand over, and SQS counts each time as a failure.
    Source: AWS Lambda Developer Guide, "Configuring scaling behavior for SQS event source mappings".
    """
    if value < polled:
        rule = f"must be at least {polled} ({POLLED_BY[function]}): so often at once its queues invoke it, and messages"
        rule += " that Lambda turns away become dead letters"
        raise InvalidDeployment(f"limits.reserved_concurrency.{function}", value, rule)


def guardrail(field_name: str, value: Any) -> None:
    """Check a guardrail's id and version. Raises InvalidDeployment.

    Source: Amazon Bedrock API reference, "ApplyGuardrail", URI request parameters.
    """
    given = mapping(field_name, value)
    for name in given:
        one_of(field_name, name, ("id", "version"))
    text(
        f"{field_name}.id", given.get("id"), re.compile(r"[a-z0-9]+"), "must be a guardrail's id, as its owner sees it"
    )
    text(
        f"{field_name}.version",
        given.get("version"),
        re.compile(r"[1-9][0-9]{0,7}|DRAFT"),
        "must be a version's number, as a string, or 'DRAFT'",
    )
