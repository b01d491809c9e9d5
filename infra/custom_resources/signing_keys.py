"""Makes the first key that signs the tokens of sessions; leaves every later one alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from infra.custom_resources.respond import answer

Jwk = Mapping[str, str]


def handler(event: Mapping[str, Any], _context: object) -> None:
    """Handle CloudFormation's request."""
    import boto3

    secrets = boto3.client("secretsmanager")
    name = event["ResourceProperties"]["Private"]
    answer(event, f"first-key-{name}", lambda request, properties: apply(secrets, generate, request, properties))


def generate() -> Jwk:
    """Make a private Ed25519 key as a JSON Web Key. Source: RFC 8037."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from jwt.algorithms import OKPAlgorithm

    return {name: str(value) for name, value in OKPAlgorithm.to_jwk(Ed25519PrivateKey.generate(), as_dict=True).items()}


def apply(secrets: Any, make: Callable[[], Jwk], request: str, properties: Mapping[str, Any]) -> None:
    """Put a key into both secrets if the private one has none: the public half first, so that it verifies at once.

    A key whose private half was never put, because an earlier run ended in between, has signed nothing and is replaced.
    The new key has a name of its own: a function may still remember the other. Repeatable.

    Cost: one read of the private secret on create and update, and for a new key a read and two puts; nothing on delete.
    """
    if request == "Delete" or _keys(secrets, properties["Private"]):
        return
    taken = [str(key.get("kid")) for key in _keys(secrets, properties["Public"])]
    numbers = [int(number) for name in taken for number in re.findall(r"[0-9]+", name)]
    private = {**make(), "kid": f"k{max(numbers, default=0) + 1}", "use": "sig", "alg": "EdDSA"}
    public = {name: value for name, value in private.items() if name != "d"}
    for secret, key in ((properties["Public"], public), (properties["Private"], private)):
        secrets.put_secret_value(SecretId=secret, SecretString=json.dumps({"keys": [key]}))


def _keys(secrets: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the keys of a secret; none for the random text that CloudFormation made it with."""
    try:
        found = json.loads(secrets.get_secret_value(SecretId=name)["SecretString"])["keys"]
        return [key for key in found if key.get("kty") == "OKP"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
