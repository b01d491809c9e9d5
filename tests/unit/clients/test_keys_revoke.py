"""``memolith keys revoke`` of an operator: a leaked key ends in every region that lives, whichever made it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from memolith.adapters.aws.clients import Clients
from memolith.app.kernel.peer_messages import decode_error
from memolith.clients.cli import keys, main
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import Exit
from memolith.core.errors import MemolithError, OutcomeUnknown, Unavailable
from memolith.core.rows.identity import ApiKeyRow
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import AWAY, HOME, Scene


class Operator:
    """The command line, whose invocations reach the functions of each region, but for those that do not answer."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.scene = Scene()
        self.capsys = capsys
        self.failing: dict[str, type[MemolithError]] = {}
        self.asked: list[str] = []

    def invoke(self, target: Target, region: str, function: str, payload: Mapping[str, Any]) -> Any:
        self.asked += [region] if function == "keys" else []
        if region in self.failing:
            raise self.failing[region](f"the {function} of {region} gave no answer")
        answer = self.scene.cloud.peers.call(region, function, payload)
        if "error" in answer:
            raise decode_error(answer["error"])
        return answer

    def issued(self, region: str = HOME) -> str:
        """The id of a new key, which no other region has heard of yet."""
        return self.scene.at(region).api_keys.create(WORKSPACE, "ci", "write").key_id

    def revoke(self, *words: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run(["keys", "revoke", "--workspace", WORKSPACE, "--aws", "--json", *words])
        out, err = self.capsys.readouterr()
        return int(ended.value.code or 0), out, err

    def revoked_at(self, region: str, id: str) -> int | None:
        row = self.scene.cloud.rows(region, "keys")[WORKSPACE, id]
        return ApiKeyRow.from_attributes(row).revoked_at


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Operator:
    made = Operator(capsys)
    monkeypatch.setattr(keys, "find_target", lambda aws: Target(Clients(), "dev", "0" * 12, (HOME, AWAY)))
    monkeypatch.setattr(keys, "invoke", made.invoke)
    return made


@pytest.mark.parametrize("how", [Unavailable, OutcomeUnknown])
@pytest.mark.parametrize("region", [(), ("--region", HOME)], ids=["by default", "named"])
def test_a_leaked_key_is_revoked_where_the_region_that_made_it_does_not_answer(
    operator: Operator, how: type[MemolithError], region: tuple[str, ...]
) -> None:
    leaked = operator.issued()
    operator.scene.deliver()
    operator.failing[HOME] = how
    code, out, _ = operator.revoke(leaked, *region)
    assert code == Exit.IN_PART
    assert {row["region"]: row["confirmed"] for row in json.loads(out)} == {HOME: False, AWAY: True}
    assert operator.revoked_at(AWAY, leaked) is not None
    operator.scene.deliver()
    operator.failing.clear()
    code, out, _ = operator.revoke(leaked)
    assert (code, [row["confirmed"] for row in json.loads(out)]) == (0, [True, True])
    assert operator.revoked_at(HOME, leaked) == operator.revoked_at(AWAY, leaked)


def test_the_region_that_made_a_key_is_asked_first_and_no_other_where_it_answers(operator: Operator) -> None:
    assert operator.revoke(operator.issued(AWAY))[0] == 0, "though the first region does not know the key yet"
    assert operator.asked == [AWAY]


def test_where_no_region_revokes_a_key_each_says_why(operator: Operator) -> None:
    leaked = operator.issued()
    operator.failing = {HOME: Unavailable, AWAY: Unavailable}
    code, out, err = operator.revoke(leaked)
    assert (code, out) == (Exit.NO_ANSWER, "")
    assert HOME in err and AWAY in err and "Nothing was changed" in err
    operator.failing[AWAY] = OutcomeUnknown
    assert operator.revoke(leaked)[0] == Exit.UNKNOWN


def test_a_key_that_the_living_region_does_not_know_may_be_known_to_the_one_that_is_gone(operator: Operator) -> None:
    young = operator.issued()
    operator.failing[HOME] = Unavailable
    code, _, err = operator.revoke(young)
    assert code == Exit.NO_ANSWER
    assert f"the keys of {HOME} gave no answer" in err and f"{young} was not found" in err
    operator.failing.clear()
    assert operator.revoke("apikey_useast1_01m32510vgpzchz383xe24nrdm")[0] == Exit.NOT_FOUND


def test_a_list_of_keys_that_was_not_answered_is_asked_for_again_as_it_changes_nothing(operator: Operator) -> None:
    operator.failing[HOME] = OutcomeUnknown
    with pytest.raises(SystemExit) as ended:
        main.run(["keys", "list", "--workspace", WORKSPACE, "--aws"])
    assert ended.value.code == Exit.NO_ANSWER
    assert "Nothing was changed. Try again" in operator.capsys.readouterr().err
