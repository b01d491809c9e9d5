"""Who asks: an API key, or a session's token, in either of the two headers that SDKs have sent.

A key's text is ``sk-memolith-{workspace}-{key}-{secret}``: the workspace's id without ``wrkspc_``, the key's id without
``apikey_``, and the secret. It names itself, so that checking it is one read by key; what is compared is the SHA-256 of
the whole text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

from memolith.app.auth.session_tokens import PREFIX
from memolith.app.kernel.results import Credentials, SessionCredentials
from memolith.core import ids
from memolith.core.errors import PermissionDenied, Unauthenticated

_KEY = re.compile(
    r"sk-memolith-(?P<workspace>[a-z0-9]{1,40})-(?P<key>[a-z0-9]{1,40}_[a-z0-9]{26})-[A-Za-z0-9_-]{16,128}"
)


def credentials(
    headers: Mapping[str, str], verify: Callable[[str], SessionCredentials]
) -> Credentials | SessionCredentials:
    """Return the one key in the headers (names in lower case), or the one token, which `verify` has checked.

    The key is not verified yet.

    ``Authorization: Bearer`` (SDK 2.x) and ``X-Api-Key`` (before) are equals. Text that is no key of Memolith is
    ignored where the other header has one, as happens with another vendor's key left in the environment.

    Raises:
        Unauthenticated: no key and no token, or two different ones.
    """
    scheme, _, token = headers.get("authorization", "").strip().partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    presented = {text for text in (bearer, headers.get("x-api-key", "").strip()) if text}
    keys = {text for text in presented if _KEY.fullmatch(text) or text.startswith(PREFIX)}
    if len(keys) != 1:
        raise Unauthenticated(_why(presented, len(keys)))
    text = keys.pop()
    return verify(text) if text.startswith(PREFIX) else of_key(text)


def check_workspace(headers: Mapping[str, str], workspace_id: str, admit: Callable[[], None]) -> None:
    """Check that ``anthropic-workspace-id`` names the caller's own workspace, if any; `admit` looks the caller up.

    Raises:
        PermissionDenied: it names another. The answer is the same whether or not that workspace exists.
        Whatever `admit` raises, which comes first.
    """
    if headers.get("anthropic-workspace-id", workspace_id) != workspace_id:
        admit()
        raise PermissionDenied("anthropic-workspace-id names another workspace than the API key's")


def of_key(text: str) -> Credentials:
    """Parse an API key's text. Raises Unauthenticated for text that is none."""
    match = _KEY.fullmatch(text)
    if match is None or not ids.KEY.fullmatch(f"apikey_{match['key']}"):
        raise Unauthenticated(_why({text}, 0))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Credentials(f"wrkspc_{match['workspace']}", f"apikey_{match['key']}", digest)


def _why(presented: set[str], keys: int) -> str:
    if keys > 1:
        return "Authorization and X-Api-Key present two different API keys or tokens; send one"
    if presented:
        return "this is not an API key of Memolith"
    return "an API key is required, as Authorization: Bearer or X-Api-Key"
