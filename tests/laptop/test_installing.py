"""What ``pip install '.[local]'`` brings is what ``memolith serve`` needs, and with `anthropic`, as the README installs
it, what the help, the completion and the errors of every command need.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
README = (ROOT / "README.md").read_text()

STORE = "memstore_useast1_01m80gqgrfyn8361t51thggc0e"
FAILING = (
    "keys list",
    "index status",
    f"erasure status {STORE}",
    "homes list",
    "stores list",
    f"ls {STORE}",
    f"cat {STORE} /a.md",
    f"sync {STORE} folder",
    f"stores list --api-url http://127.0.0.1:9 --api-key {'k' * 20}",
    f"sync {STORE} folder --api-url http://127.0.0.1:9 --api-key {'k' * 20}",
)
"""Commands that fail in an empty folder of a machine where no Memolith is."""

BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
"""

SERVING = (
    BLOCKED
    + """
import memolith.entry.serve, memolith.clients.cli.main, memolith.clients.cli.serve
from memolith.scanner import Scanner
from memolith.wire import request_bodies
from memolith.wire.routes import table
"""
)


EVERY_COMMAND = (
    BLOCKED
    + """
import io, os, shlex
from contextlib import redirect_stderr, redirect_stdout
import typer
from memolith.clients.cli import main

def said(*words, env=None):
    out, err = io.StringIO(), io.StringIO()
    os.environ.update(env or {})
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main.run(words)
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
    for name in env or {}:
        del os.environ[name]
    return code, out.getvalue(), err.getvalue()

def helps(*words):
    code, out, err = said(*words, "--help")
    assert code == 0 and out.startswith("Usage: memolith") and not err, (words, code, out[:200], err)

helps()
for name in main.SUBCOMMANDS:
    completing = {"_MEMOLITH_COMPLETE": "complete_bash", "COMP_WORDS": f"memolith {name} --", "COMP_CWORD": "2"}
    code, out, err = said(env=completing)
    assert code == 0 and "--help" in out and not err, (name, code, out, err)
    command = main.app.registered_callback and typer.main.get_command(main.app).get_command(None, name)
    for part in getattr(command, "commands", {}) if name != "dev" else ():
        helps(name, part)
    helps(name)
code, out, err = said(env={"_MEMOLITH_COMPLETE": "complete_bash", "COMP_WORDS": "memolith ", "COMP_CWORD": "1"})
assert (code, out.split(), err) == (0, list(main.SUBCOMMANDS), ""), (code, out, err)
for line in sys.stdin:
    code, out, err = said(*shlex.split(line))
    assert code and not out and err.startswith("error: "), (line, out, err)
    assert "Traceback" not in err and "defect" not in err, (line, err)
"""
)


def brought_by(*texts: str) -> set[str]:
    """Every distribution that requirements install, and what those need in turn."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in texts]
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        if name == canonicalize_name(PROJECT["name"]):
            waiting += [Requirement(text) for one in needed.extras for text in PROJECT["optional-dependencies"][one]]
        elif name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            try:
                waiting += [Requirement(text) for text in requires(name) or ()]
            except PackageNotFoundError:
                continue
            found.add(name)
    return found


def not_brought_by(*texts: str) -> list[str]:
    """Modules that are installed here and are not where these requirements alone are."""
    brought = brought_by(*texts) | {canonicalize_name(PROJECT["name"])}
    missing = [
        module
        for module, owners in packages_distributions().items()
        if not brought & set(map(canonicalize_name, owners))
    ]
    assert {"boto3", "aws_lambda_powertools"} <= set(missing)
    return missing


@pytest.mark.slow
def test_serving_starts_where_nothing_else_is_installed() -> None:
    missing = not_brought_by("memolith[local]")
    assert "anthropic" in missing
    done = subprocess.run([sys.executable, "-c", SERVING, *missing], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_every_help_completion_and_error_works_with_what_the_readme_installs(tmp_path: Path) -> None:
    command = next(line for line in README.splitlines() if line.startswith(".venv/bin/pip install"))
    extras, *others = shlex.split(command)[2:]
    missing = not_brought_by(extras.replace(".", "memolith", 1), *others)
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "functions")}
    done = subprocess.run(
        [sys.executable, "-c", EVERY_COMMAND, *missing],
        input="\n".join(FAILING),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={name: text for name, text in environment.items() if not name.startswith(("ANTHROPIC_", "MEMOLITH_"))},
    )
    assert done.returncode == 0, done.stderr


def test_output_that_cannot_be_written_is_an_error_of_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "memolith.clients.cli", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "error: standard output cannot be used: No space left on device\n")
