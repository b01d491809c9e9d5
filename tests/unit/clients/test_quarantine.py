"""``memolith quarantine``, against the API on a port of this machine: what it shows, does, and says of a mistake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from memolith.adapters.memory import RecordingMetrics
from memolith.app.api.quarantine import PLACES_MAX, VERSIONS_LOOKED_AT
from memolith.app.kernel.results import Memory
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.main import run
from memolith.wire.http import HttpApi
from tests.api.loopback import serving
from tests.unit.app.looking import DEEP_RULE, PLANTED, Looking
from tests.unit.app.scene import AWAY, HOME, Scene


@dataclass(frozen=True, slots=True)
class Desk:
    """Somebody at a command line, and the store that they look after."""

    scene: Scene
    memory: Memory

    @property
    def words(self) -> tuple[str, str]:
        return self.scene.store, self.memory.version_id

    def read(self, region: str) -> str | None:
        """What a key that may read is given of the memory."""
        reader = self.scene.call(self.scene.cloud.key("read"))
        found = self.scene.at(region).memories.retrieve(reader, self.scene.store, self.memory.id, full=True)
        return found.content


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    scene = Scene(deep_scanner=Looking())
    memory = scene.create("/notes/a.md", "good")
    scene.deliver()
    memory = scene.update(memory, f"bad: {PLANTED}")
    scene.deliver()
    region = scene.cloud.sites[HOME].region
    api = HttpApi(scene.at(HOME), region.clock, region.randomness, RecordingMetrics())
    with serving(api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", scene.api_key)
        yield Desk(scene, memory)


def memolith(*words: str) -> int:
    """The exit code of ``memolith quarantine …``."""
    try:
        run(["quarantine", *words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_what_is_withheld_is_listed_with_its_reason(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert memolith("list", desk.scene.store, "--json") == 0
    (text,) = json.loads(capsys.readouterr().out)
    assert (text["memory_version_id"], text["status"]) == (desk.memory.version_id, "withheld")
    assert text["withheld"]["rules"] == [DEEP_RULE]
    assert memolith("list", desk.scene.store) == 0
    assert DEEP_RULE.split("-")[0] in capsys.readouterr().out


def test_a_text_is_in_order_with_its_verdicts_and_places_and_never_itself(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert memolith("show", *desk.words) == 0
    shown = capsys.readouterr().out
    assert "withhold  by scanner" in shown and DEEP_RULE in shown and "Remove it." in shown
    assert "kite." not in shown and PLANTED not in shown
    assert memolith("show", *desk.words, "--json") == 0
    (place,) = json.loads(capsys.readouterr().out)["places"]
    assert (place["path"], place["head"]) == ("/notes/a.md", True)


@pytest.mark.parametrize("bound", ["PLACES_MAX", "VERSIONS_LOOKED_AT"])
def test_that_a_text_may_stand_at_more_places_is_told_with_both_bounds(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(f"memolith.app.api.quarantine.{bound}", 0)
    assert memolith("show", *desk.words) == 0
    shown = capsys.readouterr().out
    assert (
        f"There may be more: at most {PLACES_MAX:,} are listed, of the store's {VERSIONS_LOOKED_AT:,} newest" in shown
    )


def test_a_released_text_is_in_order_again_in_every_region_and_stays_so(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.read(HOME) is None
    assert memolith("release", *desk.words, "--reason", "our own notes") == 0
    desk.scene.deliver()
    assert desk.read(HOME) == desk.read(AWAY) == f"bad: {PLANTED}"
    capsys.readouterr()
    assert memolith("list", desk.scene.store) == 0
    assert "Nothing is withheld" in capsys.readouterr().out
    assert memolith("list", desk.scene.store, "--include-released", "--json") == 0
    (text,) = json.loads(capsys.readouterr().out)
    assert text["status"] == "released"


def test_the_last_good_version_is_brought_back(desk: Desk) -> None:
    assert memolith("restore", *desk.words) == 0
    desk.scene.deliver()
    assert desk.read(HOME) == desk.read(AWAY) == "good"


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_restoration_that_waits_for_approval_is_no_success(
    desk: Desk, capsys: pytest.CaptureFixture[str], option: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit):
        run(["stores", "update", desk.scene.store, "--approval", "agents=propose"])
    capsys.readouterr()
    assert memolith("restore", *desk.words, *option) == Exit.FAILED
    answer = capsys.readouterr()
    assert answer.out == "" and "staged for approval as prop_" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("list", "memstore_x.y"), "STORE: memstore_x.y is not the id of a store"),
        (("show", "memstore_useast1_01", "mem_1"), "VERSION: mem_1 is not the id of a version"),
        (("release", "memstore_useast1_01", "memver_1", "--reason", " "), "--reason: must say why"),
    ],
)
def test_a_mistake_is_told_in_one_line(
    desk: Desk, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert memolith(*words) == Exit.USAGE
    told = capsys.readouterr().err
    assert said in told and told.count("\n") == 1


def test_a_store_that_is_not_there_is_told(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert memolith("list", "memstore_useast1_01m80gqgrfyn8361t51thggc0e") == Exit.NOT_FOUND
    assert "was not found" in capsys.readouterr().err


def test_an_api_that_does_not_answer_is_named(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert memolith("restore", *desk.words) == Exit.NO_ANSWER
    told = capsys.readouterr().err
    assert "http://127.0.0.1:9 does not answer" in told and "Nothing was changed" in told


def test_a_key_that_is_no_admins_is_refused(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", desk.scene.cloud.key("write"))
    assert memolith("list", desk.scene.store) == Exit.KEY
    assert "scope" in capsys.readouterr().err
