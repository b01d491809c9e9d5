"""The signing keys of one machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memolith.adapters.jwk import public_of
from memolith.adapters.local import LocalSigningKeys


def test_every_process_of_a_folder_has_the_same_keys_and_its_owner_alone_may_read_them(tmp_path: Path) -> None:
    one, other = LocalSigningKeys(tmp_path), LocalSigningKeys(tmp_path)
    assert one.private() == other.private()
    assert one.public() == public_of(other.private())
    assert set(one.public()["k1"]) == {"kty", "crv", "x"}
    assert (tmp_path / "signing.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [json.dumps({"k1": "1" * 64}), "", "[]"], ids=["earlier release", "empty", "a list"])
def test_a_file_that_holds_no_signing_keys_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "signing.json").write_text(text)
    keys = LocalSigningKeys(tmp_path).private()
    assert list(keys) == ["k1"]
    assert LocalSigningKeys(tmp_path).private() == keys
    assert (tmp_path / "signing.json").stat().st_mode & 0o777 == 0o600
