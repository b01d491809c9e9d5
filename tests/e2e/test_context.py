"""Ours: what a session's agent is told of its memory is the same bytes in both regions, whoever writes meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from anthropic import Anthropic

from scripts.agents import client
from tests.e2e.conftest import begin, knows, until

pytestmark = pytest.mark.e2e

WRITES = 6


def test_a_context_is_the_same_byte_for_byte_in_both_regions_while_others_write(
    dev: dict[str, Any], sdk: dict[str, Anthropic], regions: tuple[str, ...], store_id: str
) -> None:
    index = "".join(f"- [m{number}](m{number}.md): what is in it\n" for number in range(500))
    memories = {region: sdk[region].beta.memory_stores.memories for region in regions[:2]}
    made = memories[regions[0]].create(store_id, path="/MEMORY.md", content=index)
    other = sdk[regions[0]].beta.memory_stores.create(name="without an index").id
    note = "---\nname: Deploys\ndescription: when we deploy\ntype: project\n---\nOn Tuesdays.\n"
    memories[regions[0]].create(other, path="/deploys.md", content=note)
    for region in regions[:2]:
        until(lambda region=region: all(knows(sdk[region], one) for one in (store_id, other)))  # type: ignore[misc]  # a lambda with a default has no type
    session = begin(sdk[regions[0]], {"memory_store_id": store_id}, {"memory_store_id": other, "access": "read_only"})
    first = context(dev, regions[0], session)["text"]
    until(lambda: context(dev, regions[1], session)["text"] == first)

    def write(number: int) -> None:
        here = memories[regions[number % 2]]
        here.create(other, path=f"/new-{number}.md", content=note)
        here.update(made.id, memory_store_id=store_id, content=f"- [n{number}](n{number}.md): other\n")

    with ThreadPoolExecutor(2) as pool:
        writing = [pool.submit(write, number) for number in range(WRITES)]
        texts = {context(dev, regions[number % 2], session)["text"].encode() for number in range(WRITES)}
        for one in writing:
            one.result()
    texts |= {context(dev, region, session)["text"].encode() for region in regions[:2]}
    assert texts == {first.encode()}
    assert_cut(first, index)
    refreshed = context(dev, regions[0], session, refresh=True)["text"]
    written = memories[regions[0]].retrieve(made.id, memory_store_id=store_id, view="full").content
    assert written is not None and written.endswith(": other\n") and written.strip() in refreshed
    assert "WARNING" not in refreshed


def assert_cut(text: str, index: str) -> None:
    """200 of 500 lines, and the words that say what is missing."""
    assert "- [m199](m199.md): what is in it\n</memory_index>" in text
    assert "m200.md" not in text
    warning = f"WARNING: MEMORY.md is 500 lines and {len(index):,} bytes (limits: 200 lines, 25,000 bytes). "
    assert f"{warning}Only the first 200 lines were loaded; 300 lines and 300 entries are missing." in text


def context(dev: dict[str, Any], region: str, session: dict[str, Any], **body: Any) -> dict[str, Any]:
    """As the session's agent asks for it, with its own token."""
    asking = client(dev["regions"][region]["api_url"], session["token"])
    answer: Any = asking.post(f"/v1/sessions/{session['id']}/context", cast_to=object, body=body)
    return answer  # type: ignore[no-any-return]  # JSON has no type
