"""Targets of gateways in Secrets Manager: one secret of the region, made by the operator of a gateway.

Its value is a JSON object: the target's name in the gateway, to the store and to the key or token that opens it::

    {"notes": {"memory_store_id": "memstore_…", "token": "sk-memolith-…"}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.secrets import RememberedSecret, secret_text
from memolith.ports.clock import Clock
from memolith.ports.errors import ObjectNotFound, Unavailable
from memolith.ports.targets import Target


class SecretsManagerTargets:
    """`ports.targets.Targets`; one call when first needed, and then every five minutes."""

    def __init__(self, clients: Clients, deployment: Deployment, clock: Clock) -> None:
        self._clients = clients
        self._deployment = deployment
        self._secret = RememberedSecret(self._read, clock)

    def find(self, name: str) -> Target | None:
        """Return the target. See the port."""
        return self._secret.value().get(name) or self._secret.value(fresh=True).get(name)

    def _read(self) -> Mapping[str, Target]:
        try:
            text = secret_text(self._clients, self._deployment.region, self._deployment.gateway_secret)
        except ObjectNotFound:
            return {}
        return parse_targets(text)


def parse_targets(text: str) -> Mapping[str, Target]:
    """Parse the targets in a secret's text. Raises Unavailable for a text of another shape, and never quotes it."""
    try:
        return {
            str(name): Target(str(fields["memory_store_id"]), str(fields["token"]))
            for name, fields in json.loads(text).items()
        }
    except (ValueError, AttributeError, KeyError, TypeError):
        raise Unavailable(
            'the secret must be a JSON object such as {"target": {"memory_store_id": …, "token": …}}'
        ) from None
