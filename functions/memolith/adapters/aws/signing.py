"""Signing keys in Secrets Manager: two secrets, each replicated to every region of the deployment.

``{prefix}-signing`` holds the private halves and ``{prefix}-verification`` the public ones of every key that is
accepted, both as JWK sets (`adapters.jwk`). The writer's role may read both, the reader's the second alone. A key is
rotated by accepting a new one everywhere before it signs, and dropping the old one after the longest life of a token
(`memolith.clients.cli.rotation`).
"""

from __future__ import annotations

from collections.abc import Mapping

from memolith.adapters import jwk
from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of, write_error
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.secrets import RememberedSecret, secret_text
from memolith.ports.clock import Clock
from memolith.ports.errors import ObjectNotFound, Unavailable
from memolith.ports.signing import Jwk


class SecretsManagerKeys:
    """`ports.signing.SigningKeys`; one call for each secret when first needed, and then every five minutes."""

    def __init__(self, clients: Clients, deployment: Deployment, clock: Clock) -> None:
        self._clients = clients
        self._deployment = deployment
        self._private = RememberedSecret(lambda: jwk.read_private(self._text(deployment.signing_secret)), clock)
        self._public = RememberedSecret(lambda: jwk.read_public(self._text(deployment.verification_secret)), clock)

    def private(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Return the private halves. See the port."""
        return self._private.value(fresh)

    def public(self, fresh: bool = False) -> Mapping[str, Jwk]:
        """Return the public half of every accepted key. See the port."""
        return self._public.value(fresh)

    def _text(self, name: str) -> str:
        return _text(self._clients, self._deployment.region, name)


class SigningSecrets:
    """The two secrets as an operator handles them: written in the deployment's first region, read in any."""

    def __init__(self, clients: Clients, deployment: Deployment) -> None:
        self._clients = clients
        self._deployment = deployment
        self._first = deployment.regions[0]

    def signing(self) -> tuple[Mapping[str, Jwk], int]:
        """Return the private halves and since when they sign, in microseconds since 1970. Two calls.

        Raises:
            Unavailable: the secret cannot be read, or holds no keys.
        """
        name = self._deployment.signing_secret
        keys = jwk.read_private(_text(self._clients, self._first, name))
        try:
            described = self._clients.secrets(self._first).describe_secret(SecretId=name)
        except AwsError as error:
            raise Unavailable(f"the secret {name} in {self._first} cannot be described ({code_of(error)})") from error
        return keys, int(described["LastChangedDate"].timestamp() * 1_000_000)

    def accepted(self, region: str | None = None) -> Mapping[str, Jwk]:
        """Return the public halves as `region` has them, by default the first. One call. Raises Unavailable."""
        return jwk.read_public(_text(self._clients, region or self._first, self._deployment.verification_secret))

    def accept(self, keys: Mapping[str, Jwk]) -> None:
        """Put the public halves that are accepted from now on; Secrets Manager carries them to the other regions.

        Raises:
            Unavailable: refused. OutcomeUnknown: look what is there.
        """
        self._put(self._deployment.verification_secret, keys)

    def sign_with(self, keys: Mapping[str, Jwk]) -> None:
        """Put the private halves, of which the last name in order signs. Raises as `accept`."""
        self._put(self._deployment.signing_secret, keys)

    def _put(self, name: str, keys: Mapping[str, Jwk]) -> None:
        try:
            self._clients.secrets(self._first).put_secret_value(SecretId=name, SecretString=jwk.written(keys))
        except AwsError as error:
            raise write_error(error, f"the secret {name} in {self._first}") from error


def _text(clients: Clients, region: str, name: str) -> str:
    try:
        return secret_text(clients, region, name)
    except ObjectNotFound as error:
        raise Unavailable(f"there is no secret {name} in {region}") from error
