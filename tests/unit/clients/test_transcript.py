"""``memolith transcript``: session files of Claude Code and Codex, imported and pushed, once however often."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.cli.failures import Exit
from memolith.clients.transfer.conversations import (
    FIELDS_MAX,
    TEXT_MAX_CHARS,
    Program,
    after,
    batches,
    read_conversation,
)
from memolith.core.errors import InvalidRequest
from memolith.core.limits import TRANSCRIPT_MAX_BYTES
from memolith.wire.transcript_bodies import read_events
from tests.unit.clients.desk import Desk

FIXTURES = Path(__file__).parent / "transcripts"
CLAUDE, CODEX = FIXTURES / "claude-code.jsonl", FIXTURES / "codex.jsonl"


def told(path: Path, program: Program) -> list[tuple[str, str]]:
    found = []
    for event in read_conversation(path, program).events:
        text = " ".join(block["text"] for block in event.get("content", ()))
        found.append((event["type"], text or event.get("name", "")))
    return found


def test_what_was_said_and_done_in_claude_code_is_read_and_nothing_that_it_keeps_for_itself() -> None:
    assert told(CLAUDE, Program.CLAUDE_CODE) == [
        ("user.message", "From now on we deploy on Thursdays, never on Fridays."),
        ("agent.message", "Understood. I will look at the calendar."),
        ("agent.tool_use", "Bash"),
        ("agent.tool_result", "would deploy engine 1.4"),
        ("agent.thread_message_sent", "Search the docs for the calendar."),
        ("agent.mcp_tool_use", "mcp__docs__search"),
        ("agent.tool_result", "Thursdays"),
        ("user.message", "[Request interrupted by user]"),
    ]
    read = read_conversation(CLAUDE, Program.CLAUDE_CODE)
    assert (read.name, read.unreadable) == ("5f0c7c1e-8f7e-4f0e-9a53-2f4a9f1f6c11", 1), "the last line is cut off"


def test_a_file_that_the_api_refuses_is_named_and_the_others_are_imported(desk: Desk, tmp_path: Path) -> None:
    """Such a session was deleted after it had been imported. The command ended there, with no word about the others."""
    [first] = desk.json("transcript", "import", str(CLAUDE), "--format", "claude-code", "--store", "Team notes")
    desk.backend.client().beta.sessions.delete(first["session"])
    other = tmp_path / "other.jsonl"
    said = {"role": "user", "content": "We deploy on Thursdays."}
    other.write_text(json.dumps({"type": "user", "sessionId": "other", "uuid": "u", "message": said}))
    words = ("transcript", "import", str(CLAUDE), str(other), "--format", "claude-code", "--store", "Team notes")
    code, out, _ = desk.run(*words, "--json")
    refused, imported = json.loads(out)
    assert (code, refused["file"], refused["session"]) == (Exit.IN_PART, str(CLAUDE), first["session"])
    assert "erased" in refused["reason"]
    assert (imported["file"], imported["accepted"]) == (str(other), 1)


def test_what_was_said_and_done_in_codex_is_read_and_nothing_that_it_adds() -> None:
    assert told(CODEX, Program.CODEX) == [
        ("user.message", "I prefer tabs in Go files."),
        ("agent.tool_use", "shell"),
        ("agent.tool_result", '{"output":"main.go\\n","metadata":{"exit_code":0}}'),
        ("agent.tool_use", "apply_patch"),
        ("agent.tool_result", "Success"),
        ("agent.message", "Done: tabs everywhere."),
    ]
    [shell, patch] = [one for one in read_conversation(CODEX, Program.CODEX).events if one["type"] == "agent.tool_use"]
    assert shell["input"] == {"command": ["bash", "-lc", "gofmt -l ."]}
    assert patch["input"] == {"text": "*** Begin Patch\n*** End Patch"}


@pytest.mark.parametrize(("path", "program"), [(CLAUDE, Program.CLAUDE_CODE), (CODEX, Program.CODEX)])
def test_each_event_has_a_name_of_its_own_that_is_the_same_when_the_file_has_grown(
    tmp_path: Path, path: Path, program: Program
) -> None:
    names = [event["client_event_id"] for event in read_conversation(path, program).events]
    assert len(set(names)) == len(names)
    shorter = tmp_path / path.name
    shorter.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    begun = [event["client_event_id"] for event in read_conversation(shorter, program).events]
    assert begun == names[: len(begun)]
    rest = after(read_conversation(path, program).events, begun[-1])
    assert [one["client_event_id"] for one in rest] == names[len(begun) :]


def test_lines_of_an_early_codex_without_payloads_are_read(tmp_path: Path) -> None:
    file = tmp_path / "rollout-early.jsonl"
    lines: list[dict[str, Any]] = [
        {"id": "early", "timestamp": "2025-05-07T17:24:21.597Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    read = read_conversation(file, Program.CODEX)
    assert (read.name, [event["type"] for event in read.events]) == ("early", ["user.message"])


def early_codex(file: Path, *said: tuple[str, str]) -> Path:
    """A file of an early Codex, whose lines have no time: the same words make the same line."""
    lines: list[dict[str, Any]] = [{"id": "early", "timestamp": "2025-05-07T17:24:21.597Z", "instructions": None}]
    lines += [{"type": "message", "role": who, "content": [{"type": "text", "text": text}]} for who, text in said]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_what_is_said_twice_in_the_same_words_is_two_events_to_an_early_codex(tmp_path: Path) -> None:
    """Equal lines had one name, so that every answer but the first was counted as known already, and never stored."""
    talk = [("user", "yes"), ("assistant", "a"), ("user", "yes")]
    events = read_conversation(early_codex(tmp_path / "early.jsonl", *talk), Program.CODEX).events
    names = [event["client_event_id"] for event in events]
    assert len(set(names)) == 3
    begun = read_conversation(early_codex(tmp_path / "early.jsonl", *talk[:2]), Program.CODEX).events
    assert [event["client_event_id"] for event in begun] == names[:2], "they stay as the file grows"


def test_a_copy_of_an_early_codexs_file_names_its_events_alike(tmp_path: Path) -> None:
    """So the file is no part of a name: a file that was moved, or copied with more in it, adds nothing twice."""
    talk = [("user", "yes"), ("assistant", "a"), ("user", "yes")]
    files = [early_codex(tmp_path / name, *talk) for name in ("rollout-1.jsonl", "archived.jsonl")]
    first, second = (read_conversation(file, Program.CODEX).events for file in files)
    assert first == second


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_only_a_line_feed_ends_a_line_of_a_session_file(tmp_path: Path, end: str) -> None:
    """JSON may hold U+2028, U+2029 and U+0085 as they are. Events with one were dropped."""
    file = tmp_path / "pasted.jsonl"
    said = ["one\u2028two", "one\u2029two", "one\u0085two"]
    lines = [
        {"type": "user", "sessionId": "s", "uuid": str(number), "message": {"role": "user", "content": text}}
        for number, text in enumerate(said)
    ]
    file.write_bytes("".join(json.dumps(line, ensure_ascii=False) + end for line in lines).encode())
    read = read_conversation(file, Program.CLAUDE_CODE)
    assert [event["content"][0]["text"] for event in read.events] == said
    assert read.unreadable == 0


def test_what_is_too_large_for_an_event_is_cut_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    blocks = [
        {"type": "tool_result", "tool_use_id": "t", "content": "x" * (TEXT_MAX_CHARS + 5)},
        {"type": "tool_use", "id": "t", "name": "n", "input": {str(n): n for n in range(FIELDS_MAX + 1)}},
    ]
    file.write_text(json.dumps({"type": "assistant", "uuid": "u", "message": {"role": "assistant", "content": blocks}}))
    result, use = read_conversation(file, Program.CLAUDE_CODE).events
    assert result["content"][0]["text"].endswith("\n[5 characters more are left out]")
    assert set(use["input"]) == {"text"}


def test_events_are_sent_in_groups_that_one_call_takes() -> None:
    small: list[dict[str, Any]] = [{"type": "a.b", "n": n} for n in range(1_201)]
    assert [len(group) for group in batches(small)] == [500, 500, 201]
    large: list[dict[str, Any]] = [{"type": "a.b", "text": "x" * 300_000}] * 7
    assert [len(group) for group in batches(large)] == [2, 2, 2, 1]
    assert list(batches([])) == []


WIDE = "\U0001f600"
"""A character that takes twelve bytes of JSON."""

TOO_MUCH: dict[str, Any] = {
    "twenty texts": {str(n): "x" * 60_000 for n in range(20)},
    "one text of wide characters": {"text": WIDE * TEXT_MAX_CHARS},
    "twenty texts of Codex": json.dumps({str(n): "x" * 60_000 for n in range(20)}),
    "a patch of Codex": "*** Begin Patch" + "x" * 1_000_000,
    "thirty thousand objects": {"rows": [[{}] * 30] * 1_000},
    "a number that JSON lacks": {"ratio": float("nan")},
}


def claude_line(name: str, said: object, session: str = "s") -> str:
    return json.dumps({"type": "user", "sessionId": session, "uuid": name, "message": {"content": said}}) + "\n"


def session_with(file: Path, given: object) -> Path:
    """A session file of Claude Code: what a person said, a tool's use with this input, and what a person said then."""
    blocks = [{"type": "tool_use", "id": "t", "name": "n", "input": given}]
    messages = [("user", "before"), ("assistant", blocks), ("user", "after")]
    lines = [
        {"type": who, "sessionId": "s", "uuid": str(number), "message": {"role": who, "content": content}}
        for number, (who, content) in enumerate(messages)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


@pytest.mark.parametrize("given", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_tools_input_that_no_call_takes_is_kept_as_a_text_that_is_cut(tmp_path: Path, given: object) -> None:
    read = read_conversation(session_with(tmp_path / "s.jsonl", given), Program.CLAUDE_CODE)
    assert [event["type"] for event in read.events] == ["user.message", "agent.tool_use", "user.message"]
    [text] = read.events[1]["input"].values()
    assert text.startswith(given[:1_000] if isinstance(given, str) else json.dumps(given, ensure_ascii=False)[:1_000])
    assert text.endswith(" characters more are left out]") is (len(json.dumps(given)) > TEXT_MAX_CHARS)
    for group in batches(read.events):
        read_events(json.dumps({"events": group}).encode(), sent=False)


def test_a_text_of_wide_characters_is_cut_where_an_event_is_full(tmp_path: Path) -> None:
    file = tmp_path / "wide.jsonl"
    said = {"role": "user", "content": WIDE * TEXT_MAX_CHARS}
    file.write_text(json.dumps({"type": "user", "uuid": "u", "message": said}))
    [event] = read_conversation(file, Program.CLAUDE_CODE).events
    kept = event["content"][0]["text"].count(WIDE)
    assert event["content"][0]["text"].endswith(f"\n[{TEXT_MAX_CHARS - kept} characters more are left out]")
    assert 60_000 < kept < TRANSCRIPT_MAX_BYTES // 12


def test_events_with_many_objects_are_sent_in_groups_that_one_call_takes() -> None:
    events = [{"type": "a.b", "input": {"rows": [{}] * 60}} for _ in range(500)]
    groups = list(batches(events))
    assert sum(map(len, groups)) == 500
    for group in groups:
        read_events(json.dumps({"events": group}).encode(), sent=False)


def test_a_file_that_is_no_session_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n")
    with pytest.raises(InvalidRequest, match="is not a session file of codex"):
        read_conversation(file, Program.CODEX)


@pytest.mark.parametrize(
    ("written", "asked"), [(CLAUDE, Program.CODEX), (CODEX, Program.CLAUDE_CODE)], ids=["Claude Code's", "Codex's"]
)
def test_a_file_of_the_other_program_is_refused(written: Path, asked: Program) -> None:
    with pytest.raises(InvalidRequest, match=f"is not a session file of {asked.value}"):
        read_conversation(written, asked)


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ({"type": "summary", "summary": "Engine notes", "leafUuid": "u"}, Program.CLAUDE_CODE),
        ({"type": "of-a-later-release", "sessionId": "s"}, Program.CLAUDE_CODE),
        ({"type": "session_meta", "payload": {"id": "s"}}, Program.CODEX),
        ({"type": "message", "role": "user", "content": []}, Program.CODEX),
    ],
)
def test_a_session_in_which_nothing_was_said_yet_is_a_session(
    tmp_path: Path, line: dict[str, Any], program: Program
) -> None:
    (tmp_path / "begun.jsonl").write_text(json.dumps(line))
    assert read_conversation(tmp_path / "begun.jsonl", program).events == []


# ---- through the API -----------------------------------------------------------------------------------------------


def test_a_file_that_is_imported_again_adds_only_what_was_appended(desk: Desk, tmp_path: Path) -> None:
    grown = tmp_path / "grown.jsonl"
    grown.write_text("".join(CODEX.read_text().splitlines(keepends=True)[:-3]))
    words = ("transcript", "import", "--format", "codex", "--store", desk.store, str(grown))
    [first] = desk.json(*words)
    assert (first["accepted"], first["duplicates"]) == (4, 0)
    shutil.copy(CODEX, grown)
    [second] = desk.json(*words)
    assert (second["session"], second["accepted"], second["duplicates"]) == (first["session"], 2, 4)
    [third] = desk.json(*words)
    assert (third["session"], third["accepted"], third["duplicates"]) == (first["session"], 0, 6)
    assert len(desk.json("transcript", "show", first["session"])) == 6
    assert "I prefer tabs in Go files." in desk.ok("transcript", "show", first["session"])
    assert desk.json("sessions", "show", first["session"])["status"] == "terminated"


def test_an_early_codex_that_was_told_the_same_twice_is_imported_whole_and_once(desk: Desk, tmp_path: Path) -> None:
    talk = [("user", "yes"), ("assistant", "a"), ("user", "yes"), ("assistant", "b"), ("user", "yes")]
    file = early_codex(tmp_path / "early.jsonl", *talk[:3])
    words = ("transcript", "import", "--format", "codex", "--store", desk.store, str(file))
    assert [(row["accepted"], row["duplicates"]) for row in desk.json(*words)] == [(3, 0)]
    [again] = desk.json(*words)
    assert (again["accepted"], again["duplicates"]) == (0, 3)
    session = desk.json("sessions", "begin", desk.store)["id"]
    pushed = ("transcript", "push", "--session", session, "--format", "codex", str(file), "--after-cursor")
    assert desk.json(*pushed)["accepted"] == 3
    early_codex(file, *talk)
    assert [(row["accepted"], row["duplicates"]) for row in desk.json(*words)] == [(2, 3)]
    sent = desk.json(*pushed)
    assert (sent["accepted"], sent["duplicates"]) == (2, 0), "the cursor is the second yes, not the first"


def test_several_files_are_imported_and_one_that_is_none_is_named(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text("nothing\n")
    files = [str(CLAUDE), str(tmp_path / "other.jsonl"), str(tmp_path / "missing.jsonl")]
    code, out, _ = desk.run("transcript", "import", "--format", "claude-code", "--store", desk.store, *files, "--json")
    rows = json.loads(out)
    assert code == Exit.IN_PART
    assert [row.get("accepted") for row in rows] == [8, None, None]
    assert rows[0]["unreadable"] == 1
    assert "is not a session file" in rows[1]["reason"]
    assert rows[2]["reason"] == "No such file or directory"


def test_a_tools_use_that_no_call_takes_ends_no_import(desk: Desk, tmp_path: Path) -> None:
    file = session_with(tmp_path / "s.jsonl", TOO_MUCH["twenty texts"])
    words = ("transcript", "import", "--format", "claude-code", "--store", desk.store, str(file))
    assert [(row["accepted"], row["duplicates"]) for row in desk.json(*words)] == [(3, 0)]
    session = desk.json("sessions", "begin", desk.store)["id"]
    assert desk.json("transcript", "push", "--session", session, str(file))["accepted"] == 3


def test_a_file_that_is_named_twice_makes_one_session(desk: Desk, tmp_path: Path) -> None:
    copied = shutil.copy(CLAUDE, tmp_path / "copy.jsonl")
    files = (str(CLAUDE), str(CLAUDE), str(copied))
    rows = desk.json("transcript", "import", "--format", "claude-code", "--store", desk.store, *files)
    assert len({row["session"] for row in rows}) == 1
    assert [(row["accepted"], row["duplicates"]) for row in rows] == [(8, 0), (0, 8), (0, 8)]


def test_files_of_one_conversation_make_one_session_and_each_event_is_recorded_once(desk: Desk, tmp_path: Path) -> None:
    """Claude Code keeps what a subagent did in another file under the session's id; a resumed one begins as it did."""
    begun = claude_line("1", "Deploy the engine.")
    files = [tmp_path / f"{name}.jsonl" for name in ("s", "agent-1", "resumed")]
    for file, text in zip(
        files, (begun, claude_line("2", "Search."), begun + claude_line("3", "Go on.", "resumed")), strict=True
    ):
        file.write_text(text)
    words = ("transcript", "import", "--format", "claude-code", "--store", desk.store, *map(str, files))
    first, second = desk.json(*words), desk.json(*words)
    assert len({row["session"] for row in first + second}) == 1
    assert [(row["accepted"], row["duplicates"]) for row in first] == [(1, 0), (1, 0), (1, 1)]
    assert [row["accepted"] for row in second] == [0, 0, 0]


def test_a_running_session_is_pushed_after_what_it_has(desk: Desk) -> None:
    session = desk.json("sessions", "begin", desk.store)["id"]
    words = ("transcript", "push", "--session", session, "--format", "claude-code", str(CLAUDE))
    assert desk.json(*words)["accepted"] == 8
    again = desk.json(*words, "--after-cursor")
    assert (again["accepted"], again["duplicates"]) == (0, 0), "nothing was sent"
    assert desk.json(*words)["duplicates"] == 8
    desk.fails(Exit.USAGE, "transcript", "push", "--session", "sesn_x", str(CLAUDE))


def test_a_push_after_the_cursor_with_the_sessions_token_lowers_its_class_by_nothing(
    desk: Desk, tmp_path: Path
) -> None:
    """It listed the last event: a tool's result, with which everything that the session wrote then was a tool's."""
    file = tmp_path / "turn.jsonl"
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "a page of the web"}]
    file.write_text(claude_line("1", "Read the page.") + claude_line("2", result))
    session = desk.json("sessions", "begin", desk.store)
    token = session["token"]
    words = ("transcript", "push", "--session", session["id"], str(file), "--api-key", token)
    assert desk.json(*words)["accepted"] == 2
    file.write_text(file.read_text() + claude_line("3", "Go on."))
    assert desk.json(*words, "--after-cursor")["accepted"] == 1
    desk.ok("put", desk.store, "/learned.md", "--api-key", token, typed=b"We deploy on Thursdays.")
    assert desk.json("log", desk.store, "/learned.md")[0]["trust"] == "agent"


def test_the_memories_that_only_a_session_wrote_are_told_from_those_that_others_wrote_too(desk: Desk) -> None:
    session = desk.json("sessions", "begin", desk.store)
    own = desk.backend.client(api_key=session["token"]).beta.memory_stores.memories
    own.create(desk.store, path="/own.md", content="only mine")
    own.create(desk.store, path="/both.md", content="mine")
    desk.put("/both.md", "and a person's")
    desk.put("/other.md", "a person's")
    rows = desk.json("erasure", "derived", session["id"])
    assert {(row["path"], row["provenance"], row["versions"]) for row in rows} == {
        ("/own.md", "derived", 1),
        ("/both.md", "shared", 1),
    }
    desk.fails(Exit.USAGE, "erasure", "derived", "sesn_x")
