"""Ours: of a model's answer only notes remain that rest on trusted events of the session, and are worth keeping."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.core.memory_conventions import frontmatter
from memolith.core.objects.transcript import Event
from memolith.core.pipelines.cues import slug
from memolith.core.pipelines.extraction import (
    INPUT_MAX_CHARS,
    OMITTED,
    TOOL_MAX_CHARS,
    WRITES_MAX,
    document,
    glean,
)

SESSION = "sesn_useast1_01m83b139sgy7nmp15vwsq4br0"


def event(id: str, text: str = "said", type: str = "user.message", trust: str | None = "u", at: int = 1) -> Event:
    return Event(id, type, at, trust, {"content": [{"type": "text", "text": text}]})


def note(*evidence: str, body: str = "Deploys run on Thursdays.", **given: Any) -> dict[str, Any]:
    made = {"type": "project", "name": "Deploys", "description": "when", "body": body, "why": "said so"}
    return {**made, "how_to_apply": None, "evidence": list(evidence), "update_of": None, **given}


def gleaned(events: list[Event], *notes: dict[str, Any]) -> Any:
    return glean({"notes": list(notes)}, document(SESSION, events), events)


def test_a_note_becomes_a_memory_with_frontmatter_and_the_least_class_of_its_events() -> None:
    found = gleaned([event("a"), event("b", type="agent.message", trust="g")], note("a", "b", name='Say "x": now'))
    [made] = found.notes
    assert made.path.startswith("/project/say-x-now-")
    said = frontmatter(made.content)
    assert (said.name, said.type, said.faults) == ('Say "x": now', "project", ())
    assert "**Why:** said so" in made.content
    assert (made.trust, made.evidence) == ("g", ("a", "b"))
    assert found.dropped == {}


@pytest.mark.parametrize(
    ("events", "given", "reason"),
    [
        ([event("a")], note("z"), "unsupported"),
        ([event("a")], note("a", "z"), "unsupported"),
        ([event("a"), event("s", type="system.message")], note("s"), "unsupported"),
        ([event("a", trust="x")], note("a"), "untrusted"),
        ([event("a", trust=None)], note("a"), "untrusted"),
        ([event("a")], note("a", body="We release tomorrow."), "excl-relative-date"),
        ([event("a")], note("a", body="The key of the forge is [REDACTED:generic-api-key]."), "redacted"),
        ([event("a")], note("a", body="[REDACTED:jwt]"), "redacted"),
    ],
)
def test_a_note_without_trusted_events_or_worth_is_dropped_and_counted(
    events: list[Event], given: dict[str, Any], reason: str
) -> None:
    found = gleaned(events, given)
    assert (found.notes, found.dropped) == ((), {reason: 1})


def test_a_note_that_says_more_than_that_a_secret_was_taken_out_is_kept() -> None:
    body = "The key of the forge is [REDACTED:generic-api-key]. It is rotated by Ada every quarter."
    assert len(gleaned([event("a")], note("a", body=body)).notes) == 1


def test_no_more_than_a_few_notes_of_one_session_remain_and_equal_ones_are_one() -> None:
    notes = [note("a", body=f"Fact number {number}.") for number in range(WRITES_MAX + 3)]
    found = gleaned([event("a")], notes[0], *notes)
    assert len(found.notes) == WRITES_MAX
    assert found.dropped == {"too-many": 3}


def test_what_people_said_goes_into_the_question_first_and_tools_are_cut() -> None:
    tool = event("t", "x" * (TOOL_MAX_CHARS + 1), "agent.tool_result", "x")
    shown = document(SESSION, [event("a"), tool, event("m", "<system-reminder> y"), event("b", type="session.error")])
    assert [row["id"] for row in shown["events"]] == ["a", "t"]
    assert OMITTED in shown["events"][1]["text"]
    said = [event(f"u{number}", "y" * 9_000) for number in range(5)]
    tools = [event(f"t{number}", "x" * 6_000, "agent.tool_result") for number in range(200)]
    full = document(SESSION, [*said, *tools])
    assert {one.id for one in said} <= {row["id"] for row in full["events"]}
    assert "t199" in {row["id"] for row in full["events"]}
    assert "t0" not in {row["id"] for row in full["events"]}
    assert sum(len(row["text"]) for row in full["events"]) <= INPUT_MAX_CHARS


def test_a_path_of_a_long_name_ends_with_a_whole_word() -> None:
    assert slug("The release bot is the only one who writes to the staging database") == (
        "the-release-bot-is-the-only-one-who-writes-to-the-staging"
    )
    assert slug("x" * 70) == "x" * 60
    assert slug("Deploy on Thursdays!") == "deploy-on-thursdays"
