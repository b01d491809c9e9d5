"""``memolith edit``: a memory in an editor. What was typed is never lost, whatever becomes of the write."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

from memolith.clients.cli import edit
from memolith.clients.cli.failures import CHECK_FIRST, Exit
from tests.unit.clients.desk import Desk

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended."""


def kept(tmp_path: Path) -> list[Path]:
    """The files that editing left behind."""
    return [file for folder in tmp_path.glob("memolith-edit-*") for file in folder.iterdir()]


def test_an_edit_is_written_when_the_editor_ends(desk: Desk, tmp_path: Path) -> None:
    desk.put("/n/a.md", "one\n")
    desk.editor("file.write_text(file.read_text() + 'two\\n')")
    assert desk.json("edit", desk.store, "/n/a.md")["result"] == "changed"
    assert desk.ok("cat", desk.store, "/n/a.md") == "one\ntwo\n"
    assert desk.json("edit", desk.store, "/new.md")["result"] == "created"
    assert kept(tmp_path) == []


def test_an_edit_that_changes_nothing_writes_nothing(desk: Desk, tmp_path: Path) -> None:
    version = desk.put("/a", "one")["memory_version_id"]
    desk.editor("pass")
    assert desk.json("edit", desk.store, "/a")["memory_version_id"] == version
    assert desk.json("edit", desk.store, "/new") == {"result": "unchanged"}
    assert desk.ok("ls", desk.store).split() == ["/a"]
    assert kept(tmp_path) == []


@pytest.mark.slow
def test_an_edit_that_meets_another_destroys_neither(desk: Desk, tmp_path: Path) -> None:
    memory = desk.put("/a", "one")
    write = f"urllib.request.urlopen(request(b'{{\"content\": \"theirs\"}}', '/{memory['id']}'))"
    desk.editor(f"{_somebody(desk)}; {write}; file.write_text('mine')")
    told = desk.fails(Exit.CONFLICT, "edit", desk.store, "/a")
    assert desk.ok("cat", desk.store, "/a") == "theirs"
    (file,) = kept(tmp_path)
    assert file.read_text() == "mine"
    assert f"Your text is kept in {file}" in told
    again = shlex.split(told.splitlines()[-1])
    assert again[:2] == ["memolith", "put"]
    assert again[-2:] == ["--api-url", os.environ["ANTHROPIC_BASE_URL"]]
    desk.ok(*again[1:])
    assert desk.ok("cat", desk.store, "/a") == "mine"


def test_a_new_memory_that_somebody_creates_meanwhile_is_theirs(desk: Desk, tmp_path: Path) -> None:
    write = 'urllib.request.urlopen(request(b\'{"path": "/a", "content": "theirs"}\'))'
    desk.editor(f"{_somebody(desk)}; {write}; file.write_text('mine')")
    desk.fails(Exit.CONFLICT, "edit", desk.store, "/a")
    assert desk.ok("cat", desk.store, "/a") == "theirs"
    assert [file.read_text() for file in kept(tmp_path)] == ["mine"]


def test_an_edit_does_not_follow_a_memory_that_was_renamed_meanwhile(desk: Desk, tmp_path: Path) -> None:
    memory = desk.put("/a", "one")
    rename = f"urllib.request.urlopen(request(b'{{\"path\": \"/b\"}}', '/{memory['id']}'))"
    desk.editor(f"{_somebody(desk)}; {rename}; file.write_text('mine')")
    told = desk.fails(Exit.CONFLICT, "edit", desk.store, "/a")
    assert "the memory at /a was renamed to /b meanwhile" in told
    assert desk.ok("ls", desk.store).split() == ["/b"]
    assert desk.ok("cat", desk.store, "/b") == "one"
    (file,) = kept(tmp_path)
    assert file.read_text() == "mine" and f"Your text is kept in {file}" in told


def _somebody(desk: Desk) -> str:
    """Python that defines a write of somebody else, for an editor to make while the memory is open."""
    url = f"{os.environ['ANTHROPIC_BASE_URL']}/v1/memory_stores/{desk.store}/memories"
    headers = {"x-api-key": desk.backend.api_key, "content-type": "application/json"}
    return (
        "import urllib.request; "
        f"request = lambda body, at='': urllib.request.Request({url!r} + at, body, {headers!r}, method='POST')"
    )


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("file.write_text('mine'); sys.exit(3)", Exit.FAILED, "ended with 3, so nothing was written"),
        ("file.write_bytes(b'caf\\xe9')", Exit.USAGE, "is not UTF-8"),
        ("file.write_text('x' * 200_000)", Exit.FAILED, "content"),
    ],
)
def test_a_text_that_cannot_be_written_is_kept(desk: Desk, tmp_path: Path, script: str, code: Exit, said: str) -> None:
    desk.put("/a", "one")
    desk.editor(script)
    told = desk.fails(code, "edit", desk.store, "/a")
    assert said in told and str(kept(tmp_path)[0]) in told
    assert desk.ok("cat", desk.store, "/a") == "one"


def test_an_editor_that_is_not_there_is_told(desk: Desk) -> None:
    desk.patch.setenv("VISUAL", "no-such-editor")
    assert "no-such-editor cannot be run" in desk.fails(Exit.USAGE, "edit", desk.store, "/a")


# ---- Ctrl-C -------------------------------------------------------------------------------------------------------


def interrupted(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


def test_an_editor_may_use_ctrl_c_for_itself(desk: Desk, tmp_path: Path) -> None:
    """Terminals send it to both. `edit` ended there, and killed the editor with what was not saved yet."""
    desk.put("/a", "one")
    is_default = "signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    interrupt = "os.kill(os.getppid(), signal.SIGINT)"
    desk.editor(f"import os, signal; {interrupt}; file.write_text(f'default: {{{is_default}}}')")
    assert desk.json("edit", desk.store, "/a")["result"] == "changed"
    assert desk.ok("cat", desk.store, "/a") == "default: True", "it is ignored by none that edit starts"
    assert kept(tmp_path) == []


def test_an_edit_that_ends_by_itself_while_the_editor_runs_says_where_the_text_is(desk: Desk, tmp_path: Path) -> None:
    desk.put("/a", "one")

    def run(command: list[str], **_: Any) -> NoReturn:
        Path(command[-1]).write_text("mine")
        raise KeyboardInterrupt

    desk.patch.setattr(subprocess, "run", run)
    code, out, err = desk.run("edit", desk.store, "/a")
    (file,) = kept(tmp_path)
    assert (code, out, file.read_text()) == (INTERRUPTED, "", "mine")
    assert f"Your text is kept in {file}" in err and CHECK_FIRST not in err


def test_ctrl_c_while_the_text_is_written_says_where_it_is_and_that_it_may_be_done(desk: Desk, tmp_path: Path) -> None:
    desk.put("/a", "one")
    desk.editor("file.write_text('mine')")
    desk.patch.setattr(edit, "_write", interrupted)
    code, out, err = desk.run("edit", desk.store, "/a")
    (file,) = kept(tmp_path)
    assert (code, out, file.read_text()) == (INTERRUPTED, "", "mine")
    assert f"Your text is kept in {file}" in err and CHECK_FIRST in err


# ---- the file's name ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/notes/"])
def test_a_path_that_names_no_memory_is_refused_before_the_editor_opens(desk: Desk, tmp_path: Path, path: str) -> None:
    desk.editor("file.write_text('mine')")
    assert "error: path: must" in desk.fails(Exit.USAGE, "edit", desk.store, path)
    assert list(tmp_path.glob("memolith-edit-*")) == []


def test_a_memory_whose_name_is_too_long_for_a_file_is_edited(desk: Desk, tmp_path: Path) -> None:
    path = f"/notes/{'é' * 200}.md"
    desk.editor("file.write_text(file.suffix)")
    assert desk.json("edit", desk.store, path)["path"] == path
    assert desk.ok("cat", desk.store, path) == ".md"
    assert list(tmp_path.glob("memolith-edit-*")) == []


# ---- a terminal that is closed ------------------------------------------------------------------------------------

HANG_UP = "import os, signal; file.write_text('mine'); os.kill(os.getppid(), signal.SIGHUP)"


def test_an_edit_whose_terminal_is_closed_waits_for_the_editor_and_writes_its_text(desk: Desk, tmp_path: Path) -> None:
    """It was killed, and left the text in a folder that nothing named."""
    desk.put("/a", "one")
    desk.editor(f"{HANG_UP}; assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL")
    assert desk.json("edit", desk.store, "/a")["result"] == "changed"
    assert desk.ok("cat", desk.store, "/a") == "mine"
    assert kept(tmp_path) == []


def test_an_editor_that_ends_with_its_terminal_leaves_a_text_that_is_named(desk: Desk, tmp_path: Path) -> None:
    desk.put("/a", "one")
    desk.editor(f"{HANG_UP}; os.kill(os.getpid(), signal.SIGHUP)")
    told = desk.fails(Exit.FAILED, "edit", desk.store, "/a")
    (file,) = kept(tmp_path)
    assert f"Your text is kept in {file}" in told and file.read_text() == "mine"
    assert desk.ok("cat", desk.store, "/a") == "one"


def test_a_terminal_that_is_closed_while_the_text_is_written_leaves_it_and_names_it(desk: Desk, tmp_path: Path) -> None:
    desk.put("/a", "one")
    desk.editor("file.write_text('mine')")
    desk.patch.setattr(edit, "_write", lambda *_: signal.raise_signal(signal.SIGHUP))
    code, out, err = desk.run("edit", desk.store, "/a")
    (file,) = kept(tmp_path)
    assert (code, out, file.read_text()) == (INTERRUPTED, "", "mine")
    assert f"Your text is kept in {file}" in err and CHECK_FIRST in err
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL


def test_a_hangup_that_is_ignored_stays_ignored(desk: Desk, tmp_path: Path) -> None:
    """As `nohup` has it, for the editor as well."""
    desk.put("/a", "one")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        desk.editor(f"{HANG_UP}; assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN")
        assert desk.json("edit", desk.store, "/a")["result"] == "changed"
    finally:
        signal.signal(signal.SIGHUP, before)
