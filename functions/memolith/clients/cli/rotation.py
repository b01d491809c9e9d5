"""Rotating the key that signs the tokens of sessions.

A new key is accepted everywhere before it signs, and an earlier one until its last token has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memolith.adapters import jwk
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.limits import TOKEN_LIFETIME_MAX_S
from memolith.core.times import rfc3339
from memolith.ports.clock import Clock

if TYPE_CHECKING:
    from memolith.adapters.aws.signing import SigningSecrets

SIGNED_LATEST_S = 600
"""How long a function may go on signing with a key after another was put: it remembers keys for five minutes."""

ARRIVAL_TRIES = 60
"""How often, a second apart, the other regions are asked whether a new key has arrived."""


class Rotation:
    """The signing keys of a deployment, as an operator changes them. One operator at a time."""

    def __init__(self, secrets: SigningSecrets, regions: tuple[str, ...], clock: Clock) -> None:
        self._secrets = secrets
        self._regions = regions
        self._clock = clock

    def rotate(self, *, now: bool) -> list[dict[str, Any]]:
        """Have a new key sign, once every region accepts it; return the keys. With `now` accept no other.

        Not atomic: what is interrupted leaves a key that is accepted and signs nothing, which `retire` drops. After
        `now` a writer issues no token until it reads the keys again, within five minutes.

        Raises:
            Unavailable: the secrets cannot be read or written, or a region does not have the key yet; the earlier key
            signs on, but for `now`. OutcomeUnknown: run it again.
        """
        accepted = {} if now else dict(self._secrets.accepted())
        signing, _ = self._secrets.signing()
        name = jwk.next_name([*accepted, *signing, *self._secrets.accepted()])
        private = {name: jwk.made()}
        self._secrets.accept({**accepted, **jwk.public_of(private)})
        for region in self._regions:
            self._await(region, name)
        self._secrets.sign_with(private)
        return self.keys()

    def retire(self) -> list[dict[str, Any]]:
        """Accept the key that signs alone; return the keys. Repeatable.

        Raises:
            InvalidRequest: an earlier key's last token may still live. Unavailable, OutcomeUnknown: as `rotate`.
        """
        signing, since_us = self._secrets.signing()
        ended_us = since_us + (TOKEN_LIFETIME_MAX_S + SIGNED_LATEST_S) * 1_000_000
        if self._secrets.accepted().keys() - signing.keys() and self._clock.now_us() < ended_us:
            raise InvalidRequest(
                "", f"tokens of the earlier key live until {rfc3339(ended_us)}; if it leaked: rotate-signing --now"
            )
        self._secrets.accept(jwk.public_of(signing))
        return self.keys()

    def keys(self) -> list[dict[str, Any]]:
        """Return every key: whether it signs, and whether its tokens are accepted."""
        signing, _ = self._secrets.signing()
        accepted = self._secrets.accepted()
        return [
            {"key": name, "signs": name in signing, "accepted": name in accepted}
            for name in sorted({*signing, *accepted})
        ]

    def _await(self, region: str, name: str) -> None:
        for _ in range(ARRIVAL_TRIES):
            if name in self._secrets.accepted(region):
                return
            self._clock.pause(1)
        raise Unavailable(f"{region} does not accept the new key {name} yet, so nothing signs with it; run this again")
