"""Rotating the key that signs the tokens of sessions.

A new key is accepted everywhere before it signs, and an earlier one until its last token has ended. After a leak
neither is waited for: a key that is accepted alone has to sign, or no token is good anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memolith.adapters import jwk
from memolith.clients.cli.failures import DoneInPart, once_changed
from memolith.core.errors import InvalidRequest, Unavailable
from memolith.core.limits import TOKEN_LIFETIME_MAX_S
from memolith.core.times import rfc3339
from memolith.ports.clock import Clock

if TYPE_CHECKING:
    from memolith.adapters.aws.signing import SigningSecrets

SIGNED_LATEST_S = 600
"""How long a function may go on signing with a key after another was put: it remembers keys for five minutes."""

ARRIVAL_S = 60
"""For how long the regions are asked, a second apart, whether a new key has arrived."""


class Rotation:
    """The signing keys of a deployment, as an operator changes them. One operator at a time."""

    def __init__(self, secrets: SigningSecrets, regions: tuple[str, ...], clock: Clock) -> None:
        self._secrets = secrets
        self._regions = regions
        self._clock = clock

    def rotate(self, *, now: bool) -> list[dict[str, Any]]:
        """Have a new key sign, once every region accepts it; return the keys. With `now` accept no other.

        With `now` it signs at once: from then on no region that has the new keys accepts what the earlier one signs.

        Not atomic: what is interrupted leaves a key that is accepted and signs nothing, which `retire` drops. After
        `now` a writer issues no token until it reads the keys again, within five minutes.

        Raises:
            Unavailable: the secrets cannot be read, or not be written; nothing was changed. OutcomeUnknown: run it
            again. DoneInPart: a region does not have the key yet; the earlier key signs on, but for `now`. Or the key
            is accepted and could not be made to sign.
        """
        accepted = {} if now else dict(self._secrets.accepted())
        signing, _ = self._secrets.signing()
        name = jwk.next_name([*accepted, *signing, *self._secrets.accepted()])
        private = {name: jwk.made()}
        self._secrets.accept({**accepted, **jwk.public_of(private)})
        with once_changed():
            if now:
                self._secrets.sign_with(private)
            if lagging := self._lagging(name):
                raise _not_everywhere(name, lagging, now)
            if not now:
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

    def _lagging(self, name: str) -> dict[str, str]:
        """Return each region that does not accept the key within a minute, with the reason."""
        lagging = dict.fromkeys(self._regions, "")
        until_us = self._clock.now_us() + ARRIVAL_S * 1_000_000
        while True:
            for region in list(lagging):
                try:
                    if name in self._secrets.accepted(region):
                        del lagging[region]
                    else:
                        lagging[region] = "it has not been replicated there"
                except Unavailable as error:
                    lagging[region] = error.message
            if not lagging or self._clock.now_us() >= until_us:
                return lagging
            self._clock.pause(1)


def _not_everywhere(name: str, lagging: Mapping[str, str], now: bool) -> DoneInPart:
    """Make the error that regions do not accept a new key yet."""
    said = "; ".join(f"{region} does not accept the new key {name} yet ({why})" for region, why in lagging.items())
    if not now:
        return DoneInPart(f"{said}, so nothing signs with it", "Run this again once Secrets Manager has replicated it.")
    return DoneInPart(
        f"{said}. Everywhere else {name} signs, and no other key is accepted",
        "Until Secrets Manager has replicated it, earlier tokens are accepted there, and new ones refused. "
        "Run this again to see whether it has: that makes another key.",
    )
