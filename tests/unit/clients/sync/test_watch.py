"""``memolith sync --watch``: how Ctrl-C ends it, and that nothing else of a pass does."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memolith.adapters.system import SystemClock
from memolith.clients.cli.failures import Exit
from memolith.clients.sync.folder import SyncFolder
from memolith.clients.sync.syncing import Syncing
from memolith.clients.working_copy.http_store_client import HttpStoreClient
from tests.unit.clients.desk import Desk
from tests.unit.clients.sync.passes import memories
from tests.unit.clients.transfers.reports import fill


@pytest.mark.parametrize(("words", "code"), [(("--watch",), 0), ((), 130)])
def test_ctrl_c_within_a_pass_ends_a_watch_well_and_tells_what_the_pass_has_done(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    fill(folder, {"c.md": "three\n"})

    def ends(_: SyncFolder) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SyncFolder, "save", ends)
    assert desk.run("sync", desk.store, str(folder), *words)[:2] == (code, "sent  /c.md\n")


def test_ctrl_c_between_two_passes_ends_a_watch_well(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(_: SystemClock, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SystemClock, "pause", ends)
    assert desk.run("sync", desk.store, str(folder), "--watch") == (0, "", "")


def test_a_watch_goes_on_where_the_date_of_an_answer_is_no_date(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a proxy writes it."""
    fill(folder, {"c.md": "three\n"})
    ask_once = HttpStoreClient._ask_once

    def misdated(*asked: Any) -> Any:
        told, headers = ask_once(*asked)
        return told, httpx2.Headers({**headers, "date": "yesterday"})

    def ends(_: SystemClock, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(HttpStoreClient, "_ask_once", misdated)
    monkeypatch.setattr(SystemClock, "pause", ends)
    assert desk.run("sync", desk.store, str(folder), "--watch") == (0, "sent  /c.md\n", "")


@pytest.fixture
def full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full when the first pass is over, and not any more at the second, after which Ctrl-C comes."""
    save, passes = SyncFolder.save, 0

    def saves(side: SyncFolder) -> None:
        nonlocal passes
        passes += 1
        if passes == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a write raises it: it names no file
        save(side)

    def pauses(_: SystemClock, seconds: float) -> None:
        if passes > 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(SyncFolder, "save", saves)
    monkeypatch.setattr(SystemClock, "pause", pauses)


@pytest.mark.usefixtures("full")
def test_a_watch_goes_on_after_a_pass_for_which_the_disk_was_full(desk: Desk, folder: Path) -> None:
    fill(folder, {"c.md": "three\n"})
    said = f"{folder} cannot be used: No space left on device: tried again\n"
    assert desk.run("sync", desk.store, str(folder), "--watch") == (0, "sent  /c.md\n", said)


@pytest.mark.usefixtures("full")
def test_one_pass_for_which_the_disk_is_full_says_so_and_what_it_has_done(desk: Desk, folder: Path) -> None:
    fill(folder, {"c.md": "three\n"})
    code, out, err = desk.run("sync", desk.store, str(folder))
    assert (code, out) == (Exit.FAILED, "sent  /c.md\n")
    assert err.startswith(f"error: {folder} cannot be used: No space left on device\n")


@pytest.mark.usefixtures("full")
def test_ctrl_c_within_a_pass_ends_a_watch_though_the_disk_is_full(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Syncing, "_run", ends)
    code, _, err = desk.run("sync", desk.store, str(folder), "--watch")
    assert code == Exit.FAILED and "No space left on device" in err


NO_PATTERNS = pytest.mark.parametrize("line", ["!", "[z-a].log"])


@pytest.mark.slow
@NO_PATTERNS
def test_a_watch_goes_on_after_passes_in_which_the_patterns_of_the_folder_were_half_edited_and_sends_nothing_in_them(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    fill(folder, {"c.md": "three\n"})
    patterns, sent = folder / ".memolithignore", []

    def edits(_: SystemClock, seconds: float) -> None:
        sent.append(sorted(memories(desk)))
        if len(sent) == 1:
            patterns.write_text(f"{line}\n")
            fill(folder, {"d.log": "no memory\n"})
        elif len(sent) == 3:
            patterns.write_text("*.log\n")
            fill(folder, {"e.md": "five\n"})
        elif len(sent) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(SystemClock, "pause", edits)
    code, out, err = desk.run("sync", desk.store, str(folder), "--watch")
    assert (code, out.splitlines()) == (0, ["sent  /c.md", "sent  /e.md"])
    assert sent == [["a.md", "c.md", "n/b.md"]] * 3 + [["a.md", "c.md", "e.md", "n/b.md"]]
    first, second = err.splitlines()
    assert first == second
    assert first.startswith(".memolithignore: a line is no pattern") and first.endswith(": tried again")


@NO_PATTERNS
def test_one_pass_over_patterns_that_make_no_sense_fails_and_says_so(desk: Desk, folder: Path, line: str) -> None:
    (folder / ".memolithignore").write_text(f"{line}\n")
    code, out, err = desk.run("sync", desk.store, str(folder))
    assert (code, out) == (Exit.USAGE, "")
    assert ".memolithignore: a line is no pattern" in err
