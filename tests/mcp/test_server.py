"""The tools, the prompt and the resources, called by the real client; the rules are those of the API behind them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import TextContent, TextResourceContents

from tests.api.test_limits import LAMBDA_ANSWER_MAX_BYTES
from tests.mcp.calls import every_call
from tests.mcp.conftest import Server
from tests.mcp.notes import put

TOOLS = ["memory", "search_notes", "read_note", "write_note", "remember", "edit_note"]
TOOLS += ["recent_activity", "build_context", "recall", "conflicts", "backlinks", "search_sessions", "list_directory"]
TOOLS += ["memory_versions", "list_proposals", "read_proposal", "propose_edits", "list_memory_projects"]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_every_tool_says_what_it_takes_what_it_gives_and_what_it_may_do(server: Server) -> None:
    tools = {tool.name: tool for tool in server.ask(lambda client: client.list_tools()).tools}
    assert list(tools) == TOOLS
    for tool in tools.values():
        assert tool.description
        assert tool.input_schema["additionalProperties"] is False
        assert all(field.get("description") or "enum" in field for field in tool.input_schema["properties"].values())
        assert (tool.output_schema or {})["properties"]
    hints = {name: tool.annotations for name, tool in tools.items() if tool.annotations is not None}
    writing = {"memory", "write_note", "edit_note"}
    reading = set(TOOLS) - {*writing, "propose_edits", "remember"}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == reading
    assert {name for name, hint in hints.items() if hint.destructive_hint} == writing
    assert {name for name, hint in hints.items() if hint.idempotent_hint} == {*reading, "write_note", "remember"}
    assert all(hint.open_world_hint is False for hint in hints.values())


@pytest.mark.slow
def test_every_tool_answers_its_call_in_words_and_in_structure(server: Server) -> None:
    said = {name: server.call(name, **arguments) for name, arguments in every_call().items()}
    assert set(said) == set(TOOLS)
    assert [name for name, (text, structure, is_error) in said.items() if not text or not structure or is_error] == []


def test_a_note_is_written_read_edited_and_listed(server: Server) -> None:
    assert server.call("write_note", path="/memories/a/b.md", content="one\ntwo\n")[1] == {
        "path": "/memories/a/b.md",
        "outcome": "created",
        "content_sha256": sha256("one\ntwo\n"),
        "redacted": [],
        "staged": None,
    }
    assert not server.call("edit_note", path="/memories/a/b.md", old_str="two", new_str="2")[2]
    note = server.call("read_note", path="/memories/a/b.md")[1] or {}
    assert (note["content"], note["content_sha256"]) == ("one\n2\n", sha256("one\n2\n"))
    listed = server.call("list_directory")[1] or {}
    assert [(entry["path"], entry["type"]) for entry in listed["entries"]] == [("/memories/a", "directory")]
    (entry,) = (server.call("list_directory", path="/memories/a")[1] or {})["entries"]
    assert (entry["path"], entry["type"], entry["content_size_bytes"]) == ("/memories/a/b.md", "note", 6)


def test_what_an_agent_proposes_is_not_in_memory_and_no_tool_decides_it(server: Server) -> None:
    put(server, "/deploys.md", "Deploys go out on Tuesdays.\n")
    edits = [
        {
            "op": "str_replace",
            "path": "/memories/deploys.md",
            "old": "Tuesdays",
            "new": "Thursdays",
            "why": "said twice",
        },
        {"op": "rename", "path": "n/a.md", "to": "/memories/n/b.md"},
    ]
    text, _, is_error = server.call("propose_edits", why="what was said", edits=edits)
    assert is_error and "edits.1.path" in text, "a note that is not there cannot be renamed"
    assert "n/a.md" not in text, "paths can be personal, and errors are logged"
    made = server.call("propose_edits", why="what was said", edits=edits[:1], key="k")[1] or {}
    assert (made["status"], made["edits"][0]["path"]) == ("open", "/memories/deploys.md")
    again = server.call("propose_edits", why="what was said", edits=edits[:1], key="k")[1] or {}
    assert again["proposal_id"] == made["proposal_id"]
    assert server.fresh.paths() == {"/deploys.md": "Deploys go out on Tuesdays.\n"}
    (listed,) = (server.call("list_proposals")[1] or {})["proposals"]
    assert (listed["proposal_id"], listed["edit_count"]) == (made["proposal_id"], 1)
    read = server.call("read_proposal")[1] or {}
    [edit] = read["edits"]
    assert "+Deploys go out on Thursdays." in edit["diff"]
    assert (made["edits"][0]["trust"], edit["trust"], edit["diff_trust"]) == ("agent",) * 3
    assert server.call("read_proposal", proposal_id="prop_none")[2]
    assert not {name for name in TOOLS if "approve" in name or "decide" in name or "reject" in name}
    server.fresh.backend.raw("POST", f"/v1/memory_stores/{server.store_id}/proposals/{made['proposal_id']}/withdraw")
    assert "waits" in server.call("read_proposal")[0]
    assert (server.call("list_proposals", status="withdrawn")[1] or {})["proposals"]


def test_a_proposal_whose_lines_are_too_many_for_an_answer_says_how_to_read_the_others(server: Server) -> None:
    paths = [f"/{number:02}.md" for number in range(20)]
    for path in paths:
        put(server, path, 'a = "ж"\n' * 9_000)
    edits = [{"op": "delete", "path": f"/memories{path}"} for path in paths]
    server.call("propose_edits", why="all is old", edits=edits)
    text, read, is_error = server.call("read_proposal")
    assert not is_error
    assert len(json.dumps(json.dumps({"text": text, "fields": read}, ensure_ascii=False))) < LAMBDA_ANSWER_MAX_BYTES
    shown = (read or {})["edits"]
    assert [edit["path"] for edit in shown] == [f"/memories{path}" for path in paths]
    assert [edit["diff"] is None for edit in shown] == [edit["left_out"] is not None for edit in shown]
    assert shown[0]["diff"] is not None
    assert "read_note shows the text" in shown[-1]["left_out"]


def test_a_note_that_is_there_is_replaced_only_on_what_was_read(server: Server) -> None:
    put(server, "/a", "theirs")
    text, _, is_error = server.call("write_note", path="/memories/a", content="mine")
    assert is_error
    assert "expected_content_sha256" in text
    text, _, is_error = server.call(
        "write_note", path="/memories/a", content="mine", expected_content_sha256=sha256("older")
    )
    assert is_error
    assert server.fresh.paths() == {"/a": "theirs"}
    replaced = server.call("write_note", path="/memories/a", content="mine", expected_content_sha256=sha256("theirs"))
    assert (replaced[1] or {})["outcome"] == "replaced"
    assert server.fresh.paths() == {"/a": "mine"}


def test_a_write_that_is_repeated_changes_nothing_more(server: Server) -> None:
    put(server, "/b", "1")
    for arguments in ({"path": "/memories/a", "content": "1"}, {"path": "/memories/b", "content": "2"}):
        before = {"expected_content_sha256": sha256("1")} if arguments["path"].endswith("b") else {}
        assert not server.call("write_note", **arguments, **before)[2]
        assert (server.call("write_note", **arguments, **before)[1] or {})["outcome"] == "unchanged"
    assert server.fresh.paths() == {"/a": "1", "/b": "2"}
    assert sum(note["changes"] for note in (server.call("recent_activity")[1] or {})["notes"]) == 3


def test_history_is_listed_newest_first(server: Server) -> None:
    put(server, "/a", "1")
    put(server, "/b", "1")
    server.call("write_note", path="/memories/a", content="2", expected_content_sha256=sha256("1"))
    server.call("memory", command="delete", path="/memories/b")
    activity = (server.call("recent_activity")[1] or {})["notes"]
    assert [(row["path"], row["operation"], row["changes"]) for row in activity] == [
        ("/memories/b", "deleted", 2),
        ("/memories/a", "modified", 2),
    ]
    assert all(author.startswith("apikey_") for row in activity for author in row["changed_by"])
    assert len((server.call("recent_activity", limit=1)[1] or {})["notes"]) == 1
    versions = (server.call("memory_versions", path="/memories/a")[1] or {})["versions"]
    assert [row["operation"] for row in versions] == ["modified", "created"]
    assert server.call("memory_versions", path="/memories/b")[2]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_note", {"path": "/memories/none"}, "does not exist"),
        ("read_note", {"path": "/memories/a"}, "not a file"),
        ("read_note", {"path": "/etc/passwd"}, "must start with /memories"),
        ("read_note", {}, "argument path"),
        ("read_note", {"path": "/memories/a", "other": 1}, "argument other"),
        ("list_directory", {"path": "/memories/a/b"}, "not a directory"),
        ("list_directory", {"path": "/memories/none"}, "does not exist"),
        ("recent_activity", {"limit": 101}, "argument limit"),
        ("write_note", {"path": "/memories/a", "content": "x"}, "not a file"),
        ("write_note", {"path": "/memories/a/b/c", "content": "x"}, "is a file"),
        ("write_note", {"path": "/memories/n", "content": "x", "expected_content_sha256": "0" * 64}, "is at"),
        ("memory", {"command": "fly"}, "Unknown command"),
        ("memory", {"command": "create", "path": "/memories/a/b", "file_text": ""}, "already exists"),
    ],
)
def test_what_fails_is_an_error_in_words_and_changes_nothing(
    server: Server, name: str, arguments: dict[str, Any], said: str
) -> None:
    put(server, "/a/b", "1")
    text, structured, is_error = server.call(name, **arguments)
    assert is_error
    assert structured is None
    assert said in text
    assert server.fresh.paths() == {"/a/b": "1"}


def test_notes_are_searched_and_found_with_the_place_that_answers(server: Server) -> None:
    put(server, "/deploys/how.md", "Deploys run on Tuesdays, after the migrations.")
    put(server, "/food.md", "Pizza on Fridays.")
    text, structured, failed = server.call("search_notes", query="When do we deploy?")
    [hit] = (structured or {})["hits"]
    assert not failed
    assert json.loads(text) == structured
    assert (hit["path"], "Tuesdays" in hit["excerpt"]) == ("/memories/deploys/how.md", True)
    assert server.call("read_note", path=hit["path"])[1]["content_sha256"] == hit["content_sha256"]  # type: ignore[index]  # JSON has no type
    nowhere = server.call("search_notes", query="pizza", directory="/memories/deploys")[1]
    assert nowhere == {"hits": []}


def test_a_search_of_notes_can_be_narrowed_to_a_type_tags_and_a_time(server: Server) -> None:
    put(server, "/release.md", "---\ntype: project\ntags: [deploy, weekly]\n---\nDeploys run on Tuesdays.")
    put(server, "/how.md", "Deploys run after the migrations.")

    def found(**narrowed: object) -> list[str]:
        return [hit["path"] for hit in (server.call("search_notes", query="deploys", **narrowed)[1] or {})["hits"]]

    assert len(found(after_date="7d")) == 2
    assert found(type="project") == found(tags=["deploy", "weekly"]) == ["/memories/release.md"]
    assert found(tags=["deploy", "other"]) == []
    text, _, failed = server.call("search_notes", query="deploys", after_date="whenever")
    assert failed and "after_date" in text


def test_a_search_for_nothing_says_so(server: Server) -> None:
    text, structured, failed = server.call("search_notes", query="   ")
    assert (failed, structured) == (True, None)
    assert "query" in text


def test_a_tool_that_is_none_is_an_error_of_the_protocol(server: Server) -> None:
    with pytest.raises(MCPError, match="there are memory, search_notes"):
        server.call("forget_notes", query="x")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({str(number): 0 for number in range(100_000)}, "too many arguments: a tool has at most 64"),
        ({"command": "view", "path": "/memories/a", "view_range": ["x"] * 100_000}, "The argument view_range.0: "),
        ({"command": "view", "path": "/memories/a", "view_range": [1] * 100_000}, "The argument view_range: "),
        ({"command": "view", "path": "/memories/" + "a" * 2_000}, "The argument path: "),
        ({"command": "insert", "path": "/memories/a", "insert_line": 10**30, "insert_text": ""}, "insert_line: "),
    ],
    ids=["names", "faults", "items", "characters", "digits"],
)
def test_arguments_beyond_any_tools_are_told_in_one_line(server: Server, arguments: dict[str, Any], words: str) -> None:
    text, _, is_error = server.call("memory", **arguments)
    assert is_error
    assert words in text
    assert "\n" not in text


def test_what_the_scanner_refuses_is_refused_here(server: Server) -> None:
    put(server, "/a", "x" * 10)
    text, _, is_error = server.call("write_note", path="/memories/big", content="x" * 102_401)
    assert is_error
    assert text.startswith("Refused: ")


def test_memories_are_resources_page_by_page(server: Server) -> None:
    for number in range(105):
        put(server, f"/n/{number:03} ü.md", str(number))
    first = server.ask(lambda client: client.list_resources())
    assert (len(first.resources), first.resources[0].name) == (100, "/n/000 ü.md")
    rest = server.ask(lambda client: client.list_resources(cursor=first.next_cursor))
    assert (len(rest.resources), rest.next_cursor) == (5, None)
    last = rest.resources[-1]
    assert last.uri == f"memolith://{server.store_id}/n/104%20%C3%BC.md"
    (contents,) = server.ask(lambda client: client.read_resource(last.uri)).contents
    assert isinstance(contents, TextResourceContents)
    assert (contents.text, contents.mime_type) == ("104", "text/markdown")
    (template,) = server.ask(lambda client: client.list_resource_templates()).resource_templates
    assert template.uri_template == f"memolith://{server.store_id}/{{+path}}"


@pytest.mark.parametrize(
    "uri", ["memolith://{store}/none", "memolith://memstore_other/a", "file:///etc/passwd", "{store}"]
)
def test_a_resource_that_is_none_of_this_store_is_not_there(server: Server, uri: str) -> None:
    put(server, "/a", "1")
    with pytest.raises(MCPError):
        server.ask(lambda client: client.read_resource(uri.replace("{store}", server.store_id)))


def test_the_guide_is_a_prompt(server: Server) -> None:
    (prompt,) = server.ask(lambda client: client.list_prompts()).prompts
    assert prompt.name == "memory_guide"
    (message,) = server.ask(lambda client: client.get_prompt("memory_guide")).messages
    assert isinstance(message.content, TextContent)
    assert "never an instruction" in message.content.text
    with pytest.raises(MCPError):
        server.ask(lambda client: client.get_prompt("other"))


@pytest.mark.slow
def test_basic_memorys_own_calls_find_the_one_project_and_paths_without_a_slash(server: Server) -> None:
    text, _, failed = server.call("memory", command="create", path="memories/user/editor.md", file_text="uses vim\n")
    assert not failed, text
    assert not server.call("memory", command="view", path="memories/user/editor.md")[2]
    hits = server.call("search_notes", query="vim", project="memories", directory="user")[1] or {}
    assert [hit["path"] for hit in hits["hits"]] == ["/memories/user/editor.md"]
    assert hits["hits"][0]["age"] == "today"
    for path in ("user/editor.md", "memories/user/editor.md", "memory://user/editor.md"):
        note = server.call("read_note", path=path, project=server.store_id)[1] or {}
        assert (note["content"], note["age"], note["caution"]) == ("uses vim\n", "today", None)
    for project in ("memories", server.store_name, ""):
        activity = server.call("recent_activity", timeframe="7d", project=project, depth=1, page=1, page_size=10)[1]
        assert [row["path"] for row in (activity or {})["notes"]] == ["/memories/user/editor.md"]
    assert (server.call("recent_activity", page=2, page_size=10)[1] or {})["notes"] == []


def test_an_edit_and_a_write_take_the_same_short_paths(server: Server) -> None:
    assert not server.call("write_note", path="user/a.md", content="one", project="memories")[2]
    assert not server.call("edit_note", path="user/a.md", old_str="one", new_str="two", project="memories")[2]
    assert server.fresh.paths() == {"/user/a.md": "two"}
    listed = server.call("list_directory", path="user", project="memories")[1] or {}
    assert [entry["path"] for entry in listed["entries"]] == ["/memories/user/a.md"]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read_note", {"path": "a", "project": "elsewhere"}, "This server has one project"),
        ("recent_activity", {"timeframe": "soon"}, "argument timeframe: must be a timeframe such as 7d"),
        ("recent_activity", {"timeframe": "3 years ago"}, "must reach back a year at most"),
        ("recent_activity", {"type": "folder"}, "argument type"),
        ("read_note", {"path": "../../etc/passwd"}, "would escape"),
        ("read_note", {"path": "http://a"}, "does not exist"),
    ],
)
def test_a_wrong_project_timeframe_or_path_is_refused_with_the_rule(
    server: Server, name: str, arguments: dict[str, Any], said: str
) -> None:
    put(server, "/a", "1")
    text, structured, is_error = server.call(name, **arguments)
    assert (is_error, structured) == (True, None)
    assert said in text


def test_a_note_a_hit_an_entry_and_a_version_say_where_their_text_comes_from(server: Server) -> None:
    put(server, "/a.md", "vim is the editor for deployments")
    put(server, "/b/c.md", "another")
    assert (server.call("read_note", path="a.md")[1] or {})["trust"] == "agent"
    assert (server.call("recall", query="vim editor deployments")[1] or {})["memories"][0]["trust"] == "agent"
    entries = (server.call("list_directory")[1] or {})["entries"]
    assert [(one["path"], one["trust"]) for one in entries] == [("/memories/a.md", "agent"), ("/memories/b", None)]
    assert (server.call("search_notes", query="vim")[1] or {})["hits"][0]["trust"] == "agent"
    assert (server.call("memory_versions", path="a.md")[1] or {})["versions"][0]["trust"] == "agent"
    (resource,) = [one for one in server.ask(lambda client: client.list_resources()).resources if one.name == "/a.md"]
    (contents,) = server.ask(lambda client: client.read_resource(resource.uri)).contents
    assert (resource.meta, contents.meta) == ({"memolith/trust": "agent"}, {"memolith/trust": "agent"})


def test_a_note_that_is_older_than_a_day_says_how_old_it_is_and_what_to_verify(server: Server) -> None:
    put(server, "/a.md", "vim")
    server.clock.ahead_us = 47 * 86_400_000_000
    note = server.call("read_note", path="a.md")[1] or {}
    assert note["age"] == "47 days ago"
    assert "47 days old" in note["caution"]
    assert "not live state" in note["caution"]
    assert (server.call("search_notes", query="vim")[1] or {})["hits"][0]["age"] == "47 days ago"
