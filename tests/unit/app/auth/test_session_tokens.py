"""Tokens of sessions: which of the deployment's keys signs."""

from __future__ import annotations

import jwt
import pytest

from memolith.adapters.memory import ManualClock
from memolith.adapters.memory.signing import MemorySigningKeys
from memolith.app.auth.session_tokens import PREFIX, SessionTokens
from memolith.core.objects.session_record import SessionRecord

RECORD = SessionRecord("wrkspc_x", "sesn_x", None, {}, (), 1, "api_key:apikey_x")


@pytest.mark.parametrize(
    ("names", "signer"),
    [
        (("k9", "k10"), "k10"),
        (("k10", "k9"), "k10"),
        (("k1", "k2"), "k2"),
        (("2026-9", "2026-10"), "2026-10"),
        (("2026-10", "2027-1"), "2027-1"),
        (("alpha", "beta"), "beta"),
        (("k01", "k1"), "k1"),
        (("only",), "only"),
    ],
)
def test_the_key_with_the_highest_number_signs(names: tuple[str, ...], signer: str) -> None:
    keys = MemorySigningKeys({name: name.encode() * 32 for name in names})
    tokens = SessionTokens(keys, ManualClock())
    token, _ = tokens.issue(RECORD, 600)
    assert jwt.get_unverified_header(token.removeprefix(PREFIX))["kid"] == signer
    assert tokens.verify(token).session_id == "sesn_x"
