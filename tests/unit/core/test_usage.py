"""Which memories an event says were used, what is counted of that, and which memories count as unused."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.core.objects.transcript import Event
from memolith.core.objects.usage_record import MemoryUse, UsageRecord
from memolith.core.pipelines.usage import CITED, USES_PER_EVENT_MAX, Use, counted, is_unused, uses
from memolith.core.retention import DAY_US

NOW = 20_000 * DAY_US + 5


def event(type: str, **fields: Any) -> Event:
    return Event("sevt_1", type, NOW, None, fields)


def message(text: str) -> Event:
    return event("agent.message", content=[{"type": "text", "text": text}])


@pytest.mark.parametrize(
    ("said", "places", "is_cited"),
    [
        (event(CITED, path="/deploys.md"), ("/deploys.md",), True),
        (event(CITED, path="deploys"), ("/deploys", "/deploys.md"), True),
        (event("agent.tool_use", name="memory", input={"command": "view", "path": "/memories/a/b.md"}),
         ("/a/b.md", "/memories/a/b.md"), False),
        (event("agent.mcp_tool_use", name="mcp__memolith__read_note", input={"path": "/memories/a/b.md"}),
         ("/a/b.md", "/memories/a/b.md"), False),
        (event("agent.mcp_tool_use", name="mcp__basic-memory__read_note", input={"identifier": "memory://a/b"}),
         ("/a/b", "/a/b.md"), False),
        *((event("agent.mcp_tool_use", name="mcp__memolith__build_context", input={name: "memory://a/b"}),
           ("/a/b", "/a/b.md"), False) for name in ("url", "uri", "memory_url")),
        (message("Done.<oai-mem-citation>\n<citation_entries>\na/b.md:1-4|note=[how]\n</citation_entries>\n"
                 "</oai-mem-citation>"), ("/a/b.md",), True),
    ],
)  # fmt: skip
def test_a_citation_and_a_tool_that_shows_a_memory_are_uses(
    said: Event, places: tuple[str, ...], is_cited: bool
) -> None:
    assert list(uses(said)) == [Use(places, is_cited, NOW)]


@pytest.mark.parametrize(
    "said",
    [
        event("agent.tool_use", name="memory", input={"command": "create", "path": "/memories/a.md", "file_text": ""}),
        event("agent.tool_use", name="bash", input={"command": "view", "path": "/memories/a.md"}),
        event("agent.tool_use", name="memory", input="view /memories/a.md"),
        event("agent.tool_use", name=None, input={"path": 3}),
        event("agent.tool_result", name="memory", input={"command": "view", "path": "/memories/a.md"}),
        event("user.message", content=[{"type": "text", "text": "<oai-mem-citation>a.md:1-2|note=[x]"}]),
        event(CITED, path=["/a"]),
        event(CITED, path="x" * 2_000),
        message("a.md:1-4|note=[outside of a citation]"),
    ],
)
def test_what_shows_no_memory_and_what_others_say_is_no_use(said: Event) -> None:
    assert list(uses(said)) == []


def test_one_event_has_a_hundred_uses_at_most() -> None:
    lines = "\n".join(f"/{number}.md:1-2|note=[]" for number in range(3 * USES_PER_EVENT_MAX))
    assert len(list(uses(message(f"<oai-mem-citation>{lines}</oai-mem-citation>")))) == USES_PER_EVENT_MAX


def test_counts_add_up_and_come_back_from_their_object() -> None:
    before = UsageRecord("memstore_1", 1, 0, 1, 1)
    found = [("mem_a", Use((), True, DAY_US)), ("mem_a", Use((), False, 3 * DAY_US)), ("mem_a", Use((), True, 0))]
    after = counted(before, found, sequence=1, cursors={"sesn_1": {"us-east-1": 2}})
    assert after.memories == {"mem_a": MemoryUse(cited=2, read=1, cited_day=1, read_day=3)}
    assert UsageRecord.from_json(after.to_json()) == after
    assert after.blanked().to_json().count(b"mem_") == after.blanked().to_json().count(b"sesn_") == 0


def test_a_record_of_a_newer_release_is_read_without_what_it_adds() -> None:
    record = UsageRecord("memstore_1", 1, 1, 1, 1, memories={"mem_a": MemoryUse(1, 2, 3, 4)})
    newer = record.to_json().replace(b"[1, 2, 3, 4]", b"[1, 2, 3, 4, 5]").replace(b'"at": 1', b'"at": 1, "new": 2')
    assert UsageRecord.from_json(newer) == record
    with pytest.raises(ValueError, match="cannot be read"):
        UsageRecord.from_json(b'{"schema": "1"}')


def test_a_memory_is_unused_after_so_many_days_in_which_uses_were_counted() -> None:
    def unused(began: int, changed: int, used: int | None) -> bool:
        memories = {} if used is None else {"mem_a": MemoryUse(read=1, read_day=used)}
        usage = UsageRecord("memstore_1", 1, 1, NOW, began * DAY_US, memories=memories)
        return is_unused(usage, "mem_a", changed * DAY_US, 30, NOW)

    assert unused(began=0, changed=0, used=None)
    assert unused(began=0, changed=0, used=19_969)
    assert not unused(began=0, changed=0, used=19_970), "used on a day of which less than thirty days ago"
    assert not unused(began=0, changed=19_980, used=None), "changed since"
    assert not unused(began=19_980, changed=0, used=None), "nothing was counted before"
    assert not is_unused(None, "mem_a", 0, 30, NOW)
