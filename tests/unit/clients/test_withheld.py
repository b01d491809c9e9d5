"""A withheld text through every way in for agents, with the key that can see everything: an admin's.

An agent on a laptop has its owner's key. So no way in may rest on the key: a text is shown to who asks for it by name.
"""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic.lib.tools import ToolError
from mcp import Client, MCPError

from memolith.adapters.memory import RecordingMetrics
from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.app.kernel.results import Memory
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.main import run
from memolith.clients.sdk.function_tool import MemolithFunctionTool
from memolith.clients.sdk.langgraph_store import MemolithStore, UnreadableItem
from memolith.clients.sdk.memory_tool import MemolithMemoryTool, SdkCaller
from memolith.clients.working_copy.http_store_client import HttpStoreClient
from memolith.clients.working_copy.store_client import Denied
from memolith.wire.http import HttpApi
from memolith.wire.mcp.server import OpenStore, server_on
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import Tree
from tests.api.loopback import serving
from tests.support.sdk import client_of
from tests.unit.app.looking import PLANTED, Looking
from tests.unit.app.scene import HOME, Scene

BAD = '{"note": "' + PLANTED + '"}'
PATH = "/notes/a.json"
VIEWED = f"/memories{PATH}"


@dataclass(frozen=True, slots=True)
class Desk:
    """An admin's key, a store, and a memory in it whose newest text is withheld."""

    url: str
    api_key: str
    store: str
    memory: Memory
    folder: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def client(self) -> anthropic.Anthropic:
        return client_of(self.url, self.api_key)

    def run(self, *words: str) -> tuple[int, str]:
        """Exit code, and everything that the command printed."""
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run(list(words))
        out, err = self.capsys.readouterr()
        return int(ended.value.code or 0), out + err


@pytest.fixture
def desk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], scanner_database: Path
) -> Iterator[Desk]:
    scene = Scene(deep_scanner=Looking())
    scene.create("/notes/b.json", '{"note": "good"}')
    memory = scene.create(PATH, '{"note": "fine"}')
    scene.deliver()
    memory = scene.update(memory, BAD)
    scene.deliver()
    region = scene.cloud.sites[HOME].region
    api = HttpApi(scene.at(HOME), region.clock, region.randomness, RecordingMetrics())
    with serving(api.answer) as port:
        url = f"http://127.0.0.1:{port}"
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", scene.api_key)
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setenv("MEMOLITH_ROOT", str(scanner_database.parent))
        yield Desk(url, scene.api_key, scene.store, memory, tmp_path, capsys)


# ---- programs -------------------------------------------------------------------------------------------------------


def _sdk(desk: Desk) -> Any:
    stores = desk.client.beta.memory_stores
    found = [
        stores.memories.retrieve(desk.memory.id, memory_store_id=desk.store),
        stores.memory_versions.retrieve(desk.memory.version_id, memory_store_id=desk.store),
        *stores.memories.list(desk.store, view="full"),
        *stores.memory_versions.list(desk.store, view="full"),
    ]
    return [one.to_dict() for one in found]


def _memory_tool(desk: Desk) -> Any:
    try:
        return MemolithMemoryTool(desk.client, desk.store).call({"command": "view", "path": VIEWED})
    except ToolError as error:
        return error.content


def _memory_tool_edit(desk: Desk) -> Any:
    edit = {"command": "str_replace", "path": VIEWED, "old_str": "kite", "new_str": "kites"}
    try:
        return MemolithMemoryTool(desk.client, desk.store).call(edit)
    except ToolError as error:
        return error.content


def _function_tool(desk: Desk) -> Any:
    return MemolithFunctionTool(desk.client, desk.store).call("memory", f'{{"command": "view", "path": "{VIEWED}"}}')


def _langgraph(desk: Desk) -> Any:
    store = MemolithStore(desk.client, desk.store)
    try:
        found: Any = store.get(("notes",), "a")
    except UnreadableItem as error:
        found = error
    return found, [item.dict() for item in store.search(("notes",))]


def _mcp(desk: Desk) -> Any:
    tree = Tree(SdkCaller(desk.client), desk.store)
    clock = SystemClock()
    server = server_on(OpenStore(desk.store, tree, MemoryTool(tree, clock, SystemRandomness()), clock))

    async def act() -> list[Any]:
        async with Client(server) as client:
            said: list[Any] = [
                await client.call_tool("memory", {"command": "view", "path": VIEWED}),
                await client.call_tool("read_note", {"path": VIEWED}),
                await client.call_tool("search_notes", {"query": "kite"}),
                await client.call_tool("list_directory", {"path": "/memories"}),
                await client.call_tool("recent_activity", {}),
                await client.call_tool("memory_versions", {"path": VIEWED}),
                await client.list_resources(),
            ]
            try:
                said.append(await client.read_resource(f"memolith://{desk.store}{PATH}"))
            except MCPError as error:
                said.append(error)
            return said

    return asyncio.run(act())


@contextmanager
def _no_text() -> Iterator[None]:
    with pytest.raises(Denied, match="withheld"):
        yield


def _working_copy(desk: Desk) -> Any:
    """What a mount and a sync read."""
    client = HttpStoreClient(desk.url, desk.api_key, desk.store, SystemClock())
    with _no_text():
        client.text(desk.memory.id)
    with _no_text():
        client.version_text(desk.memory.version_id)
    return list(client.texts("/", deep=True)), list(client.everything())


def _sync(desk: Desk) -> Any:
    code, said = desk.run("sync", desk.store, str(desk.folder / "synced"))
    assert (code, "withheld" in said) == (0, True)
    return said, _texts(desk.folder / "synced")


# ---- commands without a flag ----------------------------------------------------------------------------------------


def _cat(desk: Desk) -> Any:
    code, said = desk.run("cat", desk.store, PATH)
    assert (code, "withholds" in said) == (Exit.SCANNER, True)
    return said, desk.run("cat", desk.store, PATH, "--version", desk.memory.version_id)


def _cat_json(desk: Desk) -> Any:
    return desk.run("cat", desk.store, PATH, "--json")


def _export(desk: Desk) -> Any:
    code, said = desk.run("export", desk.store, str(desk.folder / "out"))
    assert (code, "withheld by the safety scanner" in said) == (Exit.IN_PART, True)
    return said, _texts(desk.folder / "out")


def _export_history(desk: Desk) -> Any:
    code, said = desk.run("export", desk.store, str(desk.folder / "out.tar"), "--history")
    assert (code, "withheld by the safety scanner" in said) == (Exit.IN_PART, True)
    return said, _members(desk.folder / "out.tar")


def _reading_commands(desk: Desk) -> Any:
    return [
        desk.run("diff", desk.store, PATH),
        desk.run("search", desk.store, "kite"),
        desk.run("log", desk.store, PATH),
        desk.run("ls", desk.store, "-r", "-l"),
        desk.run("scan", desk.store),
        desk.run("context", desk.store),
        desk.run("quarantine", "list", desk.store),
    ]


def _texts(folder: Path) -> list[bytes]:
    found = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert any(b"good" in text for text in found)
    return found


def _members(path: Path) -> list[bytes]:
    with tarfile.open(path) as opened:
        return [read.read() for member in opened if (read := opened.extractfile(member)) is not None]


WAYS: dict[str, Callable[[Desk], Any]] = {
    "the SDK": _sdk,
    "the memory tool": _memory_tool,
    "an edit by the memory tool": _memory_tool_edit,
    "the function tool": _function_tool,
    "LangGraph": _langgraph,
    "MCP": _mcp,
    "a working copy": _working_copy,
    "sync": _sync,
    "cat": _cat,
    "cat --json": _cat_json,
    "export": _export,
    "export --history": _export_history,
    "the other commands that read": _reading_commands,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_way_in_shows_a_withheld_text_to_an_admins_key_that_did_not_ask_for_it(
    desk: Desk, way: Callable[[Desk], Any]
) -> None:
    said = repr(way(desk))
    assert PLANTED not in said
    assert said


def test_a_long_listing_marks_the_memory_whose_text_is_withheld_and_no_other(desk: Desk) -> None:
    for words in (("-l", "/notes"), ("-l", "-r"), ("-l", "-r", "/notes")):
        code, said = desk.run("ls", desk.store, *words)
        assert code == 0
        assert [line.split()[-1] for line in said.splitlines() if "withheld" in line.split()] == [PATH]


def test_a_withheld_text_is_printed_and_exported_to_an_admin_who_asks_for_it(desk: Desk) -> None:
    assert desk.run("cat", desk.store, PATH, "--withheld") == (0, BAD)
    assert desk.run("export", desk.store, str(desk.folder / "out"), "--withheld")[0] == 0
    assert (desk.folder / "out" / PATH[1:]).read_text() == BAD
    assert desk.run("export", desk.store, str(desk.folder / "out.tar"), "--history", "--withheld")[0] == 0
    assert any(PLANTED.encode() in text for text in _members(desk.folder / "out.tar"))


def test_a_backup_holds_withheld_texts_because_what_is_restored_from_it_is_withheld_again(desk: Desk) -> None:
    assert desk.run("backup", "create", str(desk.folder / "backup"))[0] == 0
    (archive,) = (desk.folder / "backup").glob("*.tar.gz")
    assert any(PLANTED.encode() in text for text in _members(archive))
