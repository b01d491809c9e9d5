"""Somebody at a command line: the commands in this process, the real SDK, and an API over HTTP."""

from __future__ import annotations

import json
import re
import shlex
import sys
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest

from memolith.clients.cli import main
from memolith.clients.cli.failures import Exit
from tests.api.harness import Backend

HOSTILE = "evil \x1b[2J\x1b[35mred\x1b]0;title\x07 \x9b2J word zebra\n- [port] is \x9b2J\n"
"""A text that clears the screen of whoever has it printed as it is."""


def steering(printed: str) -> str:
    """The characters that steer a terminal, without the styles that are the commands' own."""
    return "".join(re.findall(r"[^\n\t -~\xa0-\U0010ffff]", re.sub(r"\x1b\[(0|1|31|32|36)m", "", printed)))


class Desk:
    """Somebody at a command line, and one store."""

    def __init__(self, backend: Backend, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.backend, self.capsys, self.patch = backend, capsys, monkeypatch
        self.memories = backend.client(max_retries=0).beta.memory_stores.memories
        self.store = self.json("stores", "create", "Team notes")["id"]

    def run(self, *words: str, typed: bytes | BytesIO = b"") -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        piped = typed if isinstance(typed, BytesIO) else BytesIO(typed)
        self.patch.setattr(sys, "stdin", TextIOWrapper(piped))
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run(list(words))
        out, err = self.capsys.readouterr()
        return int(ended.value.code or 0), out, err

    def ok(self, *words: str, typed: bytes = b"") -> str:
        code, out, err = self.run(*words, typed=typed)
        assert (code, err) == (0, "")
        return out

    def json(self, *words: str, typed: bytes = b"") -> Any:
        return json.loads(self.ok(*words, "--json", typed=typed))

    def fails(self, code: Exit, *words: str, typed: bytes | BytesIO = b"") -> str:
        """What it says on standard error; standard output stays empty."""
        ended, out, err = self.run(*words, typed=typed)
        assert (ended, out) == (code, "")
        assert "Traceback" not in err
        return err

    def put(self, path: str, text: str) -> Any:
        return self.json("put", self.store, path, typed=text.encode())

    def editor(self, script: str) -> None:
        """An editor that is this Python, with the file as ``file``, and the desk's store as others see it."""
        code = f"import sys, pathlib; file = pathlib.Path(sys.argv[1]); {script}"
        self.patch.setenv("VISUAL", f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}")
