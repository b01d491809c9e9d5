"""A digest is what is stored in checkpoints for years: it is made from the same bytes, however they are written."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from hypothesis import given
from hypothesis import strategies as st

from memolith.core.sealing import FORM, HINT_CHARACTERS, Opening

TEXTS = st.text(max_size=20)


@given(key=TEXTS, nonce=TEXTS, metadata=st.dictionaries(TEXTS, TEXTS, max_size=5), body=TEXTS)
def test_a_digest_is_of_json_with_its_metadata_in_order(
    key: str, nonce: str, metadata: dict[str, str], body: str
) -> None:
    covered = json.dumps([nonce, key, sorted(metadata.items()), body]).encode()
    whole = base64.urlsafe_b64encode(hashlib.sha256(covered).digest()).decode().rstrip("=")
    told = metadata.get("sha", body).encode()
    hint = base64.urlsafe_b64encode(hmac.digest(nonce.encode(), told, "sha256")).decode()[:HINT_CHARACTERS]
    assert Opening(key, nonce, metadata, body).digest == FORM + whole + hint
