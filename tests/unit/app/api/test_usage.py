"""Uses of memories from a session's citation to the place of a memory in what is recalled, and to its erasure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.memory import MemoryQueue
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.api.transcripts import EventDraft
from memolith.app.api.usage import EVERY_US, Citation, Heard, UsageCounts, UsedMemory
from memolith.app.erasure.count_removal import KEPT
from memolith.app.index.transcript_log import TranscriptLog
from memolith.app.kernel.results import StoreToAttach
from memolith.app.pipelines.usage_log import UsageLog
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.core.errors import Unavailable
from memolith.core.objects.usage_record import KIND, UsageRecord
from memolith.core.rows.identity import StoreRow
from tests.api.dreams.stage import Stage, choose
from tests.support.rebuilds import Operator
from tests.unit.app.replication.test_watermark import empty, settle, tick
from tests.unit.app.scene import AWAY, HOME

DAY_S = 86_400
TEXTS = {
    "/a.md": "# Deploys\n\nDeploys of the engine go out on Tuesdays, after the standup.\n",
    "/b.md": "# Deploying\n\nDeploys of the engine go out on Thursdays.\n",
    "/other.md": "# Lunch\n\nThere is soup.\n",
}
QUESTION = "when do deploys of the engine go out?"


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.fill(TEXTS)
    return made


def begin(stage: Stage, access: str = "read_only") -> str:
    attached = [StoreToAttach(stage.scene.store, access, "")]
    made = stage.memolith.sessions.create(stage.scene.call(), attached, title=None, metadata={}, token_lifetime_s=3_600)
    return made.record.session_id


def cite(stage: Stage, session_id: str, *paths: str, memolith: Memolith | None = None, **more: Any) -> int:
    usage = (memolith or stage.memolith).usage
    receipt = usage.cite(stage.scene.call(), session_id, [Citation(path) for path in paths], **more)
    return len(receipt.events)


def look(stage: Stage, hours: float = 0) -> int | None:
    stage.scene.deliver()
    stage.scene.clock.advance(hours * 3_600)
    uses = stage.memolith.automatic.run(stage.scene.store).uses
    stage.scene.deliver()
    stage.scene.clock.advance(61)  # a process goes by what it read for a minute
    return uses


def shown(stage: Stage, memolith: Memolith | None = None, **asked: Any) -> tuple[UsedMemory, ...]:
    asked = {"unused": False, "limit": 100, "after": None, **asked}
    return (memolith or stage.memolith).usage.page(stage.scene.call(), stage.scene.store, **asked).items


def cited(stage: Stage, memolith: Memolith | None = None) -> dict[str, tuple[int, int]]:
    return {one.row.path or "": (one.use.cited, one.use.read) for one in shown(stage, memolith)}


def recalled(stage: Stage) -> list[str]:
    asked: dict[str, Any] = {"recent_tools": [], "loaded": [], "limit": 5, "max_tokens": 4_000}
    found = stage.memolith.recall.recall(stage.scene.call(), stage.scene.store, query=QUESTION, **asked)
    return [one.path for one in found.nodes]


def records(stage: Stage, region: str = HOME) -> list[UsageRecord]:
    buckets = stage.scene.cloud.buckets
    keys = [key for key in buckets.page(region, "", None, 10_000).keys if f"/job/{stage.scene.store}/{KIND}/" in key]
    return [UsageRecord.from_json(one.body) for key in keys if (one := buckets.current(region, key)) is not None]


# ---- counting --------------------------------------------------------------------------------------------------------


def test_what_a_session_cites_and_reads_is_counted_once_and_shown_with_its_day(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    assert cite(stage, session_id, "/a.md", "/none.md", message_id="turn-1") == 2
    assert cite(stage, session_id, "/a.md", "/none.md", message_id="turn-1") == 0, "the same message says the same"
    assert cite(stage, session_id, "/a.md", message_id="turn-2") == 1
    read = EventDraft("agent.tool_use", {"name": "memory", "input": {"command": "view", "path": "/memories/b.md"}})
    stage.memolith.transcripts.record(stage.scene.call(), session_id, [read])
    assert look(stage) == 3
    assert cited(stage) == {"/a.md": (2, 0), "/b.md": (0, 1), "/other.md": (0, 0)}
    assert {one.counted_since for one in shown(stage)} == {records(stage)[0].at}
    assert look(stage, hours=7) is None, "nothing was said since"
    assert len(records(stage)) == 1
    cite(stage, session_id, "/b.md")
    assert [look(stage), look(stage)] == [1, None]
    assert cited(stage) == {"/a.md": (2, 0), "/b.md": (1, 1), "/other.md": (0, 0)}
    cite(stage, session_id, "/b.md", message_id="turn-3")
    assert look(stage) is None, "every six hours at most"
    assert look(stage, hours=EVERY_US / 3.6e9) == 1


def test_uses_are_counted_again_once_a_clock_that_was_ahead_is_set_right(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    cite(stage, session_id, "/a.md", message_id="turn-1")
    stage.scene.clock.advance(2 * DAY_S)
    assert look(stage) == 1
    stage.scene.clock.advance(-2 * DAY_S)
    cite(stage, session_id, "/a.md", message_id="turn-2")
    assert look(stage) == 1


def test_a_citation_that_two_regions_were_sent_counts_once_and_both_show_the_count(stage: Stage) -> None:
    choose(stage, usage="count")
    stage.scene.deliver()
    session_id = begin(stage)
    stage.scene.deliver()
    away = stage.scene.at(AWAY)
    cite(stage, session_id, "/a.md")
    cite(stage, session_id, "/a.md", "/b.md", memolith=away)
    assert look(stage) == 2
    assert cited(stage) == cited(stage, away) == {"/a.md": (1, 0), "/b.md": (1, 0), "/other.md": (0, 0)}


def held_back(stage: Stage, session_id: str, path: str) -> list[Any]:
    """Cite in AWAY; return what brings the citation here once it is given back to the cloud."""
    cite(stage, session_id, path, memolith=stage.scene.at(AWAY))
    held, stage.scene.cloud.pending[:] = list(stage.scene.cloud.pending), []
    return held


def test_a_citation_counts_once_though_the_part_that_has_it_first_arrives_after_a_count(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    stage.scene.deliver()
    late = held_back(stage, session_id, "/a.md")
    stage.scene.clock.advance(1)
    cite(stage, session_id, "/a.md")
    assert look(stage) == 1
    stage.scene.cloud.pending += late
    assert look(stage, hours=7) == 0, "the late part has nothing that was not counted"
    cite(stage, session_id, "/b.md", memolith=stage.scene.at(AWAY))
    assert look(stage, hours=7) == 1
    assert cited(stage) == {"/a.md": (1, 0), "/b.md": (1, 0), "/other.md": (0, 0)}


def test_a_citation_counts_once_though_the_part_that_has_it_first_waits_for_the_one_before_it(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    stage.scene.deliver()
    late, held = held_back(stage, session_id, "/b.md"), held_back(stage, session_id, "/a.md")
    stage.scene.clock.advance(1)
    cite(stage, session_id, "/a.md")
    stage.scene.cloud.pending += held
    assert look(stage) == 1, "here it is in a part that can be counted"
    stage.scene.cloud.pending += late
    assert look(stage, hours=7) == 1
    assert cited(stage) == {"/a.md": (1, 0), "/b.md": (1, 0), "/other.md": (0, 0)}


def test_a_part_that_arrives_before_an_earlier_one_is_counted_after_it(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    for path in ("/a.md", "/b.md"):
        cite(stage, session_id, path)
    region = stage.scene.cloud.sites[HOME].region
    log, view = TranscriptLog(region), region.view([StoreRow.key(stage.scene.store)])
    counts = UsageCounts(region, log, UsageLog(region))
    first, second = log.rows(view, stage.workspace, session_id)
    store = StoreRow.from_attributes(view.rows[StoreRow.key(stage.scene.store)])
    assert counts.count(view, store, [Heard(session_id, [second])]) == 0
    assert counts.count(view, store, [Heard(session_id, [first, second])]) == 2
    assert cited(stage) == {"/a.md": (1, 0), "/b.md": (1, 0), "/other.md": (0, 0)}


@pytest.mark.parametrize("noticed", [False, True])
def test_a_part_counts_once_though_the_table_with_its_session_was_emptied_and_rebuilt(
    stage: Stage, noticed: bool
) -> None:
    choose(stage, usage="count")
    cite(stage, begin(stage), "/a.md")
    assert look(stage) == 1
    settle(stage.scene)
    empty(stage.scene, "keys")
    cite(stage, begin(stage), "/b.md")
    if noticed:
        tick(stage.scene, HOME)
    assert look(stage, hours=7) is None, "nothing is counted by a table that lacks sessions"
    Operator(stage.scene.cloud, MemoryQueue()).run()
    assert look(stage) == 1
    assert cited(stage) == {"/a.md": (1, 0), "/b.md": (1, 0), "/other.md": (0, 0)}


def test_a_use_is_not_passed_over_because_the_table_of_paths_was_emptied_when_it_was_counted(stage: Stage) -> None:
    choose(stage, usage="count")
    cite(stage, begin(stage), "/a.md")
    settle(stage.scene)
    empty(stage.scene, "paths")
    with pytest.raises(Unavailable, match="emptied"):
        look(stage)
    assert records(stage) == []
    Operator(stage.scene.cloud, MemoryQueue()).run()
    assert look(stage) == 1
    assert cited(stage)["/a.md"] == (1, 0)


def test_of_two_workers_that_count_the_same_one_counts(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    cite(stage, session_id, "/a.md")
    stage.scene.deliver()
    region = stage.scene.cloud.sites[HOME].region
    other = Memolith(region, LettingAllThrough(), stage.scene.cloud.signing, SqlitePacks(), models=stage.model)
    ran: list[int | None] = []

    def meanwhile(call: Any, act: Any) -> Any:
        if call.name == "objects.put_if_absent" and not ran:
            ran.append(None)
            stage.scene.clock.advance(1)
            ran[0] = other.automatic.run(stage.scene.store).uses
        return act()

    with stage.scene.intercepted_by(meanwhile):
        assert stage.memolith.automatic.run(stage.scene.store).uses is None
    assert ran == [1]
    stage.scene.clock.advance(61)
    assert cited(stage)["/a.md"] == (1, 0)
    assert len(records(stage)) == 1


def test_a_store_without_the_policy_is_not_counted_and_its_recall_reads_no_counts(stage: Stage) -> None:
    session_id = begin(stage)
    cite(stage, session_id, "/a.md")
    assert look(stage) is None
    assert records(stage) == []
    calls: list[str] = []

    def note(call: Any, act: Any) -> Any:
        calls.append(f"{call.name} {' '.join(call.subjects)}")
        return act()

    recalled(stage)
    with stage.scene.intercepted_by(note):
        recalled(stage)
        answer = shown(stage)
    assert [one.counted_since for one in answer] == [None] * 3
    assert not [one for one in calls if "/job/" in one or one.startswith("objects.list")]


# ---- what follows ----------------------------------------------------------------------------------------------------


def test_a_memory_that_is_not_used_is_recalled_after_one_that_is_nearly_as_good_and_stays(stage: Stage) -> None:
    choose(stage, usage="count", unused_days=30)
    look(stage)
    before = recalled(stage)
    assert sorted(before) == ["/a.md", "/b.md"]
    last = before[-1]
    stage.scene.clock.advance(29 * DAY_S)
    assert recalled(stage) == before, "so far nothing counts as unused"
    later = begin(stage)
    cite(stage, later, last)
    assert look(stage) == 1
    stage.scene.clock.advance(3 * DAY_S)
    assert recalled(stage) == [last, before[0]]
    nodes = stage.memolith.recall.recall(
        stage.scene.call(), stage.scene.store, query=QUESTION, recent_tools=[], loaded=[], limit=5, max_tokens=4_000
    ).nodes
    assert ["not used for 30 days or more" in one.why for one in nodes] == [False, True]
    unused = [one.row.path for one in shown(stage, unused=True)]
    assert unused == sorted({"/other.md", before[0]})
    assert set(stage.texts()) == set(TEXTS), "nothing was deleted"


def test_an_edit_makes_a_memory_no_longer_unused(stage: Stage) -> None:
    choose(stage, usage="count", unused_days=30)
    look(stage)
    stage.scene.clock.advance(40 * DAY_S)
    assert len(shown(stage, unused=True)) == 3
    memory = next(one.row for one in shown(stage) if one.row.path == "/a.md")
    stage.client.beta.memory_stores.memories.update(
        memory.memory_id, memory_store_id=stage.scene.store, content="Deploys of the engine go out daily.\n"
    )
    assert [one.row.path for one in shown(stage, unused=True)] == ["/b.md", "/other.md"]


# ---- erasure ---------------------------------------------------------------------------------------------------------


def test_what_a_citation_says_is_erased_with_its_session_and_the_counts_name_the_session_no_more(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    note = Citation("/a.md", 1, 2, "tells of Ada's holidays")
    stage.memolith.usage.cite(stage.scene.call(), session_id, [note])
    assert look(stage) == 1
    stage.memolith.sessions.delete(stage.scene.call(), session_id)
    other = begin(stage)
    cite(stage, other, "/b.md")
    assert look(stage, hours=7) == 1
    keys = stage.scene.cloud.buckets.page(HOME, "", None, 10_000).keys
    stored = [one.body for key in keys if (one := stage.scene.cloud.buckets.current(HOME, key)) is not None]
    assert not [body for body in stored if b"holidays" in body]
    assert session_id not in records(stage)[-1].cursors
    assert cited(stage)["/a.md"] == (1, 0), "that it was used stays"


def counted_and_erased(stage: Stage) -> UsageRecord:
    """Count, then delete the store and wait until it is erased; return what was counted."""
    scene = stage.scene
    choose(stage, usage="count")
    cite(stage, begin(stage), "/a.md")
    look(stage)
    [record] = records(stage)
    assert [len(one.memories) for one in (record, *records(stage, AWAY))] == [1, 1]
    stage.memolith.stores.delete(scene.call(), scene.store)
    scene.deliver()
    days(stage, 8)
    return record


def days(stage: Stage, count: int) -> None:
    for _ in range(count):
        stage.scene.clock.advance(DAY_S)
        for region in (HOME, AWAY):
            stage.scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
        stage.scene.deliver()


def test_the_counts_of_a_store_are_erased_with_it_in_every_region(stage: Stage) -> None:
    counted_and_erased(stage)
    left = [*records(stage), *records(stage, AWAY)]
    assert left and not [one for one in left if one.has_counts]


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_counts_that_come_long_after_their_stores_erasure_are_erased(stage: Stage, region: str) -> None:
    late = replace(counted_and_erased(stage), sequence=9)
    stage.scene.cloud.sites[region].region.objects.put_if_absent(str(late.key(region)), late.to_json(), {})
    assert [one.has_counts for one in records(stage, region) if one.sequence == 9] == [True]
    stage.scene.deliver()
    days(stage, 1)
    left = [*records(stage), *records(stage, AWAY)]
    assert len(left) == 4 and not [one for one in left if one.has_counts]


def test_of_old_counts_the_newest_stay_in_every_region_and_say_the_same(stage: Stage) -> None:
    choose(stage, usage="count")
    session_id = begin(stage)
    for number in range(KEPT + 5):
        cite(stage, session_id, "/a.md", message_id=str(number))
        assert look(stage, hours=7) == 1
    stage.scene.deliver()
    before = cited(stage)
    assert len(records(stage)) == len(records(stage, AWAY)) == KEPT + 5
    days(stage, 1)
    assert [one.sequence for one in records(stage)] == list(range(6, KEPT + 6))
    assert records(stage, AWAY) == records(stage)
    assert cited(stage) == before == {"/a.md": (KEPT + 5, 0), "/b.md": (0, 0), "/other.md": (0, 0)}
    cite(stage, session_id, "/a.md", message_id="once more")
    assert look(stage, hours=7) == 1
    assert records(stage)[-1].sequence == KEPT + 6
