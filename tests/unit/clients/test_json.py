"""Programs read what the commands print: every command that answers takes ``--json``, and then says one JSON value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memolith.adapters.aws.clients import Clients
from memolith.app.kernel.peer_messages import decode_error
from memolith.clients.cli import keys
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import DoneInPart, explain
from memolith.core.errors import InvalidRequest
from memolith.core.times import rfc3339
from tests.api.harness import Backend, memolith_backend
from tests.unit.app.scene import AWAY, HOME, Scene
from tests.unit.clients.desk import Desk
from tests.unit.clients.test_address import commands

WITHOUT = {
    "mcp": "its standard input and output are the protocol's, which is JSON already",
}
"""The commands that have no ``--json``, each with the reason."""

ELSEWHERE = {
    "tests/laptop/processes.py": {"serve"},
    "tests/local_cloud/test_commands.py": {"dev up", "dev status", "dev replication", "dev faults", "dev down"},
    "tests/mount/mounted.py": {"mount"},
    "tests/unit/clients/test_commands.py": {"conflicts resolve"},
    "tests/unit/clients/test_divergent.py": {f"divergent {word}" for word in ("list", "show", "restore", "dismiss")},
    "tests/unit/clients/test_erasure.py": {"erasure status", "erasure verify", "erasure resume"},
    "tests/unit/clients/test_homes.py": {f"homes {word}" for word in ("list", "move", "fail-over", "return")},
    "tests/unit/clients/test_index.py": {"index status", "index redrive", "index rebuild"},
    "tests/unit/clients/test_rescan.py": {"index rescan"},
    "tests/unit/clients/test_keys.py": {"keys rotate-signing", "keys retire-signing"},
    "tests/unit/clients/test_quarantine.py": {f"quarantine {word}" for word in ("list", "show", "release", "restore")},
    "tests/unit/clients/test_regions.py": {"regions add", "regions fill"},
    "tests/unit/clients/test_region_removal.py": {"regions remove"},
    "tests/laptop/test_doctor.py": {"doctor"},
    "tests/unit/clients/test_audit.py": {"audit verify", "audit prove", "audit keys"},
    "tests/unit/clients/test_repair.py": {"repair"},
    "tests/unit/clients/test_proposals.py": {
        f"proposals {word}" for word in ("list", "show", "approve", "reject", "withdraw", "revert", "erase")
    },
    "tests/unit/clients/test_transcript.py": {
        *(f"transcript {word}" for word in ("import", "push", "show")),
        "erasure derived",
    },
    "tests/unit/clients/test_why.py": {"why"},
    "tests/unit/clients/test_dream.py": {
        f"dream {word}" for word in ("start", "list", "show", "diff", "cancel", "revert", "replay")
    },
}
"""The commands that need a region, a cloud or a mount to answer, by the tests that read their JSON."""

STORE = "memstore_useast1_01m80gqgrfyn8361t51thggc0z"
HERE = {"keys create", "keys list", "keys revoke"}


@pytest.fixture
def backend() -> Backend:
    return memolith_backend()


def of_the_api(desk: Desk, folder: Path) -> Iterator[tuple[str, list[str], bytes]]:
    """Each command of the API by its words, what else is typed, and what it reads, in an order in which all work."""
    (folder / "notes").mkdir()
    (folder / "notes" / "c.md").write_text("third\n")
    desk.editor("file.write_text('edited')")
    store = desk.store
    yield "stores create", ["Other"], b""
    other = desk.json("stores", "list")[-1]["id"]
    yield "stores list", [], b""
    yield "stores show", [store], b""
    yield "stores update", [store, "--name", "Notes"], b""
    yield "put", [store, "/a.md"], b"first"
    yield "put", [store, "/a.md"], b"second"
    yield "edit", [store, "/a.md"], b""
    yield "cat", [store, "/a.md"], b""
    yield "ls", [store], b""
    yield "search", [store, "edited"], b""
    yield "recall", [store, "edited"], b""
    yield "graph", [store, "/a.md"], b""
    yield "observations", [store], b""
    yield "activity", [store], b""
    yield "transcript search", ["gateway"], b""
    yield "observations", [store, "--conflicts"], b""
    yield "conflicts list", [store], b""
    yield "log", [store, "/a.md"], b""
    yield "diff", [store, "/a.md"], b""
    yield "cp", [store, "/a.md", "/copied.md"], b""
    yield "mv", [store, "/a.md", "/b.md"], b""
    yield "use", [store], b""
    first = desk.json("log", store, "/b.md")[-1]["version"]
    yield "restore", [store, "/b.md", "--version", first], b""
    yield "rm", [store, "/b.md"], b""
    yield "remember", [store, "Deploys go out on Tuesdays."], b""
    yield "import", [str(folder / "notes"), "--store", store], b""
    yield "export", [store, str(folder / "out")], b""
    for word in ("create", "verify", "restore"):
        yield f"backup {word}", [str(folder / "saved")], b""
    yield "sync", [store, str(folder / "synced")], b""
    yield "lint", [store], b""
    yield "scan", [str(folder / "notes")], b""
    yield "context", [store], b""
    yield "sessions begin", [store], b""
    session = desk.json("sessions", "begin", store)["id"]
    yield "sessions list", ["--store", store, "--all"], b""
    yield "extract", [session], b""
    yield "cite", [session, "/a.md"], b""
    yield "usage", [store], b""
    for word in ("show", "token", "end"):
        yield f"sessions {word}", [session], b""
    yield "stores archive", [other, "--yes"], b""
    yield "stores delete", [other, "--yes"], b""
    yield "stores restore", [other], b""


def test_every_command_of_the_api_answers_with_one_json_value(desk: Desk, tmp_path: Path) -> None:
    """Lint has remarks on what is written here, which is no failure but exit code 1."""
    tried = set()
    for words, more, typed in of_the_api(desk, tmp_path):
        code, out, err = desk.run(*words.split(), *more, "--json", typed=typed)
        assert code == (1 if words == "lint" else 0), f"{words}: {err}"
        assert isinstance(json.loads(out), dict | list), words
        tried.add(words)
    everywhere = set().union(*ELSEWHERE.values())
    assert tried | everywhere | HERE | set(WITHOUT) == {words for words, _ in commands()}
    assert not tried & everywhere


def test_every_command_that_answers_takes_json_and_the_others_have_a_reason() -> None:
    without = {words for words, command in commands() if "--json" not in _options(command)}
    assert without == set(WITHOUT)


@pytest.mark.parametrize("module", ELSEWHERE)
def test_the_tests_that_read_the_json_of_the_others_are_there(module: str) -> None:
    assert "json" in (Path(__file__).parents[3] / module).read_text()


def _options(command: Any) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


@pytest.fixture
def on_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The deployment that an operator's credentials reach, whatever address this machine names or has a server at."""
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("MEMOLITH_ROOT", str(tmp_path))
    monkeypatch.setattr(keys, "find_target", lambda aws: Target(Clients(), "dev", "0" * 12, (HOME, AWAY)))


@pytest.mark.usefixtures("on_aws")
def test_keys_are_told_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()

    def invoke(target: Target, region: str, function: str, payload: dict[str, Any]) -> Any:
        answer = scene.cloud.peers.call(region, function, payload)
        if "error" in answer:
            raise decode_error(answer["error"])
        return answer

    monkeypatch.setattr(keys, "invoke", invoke)

    def run(*words: str) -> Any:
        return json.loads(CliRunner().invoke(keys.app, [*words, "--json"]).stdout)

    issued = run("create", "--name", "ci", "--scope", "read")
    (listed,) = [row for row in run("list") if row["key_id"] == issued["key_id"]]
    assert (listed["name"], listed["expires_at"], listed["stores"]) == ("ci", None, None)
    until = rfc3339(scene.clock.now_us() + 60_000_000)
    limited = run("create", "--expires-at", until, "--store", scene.store)
    (listed,) = [row for row in run("list") if row["key_id"] == limited["key_id"]]
    assert (listed["expires_at"], listed["stores"]) == (until, [scene.store]) == (until, limited["stores"])
    assert {row["region"]: row["confirmed"] for row in run("revoke", issued["key_id"])} == {HOME: True, AWAY: True}


@pytest.mark.usefixtures("on_aws")
@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--expires-at", "tomorrow"], "--expires-at: must be an RFC 3339 date and time"),
        (["--expires-at", "2026-12-31"], "--expires-at: must be an RFC 3339 date and time"),
        (["--expires-at", "9999-12-31T23:59:59-05:00"], "--expires-at: must be an RFC 3339 date and time"),
        (["--expires-at", "1970-01-01T00:00:00Z"], "expires_at: must be in the future"),
        (["--store", "notes"], "stores: must name memory stores by their ids"),
        (["--store", STORE, "--store", STORE], "stores: must name each memory store once"),
        ([word for number in range(17) for word in ("--store", f"{STORE[:-2]}{number:02}")], "1 to 16 memory stores"),
    ],
)
def test_a_key_whose_limits_cannot_be_is_refused_by_the_field(
    monkeypatch: pytest.MonkeyPatch, options: list[str], rule: str
) -> None:
    scene = Scene()

    def invoke(target: Target, region: str, function: str, payload: dict[str, Any]) -> Any:
        answer = scene.cloud.peers.call(region, function, payload)
        raise decode_error(answer["error"])

    monkeypatch.setattr(keys, "invoke", invoke)
    refused = CliRunner().invoke(keys.app, ["create", *options]).exception
    assert isinstance(refused, InvalidRequest)
    assert rule in refused.message


@pytest.mark.usefixtures("on_aws")
def test_a_deployment_that_knows_no_limits_of_keys_is_not_taken_to_have_set_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An earlier release passes over what it does not know, and issues a key without limits."""
    issued = {"api_key": "sk-…", "key_id": "apikey_x", "name": "n", "scope": "write"}
    monkeypatch.setattr(keys, "invoke", lambda *_: issued)
    refused = CliRunner().invoke(keys.app, ["create", "--store", STORE, "--workspace", "wrkspc_x", "--aws"])
    assert isinstance(refused.exception, DoneInPart)
    said = explain(refused.exception)
    assert "`memolith keys revoke apikey_x --workspace wrkspc_x --aws`" in said
    assert "Nothing was changed" not in said and "again" not in said, "that would make another"
    assert "sk-…" not in refused.output
