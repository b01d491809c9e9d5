"""What each path asks of AWS, exactly: a row of a table in `call_counts` is the whole of it, in order.

The budgets are ours: an update costs one index read, one PUT and one round trip of index writes, and nothing else; a
creation adds its claim and its look, two reads at once; a read by id is at most one index read and then, at once, one
GET and one read of what the verdicts say of the text. Over HTTP a write has one read more: the caller is looked up
before the body is read, and what the body names is read after it (ADR 30).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memolith.adapters.layered import CallCounts
from memolith.app.kernel.proposal_results import Staged
from memolith.app.kernel.results import UNSET, Memory
from tests.unit.app.call_counts.imports import IMPORTS
from tests.unit.app.call_counts.reads import FRESH_READS, PAST_READS, READS
from tests.unit.app.call_counts.rows import Path
from tests.unit.app.call_counts.safety import REDACTIONS, VERDICTS
from tests.unit.app.call_counts.searches import SEARCHES
from tests.unit.app.call_counts.sessions import SESSIONS
from tests.unit.app.call_counts.stage import Stage
from tests.unit.app.call_counts.stores import STORES
from tests.unit.app.call_counts.upkeep import EVENTS, TICKS
from tests.unit.app.call_counts.writes import ADMITTED, TWO_REGIONS, WRITES_AT_HOME, WRITES_ELSEWHERE
from tests.unit.app.scene import AWAY, HOME, Scene

TABLES = {
    "bringing in a history:": IMPORTS,
    "at home": WRITES_AT_HOME,
    "elsewhere": WRITES_ELSEWHERE,
    "reading": [*READS, *SESSIONS],
    "searching": SEARCHES,
    "reading freshly": FRESH_READS,
    "reading the past": PAST_READS,
    "redacting": REDACTIONS,
    "a verdict": VERDICTS,
    "a store:": STORES,
    "where a store asks for two regions:": TWO_REGIONS,
    "once the caller was looked up, before the body is read:": ADMITTED,
    "the event of": EVENTS,
    "the reconciler's tick": TICKS,
}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=f"{table}: {path.name}") for table, paths in TABLES.items() for path in paths],
)
def test_each_path_asks_for_what_its_row_says_and_nothing_else(path: Path) -> None:
    stage = Stage()
    path.before(stage)
    stage.play(path.act)
    assert {HOME: stage.trace.of(HOME), AWAY: stage.trace.of(AWAY)} == {HOME: path.home, AWAY: path.away}


def counted(act: Callable[[Scene, Memory], object]) -> CallCounts:
    scene, counts = Scene(), CallCounts()
    made = scene.create("/n/a", "first")
    with scene.intercepted_by(counts):
        act(scene, made)
    return counts


def test_an_update_is_one_read_one_put_and_one_write_of_the_index_in_requests_too() -> None:
    counts = counted(lambda scene, made: scene.update(made, "x", expected=made.content_sha256))
    assert counts.requests == {
        "dynamodb.BatchGetItem": 1,
        "s3.PutObject": 1,
        "dynamodb.TransactWriteItems": 1,
    }


def choose(scene: Scene, **policy: object) -> None:
    """Have the store's writes judged by a policy that both regions know."""
    scene.at(HOME).stores.update(
        scene.call(), scene.store, name=UNSET, description=UNSET, metadata=None, approval=policy
    )
    scene.deliver()


@pytest.mark.parametrize("at", [HOME, AWAY])
@pytest.mark.parametrize(
    "act",
    [
        lambda scene, made, at: scene.update(made, "x", at=at),
        lambda scene, made, at: scene.update(made, path="/n/z", at=at),
        lambda scene, made, at: scene.create("/n/new", at=at),
        lambda scene, made, at: scene.delete(made, at=at),
    ],
    ids=["update", "rename", "create", "delete"],
)
def test_a_write_that_an_approval_policy_lets_pass_costs_no_call_more(
    act: Callable[[Scene, Memory, str], object], at: str
) -> None:
    spent = []
    for people in ("write", "propose"):
        scene, counts = Scene(), CallCounts()
        made = scene.create("/n/a", "first")
        choose(scene, people=people)
        with scene.intercepted_by(counts):
            act(scene, made, at)
        spent.append(counts.requests)
    assert spent[0] == spent[1]


def test_a_write_of_which_the_home_alone_knows_that_it_waits_is_asked_for_there_before_it_is_proposed() -> None:
    """The home's decision, a HEAD for the slot after the head, one for the head itself, and its row where it landed."""
    spent = []
    for known in (True, False):
        scene, counts = Scene(), CallCounts()
        choose(scene, agents="propose")
        person = scene.call(scene.cloud.key("write", holder="person"))
        made = scene.at(HOME).memories.create(person, scene.store, path="/n/a", content="first", full=False)
        if known:
            scene.deliver()
        with scene.intercepted_by(counts), pytest.raises(Staged):
            scene.update(made, "x", at=AWAY)
        spent.append(counts.requests)
    assert spent[1] - spent[0] == {
        "dynamodb.BatchGetItem": 3,
        "dynamodb.TransactWriteItems": 1,
        "lambda.Invoke": 1,
        "lambda.Invoke.remote": 1,
        "s3.HeadObject": 2,
    }


def test_a_write_that_waits_costs_two_gets_more_and_no_query_when_it_is_asked_for_again() -> None:
    scene, spent = Scene(), []
    made = scene.create("/n/a", "first")
    choose(scene, agents="propose")
    for _ in range(2):
        counts = CallCounts()
        with scene.intercepted_by(counts), pytest.raises(Staged):
            scene.update(made, "x")
        spent.append(counts.requests)
    once = {"dynamodb.BatchGetItem": 7, "s3.PutObject": 1, "dynamodb.TransactWriteItems": 1}
    assert spent == [{**once, "dynamodb.Query": 1}, {**once, "s3.GetObject": 2}]


def test_a_creation_is_that_and_its_claim_and_its_look() -> None:
    counts = counted(lambda scene, made: scene.create("/n/new"))
    assert counts.requests == {
        "dynamodb.BatchGetItem": 2,
        "dynamodb.single_write": 1,
        "dynamodb.Query": 1,
        "s3.PutObject": 1,
        "dynamodb.TransactWriteItems": 1,
    }


def test_a_read_by_id_is_one_read_of_the_index_and_then_one_get_and_one_more_read_at_once() -> None:
    counts = counted(lambda scene, made: scene.read(made))
    assert counts.requests == {"dynamodb.BatchGetItem": 2, "s3.GetObject": 1}


@pytest.mark.parametrize("others", [0, 10, 200])
def test_what_a_write_costs_does_not_depend_on_how_much_the_store_holds(others: int) -> None:
    scene, counts = Scene(), CallCounts()
    made = scene.create("/n/a")
    for number in range(others):
        scene.create(f"/m/{number}")
        scene.update(made, f"text {number}")
    with scene.intercepted_by(counts):
        scene.update(made, "x")
        scene.create("/n/new")
        scene.read(made)
    assert counts.requests == {
        "dynamodb.BatchGetItem": 5,
        "dynamodb.Query": 1,
        "dynamodb.TransactWriteItems": 2,
        "dynamodb.single_write": 1,
        "s3.GetObject": 1,
        "s3.PutObject": 2,
    }
