"""The pages of docs/platforms do what they say: their code runs as it stands, on a store in this process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.memory_tool.conftest import Fresh
from tests.memory_tool.test_function_tool import Model

PAGES = Path(__file__).parents[2] / "docs" / "platforms"


def blocks(page: str) -> list[str]:
    """The page's Python."""
    return re.findall(r"^```python\n(.*?)^```", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def at_home(fresh: Fresh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fresh:
    """Whoever makes a client of Cairn's with the key in the home folder gets one of the fresh backend."""
    (tmp_path / ".cairn").mkdir()
    (tmp_path / ".cairn" / "key").write_text(f"{fresh.backend.api_key}\n")
    monkeypatch.setenv("HOME", str(tmp_path))

    made = fresh.backend.client()

    def client(base_url: str, api_key: str) -> anthropic.Anthropic:
        assert (base_url, api_key) == ("http://127.0.0.1:8377", fresh.backend.api_key)
        return made

    monkeypatch.setattr(anthropic, "Anthropic", client)
    return fresh


@pytest.mark.parametrize("loop", [1, 2])
def test_the_loops_of_the_openai_page_write_to_the_store(
    at_home: Fresh, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], loop: int
) -> None:
    model = Model()
    monkeypatch.setattr(openai, "OpenAI", model.client)
    code = blocks("openai.md")
    assert len(code) == 3
    names: dict[str, Any] = {}
    exec(code[0] + code[loop], names)  # noqa: S102 - the page's own code
    listed = names["cairn"].beta.memory_stores.memories.list(names["store"].id, view="full")
    assert [(memory.path, memory.content) for memory in listed] == [("/progress.md", "step 2 done\n")]
    assert capsys.readouterr().out == "done\n"


def test_the_langgraph_page_does_what_it_says(at_home: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for code in blocks("langgraph.md"):
        exec(code, names)  # noqa: S102 - the page's own code
    assert capsys.readouterr().out == "I like tea\n"
    assert names["store"].get(("users", "ada"), "tags").value == {"tags": ["tea", "poetry"]}
    (store,) = names["cairn"].beta.memory_stores.list(limit=1).data
    paths = [memory.path for memory in names["cairn"].beta.memory_stores.memories.list(store.id)]
    assert store.name == "What agents know of users"
    assert paths == ["/users/ada/last.json", "/users/ada/tags.json"]
