"""``memolith proposals``, against the API on a port of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from memolith.adapters.memory import RecordingMetrics
from memolith.app.api import proposal_views
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.main import run
from memolith.core.proposed_edits import EditRequest
from memolith.wire.http import HttpApi
from tests.api.loopback import serving
from tests.unit.app.scene import HOME, Scene


class Desk:
    """Somebody at a command line, and an agent who proposes."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.agent = scene.cloud.key("write", holder="agent")

    def propose(self, *edits: EditRequest) -> str:
        opened = self.scene.at(HOME).proposals.open(
            self.scene.call(self.agent), self.scene.store, why="what was learned", edits=edits
        )
        return opened.id


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    scene = Scene()
    region = scene.cloud.sites[HOME].region
    api = HttpApi(scene.at(HOME), region.clock, region.randomness, RecordingMetrics())
    with serving(api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", scene.api_key)
        yield Desk(scene)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        run(["proposals", *words])
    answer = capsys.readouterr()
    assert ended.value.code in (None, 0), answer.err
    return answer.out


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        run(["proposals", *words])
    return ended.value.code, capsys.readouterr().err


def test_a_proposal_is_listed_shown_approved_and_reverted(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.scene.create("/a.md", "one\ntwo\n")
    id = desk.propose(
        EditRequest("str_replace", "/a.md", old="two", new="three", why="it was said"),
        EditRequest("create", "/b.md", content="b\n"),
    )
    assert said(capsys, "list", desk.scene.store).startswith(f"{id}\topen\t2\t")
    shown = said(capsys, "show", desk.scene.store, id)
    for line in ("why: what was learned", "[1] replace /a.md  (agent)", "why: it was said", "-two", "+three", "+b"):
        assert line in shown.splitlines(), line
    approved = said(capsys, "approve", desk.scene.store, id)
    assert approved.splitlines() == ["applied  replace  /a.md", "applied  create  /b.md", f"{id}  approved"]
    assert desk.scene.paths() == ["/a.md", "/b.md"]
    assert said(capsys, "revert", desk.scene.store, id).splitlines()[-1] == f"{id}  reverted"
    assert desk.scene.paths() == ["/a.md"]
    assert json.loads(said(capsys, "list", desk.scene.store, "--status", "reverted", "--json"))[0]["id"] == id


def test_lines_that_are_left_out_are_said_to_be_and_where_the_texts_are(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = desk.scene.store
    for path in ("/a b.md", "/c.md"):
        desk.scene.create(path, "one\n" * 100)
    id = desk.propose(
        EditRequest("delete", "/a b.md"),
        EditRequest("replace", "/c.md", content="two\n"),
        EditRequest("create", "/d.md", content="three\n" * 100),
    )
    monkeypatch.setattr(proposal_views, "PROPOSAL_SENT_MAX_BYTES", 900)
    left_out = "its lines are left out, as one answer has no room for all of them."
    new = f"`memolith proposals show {store} {id} --json` has the new text."
    lines = said(capsys, "show", store, id).splitlines()
    assert [line for line in lines if "left out" in line] == [
        f"{left_out} `memolith cat {store} '/a b.md'` shows the text that is there now.",
        f"{left_out} `memolith cat {store} /c.md` shows the text that is there now. {new}",
        f"{left_out} {new}",
    ]
    monkeypatch.setattr(proposal_views, "PROPOSAL_SENT_MAX_BYTES", 0)
    assert "Nor has it room for the new text: reject the proposal" in said(capsys, "show", store, id)


def test_an_approval_with_a_stale_edit_ends_with_1_and_says_why(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    memory = desk.scene.create("/a.md", "one")
    id = desk.propose(EditRequest("replace", "/a.md", content="two"))
    desk.scene.update(memory, "a person's")
    assert "conflict: the memory's text is not what the author of the edit saw" in said(
        capsys, "show", desk.scene.store, id
    )
    code, told = failed(capsys, "approve", desk.scene.store, id)
    assert (code, "left as they are: 1" in told, "show` has the reasons" in told) == (Exit.FAILED, True, True)
    assert desk.scene.read(memory.id).content == "a person's"
    shown = said(capsys, "show", desk.scene.store, id).splitlines()
    assert "[1] replace /a.md  (agent)  stale: the memory's text is not what the author of the edit saw" in shown


def test_only_what_a_command_left_undone_is_its_failure(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    memory = desk.scene.create("/a.md", "one")
    id = desk.propose(EditRequest("replace", "/a.md", content="two"), EditRequest("create", "/b.md", content="b"))
    desk.scene.update(memory, "a person's")
    assert failed(capsys, "approve", desk.scene.store, id)[0] == Exit.FAILED
    assert "reverted  create  /b.md" in said(capsys, "revert", desk.scene.store, id)
    assert said(capsys, "erase", desk.scene.store, id).endswith(f"{id}  erased\n")


def test_a_reversal_that_leaves_an_edit_ends_with_1(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    id = desk.propose(EditRequest("create", "/a.md", content="a"))
    approved = json.loads(said(capsys, "approve", desk.scene.store, id, "--json"))
    desk.scene.update(desk.scene.read(approved["edits"][0]["result"]["memory_id"]), "a person's")
    code, told = failed(capsys, "revert", desk.scene.store, id)
    assert (code, "left as they are: 1" in told, "memolith log" in told) == (Exit.FAILED, True, True)


def test_all_open_proposals_are_approved_the_oldest_first(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [desk.propose(EditRequest("create", f"/{name}.md", content=name)) for name in "abc"]
    lines = said(capsys, "approve", desk.scene.store, "all", "--yes").splitlines()
    assert [line.split()[0] for line in lines if "approved" in line] == ids
    assert said(capsys, "list", desk.scene.store) == "No proposal is open.\n"
    assert said(capsys, "approve", desk.scene.store, "all") == "No proposal is open.\n"


def test_one_that_is_refused_holds_up_no_other_of_all_and_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = desk.scene.store
    first = desk.propose(EditRequest("create", "/a.md", content="a"))
    by_agent = desk.agent
    desk.scene.clock.advance(1)
    desk.agent = desk.scene.cloud.key("write", holder="person")
    monkeypatch.setenv("ANTHROPIC_API_KEY", desk.agent)
    second = desk.propose(EditRequest("create", "/b.md", content="b"))
    desk.agent = by_agent
    desk.scene.clock.advance(1)
    third = desk.propose(EditRequest("create", "/c.md", content="c"))
    with pytest.raises(SystemExit) as ended:
        run(["proposals", "approve", store, "all", "--yes", "--json"])
    told = capsys.readouterr()
    assert (ended.value.code, [one["id"] for one in json.loads(told.out)]) == (Exit.IN_PART, [first, third])
    assert f"error: {second}: a proposal is not approved by who proposed it" in told.err
    assert failed(capsys, "approve", store, "all", "--yes")[0] == Exit.KEY


def test_all_is_a_list_in_json_also_of_one(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    id = desk.propose(EditRequest("create", "/a.md", content="a"))
    assert [one["id"] for one in json.loads(said(capsys, "approve", desk.scene.store, "all", "--yes", "--json"))] == [
        id
    ]
    assert json.loads(said(capsys, "approve", desk.scene.store, "all", "--json")) == []


def test_where_none_is_open_to_be_approved_nothing_is_asked(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "approve", desk.scene.store, "all") == "No proposal is open.\n"
    assert said(capsys, "approve", desk.scene.store, "all", "--json") == "[]\n"


def test_some_edits_are_approved_and_a_proposal_is_rejected(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    edits = [EditRequest("create", f"/{name}.md", content=name) for name in "ab"]
    assert said(capsys, "approve", desk.scene.store, desk.propose(*edits), "--edit", "2").splitlines()[:2] == [
        "left_out  create  /a.md",
        "applied  create  /b.md",
    ]
    id = desk.propose(EditRequest("create", "/c.md", content="c"))
    assert said(capsys, "reject", desk.scene.store, id, "--reason", "no") == f"{id}  rejected\n"
    assert said(capsys, "erase", desk.scene.store, id) == f"{id}  erased\n"
    assert "(erased)" in said(capsys, "show", desk.scene.store, id)


def test_a_mistake_is_told_before_anything_is_asked(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert failed(capsys, "list", desk.scene.store, "--status", "pending")[0] == Exit.USAGE
    assert failed(capsys, "reject", desk.scene.store, "prop_x", "--reason", " ")[0] == Exit.USAGE
    assert failed(capsys, "approve", desk.scene.store, "all", "--edit", "1")[0] == Exit.USAGE
    assert failed(capsys, "show", desk.scene.store, "prop_x")[0] == Exit.NOT_FOUND


def test_last_is_the_newest_that_the_command_may_be_about(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failed(capsys, "approve", desk.scene.store, "last")
    assert code == Exit.NOT_FOUND and "is open" in error
    assert "this store has no proposals" in failed(capsys, "show", desk.scene.store, "last")[1]
    first = desk.propose(EditRequest(op="create", path="/first.md", content="first"))
    desk.scene.clock.advance(1)
    second = desk.propose(EditRequest(op="create", path="/second.md", content="second"))
    assert second in said(capsys, "show", desk.scene.store, "last")
    assert second in said(capsys, "approve", desk.scene.store, "last")
    assert first in said(capsys, "reject", desk.scene.store, "last", "--reason", "not this one")
    assert second in said(capsys, "revert", desk.scene.store, "last")
    assert second in said(capsys, "show", desk.scene.store, "last")


def test_every_command_about_proposals_answers_with_one_json_value(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    store = desk.scene.store
    first, second, third = (
        desk.propose(EditRequest("create", f"/{name}.md", content=name)) for name in ("a", "b", "c")
    )
    for words in (
        ["list", store],
        ["show", store, first],
        ["approve", store, first],
        ["revert", store, first],
        ["reject", store, second, "--reason", "no"],
        ["withdraw", store, third],
        ["erase", store, third],
    ):
        assert isinstance(json.loads(said(capsys, *words, "--json")), dict | list), words
