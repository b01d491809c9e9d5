"""What `memolith serve --stop` says of a server that it cannot end, and that it ends no other process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.local.files import holder
from memolith.adapters.memory import ManualClock
from memolith.entry import stop as stopping
from memolith.entry.laptop_files import SERVERS
from memolith.entry.stop import NotEnded, stop

HOLD = """
import sys
from pathlib import Path
from memolith.adapters.local.files import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_kernel_names_who_holds_the_lock_as_long_as_it_does(tmp_path: Path) -> None:
    path = tmp_path / SERVERS
    assert holder(path) is None
    line = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert holder(path) == process.pid
        process.stdin.close()
        process.wait(60)
    assert holder(path) is None and path.exists()


@pytest.mark.parametrize(
    ("named", "error", "said"),
    [
        (0, None, "another container"),
        (-1, None, "another container"),
        (4711, PermissionError(), "another user"),
        (4711, None, "kill -9 4711"),
    ],
)
def test_a_server_that_cannot_be_ended_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: int, error: Exception | None, said: str
) -> None:
    told: list[Any] = []

    def kill(process: int, number: int) -> None:
        told.append(process)
        if error is not None:
            raise error

    monkeypatch.setattr(stopping, "holder", lambda path: named)
    monkeypatch.setattr(os, "kill", kill)
    with pytest.raises(NotEnded, match=said):
        stop(tmp_path, ManualClock())
    assert told == [named] * (named > 0), "0 and less would be told to other processes than one"
