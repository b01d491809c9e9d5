"""``memolith audit verify``: intact to a period, or what is wrong by its name, and an exit code for scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from typer.testing import CliRunner

from memolith.adapters.local.sealing import LocalSealing
from memolith.clients.cli import audit
from memolith.clients.cli.failures import Exit, exit_of
from memolith.core.errors import MemolithError
from memolith.entry.audit import main as audit_task
from memolith.ports.errors import Unavailable
from tests.laptop import tampering
from tests.laptop.test_tampering import Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setenv("MEMOLITH_SEAL_FOLDER", str(tmp_path / "seals"))
    return Folder(tmp_path)


class InThisProcess:
    """What the command knows of `subprocess`: a process takes a second of a processor to start, and this none."""

    PIPE = subprocess.PIPE

    @staticmethod
    def run(words: list[str], env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        assert words[:3] == [sys.executable, "-m", "memolith.entry.audit"]
        with mock.patch.dict(os.environ, env), redirect_stdout(StringIO()) as printed:
            code = audit_task(*words[3:])
        return subprocess.CompletedProcess(words, code, printed.getvalue())


@pytest.fixture(autouse=True)
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's tasks are done in this process, but for the tests that ask for another one."""
    if "in_a_process" not in request.fixturenames:
        monkeypatch.setattr(audit, "subprocess", InThisProcess)


@pytest.fixture
def in_a_process() -> None:
    """The command starts a process for its tasks, as it always does: one test of each task."""


def verify(folder: Folder, *words: str) -> tuple[int, str]:
    ended = CliRunner().invoke(audit.app, ["verify", "--root", str(folder.root), *words])
    return ended.exit_code, ended.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("in_a_process")
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


def test_a_store_of_which_nothing_was_compared_is_not_called_intact(folder: Folder) -> None:
    unknown = f"{folder.store[:-4]}zzzz"
    for store, told in ((unknown, f"nothing of {unknown} is sealed"), ("notes", "not the id"), ("", "not the id")):
        ended = CliRunner().invoke(audit.app, ["verify", store, "--root", str(folder.root)])
        assert (ended.stdout, told in str(ended.exception)) == ("", True), store
        assert isinstance(ended.exception, MemolithError)
        assert exit_of(ended.exception) == (Exit.NOT_FOUND if store == unknown else Exit.USAGE)
    ended = CliRunner().invoke(audit.app, ["prove", "notes", "memver_x", "--root", str(folder.root)])
    assert "not the id" in str(ended.exception)
    ended = CliRunner().invoke(audit.app, ["prove", folder.store, "memver_x", "--root", str(folder.root)])
    assert (ended.exit_code, "memver_x was not found" in ended.stderr) == (Exit.NOT_FOUND, True)


def test_an_audit_from_a_period_that_is_not_sealed_yet_does_not_say_intact(folder: Folder) -> None:
    code, told = verify(folder, "--since", "120")
    assert (code, told.partition(";")[0]) == (0, "laptop: nothing is sealed from period 120 on")


def test_an_audit_from_an_instant_on_says_from_which_period(folder: Folder) -> None:
    for since in ("yesterday", "2 hours ago", "1"):
        code, told = verify(folder, "--since", since, "--json")
        assert (code, json.loads(told)[0]["since"]) == (0, 1), since
    for since in ("soon", "0", "9" * 20):
        ended = CliRunner().invoke(audit.app, ["verify", "--root", str(folder.root), "--since", since])
        assert "--since" in str(ended.exception), since


def test_saved_keys_are_trusted_after_the_machines_own_were_replaced(
    folder: Folder, trusted: Path, tmp_path: Path
) -> None:
    (tmp_path / "seals" / "seal.json").unlink()
    code, told = verify(folder)
    assert (code, "checkpoint_altered" in told) == (1, True)
    code, told = verify(folder, "--keys", str(trusted))
    assert code == 0, told


def test_a_folder_is_not_compared_with_regions_and_keys_have_to_be_keys(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "no-keys.json").write_text("{}")
    (tmp_path / "nested.json").write_text("[" * 100_000)
    files = [["--keys", str(tmp_path / name)] for name in ("no-keys.json", "nested.json")]
    for words in (["--against", "eu-west-1"], *files):
        ended = CliRunner().invoke(audit.app, ["verify", "--root", str(folder.root), *words])
        assert words[0] in str(ended.exception)


def test_this_machines_folder_is_meant_where_no_deployment_is_named(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOLITH_ROOT", str(folder.root))
    of_version = [folder.store, str(tampering.read_raw(folder.root, folder.keys()[1]).metadata["id"])]
    tasks = (["verify"], ["prove", *of_version], ["keys"])
    (folder.root / "key").write_text("a server's")
    for words in tasks:
        assert CliRunner().invoke(audit.app, words).exit_code == 0, words
    for words in (
        ["verify", "--region", "us-east-1"],
        ["verify", "--against", "us-east-1"],
        *([*w, "--aws"] for w in tasks),
    ):
        assert "no deployment here" in str(CliRunner().invoke(audit.app, words).exception), words
    (tmp_path / ".memolith").mkdir()
    (tmp_path / ".memolith" / "dev.json").write_text("no JSON: the local cloud is meant")
    for words in tasks:
        assert "dev.json makes no sense" in str(CliRunner().invoke(audit.app, words).exception), words


@pytest.mark.slow
@pytest.mark.usefixtures("in_a_process")
def test_a_folder_without_an_index_says_what_to_do(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    tampering.forget_tables(folder.root)
    code, _ = verify(folder)
    assert code == 1
    assert "start `memolith serve` there once" in capfd.readouterr().err


VERIFIER = Path(__file__).resolve().parents[3] / "scripts" / "verify_proof.py"


def proof_of(folder: Folder, version_id: str) -> dict[str, Any]:
    words = ["prove", folder.store, version_id, "--root", str(folder.root)]
    ended = CliRunner().invoke(audit.app, words)
    assert ended.exit_code == 0, ended.output
    assert CliRunner().invoke(audit.app, [*words, "--json"]).stdout == ended.stdout
    proof: dict[str, Any] = json.loads(ended.stdout)
    return proof


@pytest.fixture
def trusted(folder: Folder, tmp_path: Path) -> Path:
    """The public keys, as somebody keeps them who trusts the machine."""
    return saved_keys(folder, tmp_path / "keys.json")


def saved_keys(folder: Folder, path: Path) -> Path:
    words = ["keys", "--root", str(folder.root)]
    path.write_text(CliRunner().invoke(audit.app, words).stdout)
    assert CliRunner().invoke(audit.app, [*words, "--json"]).stdout == path.read_text()
    return path


Proven = tuple[dict[str, Any], Path, bytes]


@pytest.fixture(scope="module")
def proven(tmp_path_factory: pytest.TempPathFactory) -> Proven:
    """A version's proof, the keys to check it with, and its text."""
    path = tmp_path_factory.mktemp("proven")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMOLITH_SEAL_FOLDER", str(path / "seals"))
        patch.setattr(audit, "subprocess", InThisProcess)
        folder = Folder(path)
        raw = tampering.read_raw(folder.root, folder.keys()[1])
        return proof_of(folder, raw.metadata["id"]), saved_keys(folder, path / "keys.json"), raw.body


def checked(proof: dict[str, Any], keys: Path, text: bytes) -> tuple[int, str]:
    """What the verifier says, alone in a process that cannot import Memolith."""
    (keys.parent / "proof.json").write_text(json.dumps(proof))
    (keys.parent / "text").write_bytes(text)
    files = [str(keys.parent / "proof.json"), str(keys), str(keys.parent / "text")]
    ended = subprocess.run(
        [sys.executable, "-I", "-c", ISOLATED, str(VERIFIER), *files], capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


ISOLATED = """
import runpy, sys
sys.modules["memolith"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
def test_a_script_with_nothing_of_memolith_checks_the_proof_of_every_version(folder: Folder, trusted: Path) -> None:
    keys = folder.keys()
    for key in keys:
        raw = tampering.read_raw(folder.root, key)
        code, told = checked(proof_of(folder, raw.metadata["id"]), trusted, raw.body)
        assert (code, told.startswith(f"proven: version {raw.metadata['id']}")) == (0, True), told


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda proof: proof["opening"]["metadata"].update(tr="u"), "not what was sealed"),
        (lambda proof: proof["path"].reverse(), "not in the signed tree"),
        (lambda proof: proof.update(statement=proof["statement"].replace("laptop", "server")), "does not hold"),
        (lambda proof: proof["seal"].update(key_id="mine"), "not among the trusted ones"),
    ],
    ids=["trust class", "tree", "statement", "key"],
)
def test_a_proof_that_was_changed_anywhere_proves_nothing(
    proven: Proven, changed: Callable[[dict[str, Any]], object], reason: str
) -> None:
    proof, trusted, text = deepcopy(proven)
    changed(proof)
    code, told = checked(proof, trusted, text)
    assert (code, reason in told) == (1, True), told


@pytest.mark.slow
@pytest.mark.usefixtures("in_a_process")
def test_a_proof_does_not_hold_for_another_text(folder: Folder, trusted: Path) -> None:
    raw = tampering.read_raw(folder.root, folder.keys()[1])
    proof, text = proof_of(folder, raw.metadata["id"]), raw.body
    code, told = checked(proof, trusted, text)
    assert (code, told.startswith("proven")) == (0, True), told
    code, told = checked(proof, trusted, text + b".")
    assert (code, "the text is not that of the version" in told) == (1, True), told


@pytest.mark.slow
def test_what_was_sealed_without_the_key_is_proven_after_the_next_start_although_nothing_else_was_written(
    folder: Folder, trusted: Path
) -> None:
    with mock.patch.object(LocalSealing, "sign", side_effect=Unavailable("no key")):
        site = folder.opened()
        version = site.memolith.memories.create(folder.call, folder.store, path="/b", content="unsigned", full=False)
        site.close()
    ended = CliRunner().invoke(audit.app, ["prove", folder.store, version.version_id, "--root", str(folder.root)])
    assert (ended.exit_code, "not sealed yet; try again in a minute" in ended.stderr) == (Exit.NOT_FOUND, True)
    site = folder.opened()
    site.seal()
    assert not site.checkpoints.has_news(), "it is covered"
    site.close()
    proof = proof_of(folder, version.version_id)
    assert (proof["memolith_proof"], len(proof["chain"])) == (2, 1)
    code, said = checked(proof, trusted, b"unsigned")
    assert (code, said.startswith(f"proven: version {version.version_id}")) == (0, True), said
    assert verify(folder)[0] == 0


def test_the_verifier_is_a_script_that_one_reads_in_a_sitting() -> None:
    text = VERIFIER.read_text()
    assert len(text.splitlines()) <= 140
    assert "memolith." not in text.replace("memolith audit", "")
