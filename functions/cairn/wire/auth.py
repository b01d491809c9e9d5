"""Who asks: the API key, in either of the two headers that SDKs have sent.

A key's text is ``sk-cairn-{workspace}-{key}-{secret}``: the workspace's id without ``wrkspc_``, the key's id without
``apikey_``, and the secret. It names itself, so that checking it is one read by key; what is compared is the SHA-256 of
the whole text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from cairn.app.answers import Credentials
from cairn.core import ids
from cairn.core.errors import PermissionDenied, Unauthenticated

_KEY = re.compile(r"sk-cairn-(?P<workspace>[a-z0-9]{1,40})-(?P<key>[a-z0-9]+_[a-z0-9]{26})-[A-Za-z0-9_-]{16,128}")


def credentials(headers: Mapping[str, str]) -> Credentials:
    """The one key that the headers (names in lower case) present. Whether it is any good is not known yet.

    ``Authorization: Bearer`` (SDK 2.x) and ``X-Api-Key`` (before) are equals. Text that is no key of Cairn is passed
    over where the other header has one, as happens with another vendor's key left in the environment.

    Raises:
        Unauthenticated: no key, or two different ones.
        PermissionDenied: ``anthropic-workspace-id`` names another workspace than the key's. The answer is the same
            whether or not that workspace exists.
    """
    scheme, _, token = headers.get("authorization", "").strip().partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    presented = {text for text in (bearer, headers.get("x-api-key", "").strip()) if text}
    keys = {text: match for text in presented if (match := _KEY.fullmatch(text))}
    if len(keys) != 1:
        raise Unauthenticated(_why(presented, len(keys)))
    text, match = keys.popitem()
    key_id, workspace_id = f"apikey_{match['key']}", f"wrkspc_{match['workspace']}"
    if not ids.KEY.fullmatch(key_id):
        raise Unauthenticated(_why(presented, 0))
    if headers.get("anthropic-workspace-id", workspace_id) != workspace_id:
        raise PermissionDenied("anthropic-workspace-id names another workspace than the API key's")
    return Credentials(workspace_id, key_id, hashlib.sha256(text.encode()).hexdigest())


def _why(presented: set[str], keys: int) -> str:
    if keys > 1:
        return "Authorization and X-Api-Key present two different API keys; send one"
    if presented:
        return "this is not an API key of Cairn"
    return "an API key is required, as Authorization: Bearer or X-Api-Key"
