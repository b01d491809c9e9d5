"""agmi, the suite that edits a memory store behind its back: every edit is reported, by the name of what was done."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / ".venv" / "packages"))

from agmi.attacks.at_rest import AT_REST_ATTACKS_WITH_SNAPSHOT
from agmi.attacks.base import Attack

from tests.interop.agmi.laptop import LaptopFolder
from tests.interop.agmi.versions import NAMES


def test_every_attack_of_the_suite_has_a_name_here() -> None:
    assert {attack.name for attack in AT_REST_ATTACKS_WITH_SNAPSHOT} == set(NAMES)


@pytest.mark.parametrize("rebuilt", [False, True], ids=["tables kept", "tables made anew"])
@pytest.mark.parametrize("recomputed", [False, True], ids=["naive", "hashes recomputed"])
@pytest.mark.parametrize(
    "attack", AT_REST_ATTACKS_WITH_SNAPSHOT, ids=[one.name for one in AT_REST_ATTACKS_WITH_SNAPSHOT]
)
def test_the_attack_is_reported_by_its_name(attack: type[Attack], recomputed: bool, rebuilt: bool) -> None:
    folder = LaptopFolder(recomputed=recomputed, rebuilt=rebuilt)
    result = attack().run(folder)
    assert (result.guard, result.error) == (None, None)
    assert (result.status, folder.verify_detail) == ("safe", NAMES[attack.name])
