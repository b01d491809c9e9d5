"""The README followed to the letter: a fresh home, a fresh virtual environment, and its lines as they stand there.

`make first-hour` runs this; it installs packages, which takes a minute or two. What differs from the README's text is
the port, which is a free one, and the editor, which is ``sed``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.laptop.fresh import ROOT, FreshMachine, make_fresh
from tests.mount.mounted import fuse_is_missing

pytestmark = pytest.mark.fresh_install

README = (ROOT / "README.md").read_text()
WHY_NOT = fuse_is_missing()
CLAUDE_CODE = ".claude/projects/{project}/memory/MEMORY.md"

EVERY_HELP = """
import io, json, typer
from contextlib import redirect_stderr, redirect_stdout
from memolith.clients.cli import main

def walk(command, *words):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main.run([*words, "--help"])
        except SystemExit as ended:
            code = ended.code or 0
    shown.append([" ".join(words), code, out.getvalue(), err.getvalue()])
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        walk(command.get_command(None, name), *words, name)

shown = []
walk(typer.main.get_command(main.app))
print(json.dumps(shown))
"""

COMPLETING = """
export PATH="$PWD/.venv/bin:$PATH"
memolith --install-completion >/dev/null
set +u
source ~/.bashrc
complete -p memolith >/dev/null
COMP_LINE={line!r} COMP_WORDS=({words}) COMP_CWORD={at}
_memolith_completion memolith
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

MCP_CLIENT = """
import anyio, json, os, sys
from mcp import Client, StdioServerParameters

async def main():
    entry = json.load(sys.stdin)["mcpServers"]["memory"]
    env = {"MEMOLITH_PORT": os.environ["MEMOLITH_PORT"]}
    async with Client(StdioServerParameters(command=entry["command"], args=entry["args"], env=env)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        wrote = await client.call_tool("write_note", {"path": "/memories/from-mcp.md", "content": "by MCP\\n"})
        read = await client.call_tool("read_note", {"path": "/memories/from-mcp.md"})
        print(json.dumps([tools, wrote.is_error, read.structured_content["content"]]))

anyio.run(main)
"""


def section(title: str) -> str:
    """The text below a heading of the README."""
    found = re.search(rf"^## {title}$.*?(?=^## )", README, re.M | re.S)
    assert found is not None, title
    return found[0]


def blocks(language: str) -> list[str]:
    """The fenced blocks of the five minutes."""
    return re.findall(rf"^```{language}\n(.*?)^```$", section("Five minutes on a laptop"), re.M | re.S)


def extra(name: str) -> str:
    """The README's own words that install an extra, where it is needed."""
    found = re.search(rf"`(\.venv/bin/pip install '\.\[{name}\]')`", section("Five minutes on a laptop"))
    assert found is not None, name
    return found[1]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FreshMachine]:
    """The first block was run, and its server answers; Ctrl-C ends it with exit code 0 and without a traceback."""
    made = make_fresh(tmp_path_factory.mktemp("first-hour"))
    project = re.sub(r"[^A-Za-z0-9]", "-", str(made.checkout))
    memory = made.home / CLAUDE_CODE.format(project=project)
    memory.parent.mkdir(parents=True)
    memory.write_text("- [Deploys](deploys.md): on Tuesdays\n")
    (memory.parent / "deploys.md").write_text("---\nname: Deploys\ntype: project\n---\n\nOn Tuesdays.\n")
    *installing, serving = blocks("console")[0].splitlines()
    for line in installing:
        made.shell(line)
    assert serving == ".venv/bin/memolith serve"
    with made.running(serving) as server:
        made.until(f"curl -fs -o {made.home}/health http://127.0.0.1:{made.port}/healthz", server)
        yield made


@pytest.fixture(scope="module")
def store(machine: FreshMachine) -> str:
    """The id of the store that the block for the shell makes; what it writes is read back."""
    said = machine.shell(
        f'{blocks("console")[1]}echo "store $store"\n.venv/bin/memolith cat $store /hello.md',
        EDITOR="sed -i s/first/second/",
    )
    assert said.splitlines()[-1] == "second"
    (found,) = re.findall(r"^store (memstore_\w+)$", said, re.M)
    return str(found)


@pytest.fixture(scope="module")
def pages(machine: FreshMachine) -> dict[str, tuple[int, str, str]]:
    """Every command's words to the exit code, output and errors of its ``--help``, before any extra is installed."""
    (machine.home / "helps.py").write_text(EVERY_HELP)
    said = machine.shell(f".venv/bin/python {machine.home}/helps.py")
    return {words: (code, out, err) for words, code, out, err in json.loads(said.splitlines()[-1])}


def test_every_help_page_of_a_fresh_installation_shows_how_the_command_is_used(
    pages: dict[str, tuple[int, str, str]], machine: FreshMachine
) -> None:
    assert len(pages) > 60
    for words, (code, out, err) in pages.items():
        if words.startswith("dev "):  # handed on to the checkout's own program
            out = machine.shell(f".venv/bin/memolith {words} --help")
        assert (code, err) == (0, "") and out.startswith("Usage: memolith"), (words, code, out[:300], err)


def test_the_readmes_table_names_every_command_and_no_other(pages: dict[str, tuple[int, str, str]]) -> None:
    named: set[str] = set()
    for row in re.findall(r"^\| (`memolith .*?) \| ", section("Commands"), re.M):
        first, *others = re.findall(r"`([^`]*)`", row.replace("\\|", "/"))
        words = re.split(r" (?![a-z])", first.removeprefix("memolith "))[0].split()
        named.add(" ".join(words))
        group = words[0]
        named |= {other if other in pages else f"{group} {other}" for other in others}
    assert named <= set(pages), named - set(pages)
    assert {words for words in pages if words and " " not in words} <= {words.split()[0] for words in named}


def test_the_lines_of_python_make_a_store_with_a_memory(machine: FreshMachine) -> None:
    (python,) = blocks("python")
    code = python.replace("127.0.0.1:8377", f"127.0.0.1:{machine.port}")
    assert code != python
    (machine.home / "lines.py").write_text(code)
    machine.shell(f".venv/bin/python {machine.home}/lines.py")
    assert machine.shell("""    .venv/bin/memolith cat "Team notes" /hello.md""") == "first"


def test_the_lines_of_the_shell_make_a_store_and_edit_a_memory(store: str) -> None:
    assert store.startswith("memstore_laptop_")


def test_commands_on_a_terminal_print_no_traceback(machine: FreshMachine, store: str) -> None:
    for words in ("stores list", f"ls {store}", f"log {store}", f"search {store} second", "doctor", f"context {store}"):
        assert machine.terminal(f".venv/bin/memolith {words}")


def test_bash_completes_commands_stores_and_paths_after_install_completion(machine: FreshMachine, store: str) -> None:
    def completed(*words: str) -> list[str]:
        quoted = " ".join(f'"{word}"' for word in words)
        return machine.shell(COMPLETING.format(line=" ".join(words), words=quoted, at=len(words) - 1)).split()

    assert "sessions" in completed("memolith", "se")
    assert "--help" in completed("memolith", "ls", "--he")
    assert store in completed("memolith", "cat", "memstore_")
    assert completed("memolith", "cat", store, "/he") == ["/hello.md"]


def test_the_line_that_imports_from_claude_code_imports(machine: FreshMachine) -> None:
    (line,) = re.findall(r"`(\.venv/bin/memolith import [^`]*)`", section("Five minutes on a laptop"))
    assert "2 created" in machine.shell(line)
    assert "2 unchanged" in machine.shell(line)


def test_the_line_that_syncs_keeps_a_folder_in_step(machine: FreshMachine, store: str) -> None:
    (line,) = re.findall(r"`(\.venv/bin/memolith sync [^`]*)`", section("Five minutes on a laptop"))
    synced = machine.home / "synced"
    line = line.replace("~/memory", str(synced))
    machine.shell(line, store=store)
    assert (synced / "hello.md").read_text() == "second\n"
    (synced / "here.md").write_text("from the folder\n")
    machine.shell(line, store=store)
    assert machine.shell(f".venv/bin/memolith cat {store} /here.md") == "from the folder\n"


@pytest.mark.skipif(bool(WHY_NOT), reason=f"THE README'S MOUNT IS NOT MOUNTED: {WHY_NOT}")
def test_the_line_that_mounts_shows_the_store_as_a_folder(machine: FreshMachine, store: str) -> None:
    machine.shell(extra("mount"))
    memory = machine.home / "memory"
    with machine.running(blocks("console")[2].strip(), store=store) as mount:
        machine.until(f"test -e {memory}/hello.md", mount)
        assert (memory / "hello.md").read_text() == "second\n"
        (memory / "mounted.md").write_text("through the mount\n")
    assert machine.shell(f".venv/bin/memolith cat {store} /mounted.md") == "through the mount\n"


def test_the_entry_for_a_desktop_serves_the_store_over_mcp(machine: FreshMachine, store: str) -> None:
    machine.shell(extra("mcp"))
    (entry,) = blocks("json")
    (machine.home / "entry.json").write_text(entry.replace("memstore_laptop_…", store))
    (machine.home / "client.py").write_text(MCP_CLIENT)
    said = machine.shell(f".venv/bin/python {machine.home}/client.py < {machine.home}/entry.json")
    tools, failed, content = json.loads(said.splitlines()[-1])
    assert ("memory" in tools, failed, content) == (True, False, "by MCP\n")
    assert machine.shell(f".venv/bin/memolith cat {store} /from-mcp.md") == "by MCP\n"


def test_nothing_that_was_run_printed_a_traceback(machine: FreshMachine) -> None:
    logs = [Path(log).read_text() for log in machine.home.glob("*.log")]
    assert logs and not [text for text in [*machine.said, *logs] if "Traceback" in text]
