"""Keys that sign checkpoints in KMS: one ECDSA key on P-256 a region, which never leaves it.

Each stands under the alias ``alias/{prefix}-seal`` of its region. The reconciler may sign with its own region's; who
verifies asks each region once for the public half, and keeps it as long as the process lives: the key of an alias that
is turned to another one is asked for again when a signature names it. The key of a region that was removed from the
deployment went with its stack: it is not asked for, and not known.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.serialization import load_der_public_key
from jwt.algorithms import ECAlgorithm
from jwt.utils import der_to_raw_signature

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, code_of
from memolith.adapters.aws.names import Deployment
from memolith.adapters.signatures import in_base64url, is_signature, key_id
from memolith.core.objects.checkpoint import Seal
from memolith.ports.errors import Unavailable
from memolith.ports.sealing import PublicJwk

ALGORITHM = "ECDSA_SHA_256"
ASKED_AGAIN_S = 60.0
"""How long a key that is not behind the alias counts as unknown: each checkpoint that it signed would cost a call."""


class KmsSealing:
    """`ports.sealing.Sealing` in KMS. A signature is one call; a region's public key one call a process."""

    def __init__(self, clients: Clients, deployment: Deployment) -> None:
        self._clients = clients
        self._deployment = deployment
        self._public: dict[str, Mapping[str, PublicJwk]] = {}
        self._ids: dict[str, str] = {}
        self._unknown_until_s: dict[tuple[str, str], float] = {}

    def sign(self, statement: bytes) -> Seal:
        """Sign the statement, which is a few hundred bytes of the 4 KB that KMS takes. See the port."""
        region = self._deployment.region
        try:
            answer = self._clients.kms(region).sign(
                KeyId=self._deployment.seal_alias, Message=statement, MessageType="RAW", SigningAlgorithm=ALGORITHM
            )
        except AwsError as error:
            raise self._failure("the key that seals checkpoints did not sign", region, error) from error
        raw = der_to_raw_signature(answer["Signature"], SECP256R1())
        return Seal(self._id_of(region, answer["KeyId"]), in_base64url(raw))

    def public(self, region: str) -> Mapping[str, PublicJwk]:
        """Return the public half of the key behind a region's alias; none of a former region's. See the port."""
        if region in self._deployment.former:
            return {}
        if region not in self._public:
            self._public[region] = self._asked(region)
        return self._public[region]

    def is_signed(self, region: str, statement: bytes, seal: Seal) -> bool | None:
        """Check a signature here, without a call but for a key that is not known: one a minute. See the port."""
        if region in self._deployment.former:
            return None
        named = (region, seal.key_id)
        if seal.key_id not in self.public(region) and time.monotonic() >= self._unknown_until_s.get(named, 0.0):
            self._public[region] = {**self._public[region], **self._asked(region)}
            self._unknown_until_s[named] = time.monotonic() + ASKED_AGAIN_S
        public = self._public[region].get(seal.key_id)
        return None if public is None else is_signature(public, statement, seal.signature)

    def _id_of(self, region: str, arn: str) -> str:
        """Return the id of the key that signed, which need not be the one that this process saw behind the alias."""
        if _name_of(arn) not in self._ids:
            self._public[region] = {**self._public.get(region, {}), **self._asked(region)}
        if _name_of(arn) not in self._ids:
            why, hint = "the alias shows another key than the one that signed", "try again"
            raise Unavailable(why, region=region, object=self._deployment.seal_alias, cause=arn, hint=hint)
        return self._ids[_name_of(arn)]

    def _asked(self, region: str) -> Mapping[str, PublicJwk]:
        try:
            answer = self._clients.kms(region).get_public_key(KeyId=self._deployment.seal_alias)
        except AwsError as error:
            raise self._failure("the public key that verifies checkpoints cannot be read", region, error) from error
        loaded: Any = load_der_public_key(answer["PublicKey"])
        jwk = {name: str(value) for name, value in ECAlgorithm.to_jwk(loaded, as_dict=True).items()}
        self._ids[_name_of(answer["KeyId"])] = key_id(jwk)
        return {key_id(jwk): {name: jwk[name] for name in ("crv", "kty", "x", "y")}}

    def _failure(self, message: str, region: str, error: Exception) -> Unavailable:
        alias = self._deployment.seal_alias
        return Unavailable(message, region=region, object=alias, cause=code_of(error), hint="look at the key in KMS")


def _name_of(key: str) -> str:
    """Return the name of a key in KMS, which is the end of its ARN: emulators answer one or the other."""
    return key.rpartition("/")[2]
