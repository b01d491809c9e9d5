"""Keys in headers; what the whole stack makes of them is in the API tests."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.app.auth.api_keys import key_text
from memolith.app.kernel.results import Credentials, SessionCredentials
from memolith.core.errors import PermissionDenied, Unauthenticated
from memolith.wire.auth import check_workspace, credentials

ULID = "01kb0000000000000000000000"


def _no_token(token: str) -> SessionCredentials:
    raise Unauthenticated("no token is true here")


@given(
    workspace=st.from_regex(r"[a-z0-9]{1,40}", fullmatch=True),
    region=st.from_regex(r"[a-z0-9]{4,14}", fullmatch=True),
    secret=st.binary(min_size=32, max_size=32),
)
def test_every_key_that_is_issued_is_taken_apart_into_what_it_was_made_of(
    workspace: str, region: str, secret: bytes
) -> None:
    text = key_text(f"wrkspc_{workspace}", f"apikey_{region}_{ULID}", secret.hex())
    for headers in ({"authorization": f"Bearer {text}"}, {"x-api-key": text}):
        found = credentials(headers, _no_token)
        assert isinstance(found, Credentials)
        assert (found.workspace_id, found.key_id) == (f"wrkspc_{workspace}", f"apikey_{region}_{ULID}")
        assert found.secret_sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_another_workspace_than_the_callers_is_refused_once_the_caller_is_known() -> None:
    admitted: list[bool] = []
    for named in ({}, {"anthropic-workspace-id": "wrkspc_main"}):
        check_workspace(named, "wrkspc_main", lambda: admitted.append(True))
    assert not admitted
    with pytest.raises(PermissionDenied):
        check_workspace({"anthropic-workspace-id": "wrkspc_mainx"}, "wrkspc_main", lambda: admitted.append(True))
    assert admitted


@given(headers=st.dictionaries(st.sampled_from(["authorization", "x-api-key", "anthropic-workspace-id"]), st.text()))
def test_anything_else_is_unauthenticated(headers: dict[str, str]) -> None:
    with pytest.raises(Unauthenticated):
        credentials(headers, _no_token)


def test_a_key_whose_region_is_longer_than_any_is_ignored_beside_a_key_of_memolith() -> None:
    secret = "s" * 32
    key, other = (key_text("wrkspc_main", f"apikey_{region}_{ULID}", secret) for region in ("a" * 40, "a" * 41))
    found = credentials({"authorization": f"Bearer {other}", "x-api-key": key}, _no_token)
    assert isinstance(found, Credentials)
    assert found.key_id == f"apikey_{'a' * 40}_{ULID}"
    with pytest.raises(Unauthenticated, match="not an API key of Memolith"):
        credentials({"x-api-key": other}, _no_token)
