"""The README's five minutes on a laptop, as they are written there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import anthropic
import pytest
import typer

from memolith.clients.cli.mcp import app as mcp_app
from tests.laptop.models import service_of_models
from tests.laptop.processes import environment, serving
from tests.mount.mounted import fuse_is_missing

pytestmark = pytest.mark.slow

WHY_NOT = fuse_is_missing()
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PASSAGE = re.search(r"^## Five minutes on a laptop$.*?(?=^## )", README, re.M | re.S)


def blocks(language: str) -> list[str]:
    """The fenced blocks of the passage."""
    assert PASSAGE is not None
    return re.findall(rf"^```{language}\n(.*?)^```$", PASSAGE[0], re.M | re.S)


def test_the_passage_does_what_it_says(root: Path) -> None:
    """Home is a folder of the test, and the port one that is free: nothing else is changed."""
    (console, shell, _), (python,) = blocks("console"), blocks("python")
    make_environment, install, serve = map(shlex.split, console.splitlines())
    assert make_environment == ["python3", "-m", "venv", ".venv"]
    assert install[:2] == [".venv/bin/pip", "install"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.fullmatch(r"\.\[([\w,]+)\]", install[2])[1].split(",")) <= set(extras)  # type: ignore[index]  # it matches
    (root / ".memolith").mkdir()
    (root / "scanner.hsdb").rename(root / ".memolith" / "scanner.hsdb")
    home = {**environment(), "HOME": str(root)}
    words = [sys.executable, "-m", "memolith.clients.cli", *serve[1:], "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=home) as server:
        try:
            assert server.stdout is not None
            url = re.findall(r"http://127\.0\.0\.1:\d+", server.stdout.readline())[0]
            for _ in range(3):
                server.stdout.readline()
            code = python.replace("http://127.0.0.1:8377", url)
            assert code != python
            subprocess.run([sys.executable, "-c", code], env=home, check=True, timeout=300)
            stores = anthropic.Anthropic(base_url=url, api_key=(root / ".memolith" / "key").read_text().strip()).beta
            (store,) = stores.memory_stores.list()
            (memory,) = stores.memory_stores.memories.list(store.id, view="full")
            assert memory.type == "memory"
            assert (memory.path, memory.content) == ("/hello.md", "first")
            told = {**home, "MEMOLITH_PORT": url.rpartition(":")[2], "EDITOR": "sed -i s/first/second/"}
            memolith = shlex.join([sys.executable, "-m", "memolith.clients.cli"])
            words = ["bash", "-euc", shell.replace(".venv/bin/memolith", memolith) + f"{memolith} cat $store /hello.md"]
            done = subprocess.run(words, env=told, check=True, timeout=300, capture_output=True, text=True)
            assert done.stdout.endswith("\nsecond\n")
        finally:
            server.kill()


def said_by_the_lines_of_a_session(root: Path, **settings: str) -> list[str]:
    """What each line says; line by line, as each shows or changes something. Nothing is written before the approval."""
    passage = re.search(r"^## Five minutes from a session to memories$.*?(?=^## )", README, re.M | re.S)
    assert passage is not None
    (block,) = re.findall(r"^```console\n(.*?)^```$", passage[0], re.M | re.S)
    memolith = shlex.join([sys.executable, "-m", "memolith.clients.cli"])
    said = []
    with serving(root, **settings) as server:
        told = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": server.api_key, "HOME": str(root)}
        for line in block.splitlines():
            words = ["bash", "-euc", line.replace(".venv/bin/memolith", memolith)]
            done = subprocess.run(
                words, env={**environment(), **told}, cwd=ROOT, timeout=120, capture_output=True, text=True
            )
            assert (done.returncode, done.stderr) == (0, ""), (line, done.stderr)
            said.append(done.stdout)
        assert list(server.client().beta.memory_stores.memories.list(said[0].strip())) == []
    return said


def test_a_session_becomes_memories_and_is_taken_back_by_the_lines_that_say_so(root: Path) -> None:
    """No model is set up, so that nothing is asked outside."""
    _, imported, dreamed, shown, approved, index, reverted = said_by_the_lines_of_a_session(root)
    assert imported.split("\t")[2] == "6"
    assert "memolith-extractive-1" in dreamed and "proposed for review" in dreamed
    assert "+Deploy to staging after seven, never during the nightly backup." in shown
    assert [line.split()[0] for line in approved.splitlines()[:-1]] == ["applied"] * 4
    assert len(index.splitlines()) == 3
    assert [line.split()[0] for line in reverted.splitlines()[:-1]] == ["reverted"] * 4


@pytest.mark.skipif(find_spec("openai") is None, reason="A SERVICE OF MODELS IS NOT ASKED: NO openai")
def test_the_same_lines_have_a_services_model_consolidate_what_the_session_said(root: Path) -> None:
    """The service knows one model, and refuses any other id, as real ones do."""
    with service_of_models("qwen3:8b") as (url, refused):
        told = {"MEMOLITH_MODEL_SERVICE": "openai", "MEMOLITH_MODEL_URL": url, "OPENAI_API_KEY": "sk-test"}
        said = said_by_the_lines_of_a_session(root, **told, MEMOLITH_MODEL_ID="qwen3:8b")
    assert refused == []
    lines = dict(line.split(None, 1) for line in said[2].splitlines() if len(line.split(None, 1)) == 2)
    assert (lines["status"], lines["model"]) == ("completed", "qwen3:8b")


@pytest.mark.skipif(bool(WHY_NOT), reason=f"THE README'S MOUNT IS NOT MOUNTED: {WHY_NOT}")
def test_the_store_is_a_folder_by_the_line_that_mounts_it(root: Path) -> None:
    line = blocks("console")[2].replace(
        ".venv/bin/memolith", shlex.join([sys.executable, "-m", "memolith.clients.cli"])
    )
    with serving(root) as server:
        store = server.client().beta.memory_stores.create(name="Team notes")
        told = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": server.api_key, "HOME": str(root)}
        environment_of_it = {**environment(), **told, "store": store.id}
        with subprocess.Popen(["bash", "-c", f"exec {line}"], stdout=subprocess.PIPE, env=environment_of_it) as mount:
            try:
                assert mount.stdout is not None
                mount.stdout.readline()
                (root / "memory" / "hello.md").write_text("first")
                (memory,) = server.client().beta.memory_stores.memories.list(store.id, view="full")
                assert (memory.path, memory.to_dict()["content"]) == ("/hello.md", "first")
            finally:
                mount.terminate()
        assert mount.returncode == 0


def test_the_entry_for_a_desktop_is_a_command_with_options_that_it_has() -> None:
    """That such an entry serves a store is tested where the command is: tests/mcp/test_stdio.py."""
    (configured,) = blocks("json")
    entry = json.loads(configured)["mcpServers"]["memory"]
    assert entry["command"] == ".venv/bin/memolith"
    assert entry["args"][0] == "mcp"
    command = typer.main.get_command(mcp_app)
    given = [word for word in entry["args"] if word.startswith("-")]
    assert set(given) <= {option for parameter in command.params for option in parameter.opts}


def test_the_port_it_names_is_the_one_that_is_taken_by_default() -> None:
    from memolith.entry.settings import LocalSettings

    assert f":{LocalSettings.read({}).port}" in blocks("python")[0]
    shown = subprocess.run(
        [sys.executable, "-m", "memolith.clients.cli", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "200"},
    ).stdout
    assert str(LocalSettings.read({}).port) in shown
