"""Whose account this is."""

from __future__ import annotations

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of
from memolith.core.errors import Unavailable


def caller_account(clients: Clients, region: str) -> str:
    """Return the twelve digits of the account that the credentials in use belong to. One call of STS.

    Raises:
        Unavailable: there are no credentials, or STS does not answer.
    """
    try:
        return str(clients.sts(region).get_caller_identity()["Account"])
    except AwsError as error:
        raise Unavailable(f"AWS does not say whose account this is ({code_of(error)}); are you signed in?") from error
