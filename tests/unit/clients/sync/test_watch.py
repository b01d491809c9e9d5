"""``memolith sync --watch``: how Ctrl-C ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.adapters.system import SystemClock
from memolith.clients.sync.folder import SyncFolder
from tests.unit.clients.desk import Desk
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
