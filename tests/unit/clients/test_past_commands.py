"""``memolith log``, ``diff`` and ``restore``: through the real SDK, against the real use cases over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from memolith.adapters.system import SystemClock
from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import ApiRefused, ApiUnanswered, HttpApi
from memolith.clients.cli import main, restore_plan
from memolith.clients.cli.failures import Exit, exit_of, explain
from memolith.clients.cli.restore_plan import Action, Restorer, Seen, plan
from memolith.core.errors import MemolithError
from memolith.core.times import rfc3339
from tests.api.harness import Backend, memolith_backend
from tests.api.loopback import serving


class Terminal:
    """Runs commands against one backend, and makes what they are about."""

    def __init__(self, backend: Backend, port: int) -> None:
        self.backend = backend
        self.environment = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": backend.api_key}
        self.client = backend.client(max_retries=0)
        self.memories = self.client.beta.memory_stores.memories
        self.store = self.client.beta.memory_stores.create(name="notes").id

    def api(self, key: str | None = None) -> ApiClient:
        address = self.environment["ANTHROPIC_BASE_URL"]
        return ApiClient(HttpApi(address, key or self.backend.api_key, SystemClock()))

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(main.app, list(words), env=self.environment)

    def json(self, *words: str, code: int = 0) -> Any:
        result = self.run(*words, "--json")
        assert result.exit_code == code, (result.output, result.exception)
        return json.loads(result.stdout)

    def create(self, path: str, content: str) -> str:
        return self.memories.create(self.store, path=path, content=content).id

    def update(self, memory_id: str, **changes: str) -> None:
        self.memories.update(memory_id, memory_store_id=self.store, **changes)  # type: ignore[arg-type]  # keywords of more than one type

    def delete(self, memory_id: str) -> None:
        self.memories.delete(memory_id, memory_store_id=self.store)

    def settle(self) -> str:
        """The instant that it is now, once a snapshot of it can be had."""
        instant = rfc3339(self.backend.clock.now_us())
        self.backend.clock.advance(61)
        return instant

    def restore(self, as_of: str, *words: str, code: int = 0) -> list[tuple[str, str, str]]:
        rows = self.json("restore", self.store, "--as-of", as_of, *words, code=code)
        return [(row["action"], row["path"], row["result"]) for row in rows]

    def holds(self) -> dict[str, str | None]:
        listed = self.memories.list(self.store, view="full")
        return {row.path: row.content for row in listed if row.type == "memory"}

    def versions(self) -> int:
        return len(list(self.client.beta.memory_stores.memory_versions.list(self.store)))


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    backend = memolith_backend()
    with serving(backend.answer) as port:
        yield Terminal(backend, port)


# ---- log and diff -------------------------------------------------------------------------------------------------


def test_a_log_is_of_a_path_or_an_id_and_of_what_is_gone_too(terminal: Terminal) -> None:
    a = terminal.create("/n/a", "1")
    terminal.update(a, content="two")
    rows = terminal.json("log", terminal.store, "/n/a")
    assert [(row["operation"], row["bytes"], row["path"]) for row in rows] == [
        ("modified", 3, "/n/a"),
        ("created", 1, "/n/a"),
    ]
    assert all(row["by"].startswith("apikey_") for row in rows)
    assert terminal.json("log", terminal.store, a, "-n", "1") == rows[:1]
    terminal.delete(a)
    assert terminal.json("log", terminal.store, "/n/a")[0]["operation"] == "deleted"
    assert "deleted" in terminal.run("log", terminal.store, a).stdout


def test_a_diff_is_unified_and_of_the_last_change_unless_it_is_told(terminal: Terminal) -> None:
    a = terminal.create("/a", "one\ntwo\nthree\n")
    terminal.update(a, content="one\n2\nthree\n")
    terminal.update(a, content="one\n2\nthree\nfour")
    third, second, first = (row["version"] for row in terminal.json("log", terminal.store, a))

    def changed(*versions: str) -> list[str]:
        lines = terminal.json("diff", terminal.store, "/a", *versions)["diff"].splitlines()
        assert lines[0].startswith("--- /a\t")
        return [line for line in lines[2:] if not line.startswith((" ", "@@"))]

    assert changed() == ["+four", "\\ No newline at end of file"]
    assert changed(first) == ["-two", "+2", "+four", "\\ No newline at end of file"]
    assert changed(first, second) == ["-two", "+2"]
    assert changed(second, first) == ["-2", "+two"]
    assert terminal.json("diff", terminal.store, "/a", third, third)["diff"] == ""
    assert "+four" in terminal.run("diff", terminal.store, "/a").stdout


def test_the_first_version_differs_from_nothing_and_a_deletion_takes_everything(terminal: Terminal) -> None:
    a = terminal.create("/a", "one\n")
    assert terminal.json("diff", terminal.store, a)["diff"].splitlines()[0] == "--- /dev/null"
    terminal.delete(a)
    assert terminal.json("diff", terminal.store, a)["diff"].splitlines()[-1] == "-one"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["log", "{store}", "notes"], "must be a path"),
        (["log", "{store}", "/nowhere"], "no memory is at /nowhere"),
        (["log", "memstore_useast1_01kb0000000000000000000000", "/a"], "memory_store"),
        (["diff", "{store}", "/a", "memver_01kb0000000000000000000000"], "was not found"),
        (["diff", "{store}", "/a", "{other}"], "is a version of another memory"),
        (["restore", "{store}"], "exactly one"),
        (["restore", "{store}", "/a"], "is not deleted"),
        (["restore", "{store}", "--version", "{other}"], "goes with PATH"),
        (["restore", "{store}", "/a", "--version", "{other}"], "is a version of another memory"),
        (["restore", "{store}", "--as-of", "soon"], "is not an instant"),
        (["restore", "{store}", "--as-of", "2026-01-01T00:00:00Z", "--path-prefix", "n"], "must begin and end with /"),
    ],
)
def test_what_cannot_be_done_is_told_by_name(
    terminal: Terminal, words: Sequence[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    a = terminal.create("/a", "1")
    other = terminal.memories.create(terminal.store, path="/b", content="1").memory_version_id
    result = terminal.run(*(word.format(store=terminal.store, other=other, a=a) for word in words))
    assert result.exit_code == 1
    assert reason in str(result.exception)


# ---- restoring one memory -----------------------------------------------------------------------------------------


def test_an_old_version_comes_back_as_a_new_one(terminal: Terminal) -> None:
    a = terminal.create("/a", "first")
    terminal.update(a, content="second", path="/b")
    first = terminal.json("log", terminal.store, a)[-1]["version"]
    planned = terminal.json("restore", terminal.store, "/b", "--version", first, "--dry-run")
    assert (planned[0]["action"], planned[0]["result"], terminal.holds()) == ("update", "planned", {"/b": "second"})
    assert terminal.json("restore", terminal.store, "/b", "--version", first)[0]["result"] == "restored"
    assert terminal.holds() == {"/b": "first"}
    assert terminal.versions() == 3
    terminal.json("restore", terminal.store, "/b", "--version", first)
    assert terminal.versions() == 3


def test_a_deleted_memory_comes_back_at_the_versions_path(terminal: Terminal) -> None:
    a = terminal.create("/a", "first")
    first = terminal.json("log", terminal.store, a)[0]["version"]
    terminal.delete(a)
    assert terminal.json("restore", terminal.store, a, "--version", first)[0]["action"] == "create"
    assert terminal.holds() == {"/a": "first"}
    result = terminal.run("restore", terminal.store, a, "--version", first)
    assert (result.exit_code, "is held by another memory now" in str(result.exception)) == (1, True)


# ---- restoring a store --------------------------------------------------------------------------------------------


def test_a_store_comes_back_as_it_was(terminal: Terminal) -> None:
    kept, changed, moved, deleted = (terminal.create(f"/n/{name}", name) for name in ("kept", "chg", "mov", "del"))
    then, as_of = terminal.holds(), terminal.settle()
    terminal.update(changed, content="changed")
    terminal.update(moved, path="/elsewhere", content="moved")
    terminal.delete(deleted)
    terminal.create("/n/mov", "in its place")
    expected = [("update", "/n/chg"), ("create", "/n/del"), ("delete", "/n/mov"), ("update", "/n/mov")]
    planned = terminal.restore(as_of, "--dry-run")
    assert sorted(planned) == sorted((*one, "planned") for one in expected)
    assert "/elsewhere" in terminal.holds()
    assert sorted(terminal.restore(as_of)) == sorted((*one, "restored") for one in expected)
    assert terminal.holds() == then
    assert kept in {row.id for row in terminal.memories.list(terminal.store) if row.type == "memory"}
    written = terminal.versions()
    assert terminal.restore(as_of) == []
    assert terminal.versions() == written
    assert "nothing to do" in terminal.run("restore", terminal.store, "--as-of", as_of).stdout


def test_two_memories_that_took_each_others_places_change_back(terminal: Terminal) -> None:
    a, b = terminal.create("/a", "a"), terminal.create("/b", "b")
    as_of = terminal.settle()
    terminal.update(a, path="/c")
    terminal.update(b, path="/a")
    terminal.update(a, path="/b")
    assert {result for _, _, result in terminal.restore(as_of)} == {"restored"}
    assert terminal.holds() == {"/a": "a", "/b": "b"}
    assert terminal.memories.retrieve(a, memory_store_id=terminal.store).path == "/a"


def test_a_folder_comes_back_alone(terminal: Terminal) -> None:
    inside, outside, left = (terminal.create(path, "1") for path in ("/n/in", "/out", "/n/left"))
    as_of = terminal.settle()
    for memory_id in (inside, outside):
        terminal.update(memory_id, content="2")
    terminal.update(left, path="/left")
    terminal.create("/n/new", "new")
    terminal.create("/new", "new")
    terminal.restore(as_of, "--path-prefix", "/n/")
    assert terminal.holds() == {"/n/in": "1", "/n/left": "1", "/out": "2", "/new": "new"}


def test_what_was_erased_since_is_kept_and_told(terminal: Terminal) -> None:
    a = terminal.create("/a", "secret")
    as_of = terminal.settle()
    first = terminal.json("log", terminal.store, a)[0]["version"]
    terminal.update(a, content="clean")
    terminal.client.beta.memory_stores.memory_versions.redact(first, memory_store_id=terminal.store)
    (row,) = terminal.json("restore", terminal.store, "--as-of", as_of, code=3)
    assert (row["result"], row["reason"]) == ("kept", "its text of that time has been erased")
    assert terminal.holds() == {"/a": "clean"}


def test_what_somebody_changes_meanwhile_is_kept_and_told(terminal: Terminal) -> None:
    a, b = terminal.create("/a", "1"), terminal.create("/b", "1")
    as_of = terminal.settle()
    terminal.update(a, content="2")
    terminal.update(b, content="2")
    restorer = Restorer(terminal.api(), terminal.store, as_of, lambda done: None)
    actions = plan(restorer.then(), restorer.now())
    terminal.update(a, content="3")
    results = {done.action.path: (done.restored, done.reason.split(":")[0]) for done in restorer.carry_out(actions)}
    assert results == {"/a": (False, "memory_precondition_failed_error"), "/b": (True, "")}
    assert terminal.holds() == {"/a": "3", "/b": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("writes", range(6))
def test_a_run_that_stopped_is_finished_by_the_next(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    """Whatever was done until then: also one that made a deleted memory anew, or moved one out of the way."""
    a, b, gone = (terminal.create(f"/{name}", name) for name in ("a", "b", "gone"))
    then, as_of = terminal.holds(), terminal.settle()
    terminal.update(a, path="/c", content="changed")
    terminal.update(b, path="/a")
    terminal.update(a, path="/b")
    terminal.delete(gone)
    terminal.create("/new", "new")
    attempt, done = Restorer._attempt, 0

    def stops(self: Restorer, write: Any) -> str | None:
        nonlocal done
        if done == writes:
            raise KeyboardInterrupt
        done += 1
        return attempt(self, write)

    restorer = Restorer(terminal.api(), terminal.store, as_of, lambda done: None)
    with monkeypatch.context() as stopping, pytest.raises(KeyboardInterrupt):
        stopping.setattr(restore_plan.Restorer, "_attempt", stops)
        restorer.carry_out(plan(restorer.then(), restorer.now()))
    terminal.restore(as_of)
    assert terminal.holds() == then


def test_an_instant_that_is_not_complete_yet_is_told(terminal: Terminal) -> None:
    terminal.create("/a", "1")
    result = terminal.run("restore", terminal.store, "--as-of", rfc3339(terminal.backend.clock.now_us()))
    said = str(result.exception)
    assert (result.exit_code, "does not have everything of that moment yet" in said) == (1, True)
    assert re.search(r": 20\d\d-\S+Z at the latest, for now", said)


def test_a_run_that_fails_tells_what_was_done(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = terminal.create("/a", "1"), terminal.create("/b", "1")
    as_of = terminal.settle()
    terminal.update(a, content="2")
    terminal.update(b, content="2")
    attempt = Restorer._attempt
    done: list[object] = []

    def fails(self: Restorer, write: Any) -> str | None:
        if done:
            raise ApiUnanswered("http://memolith.test", maybe_done=True)
        done.append(write)
        return attempt(self, write)

    monkeypatch.setattr(restore_plan.Restorer, "_attempt", fails)
    result = terminal.run("restore", terminal.store, "--as-of", as_of, "--json")
    assert result.exit_code == 1
    assert [(row["path"], row["result"]) for row in json.loads(result.stdout)] == [("/a", "restored")]


@pytest.mark.parametrize(("writes", "code"), [(0, Exit.NO_ANSWER), (1, Exit.IN_PART)])
def test_a_run_that_is_refused_later_is_not_told_as_if_nothing_was_changed(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, writes: int, code: Exit
) -> None:
    a, b = terminal.create("/a", "1"), terminal.create("/b", "1")
    as_of = terminal.settle()
    terminal.update(a, content="2")
    terminal.update(b, content="2")
    attempt = Restorer._attempt
    left = iter(range(writes))

    def refused(self: Restorer, write: Any) -> str | None:
        if next(left, None) is None:
            raise ApiRefused(503, {"error": {"type": "overloaded_error", "message": "not now"}})
        return attempt(self, write)

    monkeypatch.setattr(restore_plan.Restorer, "_attempt", refused)
    stopped = terminal.run("restore", terminal.store, "--as-of", as_of, "--json").exception
    assert isinstance(stopped, MemolithError) and exit_of(stopped) == code
    assert ("Nothing was changed" in explain(stopped)) == (writes == 0)


def test_an_address_that_does_not_answer_is_told(terminal: Terminal) -> None:
    terminal.environment["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    result = terminal.run("log", terminal.store, "/a")
    assert (result.exit_code, "does not answer" in str(result.exception)) == (1, True)


def test_no_address_is_told(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    terminal.environment = {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_KEY": "", "MEMOLITH_ROOT": str(tmp_path / "none")}
    result = terminal.run("log", terminal.store, "/a")
    assert (result.exit_code, "no Memolith is known here" in str(result.exception)) == (1, True)


# ---- the plan -----------------------------------------------------------------------------------------------------


def test_a_plan_knows_a_memory_by_its_id_and_else_by_its_path() -> None:
    then = [Seen("mem_1", "/a", "x"), Seen("mem_2", "/b", "y"), Seen("mem_3", "/c", "z")]
    now = [Seen("mem_1", "/moved", "x"), Seen("mem_9", "/b", "y"), Seen("mem_8", "/c", "other")]
    assert plan(then, now) == [Action("update", now[0], then[0]), Action("update", now[2], then[2])]


def test_errors_of_the_api_that_no_write_caused_end_the_run(terminal: Terminal) -> None:
    a = terminal.create("/a", "1")
    restorer = Restorer(
        terminal.api(terminal.backend.issue_key("main", "read")),
        terminal.store,
        "2026-01-01T00:00:00Z",
        lambda done: None,
    )
    with pytest.raises(ApiRefused, match="403"):
        restorer.carry_out([Action("delete", Seen(a, "/a", "0" * 64), None)])
