"""Whose account this is."""

from __future__ import annotations

from collections.abc import Iterable

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of
from memolith.core.errors import Unavailable


def caller_account(clients: Clients, regions: Iterable[str]) -> str:
    """Return the twelve digits of the account that the credentials in use belong to.

    It asks STS in one region after the other until one answers: the first may be the one that is gone.

    Raises:
        Unavailable: there are no credentials, or STS answers in none of the regions.
    """
    said = "no region is named"
    for region in regions:
        try:
            return str(clients.sts(region).get_caller_identity()["Account"])
        except AwsError as error:
            said = f"{region}: {code_of(error)}"
    raise Unavailable(
        f"AWS does not say whose account this is ({said}); are you signed in? `account` in cdk.json says it without AWS"
    )
