"""A part of a transcript that cannot be read: whoever needs it is told, and nothing else waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memolith.adapters.memory import MemoryQueue
from memolith.app.api.transcripts import EventFilter
from memolith.core.errors import Damaged
from tests.api.dreams.stage import TEXTS, Stage, choose
from tests.support.rebuilds import Operator
from tests.unit.app.api.test_automatic import RULE, another_process, dream, look, open_proposals, say, told, wait
from tests.unit.app.api.test_usage import begin, cite
from tests.unit.app.erasure.test_unreadable_objects import part_of, spoil
from tests.unit.app.scene import AWAY, HOME


@pytest.fixture
def stage() -> Stage:
    return Stage()


def nonsense(found: Any) -> Any:
    return replace(found, body=b"\x00nonsense", size_bytes=9)


def damage(stage: Stage, session_id: str, *regions: str) -> str:
    """Put nonsense over the part of a session, in all regions or these; return its key."""
    key = part_of(stage.scene, session_id)
    for region in regions or (HOME, AWAY):
        spoil(stage.scene, region, key, nonsense)
    return key


def lose(stage: Stage, session_id: str) -> str:
    key = part_of(stage.scene, session_id)
    for region in (HOME, AWAY):
        stage.scene.cloud.buckets.damage(region, key, None)
    return key


def events(stage: Stage, session_id: str) -> list[Any]:
    page = stage.memolith.transcripts.page(stage.scene.call(), session_id, filter=EventFilter(), limit=9, after=None)
    return list(page.items)


@pytest.mark.parametrize("spoiled", [damage, lose])
def test_a_part_that_no_region_has_whole_is_called_damaged_by_its_key(
    stage: Stage, spoiled: Callable[[Stage, str], str]
) -> None:
    session_id = told(stage)
    key = spoiled(stage, session_id)
    with pytest.raises(Damaged, match="delete the session") as told_so:
        events(stage, session_id)
    assert (told_so.value.object, told_so.value.region) == (key, HOME)
    assert stage.scene.cloud.metrics.total("objects_damaged") > 0


def test_a_part_that_is_damaged_here_is_read_where_it_is_whole(stage: Stage) -> None:
    session_id = told(stage)
    damage(stage, session_id, HOME)
    assert [one.type for one in events(stage, session_id)] == ["user.message"]
    assert stage.scene.cloud.metrics.total("objects_damaged") == 1


def test_a_search_of_conversations_passes_over_a_damaged_part_and_says_that_it_did_not_read_all(stage: Stage) -> None:
    damaged, whole = told(stage), told(stage)
    damage(stage, damaged)
    found = stage.memolith.transcript_search.search(stage.scene.call(), query="Thursdays", limit=9)
    assert ([one.record.session_id for one in found.hits], found.truncated) == ([whole], True)


def test_events_are_recorded_beside_a_damaged_part_of_which_the_rebuilt_index_has_no_row(stage: Stage) -> None:
    """Its number is taken all the same."""
    session_id = told(stage)
    damage(stage, session_id)
    Operator(stage.scene.cloud, MemoryQueue()).run()
    say(stage, session_id, RULE)
    assert len(events(stage, session_id)) == 1


# ---- pipelines -------------------------------------------------------------------------------------------------------


def test_a_session_that_cannot_be_read_is_tried_three_times_and_holds_up_no_other(stage: Stage) -> None:
    choose(stage, auto_extract="propose")
    damage(stage, told(stage))
    whole = told(stage)
    wait(stage, 7)
    for number, came_of_it in enumerate(({"proposed": 1}, {"up_to_date": 1}, {"up_to_date": 1})):
        done = look(stage, another_process(stage))
        assert (type(done.failure), done.extracted) == (Damaged, came_of_it), number
        wait(stage, 1.1)
    done = look(stage, another_process(stage))
    assert (done.failure, done.extracted) == (None, {"retry_exhausted": 1, "up_to_date": 1})
    assert [one.proposed_by for one in open_proposals(stage)] == [f"session:{whole}"]


def test_a_dream_that_was_asked_for_about_a_session_that_cannot_be_read_fails_and_names_it(stage: Stage) -> None:
    stage.fill()
    session_id = told(stage)
    damage(stage, session_id)
    asked = stage.update(more=[{"type": "sessions", "session_ids": [session_id]}])
    over = stage.done(asked)
    assert (over.status, over.error.type) == ("failed", "input_session_unavailable")
    assert session_id in over.error.message
    assert stage.texts() == TEXTS
    assert stage.done(stage.update()).status == "completed", "the store's next dream does not wait for it"


def test_a_dream_that_a_store_begins_by_itself_leaves_out_the_session_that_cannot_be_read(stage: Stage) -> None:
    """A failed one would be handed it again, every day."""
    choose(stage, auto_dream="write", dream_min_sessions=1)
    damage(stage, told(stage, "Please remember that the release branch is cut on Mondays."))
    told(stage)
    over = dream(stage)
    assert (over.status, over.model_extra["x_memolith"]["dropped"]) == ("completed", ["unreadable_session"])
    written = str(stage.texts())
    assert ("Thursdays" in written, "Mondays" in written) == (True, False)


def test_a_part_that_cannot_be_read_is_passed_over_where_uses_are_counted(stage: Stage) -> None:
    stage.fill({"/a.md": "# Deploys\n\nOn Tuesdays.\n"})
    choose(stage, usage="count", auto_extract="propose")
    damaged, whole = begin(stage), begin(stage)
    for session_id in (damaged, whole):
        cite(stage, session_id, "/a.md")
    stage.scene.deliver()
    damage(stage, damaged)
    stage.memolith.sessions.archive(stage.scene.call(), told(stage))
    stage.scene.deliver()
    done = look(stage)
    assert (done.uses, done.extracted) == (1, {"proposed": 1})
