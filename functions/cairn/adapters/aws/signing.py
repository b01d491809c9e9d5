"""Signing keys in Secrets Manager: one secret, replicated to every region of the deployment.

The secret's value is a JSON object of named keys, such as ``{"k1": "…32 characters or more…"}``; the last name in order
signs, all of them verify, so that a key is rotated by adding one and, a token's longest life later, removing the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from botocore.exceptions import BotoCoreError, ClientError

from cairn.adapters.aws.clients import Clients
from cairn.adapters.aws.names import Deployment
from cairn.ports.clock import Clock
from cairn.ports.errors import Unavailable

REMEMBERED_US = 300_000_000
ASKED_AGAIN_AFTER_US = 10_000_000
"""`fresh` asks no more often than this, so that made-up tokens cannot make a region ask with every call."""
KEY_MIN_BYTES = 32


class SecretsManagerKeys:
    """`ports.signing.SigningKeys`; one call when first needed, and then every five minutes."""

    def __init__(self, clients: Clients, deployment: Deployment, clock: Clock) -> None:
        self._clients = clients
        self._deployment = deployment
        self._clock = clock
        self._keys: Mapping[str, bytes] = {}
        self._read_at: int | None = None

    def keys(self, fresh: bool = False) -> Mapping[str, bytes]:
        """See the port."""
        age_us = None if self._read_at is None else self._clock.now_us() - self._read_at
        if age_us is None or age_us < 0 or age_us > (ASKED_AGAIN_AFTER_US if fresh else REMEMBERED_US):
            self._keys, self._read_at = self._read(), self._clock.now_us()
        return self._keys

    def _read(self) -> Mapping[str, bytes]:
        client = self._clients.secrets(self._deployment.region)
        try:
            text = client.get_secret_value(SecretId=self._deployment.signing_secret)["SecretString"]
        except (ClientError, BotoCoreError, KeyError) as error:
            raise Unavailable("the signing keys cannot be read") from error
        return parse_keys(text)


def parse_keys(text: str) -> Mapping[str, bytes]:
    """The keys in a secret's text. Raises Unavailable for a text of another shape; it is never quoted."""
    try:
        found = {str(name): str(value).encode() for name, value in json.loads(text).items()}
    except (ValueError, AttributeError):
        found = {}
    if not found or any(len(key) < KEY_MIN_BYTES for key in found.values()):
        raise Unavailable(f"the secret must be a JSON object of names and keys of at least {KEY_MIN_BYTES} characters")
    return found
