"""The pages of docs/platforms do what they say: their code runs as it stands, on a store in this process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.memory_tool.conftest import Fresh
from tests.memory_tool.test_function_tool import Model
from tests.memory_tool.test_tool_runner import Model as Claude

ANTHROPIC, ASYNC_ANTHROPIC = anthropic.Anthropic, anthropic.AsyncAnthropic
PAGES = Path(__file__).parents[2] / "docs" / "platforms"


def blocks(page: str) -> list[str]:
    """The page's Python."""
    return re.findall(r"^```python\n(.*?)^```", (PAGES / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def at_home(fresh: Fresh, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Fresh:
    """Whoever makes a client of Memolith's with the key in the home folder gets one of the fresh backend."""
    (tmp_path / ".memolith").mkdir()
    (tmp_path / ".memolith" / "key").write_text(f"{fresh.backend.api_key}\n")
    monkeypatch.setenv("HOME", str(tmp_path))

    made = fresh.backend.client()

    def client(**options: Any) -> anthropic.Anthropic:
        if not options:
            return model_client()
        if "http_client" in options:
            return ANTHROPIC(**options)
        assert options == {"base_url": "http://127.0.0.1:8377", "api_key": fresh.backend.api_key}
        return made

    monkeypatch.setattr(anthropic, "Anthropic", client)
    monkeypatch.setattr(anthropic, "AsyncAnthropic", async_model_client)
    return fresh


def run(page: str, *which: int, **names: Any) -> dict[str, Any]:
    """The page's Python, or the blocks of it that are named, as it stands; what it leaves behind."""
    code = blocks(page)
    for number in which or range(len(code)):
        exec(code[number], names)  # noqa: S102 - the page's own code
    return names


def contents(names: Mapping[str, Any]) -> dict[str, str]:
    """What the page's store holds."""
    listed = names["memolith"].beta.memory_stores.memories.list(names["store"].id, view="full")
    return {memory.path: memory.content for memory in listed}


def model_client() -> anthropic.Anthropic:
    """The SDK, with a stand-in for the model that works through its script."""
    transport = httpx2.MockTransport(Claude().answer)
    return ANTHROPIC(api_key="none", base_url="https://model.test", http_client=httpx2.Client(transport=transport))


def async_model_client() -> anthropic.AsyncAnthropic:
    transport = httpx2.MockTransport(Claude().answer)
    http = httpx2.AsyncClient(transport=transport)
    return ASYNC_ANTHROPIC(api_key="none", base_url="https://model.test", http_client=http)


@pytest.mark.parametrize("block", [1, 3])
def test_the_loops_of_the_anthropic_page_write_to_the_store(
    at_home: Fresh, capsys: pytest.CaptureFixture[str], block: int
) -> None:
    names = run("anthropic.md", 0, block)
    assert capsys.readouterr().out == "done\n"
    assert contents(names) == {"/progress.md": "step 2 done\n"}


def test_what_an_agent_writes_with_a_sessions_token_carries_the_session(at_home: Fresh) -> None:
    names = run("anthropic.md", 0, 2, 1)
    (newest, *_) = names["memolith"].beta.memory_stores.memory_versions.list(names["store"].id)
    assert newest.created_by.session_id == names["session"]["id"]


@pytest.mark.parametrize("loop", [1, 2])
def test_the_loops_of_the_openai_page_write_to_the_store(
    at_home: Fresh, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], loop: int
) -> None:
    model = Model()
    monkeypatch.setattr(openai, "OpenAI", model.client)
    names = run("openai.md", 0, loop)
    assert len(blocks("openai.md")) == 3
    assert contents(names) == {"/progress.md": "step 2 done\n"}
    assert capsys.readouterr().out == "done\n"


def test_the_langgraph_page_does_what_it_says(at_home: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
    names = run("langgraph.md", __name__="page")
    assert capsys.readouterr().out == "I like tea\n"
    assert names["store"].get(("users", "ada"), "tags").value == {"tags": ["tea", "poetry"]}
    (store,) = names["memolith"].beta.memory_stores.list(limit=1).data
    paths = [memory.path for memory in names["memolith"].beta.memory_stores.memories.list(store.id)]
    assert store.name == "What agents know of users"
    assert paths == ["/users/ada/last.json", "/users/ada/tags.json"]
