"""Keeps the first region of a deployment first: what signs session tokens was made there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.custom_resources.respond import answer

PREFIX = "first-region-"


def handler(event: Mapping[str, Any], _context: object) -> None:
    """Handle CloudFormation's request. The resource is called by the first region that it was made with."""
    known = str(event.get("PhysicalResourceId", ""))
    name = known if known.startswith(PREFIX) else f"{PREFIX}{event['ResourceProperties']['First']}"
    answer(event, name, lambda request, properties: check(request, properties, name.removeprefix(PREFIX)))


def check(request: str, properties: Mapping[str, Any], made_with: str) -> None:
    """Refuse an update that puts another region first. Going back to the one that it was made with is no such update.

    Raises:
        ValueError: another region is first; CloudFormation then takes back what it has changed of the stack.
    """
    first = properties["First"]
    if request == "Update" and first != made_with:
        raise ValueError(
            f"'regions' of cdk.json begins with {first}, and began with {made_with}: the secrets that sign session "
            f"tokens are in {made_with}, and would be deleted with every token. Put {made_with} first again"
        )
