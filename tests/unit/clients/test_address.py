"""Which API a command asks, with which key; and the help that says what there is to ask. Ours."""

from __future__ import annotations

import json
import re
import shlex
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from memolith.clients.api.http import ApiRefused
from memolith.clients.cli import main
from memolith.clients.cli.api_address import Address, find_address
from memolith.clients.cli.api_client import speaking
from memolith.clients.cli.failures import ApiFailed, Exit, exit_of, explain, refusal
from memolith.clients.cli.output import show_rows
from memolith.core.errors import InvalidRequest

NAMED = "https://memolith.example"
CLOUD = {
    "regions": {"us-east-1": {"api_url": "http://127.0.0.1:4001/"}, "eu-west-1": {"api_url": "http://127.0.0.1:4002"}}
}
SOMEBODY_ELSES = "sk-meant-for-somebody-else"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder and a home with nothing in them, and a key of somebody else's API in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", SOMEBODY_ELSES)
    for name in ("ANTHROPIC_BASE_URL", "MEMOLITH_ROOT", "MEMOLITH_PORT"):
        monkeypatch.delenv(name, raising=False)


def local_cloud(folder: Path) -> None:
    (folder / ".memolith").mkdir()
    (folder / ".memolith" / "dev.json").write_text(json.dumps({**CLOUD, "api_key": "of the cloud"}))


def laptop(root: Path) -> None:
    root.mkdir(parents=True)
    (root / "key").write_text("of the laptop\n")


def test_an_address_that_is_named_is_asked_with_the_key_that_is_named_or_else_the_environments(tmp_path: Path) -> None:
    local_cloud(tmp_path)
    assert find_address(NAMED, "given") == Address(NAMED, "given")
    assert find_address(NAMED, None) == Address(NAMED, SOMEBODY_ELSES)


@pytest.mark.parametrize("key", ["sk-memolith-a\r", "sk-memolith\nx", "sk-mémolith", "sk-\udce9"])
def test_a_key_that_no_request_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidRequest, match="--api-key: is no API key") as refused:
        find_address(NAMED, key)
    assert key not in str(refused.value)


def test_the_local_cloud_of_the_folder_comes_before_the_laptop(tmp_path: Path) -> None:
    laptop(tmp_path / "home" / ".memolith")
    assert find_address(None, None) == Address("http://127.0.0.1:8377", "of the laptop")
    local_cloud(tmp_path)
    assert find_address(None, None) == Address("http://127.0.0.1:4001", "of the cloud")
    assert find_address(None, "a token") == Address("http://127.0.0.1:4001", "a token")


def test_the_laptops_folder_and_port_are_those_that_serve_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop(tmp_path / "team")
    monkeypatch.setenv("MEMOLITH_ROOT", str(tmp_path / "team"))
    monkeypatch.setenv("MEMOLITH_PORT", "9000")
    assert find_address(None, None) == Address("http://127.0.0.1:9000", "of the laptop")


@pytest.mark.parametrize("port", ["abc", "0", "65536", "٣"])
def test_a_port_that_is_none_is_named_with_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    laptop(tmp_path / "home" / ".memolith")
    monkeypatch.setenv("MEMOLITH_PORT", port)
    with pytest.raises(InvalidRequest, match="MEMOLITH_PORT: must be the port"):
        find_address(None, None)


def test_a_named_address_that_is_on_this_machine_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    local_cloud(tmp_path)
    assert find_address("http://127.0.0.1:4002/", None).key == "of the cloud"
    with pytest.raises(InvalidRequest, match="needs a key"):
        find_address("http://127.0.0.1:4003", None)


@pytest.mark.parametrize(
    "url", ["foo", "127.0.0.1:8377", "ftp://x", "http://", "https:///v1", "http://x:y", "http://["]
)
def test_an_address_that_cannot_be_asked_is_refused_with_or_without_a_key(url: str) -> None:
    for key in (None, "given"):
        with pytest.raises(InvalidRequest, match="--api-url: must begin with http:// or https:// and name a host"):
            find_address(url, key)


def test_the_environments_key_goes_to_no_address_that_was_not_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no Memolith is known here"):
        find_address(None, None)
    local_cloud(tmp_path)
    laptop(tmp_path / "home" / ".memolith")
    assert SOMEBODY_ELSES not in {find_address(None, None).key, find_address("", None).key}


@pytest.mark.parametrize("text", ["{", "[]", '{"regions": {}}', '{"regions": {"a": {}}, "api_key": "x"}'])
def test_a_file_of_the_local_cloud_that_makes_no_sense_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / ".memolith").mkdir()
    (tmp_path / ".memolith" / "dev.json").write_text(text)
    with pytest.raises(InvalidRequest, match=r"dev\.json makes no sense"):
        find_address(None, None)


def test_a_key_is_not_shown_where_an_address_is() -> None:
    assert "given" not in repr(find_address(NAMED, "given"))


# ---- what an error says -------------------------------------------------------------------------------------------


def test_what_the_scanner_found_is_told_with_its_place_and_remedy() -> None:
    finding = {
        "rule": "secret-x",
        "severity": "high",
        "line": 3,
        "column": 7,
        "reason": "a key.",
        "remedy": "Remove it.",
    }
    fields = {"type": "invalid_request_error", "message": "content: refused", "findings": [finding]}
    error = refusal(400, {"type": "error", "error": fields})
    assert exit_of(error) == Exit.SCANNER
    assert "secret-x (high), line 3, column 7: a key. Remove it." in explain(error)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("memory_version memver_1 was not found", "`memolith log STORE`"),
        ("memory_store memstore_1 was not found", "`memolith stores list`"),
        ("session sesn_1 was not found", "`memolith sessions list`"),
    ],
)
def test_what_was_not_found_is_told_with_the_command_that_lists_such_things(message: str, said: str) -> None:
    error = refusal(404, {"type": "error", "error": {"type": "not_found_error", "message": message}})
    assert explain(error).splitlines()[1].startswith(said)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (400, "invalid_request_error", Exit.FAILED),
        (401, "authentication_error", Exit.KEY),
        (403, "permission_error", Exit.KEY),
        (404, "not_found_error", Exit.NOT_FOUND),
        (409, "memory_path_conflict_error", Exit.CONFLICT),
        (409, "memory_precondition_failed_error", Exit.CONFLICT),
        (409, "conflict_error", Exit.NO_ANSWER),
        (429, "rate_limit_error", Exit.NO_ANSWER),
        (429, "memory_budget_error", Exit.NO_ANSWER),
        (429, "a_later_error", Exit.NO_ANSWER),
        (500, "api_error", Exit.FAILED),
        (503, "api_error", Exit.NO_ANSWER),
        (503, "overloaded_error", Exit.NO_ANSWER),
        (504, "timeout_error", Exit.UNKNOWN),
    ],
)
def test_each_kind_of_refusal_has_its_exit_code(status: int, kind: str, code: Exit) -> None:
    error = refusal(status, {"error": {"type": kind, "message": "no"}})
    assert (exit_of(error), error.message) == (code, "no")


@pytest.mark.parametrize("kind", ["conflict_error", "rate_limit_error", "memory_budget_error"])
def test_what_is_refused_for_now_is_told_with_when_to_run_it_again(kind: str) -> None:
    error = refusal(409 if kind == "conflict_error" else 429, {"error": {"type": kind, "message": "no"}})
    assert error.advice.startswith("Nothing was changed.") and "gain" in error.advice


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, Exit.FAILED), (413, Exit.FAILED), (429, Exit.NO_ANSWER), (500, Exit.NO_ANSWER), (504, Exit.NO_ANSWER)],
)
def test_what_a_gateway_throttled_or_could_not_hand_on_was_not_done(status: int, code: Exit) -> None:
    """Its 5xx to a read; to a write it leaves open whether that was done."""
    assert exit_of(refusal(status, {"message": "Too Many Requests"})) == code


@pytest.mark.parametrize("body", [None, "<html>", {"error": "no"}, {}])
def test_an_answer_that_is_not_memoliths_is_told(body: object) -> None:
    assert "not as Memolith answers" in refusal(502, body).message


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (503, {"message": "Service Unavailable"}),
        (502, None),
        (500, {"error": {"type": "api_error", "message": "internal error"}}),
        (504, {"error": {"type": "timeout_error", "message": "the outcome is not known"}}),
        (503, {"error": {"type": "overloaded_error", "message": "the last of several answers"}}),
        (429, {"error": {"type": "rate_limit_error", "message": "the last of several answers"}}),
        (429, {"message": "the last of several answers"}),
    ],
)
def test_a_write_of_which_no_answer_says_that_it_was_not_done_ends_with_the_code_for_that(
    status: int, body: object
) -> None:
    with pytest.raises(ApiFailed) as failed, speaking():
        raise ApiRefused(status, body, maybe_done=True)
    assert (failed.value.exit, failed.value.advice) == (
        Exit.UNKNOWN,
        "It may have been done: check before you repeat it.",
    )


# ---- the help -----------------------------------------------------------------------------------------------------


def test_the_help_fits_a_screen_and_names_every_command() -> None:
    lines = CliRunner().invoke(main.app, ["--help"], env={"COLUMNS": "80"}).output.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    named = {name for line in lines for name in line.strip().partition("  ")[0].split(", ")}
    assert set(main.SUBCOMMANDS) <= named


def test_what_shares_a_line_of_the_help_is_there() -> None:
    assert {name for names in main.TOGETHER for name in names} <= set(main.SUBCOMMANDS)
    assert set(main.USUAL_NAMES.values()) <= set(main.SUBCOMMANDS)


@pytest.mark.parametrize(
    ("word", "said"),
    [("store", "Did you mean 'stores'"), ("delete", "Did you mean 'rm'"), ("xyzzy", "`memolith --help` lists them")],
)
def test_a_command_that_is_not_there_says_what_would_be_right(word: str, said: str) -> None:
    done = CliRunner().invoke(main.app, [word, "x"])
    assert (done.exit_code, said in done.output) == (Exit.USAGE, True)


def commands() -> list[tuple[str, Any]]:
    """Every command that can be typed, by its words; those of ``dev`` are the checkout's."""
    from scripts.local_cloud.commands import app as local_cloud

    found: list[tuple[str, Any]] = []
    for name, (module, _) in main.SUBCOMMANDS.items():
        group = typer.main.get_command(local_cloud if name == "dev" else import_module(module).app)
        below = getattr(group, "commands", None)
        found += [(name, group)] if below is None else [(f"{name} {word}", one) for word, one in below.items()]
    return found


@pytest.mark.parametrize(("words", "command"), commands(), ids=[words for words, _ in commands()])
def test_every_command_has_an_example_that_begins_as_one_types_it(words: str, command: Any) -> None:
    """What it says is parsed by the command itself: no example has an option that is not there."""
    examples = re.findall(r"^ *Example: (.*(?:\n +\S.*)*)", str(command.help), re.M)
    assert examples
    for example in examples:
        _, found, rest = " ".join(example.split()).partition(f"memolith {words}")
        assert found, example
        given = {word.partition("=")[0] for word in shlex.split(rest.partition("|")[0]) if word.startswith("-")}
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert given - {"-"} <= known, example


@pytest.mark.parametrize(("words", "command"), commands(), ids=[words for words, _ in commands()])
def test_the_usage_of_every_command_brackets_an_argument_once(words: str, command: Any) -> None:
    usage = " ".join(command.collect_usage_pieces(command.context_class(command, info_name=words)))
    assert not re.search(r"\[\[|\]\]|\.\.\.[]}]", usage), usage


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stores", "lst"), "Did you mean 'list'"),
        (("quarantine", "relase"), "'release'"),
        (("stores", "list", "--jsn"), "--json"),
        (("serve", "--prt", "1"), "--port"),
    ],
)
def test_a_word_or_an_option_that_is_not_there_says_what_would_be_right(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(main.app, list(words))
    assert (done.exit_code, said in done.output) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    "command", ["stores", "ls", "search", "cat", "put", "edit", "mv", "rm", "log", "diff", "sessions", "scan"]
)
def test_every_command_that_asks_the_api_has_an_example_and_says_where_it_asks(command: str) -> None:
    group = typer.main.get_command(import_module(main.SUBCOMMANDS[command][0]).app)
    for one in getattr(group, "commands", {command: group}).values():
        assert "Example: " in str(one.help)
        options = {option for parameter in one.params for option in parameter.opts}
        assert {"--api-url", "--api-key", "--json"} <= options


@pytest.mark.parametrize(
    ("words", "offered"), [("memolith se", ["search", "serve", "sessions"]), ("memolith stores c", ["create"])]
)
def test_the_shell_completes_commands(words: str, offered: list[str]) -> None:
    environment = {"_MEMOLITH_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = CliRunner().invoke(main.app, [], env=environment, prog_name="memolith")
    assert sorted(done.output.split()) == offered


def test_rows_are_tab_separated_and_whole_where_no_terminal_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "memver_" + "0" * 60, "name": "a\tb\x1b[2J\x9b\x07", "more": None}
    show_rows([row], ("id", "name", "more"), as_json=False)
    assert capsys.readouterr().out == f"{row['id']}\ta\\tb\\x1b[2J\\x9b\\x07\t\n"


def test_a_list_in_a_row_is_shown_with_commas(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([{"id": "x", "stores": ["a", "b\t"]}, {"id": "y", "stores": []}], ("id", "stores"), as_json=False)
    assert capsys.readouterr().out == "x\ta,b\\t\ny\t\n"


def test_a_table_cuts_no_id_off_and_is_bold_only_where_color_is_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    rows = [{"id": "memver_" + "0" * 60, "name": "日本"}, {"id": "x", "name": "b"}]
    show_rows(rows, ("name", "id"), as_json=False)
    assert capsys.readouterr().out == f"\x1b[1mname  id\x1b[0m\n日本  memver_{'0' * 60}\nb     x\n"
    monkeypatch.setenv("NO_COLOR", "1")
    show_rows(rows, ("name", "id"), as_json=False)
    assert "\x1b" not in capsys.readouterr().out
