"""Secrets Manager: a secret's text, parsed once and remembered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from memolith.adapters.aws.clients import Clients
from memolith.ports.clock import Clock
from memolith.ports.errors import ObjectNotFound, Unavailable

REMEMBERED_US = 300_000_000
ASKED_AGAIN_AFTER_US = 10_000_000
"""`fresh` asks no more often than this, so that made-up names cannot make a region ask with every call."""

Parsed = TypeVar("Parsed")


class RememberedSecret(Generic[Parsed]):
    """One secret's value; one call when first needed, and then every five minutes."""

    def __init__(self, read: Callable[[], Parsed], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._value: Parsed | None = None
        self._read_at: int | None = None

    def value(self, fresh: bool = False) -> Parsed:
        """Return the value. Raises what reading it raises; a failure is not remembered."""
        age_us = None if self._read_at is None else self._clock.now_us() - self._read_at
        if self._value is None or age_us is None or age_us < 0 or age_us > _allowed(fresh):
            self._value, self._read_at = self._read(), self._clock.now_us()
        return self._value


def secret_text(clients: Clients, region: str, name: str) -> str:
    """Return the text of a secret, as it is now. One call.

    Raises:
        ObjectNotFound: there is no such secret. Unavailable: it cannot be read; on AWS also where there is none,
            since a permission names the random end of an ARN that a missing secret does not have.
    """
    try:
        return clients.secrets(region).get_secret_value(SecretId=name)["SecretString"]
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "ResourceNotFoundException":
            raise ObjectNotFound(f"there is no secret {name}") from error
        if code == "AccessDeniedException":
            raise Unavailable(f"the secret {name} is not there, or may not be read") from error
        raise Unavailable(f"the secret {name} cannot be read") from error
    except (BotoCoreError, KeyError) as error:
        raise Unavailable(f"the secret {name} cannot be read") from error


def _allowed(fresh: bool) -> int:
    return ASKED_AGAIN_AFTER_US if fresh else REMEMBERED_US
