"""What a region asks of a lost home though it shows what a later home wrote: orders, decisions and imports.

The lost home does what it was asked, by what it knows, or refuses it. What it refused was not done in part, and is done
when the call is repeated once the later home's record has come.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from unittest import mock

import pytest

from memolith.app.kernel.results import RequestContext, Version
from memolith.app.safety.verdicts import Verdicts
from memolith.core import ids
from memolith.core.commands import ImportedVersion
from memolith.core.errors import Busy, InvalidRequest, NotFound, Unavailable
from memolith.core.objects.verdict_record import VerdictRecord
from memolith.core.proposed_edits import EditRequest
from tests.simulation.clients import withhold
from tests.simulation.moving_stage import AWAY, HOME, THIRD, MovingStage
from tests.simulation.unheard_homes import seen_in, taken_over

REFUSALS = (Busy, InvalidRequest, NotFound, Unavailable)


@pytest.fixture
def stage() -> MovingStage:
    return MovingStage()


def _version(stage: MovingStage, memory_id: str, region: str) -> Version:
    """A memory's newest version, as the history has it."""
    version: Version = stage.history_of(memory_id, region)[0]
    return version


# ---- redactions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [THIRD, HOME])
@pytest.mark.parametrize("which", ["what the new home followed", "what the new home put"])
def test_a_redaction_of_what_a_later_home_followed_or_put_is_carried_out_everywhere_or_refused_whole(
    stage: MovingStage, region: str, which: str
) -> None:
    memory = stage.create("/a", "one" if which == "what the new home put" else "SECRET")
    asked = memory.version_id
    taken_over(stage)
    if which == "what the new home put":
        asked = stage.update(memory.id, "SECRET", region=AWAY).version_id
    stage.update(memory.id, "newest", region=AWAY)
    seen_in(stage, region)
    done = False
    with suppress(*REFUSALS):
        stage.redact(asked, region)
        done = True
    stage.at_rest()
    assert [stage.found("SECRET", one) == [] for one in stage.cloud.regions] == [done] * 3
    stage.redact(asked, region)
    stage.at_rest()
    assert [stage.found("SECRET", one) for one in stage.cloud.regions] == [[], [], []]
    assert {stage.read(memory.id, one).content for one in stage.cloud.regions} == {"newest"}


@pytest.mark.parametrize("region", [THIRD, HOME])
def test_a_redaction_that_a_lost_home_takes_by_what_it_alone_has_erases_the_text_for_the_later_home_too(
    stage: MovingStage, region: str
) -> None:
    """What it had put on top is divergent since; the later home had put something else there."""
    memory = stage.create("/a", "SECRET")
    stage.deliver()
    late = stage.update(memory.id, "late").version_id
    stage.hold_back()
    with stage.dead(HOME):
        stage.fail_over(AWAY)
    stage.hold_back()
    stage.update(memory.id, "newest", region=AWAY)
    seen_in(stage, region)
    stage.redact(memory.version_id, region)
    blanked = next(one for one in stage.history_of(memory.id, region) if one.id == memory.version_id)
    assert blanked.redacted_at is not None
    assert stage.read(memory.id, region).content == "newest"
    stage.at_rest(divergent=[late])
    assert [stage.found("SECRET", one) for one in stage.cloud.regions] == [[], [], []]


# ---- releases -------------------------------------------------------------------------------------------------------


def _withheld_for(stage: MovingStage, memory_id: str, region: str, rule: str) -> None:
    """A verdict withholds the text of a memory, by a rule of its own."""
    put = Verdicts.put

    def by_rule(self: Verdicts, record: VerdictRecord) -> VerdictRecord:
        return put(self, replace(record, findings=({"rule": rule},)))

    with mock.patch.object(Verdicts, "put", by_rule):
        withhold(stage.memolith(region), stage.store, _version(stage, memory_id, region))


def _withheld_in(stage: MovingStage) -> list[int]:
    """How many texts each region lists as withheld."""
    pages = [
        stage.memolith(region).quarantine.page(stage.call(), stage.store, include_released=False, limit=9, after=None)
        for region in stage.cloud.regions
    ]
    return [len(page.items) for page in pages]


@pytest.mark.parametrize("region", [THIRD, HOME])
def test_a_release_by_a_lost_home_frees_no_text_that_a_later_home_withholds_unless_it_knew_of_that(
    stage: MovingStage, region: str
) -> None:
    """The answer says whether the text is still withheld; releasing it again once the record has come frees it."""
    one, other = stage.create("/a", "BAD"), stage.create("/b", "BAD")
    _withheld_for(stage, one.id, HOME, "first")
    taken_over(stage)
    _withheld_for(stage, other.id, AWAY, "second")
    seen_in(stage, region)
    release = stage.memolith(region).quarantine.release
    told = release(stage.call(), stage.store, one.version_id, reason="fine")
    known = region == HOME
    assert (told.withheld is None) is known
    stage.come_late()
    assert _withheld_in(stage) == ([0, 0, 0] if known else [1, 1, 1])
    assert release(stage.call(), stage.store, one.version_id, reason="fine").withheld is None
    stage.at_rest()
    assert _withheld_in(stage) == [0, 0, 0]


def test_a_text_is_released_at_the_home_whose_version_its_region_shows(stage: MovingStage) -> None:
    """The lost home does not know the version, and no verdict on it."""
    memory = stage.create("/a", "one")
    taken_over(stage)
    version_id = stage.update(memory.id, "BAD", region=AWAY).version_id
    _withheld_for(stage, memory.id, AWAY, "rule")
    seen_in(stage, THIRD)
    release = stage.memolith(THIRD).quarantine.release
    with stage.dead(AWAY), pytest.raises(Unavailable):
        release(stage.call(), stage.store, version_id, reason="fine")
    assert release(stage.call(), stage.store, version_id, reason="fine").withheld is None
    stage.at_rest()
    assert _withheld_in(stage) == [0, 0, 0]


# ---- proposals ------------------------------------------------------------------------------------------------------


def _call(stage: MovingStage, holder: str) -> RequestContext:
    return stage.cloud.call(stage.cloud.key("write", holder=holder))


def _opened(stage: MovingStage, by: RequestContext, region: str) -> str:
    """The id of the proposal that a call with one key of its caller's opens, or finds open."""
    edits = (EditRequest("replace", "/a", content="proposed"),)
    return stage.memolith(region).proposals.open(by, stage.store, why="tidy up", edits=edits, key="k").id


@pytest.mark.parametrize("region", [THIRD, HOME])
def test_a_proposal_that_a_lost_home_opens_again_for_the_same_key_is_the_one_of_the_later_home(
    stage: MovingStage, region: str
) -> None:
    agent, person = _call(stage, "agent"), _call(stage, "person")
    memory = stage.create("/a", "one")
    taken_over(stage)
    proposal_id = _opened(stage, agent, AWAY)
    seen_in(stage, region)
    assert _opened(stage, agent, region) == proposal_id
    stage.at_rest()
    approved = stage.memolith(THIRD).proposals.approve(person, stage.store, proposal_id)
    assert approved.status == "approved"
    stage.at_rest()
    assert {stage.read(memory.id, one).content for one in stage.cloud.regions} == {"proposed"}


# ---- imports of histories -------------------------------------------------------------------------------------------


def _told(number: int, operation: str) -> ImportedVersion:
    """A version of one memory of another store, the `number`-th of its history."""
    memory_id, version_id = (f"{kind}_{ids.ulid(1, bytes([n] * 10))}" for kind, n in (("mem", 9), ("memver", number)))
    at = 1_780_000_000_000_000 + number
    return ImportedVersion(memory_id, version_id, operation, "user:user_1", at, "/told", f"told {number}")


def _edit(stage: MovingStage, memory_id: str) -> None:
    stage.update(memory_id, "edited", region=AWAY)


def _nothing(stage: MovingStage, memory_id: str) -> None:
    """Nobody writes the memory at the new home."""


@pytest.mark.parametrize("since", [_edit, _nothing])
def test_a_version_that_a_lost_home_imported_over_what_it_had_stands_apart_or_follows_as_any_late_one(
    stage: MovingStage, since: Callable[[MovingStage, str], None]
) -> None:
    first, second = _told(1, "created"), _told(2, "modified")
    stage.memolith().imports.import_versions(stage.call(), stage.store, [first])
    taken_over(stage)
    other = stage.create("/other", region=AWAY)
    since(stage, first.memory_id)
    seen_in(stage, THIRD)
    [became] = stage.memolith(THIRD).imports.import_versions(stage.call(), stage.store, [second])
    assert became.status == "imported"
    stage.at_rest(divergent=[second.version_id] if since is _edit else [])
    shown = {stage.read(first.memory_id, region).content for region in stage.cloud.regions}
    assert shown == ({"edited"} if since is _edit else {"told 2"})
    assert stage.listed(THIRD) == {"/told": first.memory_id, "/other": other.id}
