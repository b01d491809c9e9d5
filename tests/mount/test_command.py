"""``memolith mount`` before it mounts: what is wrong is said, with what would be right, and nothing is mounted."""

from __future__ import annotations

import ctypes.util
import errno
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memolith.clients.cli import main
from memolith.clients.cli.failures import ApiFailed, Exit, exit_of
from memolith.clients.mount import mounting
from memolith.core.errors import InvalidRequest, MemolithError
from tests.api.harness import memolith_backend
from tests.api.loopback import serving

STORE = "memstore_useast1_01kb0000000000000000000000"


@pytest.fixture(autouse=True)
def with_fuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of these gets as far as to mount."""
    monkeypatch.setattr(mounting, "check_fuse", lambda: None)


def run(*words: str) -> Result:
    return CliRunner().invoke(main.app, ["mount", *words])


def failure(result: Result) -> tuple[Exit, str]:
    assert isinstance(result.exception, MemolithError), result.output
    advice = result.exception.advice if isinstance(result.exception, ApiFailed) else ""
    return exit_of(result.exception), result.exception.message + advice


def test_what_is_no_store_is_refused_by_name(tmp_path: Path) -> None:
    code, said = failure(run("memstore_1", str(tmp_path / "m")))
    assert code == Exit.USAGE
    assert "memstore_" in said


def test_a_folder_that_is_not_empty_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "kept.md").write_text("mine")
    code, said = failure(run(STORE, str(tmp_path)))
    assert code == Exit.USAGE
    assert "is not empty" in said


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, said = failure(run(STORE, str(tmp_path / "file")))
    assert code == Exit.USAGE
    assert "cannot be used" in said


def test_a_store_that_is_not_there_and_a_key_that_is_not_valid_end_it(tmp_path: Path) -> None:
    backend = memolith_backend()
    desk = ["--desk", str(tmp_path / "desk")]
    with serving(backend.answer) as port:
        url = ["--api-url", f"http://127.0.0.1:{port}", "--api-key"]
        code, said = failure(run(STORE, str(tmp_path / "m"), *url, backend.api_key, *desk))
        assert (code, "was not found" in said, "Nothing was mounted" in said) == (Exit.NOT_FOUND, True, True)
        code, _ = failure(run(STORE, str(tmp_path / "m"), *url, "sk-memolith-nobody", *desk))
        assert code == Exit.KEY


def test_where_nobody_answers_nothing_is_mounted(tmp_path: Path) -> None:
    url = ["--api-url", "http://127.0.0.1:9", "--api-key", "sk"]
    code, said = failure(run(STORE, str(tmp_path / "m"), *url, "--desk", str(tmp_path / "desk")))
    assert code == Exit.NO_ANSWER
    assert "does not answer" in said


def test_a_machine_without_fuse_is_told_what_to_install_and_what_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "mfusepy", None)
    with pytest.raises(InvalidRequest, match=r"apt install fuse3.*memolith sync"):
        mounting.check_fuse()


@pytest.mark.parametrize("told_by", ["stat", "iterdir"])
def test_what_a_dead_mount_left_mounted_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told_by: str
) -> None:
    """The kernel may answer a stat by itself for a while; who looks into the folder is told."""
    folder = tmp_path / "m"
    folder.mkdir()
    let_go: list[Path] = []
    asked = getattr(Path, told_by)

    def dead(path: Path, **options: Any) -> Any:
        if path == folder and not let_go:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return asked(path, **options)

    monkeypatch.setattr(Path, told_by, dead)
    monkeypatch.setattr(mounting, "let_go", let_go.append)
    mounting.check_folder(folder)
    assert let_go == [folder]
    assert folder.is_dir()
