"""``memolith homes``: what an operator is shown and asked, over the real use cases of three regions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memolith.adapters.layered import Call as PortCall
from memolith.adapters.memory import MemoryErasableObjects
from memolith.app.homes.failover import Failover
from memolith.app.homes.handoff import Handoff
from memolith.clients.cli import main
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import Exit
from memolith.core.errors import MemolithError, OutcomeUnknown, Unavailable
from memolith.core.rows.base import RowKey
from memolith.ports import errors as port_errors
from tests.unit.app.scene import AWAY, HOME, INDEXED, Scene

T = TypeVar("T")
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
    """A region none of whose functions answers, or does not say what it did."""

    def __init__(self, how: type[MemolithError]) -> None:
        self._how = how

    def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        raise self._how(f"{function} in {region} did not run to its end")


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


@pytest.mark.parametrize("emptied", [False, True])
def test_failing_over_to_a_region_that_stands_in_asks_until_that_has_received_everything(
    scene: Scene, memolith: Memolith, emptied: bool
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
    if emptied:
        empty(scene, THIRD, "stores")
    code, _, said = memolith(*words)
    assert (code, "has not received" in said) == (0, False)


@pytest.mark.parametrize("noticed", [False, True])
@pytest.mark.parametrize("tables", [("stores",), INDEXED, (*INDEXED, "control", "journal")])
def test_a_failover_leaves_out_no_store_though_the_tables_of_the_new_region_were_emptied(
    scene: Scene, memolith: Memolith, tables: tuple[str, ...], noticed: bool
) -> None:
    precious = doubled(scene)
    tick(scene)
    empty(scene, AWAY, *tables)
    if noticed:
        tick(scene)
    with scene.intercepted_by(dead):
        code, out, _ = memolith("fail-over", "--from", HOME, "--to", AWAY, "--yes", "--json")
    assert code == 0
    assert {one["store"]: one["state"] for one in json.loads(out)["stores"]} == {
        scene.store: "moved",
        precious: "moved",
    }


def test_a_move_that_some_stores_stay_out_of_ends_with_another_code_than_a_wrong_command_line(
    scene: Scene, memolith: Memolith
) -> None:
    precious = doubled(scene)

    def refusing(call: PortCall, act: Callable[[], T]) -> T:
        if call.name == "objects.put_if_absent" and precious in call.subjects[0]:
            raise port_errors.Unavailable("dead on purpose")
        return act()

    with scene.intercepted_by(refusing):
        code, out, _ = memolith("move", "--from", HOME, "--to", AWAY, "--json")
        assert memolith("move", precious, "--to", AWAY)[0] == Exit.FAILED
    assert {one["store"]: one["state"] for one in json.loads(out)["stores"]} == {
        scene.store: "moved",
        precious: "not done",
    }
    assert code == Exit.IN_PART


def test_a_store_whose_row_was_lost_is_asked_about_like_any_other(scene: Scene, memolith: Memolith) -> None:
    precious = doubled(scene)
    tick(scene)
    empty(scene, THIRD, "stores")
    code, _, said = memolith("fail-over", "--from", HOME, "--to", THIRD)
    assert code == Exit.USAGE
    assert f"{precious} Precious: every acknowledged write stands in {AWAY}, not in {THIRD}" in said
    assert scene.cloud.rows(AWAY, "stores")[precious, "record"]["home"] == HOME, "nothing was begun"


def test_a_failover_goes_by_the_bucket_where_an_old_row_came_into_a_table_that_was_emptied(
    scene: Scene, memolith: Memolith
) -> None:
    assert memolith("move", scene.store, "--to", AWAY)[0] == 0
    scene.deliver()
    tick(scene)
    empty(scene, THIRD, "stores")
    first = scene.cloud.buckets.page(THIRD, f"{HOME}/store/{scene.store}/", None, 1).keys[0]
    scene.cloud.sites[THIRD].indexing.object_arrived(first)
    assert home_of(scene, scene.store) == HOME, "as it was before the move"
    code, out, _ = memolith("fail-over", "--from", AWAY, "--to", THIRD, "--json")
    assert (code, [one["state"] for one in json.loads(out)["stores"]]) == (0, ["moved"])


def test_a_store_whose_record_cannot_be_read_keeps_no_other_from_being_listed(
    scene: Scene, memolith: Memolith, caplog: pytest.LogCaptureFixture
) -> None:
    precious = doubled(scene)
    keys = scene.cloud.buckets.page(AWAY, f"{HOME}/store/{precious}/", None, 10).keys
    MemoryErasableObjects(scene.cloud.buckets, AWAY).erase(keys[-1], b"no record", {})
    empty(scene, AWAY, "stores")
    code, out, _ = memolith("list", "--json", "--region", AWAY)
    assert (code, list(rows(out))) == (0, [scene.store])
    assert [record.__dict__.get("store") for record in caplog.records] == [precious]


def empty(scene: Scene, region: str, *tables: str) -> None:
    """Somebody empties these tables of a region."""
    database = scene.cloud.sites[region].database
    with database.lock:
        for table in tables:
            found = database.table(table, 1)
            for pk, sk in list(found.order.rows):
                database.put(found, RowKey(table, pk, sk), None)


def dead(call: PortCall, act: Callable[[], T]) -> T:
    """Nothing in the region that is gone answers."""
    if call.target == HOME:
        raise port_errors.Unavailable("dead on purpose")
    return act()


def tick(scene: Scene) -> None:
    scene.clock.advance(61)
    for site in scene.cloud.sites.values():
        site.reconciling.tick()
    scene.deliver()


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


@pytest.mark.parametrize("how", [Unavailable, OutcomeUnknown])
def test_a_return_names_a_region_that_does_not_say_which_stores_it_knows(
    scene: Scene, memolith: Memolith, monkeypatch: pytest.MonkeyPatch, how: type[MemolithError]
) -> None:
    scene.deliver()
    assert memolith("fail-over", "--from", HOME, "--to", AWAY)[0] == 0
    scene.deliver()
    monkeypatch.setattr(scene.cloud.sites[THIRD].region, "peers", Silent(how))
    code, out, said = memolith("return", HOME, "--json")
    assert (code, [one["state"] for one in json.loads(out)["stores"]]) == (0, ["moved"])
    assert f"{THIRD} does not say which stores it knows" in said and "Run this command again" in said


@pytest.mark.parametrize("how", [Unavailable, OutcomeUnknown])
def test_a_return_fails_where_no_region_says_which_stores_it_knows(
    scene: Scene, memolith: Memolith, monkeypatch: pytest.MonkeyPatch, how: type[MemolithError]
) -> None:
    for site in scene.cloud.sites.values():
        monkeypatch.setattr(site.region, "peers", Silent(how))
    code, out, said = memolith("return", HOME, "--json")
    assert (code, out) == (Exit.NO_ANSWER, "")
    assert f"none of {HOME}, {AWAY}, {THIRD} says which stores it knows" in said


@pytest.mark.slow
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
