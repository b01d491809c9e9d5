"""``memolith divergent``, against the API on a port of this machine: it needs a key, and no right on AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from memolith.adapters.memory import RecordingMetrics
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.main import run
from memolith.wire.http import HttpApi
from tests.api.loopback import serving
from tests.unit.app.failing import diverged
from tests.unit.app.scene import AWAY, Scene
from tests.unit.clients.desk import HOSTILE, steering

NO_NEWLINE = "\\ No newline at end of file"


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    scene = Scene()
    region = scene.cloud.sites[AWAY].region
    api = HttpApi(scene.at(AWAY), region.clock, region.randomness, RecordingMetrics())
    with serving(api.answer) as port:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", scene.api_key)
        yield scene


def memolith(*words: str) -> int:
    """The exit code of ``memolith divergent …``."""
    try:
        run(["divergent", *words])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_what_is_left_behind_is_listed_in_one_store_or_in_all(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    _, lost = diverged(scene)
    for words in ((), (scene.store,)):
        assert memolith("list", *words, "--json") == 0
        [listed] = json.loads(capsys.readouterr().out)
        assert (listed["id"], listed["memory_store_id"]) == (lost.version_id, scene.store)
    assert memolith("list") == 0
    assert "/a" in capsys.readouterr().out


def test_a_divergent_version_is_in_order_as_a_difference_restored_and_gone_from_the_list(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    memory, lost = diverged(scene)
    assert memolith("show", scene.store, lost.version_id) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["@@ -1 +1 @@", "-ours", NO_NEWLINE, "+theirs", NO_NEWLINE]
    assert memolith("restore", scene.store, lost.version_id) == 0
    assert "/a is now memver_" in capsys.readouterr().out
    assert scene.read(memory, at=AWAY).content == "theirs"
    assert memolith("list") == 0
    assert "Nothing is divergent." in capsys.readouterr().out


def test_a_last_line_feed_alone_is_a_difference_that_shows(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    _, lost = diverged(scene, "ours\n")
    assert memolith("show", scene.store, lost.version_id) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["@@ -1 +1 @@", "-ours", NO_NEWLINE, "+ours"]


def test_a_divergent_text_that_would_steer_a_terminal_is_shown_and_not_sent(
    scene: Scene, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, lost = diverged(scene, HOSTILE)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert memolith("show", scene.store, lost.version_id) == 0
    said = capsys.readouterr().out
    assert (steering(said), "\\x1b[2J" in said) == ("", True)


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_a_restoration_that_waits_for_approval_is_no_success_and_its_version_stays_listed(
    scene: Scene, capsys: pytest.CaptureFixture[str], option: tuple[str, ...]
) -> None:
    memory, lost = diverged(scene)
    with pytest.raises(SystemExit):
        run(["stores", "update", scene.store, "--approval", "agents=propose"])
    capsys.readouterr()
    assert memolith("restore", scene.store, lost.version_id, *option) == Exit.FAILED
    answer = capsys.readouterr()
    assert answer.out == "" and "staged for approval as prop_" in answer.err
    assert scene.read(memory, at=AWAY).content == "ours"
    assert memolith("list") == 0
    assert lost.version_id in capsys.readouterr().out


def test_a_divergent_version_is_dismissed_once(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    _, lost = diverged(scene)
    assert memolith("dismiss", scene.store, lost.version_id) == 0
    assert "dismissed" in capsys.readouterr().out
    assert memolith("dismiss", scene.store, lost.version_id) == Exit.NOT_FOUND


def test_what_is_no_id_is_refused_before_anything_is_asked(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    assert memolith("show", scene.store, "notes") == Exit.USAGE
    assert "VERSION: notes is not the id of a version" in capsys.readouterr().err
    assert memolith("show", "memstore_a/b", "memver_1") == Exit.USAGE
    assert "STORE: memstore_a/b is not the id of a store" in capsys.readouterr().err


def test_a_store_with_divergent_versions_is_found_by_its_name(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    _, lost = diverged(scene)
    assert memolith("list", "notes", "--json") == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == [lost.version_id]
    assert memolith("show", "nowhere", lost.version_id) == Exit.NOT_FOUND
