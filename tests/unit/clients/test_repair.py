"""``memolith repair``: every region looks at its own bucket, and the exit code is for scripts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memolith.adapters.aws.clients import Clients
from memolith.app.kernel.peer_messages import decode_error
from memolith.clients.cli import repair
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import Exit, exit_of, explain
from memolith.core.errors import InvalidRequest, NotFound, Unavailable
from tests.unit.app.scene import AWAY, HOME, Scene


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where this machine's server would keep its data; no deployment is here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOLITH_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Two regions, in the other of which one text was altered."""
    made = Scene()
    made.create("/a", "true")
    made.deliver()
    buckets = made.cloud.buckets
    [key] = [str(entry.key) for entry in made.entries(HOME)]
    stored = buckets.current(AWAY, key)
    assert stored is not None
    buckets.damage(AWAY, key, replace(stored, body=b"fake"))

    def invoke(target: Target, region: str, function: str, payload: dict[str, Any]) -> Any:
        if region == "ap-south-1":
            raise Unavailable(f"the {function} of {region} cannot be invoked")
        answer = made.cloud.peers.call(region, function, payload)
        if "error" in answer:
            raise decode_error(answer["error"])
        return answer

    monkeypatch.setattr(repair, "find_target", lambda aws: Target(Clients(), "dev", "0" * 12, (HOME, AWAY)))
    monkeypatch.setattr(repair, "invoke", invoke)
    return made


def rows(code: int, *words: str) -> list[dict[str, Any]]:
    ended = CliRunner().invoke(repair.app, [*words, "--json"])
    assert ended.exit_code == code, ended.output
    found: list[dict[str, Any]] = json.loads(ended.stdout)
    return found


def test_a_damaged_text_is_named_by_a_look_repaired_and_whole_afterwards(scene: Scene) -> None:
    [seen] = rows(1, "--dry-run")
    assert (seen["region"], seen["damage"]) == (AWAY, "altered")
    [mended] = rows(0)
    assert (mended["region"], mended["outcome"]) == (AWAY, "repaired")
    assert rows(0) == []


def test_a_store_is_named_by_its_id_because_no_other_word_finds_anything(scene: Scene) -> None:
    ended = CliRunner().invoke(repair.app, ["--store", "notes"])
    assert isinstance(ended.exception, InvalidRequest)
    assert len(rows(1, "--store", scene.store, "--dry-run")) == 1


def test_a_store_that_does_not_exist_is_not_called_undamaged(scene: Scene) -> None:
    unknown = "memstore_useast1_01m32510vgpzchz383xe24nrdm"
    refused = CliRunner().invoke(repair.app, ["--store", unknown]).exception
    assert isinstance(refused, NotFound)
    told = f"error: memory_store {unknown} was not found\n`memolith stores list` lists what exists."
    assert (explain(refused), exit_of(refused)) == (told, Exit.NOT_FOUND)


def test_a_region_that_does_not_have_the_store_yet_is_told_and_not_called_undamaged(scene: Scene) -> None:
    new = scene.create_store("new").id
    [told] = rows(1, "--store", new)
    assert told == {"region": AWAY, "outcome": "not found", "damage": f"memory_store {new} was not found"}


def test_a_region_that_does_not_answer_is_told_and_the_exit_code_says_so(scene: Scene) -> None:
    [told] = rows(1, "--region", "ap-south-1")
    assert told["outcome"] == "unreachable"


def test_what_was_looked_at_is_said_where_nothing_is_damaged_and_what_to_do_where_no_copy_is_whole(
    scene: Scene, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It printed nothing at all, and for a text that is lost a line without advice."""
    rows(0)
    ended = CliRunner().invoke(repair.app, [])
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", f"{HOME}, {AWAY}: nothing is damaged\n")
    lost = {"region": "laptop", "outcome": "no whole copy", "damage": "altered", "version_id": "memver_1", "key": "k"}
    monkeypatch.setattr(repair, "_on_laptop", lambda *_: [lost])
    ended = CliRunner().invoke(repair.app, ["--root", str(root)])
    assert (ended.exit_code, ended.stdout) == (1, "laptop\tno whole copy\taltered\tmemver_1\tk\n")
    assert ended.stderr == (
        "texts without a whole copy: 1. Restore them from a backup, or write their memories again "
        "(docs/operations/objects-damaged.md).\n"
    )


def test_this_machines_folder_is_meant_where_no_deployment_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop's user was told that AWS does not say whose account this is, or to run it in a checkout."""
    asked: list[tuple[Any, ...]] = []

    def repaired(*told: Any) -> list[Any]:
        asked.append(told)
        return []

    monkeypatch.setattr(repair, "_on_laptop", repaired)
    refused = str(CliRunner().invoke(repair.app, []).exception)
    assert "no deployment here" in refused and "--root FOLDER" in refused
    root.mkdir()
    (root / "key").write_text("a server's")
    for words in ([], ["--dry-run"]):
        ended = CliRunner().invoke(repair.app, words)
        assert (ended.exit_code, ended.stderr) == (0, f"{root}: nothing is damaged\n"), words
    assert asked == [(root, None, False), (root, None, True)]
    for words in (["--aws"], ["--region", HOME]):
        assert "no deployment here" in str(CliRunner().invoke(repair.app, words).exception), words
    Path(".memolith").mkdir()
    Path(".memolith/dev.json").write_text("no JSON: the local cloud is meant")
    assert "dev.json makes no sense" in str(CliRunner().invoke(repair.app, []).exception)
