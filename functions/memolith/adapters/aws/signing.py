"""Signing keys in Secrets Manager: one secret, replicated to every region of the deployment.

The secret's value is a JSON object of named keys, such as ``{"k1": "…32 characters or more…"}``. The last name in
order, numbers by their value, signs. All of them verify: a key is rotated by adding one and, a token's longest life
later, removing the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.secrets import RememberedSecret, secret_text
from memolith.ports.clock import Clock
from memolith.ports.errors import ObjectNotFound, Unavailable

KEY_MIN_BYTES = 32


class SecretsManagerKeys:
    """`ports.signing.SigningKeys`; one call when first needed, and then every five minutes."""

    def __init__(self, clients: Clients, deployment: Deployment, clock: Clock) -> None:
        self._clients = clients
        self._deployment = deployment
        self._secret = RememberedSecret(self._read, clock)

    def keys(self, fresh: bool = False) -> Mapping[str, bytes]:
        """Return the accepted keys. See the port."""
        return self._secret.value(fresh)

    def _read(self) -> Mapping[str, bytes]:
        try:
            text = secret_text(self._clients, self._deployment.region, self._deployment.signing_secret)
        except ObjectNotFound as error:
            raise Unavailable("there are no signing keys") from error
        return parse_keys(text)


def parse_keys(text: str) -> Mapping[str, bytes]:
    """Parse the keys in a secret's text. Raises Unavailable for a text of another shape; it never quotes the text."""
    try:
        found = {str(name): str(value).encode() for name, value in json.loads(text).items()}
    except (ValueError, AttributeError):
        found = {}
    if not found or any(len(key) < KEY_MIN_BYTES for key in found.values()):
        raise Unavailable(f"the secret must be a JSON object of names and keys of at least {KEY_MIN_BYTES} characters")
    return found
