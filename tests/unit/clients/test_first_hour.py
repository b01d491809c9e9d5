"""What new users met in their first hour on a laptop, and the tests that hold each row to its right outcome.

Most of them are elsewhere; those of no other place are below the table.

A2: an agent was shown withheld texts
    tests/unit/clients/test_withheld.py
        test_no_way_in_shows_a_withheld_text_to_an_admins_key_that_did_not_ask_for_it
        test_a_long_listing_marks_the_memory_whose_text_is_withheld_and_no_other
    tests/laptop/test_mcp.py
        test_a_withheld_text_is_in_order_to_no_client_of_the_laptops_mcp
A2: a laptop had one key, an admin's
    tests/api/test_managed_keys.py
        test_a_key_may_what_its_scope_says_in_the_stores_that_it_names_and_is_refused_once_revoked
    tests/unit/clients/test_agent_session.py
        test_a_token_is_used_for_its_time_and_renewed_before_its_end
A3: one damaged file kept the server from starting
    tests/unit/entry/test_damaged_folder.py
        test_one_damaged_object_costs_its_own_version_and_the_server_starts
        test_a_damaged_object_is_named_in_the_log_when_the_index_is_made_anew
        test_a_read_of_a_damaged_object_names_the_file_and_is_no_matter_of_trying_again
    tests/laptop/test_damages.py
        test_a_damaged_folder_is_served_again_with_all_that_was_not_damaged_and_says_what_was
A3: two releases on one folder never answered
    tests/unit/entry/test_damaged_folder.py
        test_a_server_of_another_release_is_not_joined_and_once_it_has_ended_everything_is_there
    tests/laptop/test_outages.py
        test_what_was_acknowledged_outlives_an_outage_and_the_next_server_starts
A4: a broken index or queue had to be removed by hand
    tests/unit/entry/test_damaged_folder.py
        test_a_broken_index_is_set_aside_and_made_anew_by_the_next_start
        test_a_row_of_the_index_that_is_damaged_in_a_whole_file_is_told_with_what_to_do
        test_a_broken_queue_is_set_aside_and_the_rest_is_as_before
    tests/laptop/test_doctor.py
        test_a_damaged_database_is_named_with_what_to_do_and_set_aside
A4: a full disk was told as something else, or not
    tests/unit/entry/test_damaged_folder.py
        test_a_disk_that_is_full_is_told_as_that_by_the_api_and_by_the_log
        test_a_file_that_may_not_be_read_is_told_with_its_name_and_what_to_do
        test_why_the_indexer_waits_is_logged_once_and_not_five_times_a_second
    tests/laptop/test_outages.py
        test_what_was_acknowledged_outlives_an_outage_and_the_next_server_starts
A5: help and completion were tracebacks
    tests/laptop/test_installing.py
        test_every_help_completion_and_error_works_with_what_the_readme_installs
    tests/laptop/test_to_the_letter.py
        test_bash_completes_commands_stores_and_paths_after_install_completion
    tests/laptop/test_installing.py
        test_output_that_cannot_be_written_is_an_error_of_one_line
    tests/laptop/test_doctor.py
        test_a_reader_that_has_enough_and_a_full_disk_under_its_output_end_the_command_without_a_traceback
A6: the end of a long text was not found after a write
    tests/unit/clients/test_first_hour.py
        test_a_word_anywhere_in_a_long_text_is_found_at_once_and_still_after_an_append
A7: tables cut off the ids that the next command needs
    tests/unit/clients/test_first_hour.py
        test_the_ids_that_a_list_prints_are_what_the_next_command_takes
    tests/unit/clients/test_address.py
        test_a_table_cuts_no_id_off_and_is_bold_only_where_color_is_wanted
A8: a command took seconds
    tests/unit/clients/test_api_http.py
        test_no_command_imports_a_package_that_is_slow_to_import
        test_an_address_that_refuses_the_connection_is_asked_once
    tests/unit/app/commit/test_ending_writes.py
        test_ending_a_store_waits_for_as_long_as_its_deployment_s_leases_last
A9: lint took minutes
    tests/unit/core/test_memory_conventions.py
        test_checking_a_memory_does_not_go_through_the_paths_of_all_others
        test_a_note_of_basic_memory_is_known_by_its_title_and_needs_neither_name_nor_description
A10: an import made a second store, and took everything in
    tests/unit/clients/transfers/test_folders.py
        test_an_import_again_continues_in_the_store_that_it_made
        test_what_was_done_before_an_error_ended_it_is_reported
        test_what_programs_keep_for_themselves_and_what_the_folder_ignores_is_left_out_and_named
    tests/unit/clients/transfers/test_archives.py
        test_a_zip_goes_in_and_a_hostile_one_leads_nowhere
    tests/unit/clients/test_first_hour.py
        test_an_export_of_a_history_says_how_much_it_wrote
A11: LangGraph's search was refused
    tests/frameworks/test_langgraph_store.py
        test_a_query_finds_the_items_that_match_best_under_its_prefix
A12: touch set 1970, and a repository went into the store
    tests/mount/test_programs.py
        test_touch_sets_the_time_of_the_call_and_a_given_time_is_in_order_as_given
    tests/mount/test_posix.py
        test_a_case_of_posix_holds_in_a_mount_unless_it_is_a_known_failure
    tests/mount/test_ignored.py
        test_a_git_repository_in_a_mount_works_and_nothing_of_it_reaches_the_store
A13: a text steered the terminal
    tests/unit/clients/test_first_hour.py
        test_what_would_steer_a_terminal_is_in_order_and_not_sent
    tests/unit/clients/transfers/test_folders.py
        test_names_that_would_steer_a_terminal_are_shown_escaped
A14: a store could not be looked at as a whole
    tests/unit/clients/test_store_argument.py
        test_the_versions_of_a_whole_store_are_listed_newest_first_and_since_an_instant
        test_a_folder_is_copied_moved_and_deleted
        test_a_store_is_listed_and_a_text_printed_as_of_an_instant
        test_a_deleted_memory_is_restored_by_its_path
        test_an_instant_is_understood_as_people_write_it
        test_the_default_store_takes_the_place_of_one_that_is_not_named
A15: the server was one more thing to remember
    tests/laptop/test_service.py
        test_installing_starts_a_server_and_uninstalling_ends_it
    tests/laptop/test_mcp.py
        test_mcp_starts_the_server_where_none_runs_and_the_server_outlives_it
        test_one_address_serves_all_stores_of_the_laptop_and_each_has_its_own
A15: `put` waited in silence
    tests/unit/clients/test_first_hour.py
        test_a_text_that_is_typed_on_a_terminal_is_asked_for
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from memolith.clients.cli.put import text_of
from tests.api.harness import Backend
from tests.unit.clients.conftest import backend_called
from tests.unit.clients.desk import HOSTILE, Desk, steering

ROOT = Path(__file__).parents[3]
ROWS = [f"A{number}" for number in range(2, 16)]


@pytest.fixture
def backend() -> Iterator[Backend]:
    """A laptop's API alone: it is where these things were met."""
    with backend_called("laptop") as built:
        yield built


def table() -> dict[str, list[tuple[str, str]]]:
    """Each row to the files and names of its tests."""
    rows: dict[str, list[tuple[str, str]]] = {}
    row = file = ""
    for line in (__doc__ or "").splitlines():
        if found := re.match(r"(A\d+): ", line):
            row = found[1]
        elif line.startswith("        test_"):
            rows.setdefault(row, []).append((file, line.strip()))
        elif line.startswith("    tests/"):
            file = line.strip()
    return rows


def test_every_row_names_tests_that_are_there() -> None:
    rows = table()
    assert list(rows) == ROWS
    for file, name in {test for tests in rows.values() for test in tests}:
        functions = {
            node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)
        }
        assert name in functions, (file, name)


def test_a_word_anywhere_in_a_long_text_is_found_at_once_and_still_after_an_append(desk: Desk) -> None:
    filler = "plain sentences about nothing much. " * 28
    words = [f"landmark{number}x" for number in range(90)]
    text = "\n".join(f"{filler}{word}" for word in words)
    assert len(text) > 90_000
    desk.put("/long.md", text)
    asked = [words[0], words[5], words[20], words[60], words[-1]]
    for word in asked:
        assert "/long.md" in desk.ok("search", desk.store, word), word
    desk.put("/long.md", f"{text}\none more line\n")
    for word in [*asked, '"one more line"']:
        assert "/long.md" in desk.ok("search", desk.store, word), word


def test_the_ids_that_a_list_prints_are_what_the_next_command_takes(desk: Desk) -> None:
    desk.put("/a.md", "first")
    desk.put("/a.md", "second")
    newest, oldest = (line.split("\t")[0] for line in desk.ok("log", desk.store, "/a.md").splitlines())
    assert desk.ok("cat", desk.store, "/a.md", "--version", oldest) == "first"
    assert "-first" in desk.ok("diff", desk.store, "/a.md", oldest, newest)
    desk.ok("restore", desk.store, "/a.md", "--version", oldest)
    assert desk.ok("cat", desk.store, "/a.md") == "first"
    (store,) = (line.split("\t")[0] for line in desk.ok("stores", "list").splitlines())
    assert desk.ok("cat", store, "/a.md") == "first"


def test_an_export_of_a_history_says_how_much_it_wrote(desk: Desk, tmp_path: Path) -> None:
    desk.put("/a.md", "first")
    desk.put("/a.md", "second")
    said = desk.ok("export", desk.store, str(tmp_path / "history.tar.gz"), "--history")
    assert "2 versions" in said
    assert "nothing" not in said


def test_what_would_steer_a_terminal_is_in_order_and_not_sent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put("/esc.md", HOSTILE)
    desk.put("/esc.md", f"{HOSTILE}more\n")
    desk.put("/MEMORY.md", HOSTILE)
    desk.json("stores", "update", desk.store, "--approval", "agents=propose")
    desk.run("put", desk.store, "/proposed.md", typed=HOSTILE.encode())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    texts = ("search zebra", "diff /esc.md", "cat /esc.md", "why /esc.md:1", "context", "proposals show last")
    for words in texts:
        assert "\\x1b[2J" in printed(desk, words), words
    for words in ("log /esc.md", "ls -l", *(f"{words} --json" for words in texts)):
        printed(desk, words)
    for words in ("recall zebra", "observations", "graph /esc.md", "lint"):
        printed(desk, f"{words} --json")


def printed(desk: Desk, words: str) -> str:
    """What a command about the store prints. Nothing of it steers a terminal."""
    name, *more = words.split()
    first = [name, more.pop(0)] if name == "proposals" else [name]
    said = desk.run(*first, desk.store, *more)[1]
    assert said and steering(said) == "", words
    return said


def test_a_text_that_is_typed_on_a_terminal_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(TextIOWrapper):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(BytesIO(b"typed")))
    assert text_of(Path("-")) == "typed"
    assert "Ctrl-D" in capsys.readouterr().err
