"""docs/platforms/adk.md does what it says: its code runs as it stands, with a stand-in for the model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anthropic
import pytest
from google.adk.models import registry

from tests.interop.adk.test_memory_service import Model

PAGE = Path(__file__).parents[3] / "docs" / "platforms" / "adk.md"


def test_the_page_remembers_from_one_session_to_the_next(
    client: anthropic.Anthropic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".memolith").mkdir()
    (tmp_path / ".memolith" / "key").write_text(f"{client.api_key}\n")
    monkeypatch.setenv("HOME", str(tmp_path))

    def at_home(base_url: str, api_key: str) -> anthropic.Anthropic:
        assert (base_url, api_key) == ("http://127.0.0.1:8377", client.api_key)
        return client

    monkeypatch.setattr(anthropic, "Anthropic", at_home)
    monkeypatch.setattr(registry.LLMRegistry, "new_llm", staticmethod(lambda model: Model(model=model)))
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        exec(code, names)  # noqa: S102 - the page's own code
    first, second = capsys.readouterr().out.strip().split("\n", 1)
    assert first == "noted"
    assert "We release on Tuesdays" in second
    listed = client.beta.memory_stores.memories.list(names["store"].id)
    days = ("monday", "wednesday")
    assert [one.path for one in listed] == [f"/helper/ada/sessions/{day}/0001.jsonl" for day in days]
