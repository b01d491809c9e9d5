"""A command that its lost home had carried out, repeated at the new home while a late row still says that it is done.

The version came after the new home had listed what it found, and before it knew that its term had begun.
docs/consistency.md, promise 39: a read or a write at the home does not find it before it is adopted.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memolith.core import ids
from memolith.core.commands import ImportedVersion
from memolith.core.proposed_edits import EditRequest
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.take_overs import logged

MEMORY = f"mem_{ids.ulid(1, bytes([9] * 10))}"
V1, V2, V3 = (f"memver_{ids.ulid(number, bytes([9] * 10))}" for number in (1, 2, 3))
AT_US = 1_780_000_000_000_000
ONE = ImportedVersion(MEMORY, V1, "created", "user:user_1", AT_US, "/told", "one")
TWO = ImportedVersion(MEMORY, V2, "modified", "user:user_1", AT_US + 1, "/told", "two")
GONE = ImportedVersion(MEMORY, V2, "deleted", "user:user_1", AT_US + 1, None, None)
THREE = ImportedVersion(MEMORY, V3, "modified", "user:user_1", AT_US + 2, "/told", "three")


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _import(stage: MovingStage, region: str, *versions: ImportedVersion) -> list[str]:
    return [one.status for one in stage.memolith(region).imports.import_versions(stage.call(), stage.store, versions)]


@contextmanager
def before_its_rows_are_repaired(stage: MovingStage) -> Iterator[None]:
    """The new home takes writes, and has in its rows the entry that the lost one put last."""
    *_, key = logged(stage)
    stage.hold_back()
    with stage.dead(HOME):
        over = stage.actor(lambda: stage.fail_over(AWAY)).until("index.query", "memories", after=True)
        stage.reach(AWAY, key)
        over.until("index.query")
        yield
        over.finish()


@pytest.mark.parametrize("versions", [[ONE, TWO, THREE], [ONE, TWO], [TWO]], ids=["all", "both", "the last"])
def test_a_version_that_a_repeated_import_is_told_of_is_in_the_history(
    stage: MovingStage, versions: list[ImportedVersion]
) -> None:
    _import(stage, HOME, ONE)
    stage.deliver()
    _import(stage, HOME, TWO)
    with before_its_rows_are_repaired(stage):
        told = _import(stage, AWAY, *versions)
        stage.update(MEMORY, "four", region=AWAY)
    assert set(told) <= {"known", "imported"}
    stage.at_rest()
    assert V2 in [version.id for version in stage.history_of(MEMORY, THIRD)]


def test_a_deletion_that_a_repeated_import_is_told_of_holds(stage: MovingStage) -> None:
    _import(stage, HOME, ONE)
    stage.deliver()
    _import(stage, HOME, GONE)
    with before_its_rows_are_repaired(stage):
        _import(stage, AWAY, GONE)
    stage.at_rest()
    assert stage.listed(AWAY) == {}


@pytest.mark.parametrize("meanwhile", [False, True])
def test_an_edit_that_is_told_as_applied_is_in_the_history(stage: MovingStage, meanwhile: bool) -> None:
    """And one that stays divergent, as somebody else changed the memory meanwhile, is told as stale."""
    agent, person = (stage.cloud.call(stage.cloud.key("write", holder=one)) for one in ("agent", "person"))
    memory = stage.create("/a", "one")
    edits = (EditRequest("replace", "/a", content="edited"),)
    proposal_id = stage.memolith().proposals.open(agent, stage.store, why="w", edits=edits).id
    stage.deliver()
    stage.memolith().proposals.approve(person, stage.store, proposal_id)
    decided, *_ = [event.key for event in stage.cloud.pending if "/proposal/" in event.key]
    stage.reach(AWAY, decided)
    with before_its_rows_are_repaired(stage):
        if meanwhile:
            stage.update(memory.id, "other's", region=AWAY)
        told = stage.memolith(AWAY).proposals.approve(person, stage.store, proposal_id)
        stage.update(memory.id, "after", region=AWAY)
    [edit] = told.edits or ()
    assert edit.result is not None and edit.result.outcome == ("stale" if meanwhile else "applied")
    stage.at_rest(divergent=None)
    assert len(stage.divergent(AWAY)) == meanwhile


def test_a_proposed_creation_that_stays_divergent_is_not_written_again(stage: MovingStage) -> None:
    """The new home refused the late creation for a memory below it, which has left since."""
    agent, person = (stage.cloud.call(stage.cloud.key("write", holder=one)) for one in ("agent", "person"))
    edits = (EditRequest("create", "/new", content="edited"),)
    proposal_id = stage.memolith().proposals.open(agent, stage.store, why="w", edits=edits).id
    stage.deliver()
    stage.memolith().proposals.approve(person, stage.store, proposal_id)
    decided, *_ = [event.key for event in stage.cloud.pending if "/proposal/" in event.key]
    (created,) = logged(stage)
    stage.hold_back()
    stage.reach(AWAY, decided)
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    below = stage.create("/new/below", "other's", region=AWAY)
    stage.come_late(created)
    stage.delete(below.id, region=AWAY)
    [edit] = stage.memolith(AWAY).proposals.approve(person, stage.store, proposal_id).edits or ()
    assert edit.result is not None and edit.result.outcome == "stale"
    stage.at_rest(divergent=None)
    assert stage.listed(AWAY) == {} and len(stage.divergent(AWAY)) == 1
