"""``memolith audit verify``: intact to a period, or what is wrong by its name, and an exit code for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memolith.clients.cli import audit
from tests.laptop import tampering
from tests.laptop.test_tampering import Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setenv("MEMOLITH_SEAL_FOLDER", str(tmp_path / "seals"))
    return Folder(tmp_path)


def verify(folder: Folder, *words: str) -> tuple[int, str]:
    ended = CliRunner().invoke(audit.app, ["verify", "--root", str(folder.root), *words])
    return ended.exit_code, ended.stdout


def test_a_whole_folder_is_intact_to_its_last_period(folder: Folder) -> None:
    code, told = verify(folder)
    assert code == 0
    assert told.startswith("laptop: intact to period 1 (everything acknowledged before ")


def test_an_altered_version_is_named_with_its_flaw_and_fails_the_command(folder: Folder) -> None:
    key = folder.keys()[-1]
    text = tampering.read_raw(folder.root, key)
    tampering.RawVersion(key, text.metadata, b"another text").write(folder.root, recomputed=True)
    code, told = verify(folder, "--json")
    (report,) = json.loads(told)
    assert (code, report["intact"]) == (1, False)
    assert [(finding["flaw"], finding["key"]) for finding in report["findings"]] == [("altered", key)]
    code, told = verify(folder, folder.other)
    assert (code, "intact to period" in told) == (0, True), "the other store is whole"
    code, told = verify(folder)
    assert (code, told.splitlines()[-1].startswith("laptop: NOT INTACT, 1 found")) == (1, True)


def test_a_folder_without_an_index_says_what_to_do(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    tampering.forget_tables(folder.root)
    code, _ = verify(folder)
    assert code == 1
    assert "start `memolith serve` there once" in capfd.readouterr().err
