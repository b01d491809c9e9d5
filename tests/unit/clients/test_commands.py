"""Stores, memories and sessions from the command line: with the real SDK over HTTP, also as ``memolith serve`` has
it.
"""

from __future__ import annotations

import json
import re
from inspect import signature

import pytest

from memolith.clients.api.client import ApiClient
from memolith.clients.cli import cat, rm, stores
from memolith.clients.cli.api_client import below
from memolith.clients.cli.failures import Exit
from tests.unit.clients.desk import Desk

NOBODY = "memstore_useast1_01m80gqgrfyn8361t51thggc0e"


# ---- stores -------------------------------------------------------------------------------------------------------


def test_the_help_of_an_update_says_all_that_it_changes() -> None:
    said = (stores.update.__doc__ or "").partition("\n\n")[0].replace("\n    ", " ")
    options = [name for name in signature(stores.update).parameters if name not in ("store", "url", "key", "as_json")]
    assert len(options) >= 8
    assert [name for name in options if name.replace("_", " ") not in said] == []


def test_a_store_is_created_listed_shown_changed_archived_and_deleted(desk: Desk) -> None:
    store = desk.ok("stores", "create", "Other", "--metadata", "team=core", "--metadata", "tier=1").strip()
    assert {row["id"] for row in desk.json("stores", "list")} == {desk.store, store}
    assert "core" in desk.ok("stores", "show", store)
    changed = desk.json("stores", "update", store, "--name", "Another", "--metadata", "tier=")
    assert (changed["name"], changed["metadata"]) == ("Another", {"team": "core"})
    assert desk.json("stores", "archive", store, "--yes")["archived_at"] is not None
    assert [row["id"] for row in desk.json("stores", "list")] == [desk.store]
    assert len(desk.json("stores", "list", "--archived")) == 2
    assert desk.json("stores", "delete", store, "-y")["id"] == store
    assert "was not found" in desk.fails(Exit.NOT_FOUND, "stores", "show", store)


def test_a_store_is_told_what_pipelines_may_do_with_it(desk: Desk) -> None:
    words = ["--pipelines", "dreams=propose", "--pipelines", "max_tokens=20000"]
    changed = desk.json("stores", "update", desk.store, *words)["pipelines"]
    assert (changed["dreams"], changed["max_tokens"], changed["extraction"]) == ("propose", 20_000, "allow")
    assert desk.json("stores", "show", desk.store)["pipelines"] == changed
    assert "pipelines.dreams" in desk.fails(Exit.FAILED, "stores", "update", desk.store, "--pipelines", "dreams=maybe")
    assert "--pipelines" in desk.fails(Exit.USAGE, "stores", "update", desk.store, "--pipelines", "dreams")
    assert "nothing to change" in desk.fails(Exit.USAGE, "stores", "update", desk.store)


def test_the_graph_is_in_order_by_a_name_and_observations_by_what_they_state(desk: Desk) -> None:
    desk.put("/ada.md", "# Ada\n\n- [fact] counts #math\n- knows [[Charles]]\n- wrote [[Note G]]\n")
    desk.put("/charles.md", "# Charles\n")
    shown = desk.ok("graph", desk.store, "Ada", "--direction", "out")
    assert "1  /charles.md  Charles" in shown
    assert "/ada.md:4: knows /charles.md" in shown and "/ada.md:5: wrote [[Note G]]" in shown
    back = desk.json("graph", desk.store, "charles.md", "-d", "in")
    assert [node["title"] for node in back["nodes"]] == ["Charles", "Ada"]
    assert desk.ok("observations", desk.store, "-c", "fact").strip() == "/ada.md:3: [fact] counts #math"
    desk.put("/one.md", "# Twice\n")
    desk.put("/two.md", "# Twice\n")
    assert "/one.md, /two.md" in desk.fails(Exit.NOT_FOUND, "graph", desk.store, "Twice")
    assert "was not found" in desk.fails(Exit.NOT_FOUND, "graph", desk.store, "Nobody")


def test_a_path_at_fault_is_called_so_by_commands_that_look_for_it(desk: Desk) -> None:
    for command in ("put", "cat", "rm", "edit"):
        assert "error: path: must" in desk.fails(Exit.USAGE, command, desk.store, "/a/../b"), command


@pytest.mark.slow
def test_both_sides_of_a_contradiction_are_shown_with_their_time_and_author(desk: Desk) -> None:
    desk.put("/plan.md", "---\nvalid_from: 2026-01-01\n---\n\n# Plan\n\n- [day] We deploy on Thursdays\n")
    desk.put("/ops/b.md", "- [day] [[Plan]]: we deploy on Fridays\n")
    shown = desk.ok("observations", desk.store, "--conflicts")
    assert "/plan.md:7: [day] We deploy on Thursdays  [2026-01-01, )" in shown
    assert "/ops/b.md:1: [day] [[Plan]]: we deploy on Fridays\n    agent, today, by apikey_" in shown
    assert len(desk.json("observations", desk.store, "--conflicts", "--in", "/ops/")["conflicts"]) == 1
    assert desk.ok("observations", desk.store, "--conflicts", "--superseded") == ""
    [one] = desk.json("conflicts", "list", desk.store)["conflicts"]
    assert "(disputed)" in desk.ok("observations", desk.store, "--category", "day")
    assert "must name one of conf_" in desk.fails(
        Exit.USAGE, "conflicts", "resolve", desk.store, "no", "--keep", "both"
    )
    keep = one["sides"][0]["statement_id"]
    shown = desk.ok("conflicts", "resolve", desk.store, one["id"][:12], "--keep", keep[:12])
    assert f"resolved: {keep}, by apikey_" in shown
    assert desk.ok("conflicts", "list", desk.store) == ""
    assert f"resolved: {keep}" in desk.ok("conflicts", "list", desk.store, "--status", "resolved")
    again = desk.json("conflicts", "resolve", desk.store, one["id"], "--keep", keep)
    assert (again["keep"], again["conflict_id"]) == (keep, one["id"])
    assert "already" in desk.fails(Exit.FAILED, "conflicts", "resolve", desk.store, one["id"], "--keep", "both")
    assert "(disputed)" not in desk.ok("observations", desk.store, "--category", "day")
    assert "--conflicts" in desk.fails(Exit.USAGE, "observations", desk.store, "--in", "/ops/")
    assert "--conflicts" in desk.fails(Exit.USAGE, "observations", desk.store, "--conflicts", "-c", "day")


@pytest.mark.slow
def test_a_conflict_behind_a_hundred_newer_ones_is_resolved_in_its_folder(desk: Desk) -> None:
    desk.put("/gateway.md", "# Gateway\n")
    desk.put("/decisions/a.md", "- [day] [[Gateway]]: we deploy on Thursdays\n")
    desk.put("/decisions/b.md", "- [day] [[Gateway]]: we deploy on Fridays\n")
    names = [f"service {first}{second}" for first in "abcdefghij" for second in "abcdefghijk"]
    for path, seconds in (("/x.md", 30), ("/y.md", 60)):
        desk.put(path, "".join(f"- [limit] The timeout of {name} of [[Gateway]] is {seconds} s\n" for name in names))
    assert len(desk.json("conflicts", "list", desk.store, "-n", "100")["conflicts"]) == 100
    [one] = desk.json("conflicts", "list", desk.store, "--in", "/decisions/")["conflicts"]
    decision = ["conflicts", "resolve", desk.store, one["id"], "--keep", "both"]
    assert "there are more: name a folder of one side with --in" in desk.fails(Exit.USAGE, *decision)
    assert desk.json(*decision, "--in", "/decisions/")["conflict_id"] == one["id"]
    told = desk.fails(Exit.NOT_FOUND, *decision, "--in", "/nowhere/")
    assert told.startswith("error: no conflict of this store is known below /nowhere/")


def test_a_conflict_of_a_store_without_any_is_not_found(desk: Desk) -> None:
    told = desk.fails(Exit.NOT_FOUND, "conflicts", "resolve", desk.store, "conf_x", "--keep", "both")
    assert told.startswith("error: no conflict of this store is known")


def test_what_matters_for_a_task_is_recalled_and_nothing_else(desk: Desk) -> None:
    desk.put("/deploys.md", "Deploys go out on Tuesdays.")
    assert desk.ok("recall", desk.store, "when", "do", "deploys", "go", "out?").startswith("/deploys.md  deploys (")
    assert desk.json("recall", desk.store, "bake sourdough bread", "--tool", "git") == []


def test_a_terminal_is_told_a_memorys_age_and_a_pipe_gets_the_text_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("/a.md", "kept")
    assert desk.run("cat", desk.store, "/a.md")[1:] == ("kept", "")
    monkeypatch.setattr(cat, "is_terminal", lambda: True)
    _, out, err = desk.run("cat", desk.store, "/a.md")
    assert out == "kept"
    assert re.fullmatch(r"\(last changed (today|\d+ days ago); trust: agent\)\n", err)


def test_a_deleted_store_is_listed_and_restored(desk: Desk) -> None:
    desk.put("/a.md", "kept")
    assert "memolith stores list --deleted" in desk.ok("stores", "delete", desk.store, "--yes")
    assert desk.json("stores", "list") == []
    [waiting] = desk.json("stores", "list", "--deleted")
    assert waiting["id"] == desk.store and waiting["erase_after"] > waiting["updated_at"]
    assert waiting["erase_after"][:10] in desk.ok("stores", "list", "--deleted")
    assert "Team notes" in desk.ok("stores", "restore", "Team notes")
    assert desk.ok("cat", desk.store, "/a.md") == "kept"
    assert desk.json("stores", "list", "--deleted") == []
    assert "was not found" in desk.fails(Exit.NOT_FOUND, "stores", "restore", NOBODY)
    assert "--deleted" in desk.fails(Exit.NOT_FOUND, "stores", "restore", "notes")
    assert "--archived" in desk.fails(Exit.USAGE, "stores", "list", "--deleted", "--archived")


@pytest.mark.parametrize(
    ("word", "answer", "there"), [("delete", b"y\n", 0), ("delete", b"n\n", 1), ("archive", b"", 1)]
)
def test_what_cannot_be_undone_is_asked_first(desk: Desk, word: str, answer: bytes, there: int) -> None:
    code, out, err = desk.run("stores", word, desk.store, "--json", typed=answer)
    assert "Team notes" in err
    assert (code, bool(out.strip())) == ((0, True) if not there else (1, False))
    assert len(desk.json("stores", "list")) == there


def test_a_store_is_not_changed_by_words_that_say_nothing(desk: Desk) -> None:
    assert "nothing to change" in desk.fails(Exit.USAGE, "stores", "update", desk.store)
    assert "durability: needs a second region" in desk.fails(
        Exit.FAILED, "stores", "update", desk.store, "--durability", "two_regions"
    )
    assert desk.json("stores", "update", desk.store, "--durability", "one_region")["durability"] == "one_region"
    assert "tier is not NAME=VALUE" in desk.fails(Exit.USAGE, "stores", "create", "x", "--metadata", "tier")
    assert "--approval: agents is not" in desk.fails(Exit.USAGE, "stores", "update", desk.store, "--approval", "agents")


# ---- reading ------------------------------------------------------------------------------------------------------


def test_a_folder_is_listed_with_its_folders_or_with_everything_below(desk: Desk) -> None:
    for path in ("/a", "/n/b", "/n/m/c"):
        desk.put(path, "x")
    assert desk.ok("ls", desk.store).split() == ["/a", "/n/"]
    assert desk.ok("ls", desk.store, "/n").split() == ["/n/b", "/n/m/"]
    assert desk.ok("ls", desk.store, "-r").split() == ["/a", "/n/b", "/n/m/c"]
    assert desk.ok("ls", desk.store, "/n/b").split() == ["/n/b"]
    assert [row["type"] for row in desk.json("ls", desk.store, "/n/")] == ["memory", "memory_prefix"]
    assert "mem_" in desk.ok("ls", desk.store, "-l")


@pytest.mark.parametrize("path", ["/nowhere", "/nowhere/"])
def test_a_folder_that_is_not_there_is_told_and_an_empty_store_is_just_empty(desk: Desk, path: str) -> None:
    assert desk.ok("ls", desk.store) == ""
    assert f"no memory is at {path}" in desk.fails(Exit.NOT_FOUND, "ls", desk.store, path)


@pytest.mark.parametrize("text", ["", "no end", "two\nlines\n", "\r\nrésumé 記憶\n\n"])
def test_a_text_comes_back_byte_for_byte(desk: Desk, text: str) -> None:
    memory = desk.put("/a", text)
    assert desk.ok("cat", desk.store, "/a") == text
    assert desk.ok("cat", desk.store, memory["id"]) == text


def test_an_older_version_is_read_by_its_name_and_under_its_memory_alone(desk: Desk) -> None:
    first = desk.put("/a", "first")["memory_version_id"]
    desk.put("/a", "second")
    desk.put("/b", "x")
    assert desk.ok("cat", desk.store, "/a", "--version", first) == "first"
    assert "of another memory" in desk.fails(Exit.NOT_FOUND, "cat", desk.store, "/b", "--version", first)


# ---- writing ------------------------------------------------------------------------------------------------------


def test_a_memory_moves_and_keeps_its_id_and_a_path_that_is_taken_stays(desk: Desk) -> None:
    memory = desk.put("/a", "one")
    moved = desk.json("mv", desk.store, "/a", "/done/")
    assert (moved["id"], moved["path"]) == (memory["id"], "/done/a")
    desk.put("/b", "two")
    assert "Choose another path" in desk.fails(Exit.CONFLICT, "mv", desk.store, "/b", "/done/a")
    assert desk.ok("cat", desk.store, "/done/a") == "one"
    assert "no memory is at /gone" in desk.fails(Exit.NOT_FOUND, "mv", desk.store, "/gone", "/x")


def test_memories_are_deleted_and_what_was_not_there_is_told(desk: Desk) -> None:
    memory = desk.put("/a", "one")
    desk.put("/b", "two")
    code, out, err = desk.run("rm", desk.store, memory["id"], "/gone", "/b", "--json")
    assert (code, [row["result"] for row in json.loads(out)]) == (Exit.IN_PART, ["deleted", "kept", "deleted"])
    assert "no memory is at /gone" in err
    assert desk.ok("ls", desk.store) == ""
    assert "no memory is at /a" in desk.fails(Exit.NOT_FOUND, "rm", desk.store, "/a")


def test_what_another_client_renames_out_of_a_folder_is_not_deleted_with_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API takes no path as a precondition: `rm` asks the home for each memory at its path just before."""
    memory = desk.put("/old/a", "one")
    desk.put("/old/b", "two")

    def listed(client: ApiClient, store: str, what: str) -> list[str]:
        found = below(client, store, what)
        client.memories.update(memory["id"], memory_store_id=store, path="/kept")
        return found

    monkeypatch.setattr(rm, "below", listed)
    code, _, err = desk.run("rm", "-r", desk.store, "/old")
    assert (code, "no memory is at /old/a" in err) == (Exit.IN_PART, True)
    assert desk.ok("ls", desk.store, "-r").split() == ["/kept"]


# ---- sessions -----------------------------------------------------------------------------------------------------


def test_history_listing_and_search_say_how_far_a_text_is_trusted_and_a_search_may_ask_for_more(desk: Desk) -> None:
    person = desk.backend.issue_key("main", "write", holder="person")
    desk.ok("put", desk.store, "/kite", "--api-key", person, typed=b"a kite flies")
    desk.ok("put", desk.store, "/kite-too", typed=b"another kite")
    assert desk.json("log", desk.store, "/kite")[0]["trust"] == "user"
    assert "user" in desk.ok("ls", desk.store, "/", "-l") and "agent" in desk.ok("ls", desk.store, "/", "-l")
    assert "/kite  (user)" in desk.ok("search", desk.store, "kite")
    found = desk.json("search", desk.store, "kite", "--min-trust", "user")
    assert [hit["memory"]["path"] for hit in found] == ["/kite"]


def test_a_search_is_narrowed_by_type_tags_time_author_and_by_quotation_marks(desk: Desk) -> None:
    other = desk.backend.issue_key("main", "write")
    desk.ok("put", desk.store, "/note.md", typed=b"---\ntype: project\ntags: [kites]\n---\nThe red kite flies.")
    desk.ok("put", desk.store, "/else", "--api-key", other, typed=b"A kite, red.")

    def found(*options: str) -> list[str]:
        return sorted(hit["memory"]["path"] for hit in desk.json("search", desk.store, *options))

    author = next(row["by"] for row in desk.json("log", desk.store, "/else"))
    assert found("kite", "--since", "1970-01-02") == ["/else", "/note.md"]
    assert found("kite", "--type", "project") == found("kite", "--tags", "kites") == ["/note.md"]
    assert found("kite", "--by", author) == ["/else"]
    assert found('"red kite"') == ["/note.md"]
    assert "--since" in desk.fails(Exit.USAGE, "search", desk.store, "kite", "--since", "whenever")


def test_a_session_is_begun_shown_given_another_token_and_ended(desk: Desk) -> None:
    other = desk.ok("stores", "create", "Other").strip()
    begun = desk.json("sessions", "begin", desk.store, "--read-only", other, "--title", "Tuesday")
    shown = desk.ok("sessions", "show", begun["id"])
    assert "Tuesday" in shown and f"read_only  {other}" in shown and begun["token"] not in shown
    token = desk.ok("sessions", "token", begun["id"], "--lifetime-s", "120").splitlines()[-1]
    put = ("put", "/a", "--api-key", token)
    assert json.loads(desk.ok(put[0], desk.store, *put[1:], "--json", typed=b"x"))["result"] == "created"
    assert desk.json("log", desk.store, "/a")[0]["by"] == begun["id"]
    desk.fails(Exit.KEY, put[0], other, *put[1:], typed=b"x")
    assert "has ended" in desk.ok("sessions", "end", begun["id"])
    desk.fails(Exit.KEY, put[0], desk.store, *put[1:], typed=b"y")


def test_sessions_are_listed_by_the_key_that_began_them_and_ended_ones_on_demand(desk: Desk) -> None:
    key = desk.backend.issue_key("main", "write")
    key_id = f"apikey_{key.split('-')[3]}"
    mine = desk.json("sessions", "begin", desk.store, "--title", "mine")["id"]
    other = desk.json("sessions", "begin", desk.store, "--title", "other", "--api-key", key)["id"]
    assert [one["id"] for one in desk.json("sessions", "list")] == [other, mine]
    (made,) = desk.json("sessions", "list", "--key-id", key_id)
    assert (made["id"], made["key_id"], made["stores"]) == (other, key_id, [desk.store])
    desk.ok("sessions", "end", other)
    assert [one["id"] for one in desk.json("sessions", "list")] == [mine]
    assert [one["status"] for one in desk.json("sessions", "list", "--all")] == ["terminated", "idle"]
    desk.fails(Exit.KEY, "sessions", "list", "--api-key", key)


def test_a_session_needs_a_store_and_has_an_id(desk: Desk) -> None:
    assert "name at least one" in desk.fails(Exit.USAGE, "sessions", "begin")
    assert "is not the id of a session" in desk.fails(Exit.USAGE, "sessions", "show", "../keys")


# ---- what goes wrong ----------------------------------------------------------------------------------------------


def test_errors_say_what_to_do_and_which_kind_they_are(desk: Desk) -> None:
    assert "was not found" in desk.fails(Exit.NOT_FOUND, "ls", NOBODY)
    assert "memolith keys create" in desk.fails(Exit.KEY, "stores", "list", "--api-key", "nonsense")
    assert "percent-encoded UTF-8" in desk.fails(Exit.FAILED, "search", desk.store, "caf\udce9")
    reader = desk.backend.issue_key("main", "read")
    assert "--scope" in desk.fails(Exit.KEY, "put", desk.store, "/a", "--api-key", reader, typed=b"x")
    assert "Nothing was changed" in desk.fails(
        Exit.NO_ANSWER, "stores", "create", "x", "--api-url", "http://127.0.0.1:9"
    )
