"""``memolith homes``: what an operator is shown and asked, over the real use cases of three regions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memolith.app.homes.failover import Failover
from memolith.app.homes.handoff import Handoff
from memolith.clients.cli import main
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import Exit
from memolith.core.errors import Unavailable
from tests.unit.app.scene import AWAY, HOME, Scene

THIRD = "ap-south-1"
Memolith = Callable[..., tuple[int, str, str]]


@pytest.fixture
def scene() -> Scene:
    return Scene(regions=(HOME, AWAY, THIRD))


@pytest.fixture
def memolith(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Memolith:
    """A command's exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    record = {"stage": "test", "regions": [HOME, AWAY, THIRD], "account": "111122223333"}
    (tmp_path / "cdk.json").write_text(json.dumps({"context": {"memolith": record}}))
    sites = scene.cloud.sites
    monkeypatch.setattr(Target, "site", lambda target, name=None: sites[target.deployment(name).region].region)

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run(["homes", *words])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


class Silent:
    """A region none of whose functions answers."""

    def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        raise Unavailable(f"{function} in {region} did not run")


def unanswered(*_: Any) -> Any:
    """What a call does whose answer never comes."""
    raise Unavailable("no answer")


def doubled(scene: Scene) -> str:
    """A store that asks for two regions, the second of them `AWAY`."""
    made = scene.at(HOME).stores.create(
        scene.call(), name="Precious", description="", metadata={}, durability="two_regions"
    )
    scene.deliver()
    return made.id


def home_of(scene: Scene, store_id: str) -> str:
    return str(scene.cloud.rows(THIRD, "stores")[store_id, "record"]["home"])


def rows(out: str) -> dict[str, dict[str, Any]]:
    return {row["store"]: row for row in json.loads(out)}


def test_a_list_says_which_region_has_everything_of_a_store_that_asks_for_two(scene: Scene, memolith: Memolith) -> None:
    precious = doubled(scene)
    _, out, _ = memolith("list", "--json")
    listed = rows(out)
    assert (listed[precious]["home"], listed[precious]["second region"]) == (HOME, AWAY)
    assert listed[scene.store]["second region"] is None


def test_failing_over_to_where_something_may_be_missing_needs_to_be_meant(scene: Scene, memolith: Memolith) -> None:
    precious = doubled(scene)
    words = ("fail-over", "--from", HOME, "--to", THIRD)
    code, _, said = memolith(*words)
    assert code == Exit.USAGE
    assert f"{precious} Precious: every acknowledged write stands in {AWAY}, not in {THIRD}" in said
    assert scene.store not in said
    assert "--yes" in said
    assert {home_of(scene, store) for store in (precious, scene.store)} == {HOME}, "nothing was begun"
    code, _, said = memolith(*words, "--yes")
    assert (code, precious in said) == (0, True)
    assert {home_of(scene, store) for store in (precious, scene.store)} == {THIRD}


def test_failing_over_to_its_second_region_asks_nothing(scene: Scene, memolith: Memolith) -> None:
    precious = doubled(scene)
    code, out, said = memolith("fail-over", "--from", HOME, "--to", AWAY, "--stores", precious, "--json")
    assert (code, said) == (0, "")
    assert [one["state"] for one in json.loads(out)["stores"]] == ["moved"]


def test_failing_over_to_a_region_that_stands_in_asks_until_that_has_received_everything(
    scene: Scene, memolith: Memolith
) -> None:
    precious = doubled(scene)
    scene.at(HOME).memories.create(scene.call(), precious, path="/a", content="one", full=False)
    late = [event for event in scene.cloud.pending if event.region == HOME]
    scene.cloud.pending.clear()
    assert memolith("fail-over", "--from", HOME, "--to", AWAY, "--stores", precious)[0] == 0
    scene.deliver()
    listed = rows(memolith("list", "--json", "--region", THIRD)[1])
    assert (listed[precious]["second region"], listed[precious]["stands in"]) == (THIRD, True)
    words = ("fail-over", "--from", AWAY, "--to", THIRD, "--stores", precious)
    code, _, said = memolith(*words)
    assert code == Exit.USAGE
    assert f"{precious} Precious: {THIRD} has not received all that was written before {AWAY} became the home" in said
    scene.cloud.pending.extend(late)
    scene.deliver()
    code, _, said = memolith(*words)
    assert (code, "has not received" in said) == (0, False)


def test_stores_of_another_home_are_none_of_it(scene: Scene, memolith: Memolith) -> None:
    """Where the region that is gone was not the home, nothing can be missing; the store says so itself."""
    precious = doubled(scene)
    assert memolith("move", "Precious", "--to", AWAY)[0] == 0
    scene.deliver()
    code, out, said = memolith("fail-over", "--from", HOME, "--to", THIRD, "--stores", precious, "--json")
    (one,) = json.loads(out)["stores"]
    assert (code, one["state"]) != (0, "moved")
    assert "second region" not in said


def test_a_store_is_named_by_its_name_if_it_is_the_only_one_of_that_name(scene: Scene, memolith: Memolith) -> None:
    first, second = doubled(scene), doubled(scene)
    for words in (
        ("move", "Precious", "--to", AWAY),
        ("fail-over", "--from", HOME, "--to", AWAY, "--stores", "Precious"),
    ):
        code, _, said = memolith(*words)
        assert (code, first in said, second in said) == (Exit.USAGE, True, True)
    code, _, said = memolith("move", "Nobody", "--to", AWAY)
    assert (code, "Nobody is the name of no single store" in said) == (Exit.USAGE, True)
    assert {home_of(scene, one) for one in (first, second)} == {HOME}


@pytest.mark.parametrize("words", [("return", HOME), ("move", "--from", AWAY, "--to", HOME)], ids=["return", "move"])
def test_a_region_that_has_not_heard_of_a_failover_gets_its_stores_back(
    scene: Scene, memolith: Memolith, words: tuple[str, ...]
) -> None:
    scene.deliver()
    assert memolith("fail-over", "--from", HOME, "--to", AWAY)[0] == 0
    scene.cloud.pending.clear()
    assert scene.cloud.rows(HOME, "stores")[scene.store, "record"]["home"] == HOME, "or this test shows nothing"
    code, out, _ = memolith(*words, "--json")
    assert (code, [one["state"] for one in json.loads(out)["stores"]]) == (0, ["moved"])
    scene.deliver()
    assert home_of(scene, scene.store) == HOME


def test_a_return_names_a_region_that_does_not_say_which_stores_it_knows(
    scene: Scene, memolith: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.deliver()
    assert memolith("fail-over", "--from", HOME, "--to", AWAY)[0] == 0
    scene.deliver()
    monkeypatch.setattr(scene.cloud.sites[THIRD].region, "peers", Silent())
    code, out, said = memolith("return", HOME, "--json")
    assert (code, [one["state"] for one in json.loads(out)["stores"]]) == (0, ["moved"])
    assert f"{THIRD} does not say which stores it knows" in said and "Run this command again" in said


def test_a_failover_that_stopped_half_way_goes_on_where_the_same_command_is_run_again(
    scene: Scene, memolith: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.deliver()
    words = ("fail-over", "--from", HOME, "--to", AWAY, "--json")
    with monkeypatch.context() as stopping:
        stopping.setattr(Failover, "_complete", lambda *_: None)
        code, out, _ = memolith(*words)
    assert [one["state"] for one in json.loads(out)["stores"]] == ["copying"]
    scene.deliver()
    begun = rows(memolith("list", "--json", "--region", AWAY)[1])[scene.store]
    assert (begun["home"], begun["state"]) == (AWAY, "moving"), "or this test shows nothing"
    code, out, _ = memolith(*words)
    told = [(one["store"], one["state"]) for one in json.loads(out)["stores"]]
    assert (code, told) == (0, [(scene.store, "moved")])
    scene.deliver()
    made = scene.at(AWAY).memories.create(scene.call(), scene.store, path="/a", content="one", full=False)
    assert made.path == "/a"


def test_a_failover_leaves_a_planned_move_away_from_the_new_region_alone(
    scene: Scene, memolith: Memolith, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.deliver()
    assert memolith("move", scene.store, "--to", AWAY)[0] == 0
    scene.at(AWAY).memories.create(scene.call(), scene.store, path="/a", content="one", full=False)
    scene.deliver()
    with monkeypatch.context() as stopping:
        stopping.setattr(Handoff, "commit", unanswered)
        assert memolith("move", scene.store, "--to", THIRD)[0] != 0
    moving = rows(memolith("list", "--json", "--region", AWAY)[1])[scene.store]
    assert (moving["home"], moving["state"]) == (AWAY, f"moving to {THIRD}"), "or this test shows nothing"
    code, out, _ = memolith("fail-over", "--from", HOME, "--to", AWAY, "--json")
    assert (code, json.loads(out)["stores"]) == (0, [])
    assert rows(memolith("list", "--json", "--region", AWAY)[1])[scene.store]["state"] == f"moving to {THIRD}"
