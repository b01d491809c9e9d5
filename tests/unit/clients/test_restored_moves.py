"""``memolith restore --as-of`` where memories have changed places, and other memories are in the way."""

from __future__ import annotations

from typing import Any

import pytest

from memolith.clients.api.http import HttpApi
from memolith.clients.cli import restore_plan
from memolith.clients.cli.restore_plan import Action, Done, Restorer, plan
from tests.unit.clients.test_past_commands import Terminal, terminal

__all__ = ["terminal"]


def planned(terminal: Terminal, as_of: str) -> tuple[Restorer, list[Action]]:
    restorer = Restorer(terminal.api(), terminal.store, as_of, lambda done: None)
    return restorer, plan(restorer.then(), restorer.now())


def result_of(done: Done) -> tuple[str, bool, str]:
    """Return where it is seen, whether it was restored, and the kind of the error."""
    return done.action.path, done.restored, done.reason.split(":")[0]


TAKEN = "memory_path_conflict_error"


def test_a_move_to_a_path_that_another_client_took_leaves_the_memory_where_it_is(terminal: Terminal) -> None:
    a = terminal.create("/x", "a")
    as_of = terminal.settle()
    terminal.update(a, path="/y")
    restorer, actions = planned(terminal, as_of)
    terminal.create("/x", "theirs")
    before = terminal.versions()
    assert [result_of(one) for one in restorer.carry_out(actions)] == [("/x", False, TAKEN)]
    assert terminal.holds() == {"/x": "theirs", "/y": "a"}
    assert terminal.versions() == before


def test_moves_that_wait_for_a_memory_outside_the_prefix_leave_all_where_they_are(terminal: Terminal) -> None:
    a, b = terminal.create("/n/x", "a"), terminal.create("/o/z", "b")
    as_of = terminal.settle()
    terminal.update(a, path="/y")
    terminal.update(b, path="/n/x")
    terminal.create("/o/z", "c")
    kept = [("update", "/n/x", "kept"), ("update", "/o/z", "kept")]
    assert terminal.restore(as_of, "--path-prefix", "/n/", code=3) == kept
    assert terminal.holds() == {"/y": "a", "/n/x": "b", "/o/z": "c"}
    assert terminal.restore(as_of, "--path-prefix", "/n/", code=3) == kept


def test_a_memory_that_stepped_aside_in_vain_goes_back_to_where_it_was(terminal: Terminal) -> None:
    a, b = terminal.create("/a", "a"), terminal.create("/b", "b")
    as_of = terminal.settle()
    terminal.update(b, path="/c")
    terminal.update(a, path="/b/x")
    terminal.update(b, path="/a")
    restorer, actions = planned(terminal, as_of)
    terminal.create("/b/y", "theirs")
    assert [result_of(one) for one in restorer.carry_out(actions)] == [("/a", False, TAKEN), ("/b", False, TAKEN)]
    assert terminal.holds() == {"/b/x": "a", "/a": "b", "/b/y": "theirs"}


def test_a_memory_that_stepped_aside_and_cannot_go_back_is_named_with_where_it_is(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = terminal.create("/a", "a"), terminal.create("/b", "b")
    as_of = terminal.settle()
    terminal.update(a, path="/c")
    terminal.update(b, path="/a")
    terminal.update(a, path="/b")
    restorer, actions = planned(terminal, as_of)
    do = Restorer._do

    def overtaken(self: Restorer, action: Action) -> Done:
        done = do(self, action)
        if done.restored and action.path == "/b":
            terminal.create("/a", "theirs")
        return done

    monkeypatch.setattr(restore_plan.Restorer, "_do", overtaken)
    moved, kept = restorer.carry_out(actions)
    assert (result_of(moved), result_of(kept)) == (("/b", True, ""), ("/a", False, TAKEN))
    aside = f"/{a}.restoring"
    assert kept.reason.endswith(f"{TAKEN}: /b is held by another memory): move it yourself")
    assert f"it is at {aside} now, and cannot go back to /b" in kept.reason
    assert terminal.holds() == {aside: "a", "/b": "b", "/a": "theirs"}


def test_a_memory_that_a_stopped_run_left_aside_is_brought_back_with_a_prefix_that_it_is_outside_of(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = terminal.create("/n/x", "a"), terminal.create("/a/x", "b")
    then, as_of = terminal.holds(), terminal.settle()
    terminal.update(a, path="/c")
    terminal.update(b, path="/n/x")
    terminal.update(a, path="/a/x")
    step = Restorer._step_aside

    def stops(self: Restorer, *of: Any) -> bool:
        step(self, *of)
        raise KeyboardInterrupt

    restorer, actions = planned(terminal, as_of)
    with monkeypatch.context() as stopping, pytest.raises(KeyboardInterrupt):
        stopping.setattr(restore_plan.Restorer, "_step_aside", stops)
        restorer.carry_out(actions)
    assert f"/{b}.restoring" in terminal.holds()
    terminal.restore(as_of, "--path-prefix", "/n/")
    assert terminal.holds() == then


def lose_first_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose the first answer to every write, though what it asked for was done; its repetition is answered."""
    exchange, answered = HttpApi._exchange, [True]

    def lost(self: HttpApi, method: str, *of: Any) -> Any:
        answer = exchange(self, method, *of)
        if method != "GET":
            answered[0] = not answered[0]
            if not answered[0]:
                raise ConnectionResetError("the answer is lost")
        return answer

    monkeypatch.setattr(HttpApi, "_exchange", lost)


@pytest.mark.slow
def test_writes_whose_answers_are_lost_are_restored_and_done_once(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c, gone = (terminal.create(f"/{name}", name) for name in ("a", "b", "c", "gone"))
    then, as_of = terminal.holds(), terminal.settle()
    terminal.update(a, path="/x")
    terminal.update(b, path="/a", content="changed")
    terminal.update(a, path="/b")
    terminal.update(c, content="changed")
    terminal.delete(gone)
    terminal.create("/new", "new")
    restorer, actions = planned(terminal, as_of)
    before = terminal.versions()
    with monkeypatch.context() as losing:
        lose_first_answers(losing)
        done = restorer.carry_out(actions)
    assert sorted(result_of(one) for one in done) == [
        ("/a", True, ""),
        ("/b", True, ""),
        ("/c", True, ""),
        ("/gone", True, ""),
        ("/new", True, ""),
    ]
    assert terminal.holds() == then
    assert terminal.versions() == before + len(actions) + len(["a step aside"])


def test_another_text_at_the_path_of_a_deleted_memory_keeps_it_from_coming_back(terminal: Terminal) -> None:
    gone = terminal.create("/gone", "gone")
    as_of = terminal.settle()
    terminal.delete(gone)
    restorer, actions = planned(terminal, as_of)
    terminal.create("/gone", "theirs")
    assert [result_of(one) for one in restorer.carry_out(actions)] == [("/gone", False, TAKEN)]
    assert terminal.holds() == {"/gone": "theirs"}


def test_a_memory_that_another_client_changed_is_not_deleted(terminal: Terminal) -> None:
    as_of = terminal.settle()
    new = terminal.create("/new", "new")
    restorer, actions = planned(terminal, as_of)
    terminal.update(new, content="theirs")
    (done,) = restorer.carry_out(actions)
    assert result_of(done) == ("/new", False, "memory_precondition_failed_error")
    assert terminal.holds() == {"/new": "theirs"}


RENAMED = "another client renamed it meanwhile"


def test_a_memory_that_another_client_renamed_is_neither_deleted_nor_changed_nor_moved_back(terminal: Terminal) -> None:
    moved, changed = terminal.create("/a", "1"), terminal.create("/b", "1")
    as_of = terminal.settle()
    terminal.update(moved, path="/c")
    terminal.update(changed, content="2")
    new = terminal.create("/new", "new")
    restorer, actions = planned(terminal, as_of)
    for memory_id, path in ((new, "/theirs/new"), (moved, "/theirs/a"), (changed, "/theirs/b")):
        terminal.update(memory_id, path=path)
    before, now = terminal.versions(), terminal.holds()
    done = [result_of(one) for one in restorer.carry_out(actions)]
    assert done == [("/new", False, RENAMED), ("/a", False, RENAMED), ("/b", False, RENAMED)]
    assert (terminal.versions(), terminal.holds()) == (before, now)


def test_a_memory_that_stepped_aside_and_that_another_client_renamed_is_not_moved_back(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = terminal.create("/a", "a"), terminal.create("/b", "b")
    as_of = terminal.settle()
    terminal.update(a, path="/c")
    terminal.update(b, path="/a")
    terminal.update(a, path="/b")
    restorer, actions = planned(terminal, as_of)
    step = Restorer._step_aside

    def overtaken(self: Restorer, *of: Any) -> bool:
        stepped = step(self, *of)
        (aside,) = (path for path in terminal.holds() if path.endswith(".restoring"))
        terminal.update(aside[1 : -len(".restoring")], path="/theirs")
        return stepped

    monkeypatch.setattr(restore_plan.Restorer, "_step_aside", overtaken)
    kept = [done.reason for done in restorer.carry_out(actions) if not done.restored]
    assert kept == [RENAMED]
    assert "/theirs" in terminal.holds()


def ask_for_approval(terminal: Terminal, prefix: str) -> None:
    approval = {"paths": [{"prefix": prefix}]}
    terminal.client.beta.memory_stores.update(terminal.store, extra_body={"approval": approval})


def proposed(terminal: Terminal) -> dict[str, tuple[str, str, str | None]]:
    """The one edit of each open proposal."""
    listed = terminal.json("proposals", "list", terminal.store)
    shown = [terminal.json("proposals", "show", terminal.store, one["id"]) for one in listed]
    return {one["id"]: (edit["op"], edit["path"], edit["to"]) for one in shown for edit in one["edits"]}


@pytest.mark.slow
def test_what_waits_for_approval_is_kept_with_its_proposal_and_all_else_is_restored(terminal: Terminal) -> None:
    """The run ended at the first of them, each time that it was begun."""
    a, b, c, gone = (terminal.create(path, "1") for path in ("/a", "/kept/b", "/z", "/kept/gone"))
    as_of = terminal.settle()
    for memory_id in (a, b, c):
        terminal.update(memory_id, content="2")
    terminal.delete(gone)
    terminal.create("/kept/new", "new")
    ask_for_approval(terminal, "/kept/")
    for restored in (["/a", "/z"], []):
        rows = terminal.json("restore", terminal.store, "--as-of", as_of, code=3)
        assert sorted(row["path"] for row in rows if row["result"] == "restored") == restored
        waiting = {row["reason"]: row["path"] for row in rows if row["result"] == "kept"}
        edits = {f"staged for approval as {id}": path for id, (_, path, _) in proposed(terminal).items()}
        assert waiting == edits and sorted(edits.values()) == ["/kept/b", "/kept/gone", "/kept/new"]
    assert terminal.holds() == {"/a": "1", "/z": "1", "/kept/b": "2", "/kept/new": "new"}


def test_no_step_aside_is_proposed_where_moves_wait_for_approval(terminal: Terminal) -> None:
    a, b = terminal.create("/kept/a", "a"), terminal.create("/kept/b", "b")
    as_of = terminal.settle()
    terminal.update(a, path="/kept/c")
    terminal.update(b, path="/kept/a")
    terminal.update(a, path="/kept/b")
    ask_for_approval(terminal, "/kept/")
    assert terminal.restore(as_of, code=3) == [("update", "/kept/a", "kept"), ("update", "/kept/b", "kept")]
    assert proposed(terminal) == {}
    assert terminal.holds() == {"/kept/a": "b", "/kept/b": "a"}
