"""``memolith erasure``: every region is asked, what it says is shown, and the exit code is for scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memolith.adapters.aws.clients import Clients
from memolith.app.kernel.peer_messages import decode_error
from memolith.clients.cli import erasure
from memolith.clients.cli.deployment_target import Target
from memolith.core.errors import InvalidRequest, OutcomeUnknown, Unavailable
from tests.unit.app.scene import AWAY, HOME, Scene

SECRET = "the secret"


class Operator:
    """The command line, whose invocations reach the eraser of each region of a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.unreachable: set[str] = set()

    def invoke(self, target: Target, region: str, function: str, payload: dict[str, Any]) -> Any:
        if region in self.unreachable:
            raise Unavailable(f"the {function} of {region} cannot be invoked")
        answer = self.scene.cloud.peers.call(region, function, payload)
        if "error" in answer:
            raise decode_error(answer["error"])
        return answer

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(erasure.app, [*words, "--json"])

    def rows(self, *words: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.run(*words).stdout)
        return rows


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> Operator:
    made = Operator(Scene())
    monkeypatch.setattr(erasure, "find_target", lambda aws: Target(Clients(), "dev", "0" * 12, (HOME, AWAY)))
    monkeypatch.setattr(erasure, "invoke", made.invoke)
    return made


def test_a_version_is_told_region_by_region(operator: Operator) -> None:
    scene = operator.scene
    memory = scene.create("/a", SECRET)
    scene.update(memory, "harmless")
    asked = ("status", memory.version_id, "--store", scene.store)
    assert [row["state"] for row in operator.rows(*asked)] == ["kept", "unknown"]
    scene.deliver()
    scene.redact(memory.version_id)
    assert [row["state"] for row in operator.rows(*asked)] == ["erased", "kept"], "the order is still under way"
    scene.deliver()
    assert [(row["state"], row["ordered"]) for row in operator.rows(*asked)] == [("erased", 1), ("erased", 1)]


def test_an_order_that_waits_for_its_eraser_is_pending(operator: Operator) -> None:
    scene = operator.scene
    memory = scene.create("/a", SECRET)
    scene.update(memory, "harmless")
    scene.deliver()
    original = scene.cloud.buckets.versions(HOME, scene.log_keys()[0])[-1]
    scene.redact(memory.version_id)
    scene.deliver()
    scene.cloud.buckets.arrive(original, AWAY)
    states = [row["state"] for row in operator.rows("status", memory.version_id, "--store", scene.store)]
    assert states == ["erased", "pending"]


def test_a_memory_counts_its_versions(operator: Operator) -> None:
    scene = operator.scene
    memory = scene.create("/a", SECRET)
    scene.update(memory, "two")
    scene.redact(memory.version_id)
    scene.deliver()
    rows = operator.rows("status", memory.id, "--store", scene.store)
    assert [(row["kept"], row["erased"], row["pending"]) for row in rows] == [(1, 1, 0)] * 2


def test_a_region_that_does_not_answer_is_told_and_fails_the_command(operator: Operator) -> None:
    operator.unreachable.add(AWAY)
    result = operator.run("status", operator.scene.store)
    assert result.exit_code == 1
    assert [row["state"] for row in json.loads(result.stdout)] == ["kept", "unreachable"]


def test_a_version_without_its_store_is_refused(operator: Operator) -> None:
    result = operator.run("status", "memver_01m32510vgpzchz383xe24nrdm")
    assert isinstance(result.exception, InvalidRequest)


def test_a_search_fails_where_it_finds_something_and_succeeds_where_it_does_not(
    operator: Operator, tmp_path: Path
) -> None:
    scene = operator.scene
    memory = scene.create("/private", f"before {SECRET} after")
    scene.update(memory, "harmless", path="/public")
    scene.deliver()
    file = tmp_path / "leaked.txt"
    file.write_text(f"{SECRET}\n")
    asked = ("verify", scene.store, "--text-file", str(file), "--path", "/private")
    result = operator.run(*asked)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {row["region"] for row in found} == {HOME, AWAY}
    assert SECRET not in result.stdout, "it says where, never what"
    scene.redact(memory.version_id)
    scene.deliver()
    assert (operator.run(*asked).exit_code, operator.rows(*asked)) == (0, [])


def test_a_search_finds_lines_that_end_as_on_windows_and_a_hash_in_capital_letters(
    operator: Operator, tmp_path: Path
) -> None:
    scene = operator.scene
    memory = scene.create("/a", "one\r\ntwo\r\n")
    scene.deliver()
    file = tmp_path / "leaked.txt"
    file.write_bytes(b"one\r\ntwo\r\n")
    assert operator.run("verify", scene.store, "--text-file", str(file)).exit_code == 1
    assert operator.run("verify", scene.store, "--sha256", memory.content_sha256.upper()).exit_code == 1


def test_what_would_be_found_nowhere_is_refused_and_not_searched_for(operator: Operator, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    store = operator.scene.store
    for words in (
        ("verify", "notes"),
        ("resume", "notes"),
        ("verify", store, "--sha256", "abc"),
        ("verify", store, "--text-file", str(tmp_path / "latin.txt")),
    ):
        assert isinstance(operator.run(*words).exception, InvalidRequest), words


def test_a_search_of_a_store_that_never_was_is_no_proof(operator: Operator) -> None:
    """A mistyped id was answered with "Nothing found."."""
    operator.scene.create("/a", SECRET)
    unknown = "memstore_useast1_01m32510vgpzchz383xe24nrdm"
    for words in ((), ("--path", "/a")):
        error = operator.run("verify", unknown, *words).exception
        assert str(error) == f"memory_store {unknown} was not found", words


def test_a_search_that_one_region_does_not_answer_is_no_proof(operator: Operator) -> None:
    operator.unreachable.add(AWAY)
    result = operator.run("verify", operator.scene.store, "--path", "/a")
    assert (result.exit_code, json.loads(result.stdout)) == (1, [{"region": AWAY, "what": "unreachable"}])


@pytest.mark.parametrize("away", ["first", "last"])
def test_what_was_found_is_printed_though_another_region_does_not_answer(operator: Operator, away: str) -> None:
    scene = operator.scene
    scene.create("/private", SECRET)
    scene.deliver()
    silent, answers = (HOME, AWAY) if away == "first" else (AWAY, HOME)
    operator.unreachable.add(silent)
    result = operator.run("verify", scene.store)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {row["region"] for row in found} == {HOME, AWAY}
    assert [row["what"] for row in found if row["region"] == silent] == ["unreachable"]
    assert all(row["place"] for row in found if row["region"] == answers)


def test_a_region_that_falls_silent_during_a_search_keeps_what_was_found_there(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = iter([{"looked": 1, "found": [{"place": "log", "version_id": "", "what": "text"}], "next": "a"}])

    def invoke(*_: Any) -> Any:
        page = next(pages, None)
        if page is None:
            raise OutcomeUnknown("the eraser did not say what it did")
        return page

    monkeypatch.setattr(erasure, "invoke", invoke)
    result = operator.run("verify", operator.scene.store)
    assert result.exit_code == 1
    assert [row["what"] for row in json.loads(result.stdout)] == ["text", "unreachable", "unreachable"]


def test_a_deleted_store_is_searched_for_all_that_is_not_blank_and_can_be_gone_through_again(
    operator: Operator,
) -> None:
    scene = operator.scene
    scene.create("/private", SECRET)
    scene.deliver()
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.drop_events()
    assert operator.run("verify", scene.store).exit_code == 1
    states = [row["state"] for row in operator.rows("resume", scene.store)]
    assert states == ["pending", "pending"], "the other region has not heard of the deletion"
    scene.clock.advance(61)
    scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})
    found = operator.rows("verify", scene.store)
    assert {row["region"] for row in found} == {AWAY}
