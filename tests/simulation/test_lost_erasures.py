"""Erasures whose events are lost for good: what should be gone is found by looking at the objects themselves.

Each schedule drops the one event that would have had a text erased. Afterwards only what runs by itself runs: the daily
comparison of a region's bucket with its tables, and the sweep of its eraser.
"""

from __future__ import annotations

import json
from urllib.parse import unquote_plus

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.adapters.memory import MemoryErasableObjects, MemoryQueue
from memolith.app.erasure import version_purge
from memolith.app.erasure.dream_step_removal import DreamStepRemoval
from memolith.app.erasure.eraser import Eraser
from memolith.app.erasure.pack_removal import PackRemoval
from memolith.app.erasure.proposal_erasure import ProposalErasure
from memolith.app.erasure.retention import RetentionPass
from memolith.app.erasure.store_purge import StorePurge
from memolith.app.erasure.transcript_purge import TranscriptPurge
from memolith.app.erasure.version_purge import VersionPurge
from memolith.app.index.parts import IndexParts
from memolith.app.replication.compare_listing import ComparedPage
from memolith.app.replication.service import make_comparisons
from memolith.core.errors import NotFound, OutcomeUnknown
from memolith.core.rows.content import VersionRow
from tests.simulation.stage import AWAY, HOME, Stage

DAY_S = 24 * 3600.0
NEVER_US = 1 << 62
PUT = "objects.put_if_absent"


@pytest.fixture
def stage() -> Stage:
    return Stage()


def compare(stage: Stage, region: str) -> ComparedPage:
    """A day passes; the daily comparison runs, and what it sends is folded. No event is handled."""
    stage.clock.advance(DAY_S)
    queue = MemoryQueue()
    compared = make_comparisons(stage.cloud.sites[region].region, queue).listing.run(NEVER_US)
    for message in queue.take(100):
        for record in json.loads(message)["Records"]:
            stage.index(unquote_plus(record["s3"]["object"]["key"]), region)
    stage.cloud.pending.clear()
    return compared


def sweep(stage: Stage, region: str) -> None:
    """The schedule wakes the eraser, twice, since some of its work waits for calls under way. No event is handled."""
    for _ in range(2):
        stage.cloud.peers.call(region, "eraser", {"call": "sweep"})
        stage.clock.advance(61)
        stage.cloud.pending.clear()


def looking(stage: Stage, region: str) -> VersionPurge:
    """A region's look at older S3 versions, by itself."""
    here, erasable = stage.cloud.sites[region].region, MemoryErasableObjects(stage.cloud.buckets, region)
    parts = IndexParts.of(here)
    eraser = Eraser(here, erasable, RetentionPass(here, parts.logs, parts.projector), parts.logs, parts.store_log)
    packs = PackRemoval(here, erasable, parts.store_log)
    proposals = ProposalErasure(here, erasable, parts.store_log)
    transcripts = TranscriptPurge(here, erasable, DreamStepRemoval(here, packs))
    stores = StorePurge(here, erasable, eraser, packs, parts, proposals, transcripts)
    return VersionPurge(here, erasable, eraser, stores, transcripts)


def shown(stage: Stage, text: str, region: str) -> list[str]:
    return [*stage.found(text, region), *stage.searched(text, region)]


# ---- void halves of renames -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_the_text_of_a_refused_rename_goes_though_its_event_never_comes(stage: Stage, region: str) -> None:
    memory = stage.create("/a", "one")
    stage.cloud.deliver()
    renamer = stage.actor(lambda: stage.update(memory.id, "REFUSED", path="/private")).until(PUT, "/log/", occurrence=2)
    stage.delete(memory.id)
    renamer.fails(NotFound)
    (half,) = stage.found("REFUSED", HOME)
    stage.copy(half)
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if event.key != half]
    stage.cloud.deliver()
    assert shown(stage, "REFUSED", region) == [half]
    assert compare(stage, region).unerased == 1
    assert shown(stage, "REFUSED", region) == shown(stage, "/private", region) == []
    assert compare(stage, region).unerased == 0


# ---- redactions -----------------------------------------------------------------------------------------------------


def test_a_redaction_that_was_answered_without_the_eraser_is_carried_out_though_its_event_never_comes(
    stage: Stage,
) -> None:
    secret = stage.create("/a", "SECRET")
    stage.update(secret.id, "clean")
    stage.cloud.deliver()
    stage.actor(lambda: stage.redact(secret.version_id), Strike(Fault.REFUSED, "peers.call")).finish()
    stage.cloud.pending.clear()
    assert stage.found("SECRET", HOME)
    assert compare(stage, HOME).unerased == 1
    assert stage.found("SECRET", HOME) == []
    assert stage.read(secret.id).content == "clean"


def test_an_original_that_arrives_after_its_order_is_erased_though_its_event_never_comes(stage: Stage) -> None:
    """The call landed where the text arrives late, so that the rows there know the version."""
    secret = stage.create("/private", "SECRET", region=AWAY)
    original = stage.under_way(stage.key_of(secret.version_id))
    stage.cloud.pending.clear()
    stage.update(secret.id, "clean", path="/b")
    stage.redact(secret.version_id)
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if original.object.key != event.key]
    stage.cloud.deliver()
    stage.arrive(original)
    stage.cloud.pending.clear()
    assert shown(stage, "SECRET", AWAY)
    compare(stage, AWAY)
    assert shown(stage, "SECRET", AWAY) == shown(stage, "/private", AWAY) == []


def test_the_text_in_the_rows_of_a_blank_goes_though_the_blanks_event_never_comes(stage: Stage) -> None:
    """The blank has replicated and its event is lost, as is the order with its own."""
    secret = stage.create("/private", "SECRET")
    stage.update(secret.id, "clean", path="/b")
    stage.cloud.deliver()
    stage.redact(secret.version_id)
    stage.copy(stage.key_of(secret.version_id))
    stage.cloud.pending.clear()
    row = VersionRow.key(stage.store, secret.version_id)
    assert stage.cloud.rows(AWAY, "versions")[row.pk, row.sk]["path"] == "/private"
    assert compare(stage, AWAY).unerased == 1
    assert "path" not in stage.cloud.rows(AWAY, "versions")[row.pk, row.sk]
    assert compare(stage, AWAY).unerased == 0


# ---- older S3 versions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["the blank on top of the text", "the text on top of the blank"])
def test_no_text_stays_under_or_over_a_blank_whose_event_never_comes(stage: Stage, order: str) -> None:
    secret = stage.create("/private", "SECRET")
    key = stage.key_of(secret.version_id)
    original = stage.under_way(key)
    stage.update(secret.id, "clean", path="/b")
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if event.key != key]
    stage.redact(secret.version_id)
    blank = stage.under_way(key)
    stage.cloud.pending[:] = [event for event in stage.cloud.pending if event.key != key]
    stage.cloud.deliver()
    for copy in (original, blank) if order == "the blank on top of the text" else (blank, original):
        stage.arrive(copy)
    stage.cloud.pending.clear()
    assert shown(stage, "SECRET", AWAY) == [key]
    stage.clock.advance(DAY_S)
    sweep(stage, AWAY)
    assert shown(stage, "SECRET", AWAY) == shown(stage, "/private", AWAY) == []
    assert len(stage.cloud.buckets.versions(AWAY, key)) == 1


def test_a_text_that_arrived_twice_and_is_nobodys_to_erase_stays_as_it_is(stage: Stage) -> None:
    memory = stage.create("/a", "kept")
    key = stage.key_of(memory.version_id)
    original = stage.under_way(key)
    stage.cloud.sites[AWAY].region.objects.put_if_absent(key, original.object.body, original.object.metadata)
    stage.arrive(original)
    stage.cloud.deliver()
    before = stage.cloud.buckets.versions(AWAY, key)
    look = stage.actor(lambda: stage.cloud.peers.call(AWAY, "eraser", {"call": "sweep"}))
    look.finish()
    assert stage.cloud.buckets.versions(AWAY, key) == before and len(before) == 2
    assert [line for line in look.trail if line.startswith("erasable.versions") and "/log/" in line]
    assert not [line for line in look.trail if line.startswith("objects.head")], "what arrived twice costs no look"


def test_the_look_at_older_versions_goes_on_where_time_ran_out(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one S3 version on a page, no page shows that a key has two."""
    monkeypatch.setattr(version_purge, "VERSIONS_PER_PAGE", 1)
    secrets = [stage.create(f"/{number}", f"SECRET {number}") for number in range(3)]
    stage.cloud.deliver()
    for secret in secrets:
        stage.update(secret.id, "clean")
        stage.redact(secret.version_id)
        stage.copy(stage.key_of(secret.version_id))
    stage.cloud.pending.clear()
    assert len(stage.found("SECRET", AWAY)) == 3
    look = looking(stage, AWAY)
    walked = [look.run(0)]
    while not walked[-1].finished:
        walked.append(look.run(0))
    assert stage.found("SECRET", AWAY) == []
    assert (len(walked) > 3, sum(one.repaired for one in walked)) == (True, 3)
    assert look.run(0).looked_at == 0, "once a day"


# ---- stores that were deleted ---------------------------------------------------------------------------------------


@pytest.fixture(params=[HOME, AWAY])
def region(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def landed(stage: Stage, region: str) -> None:
    """The erasure of the store is done in this region, and a text that nobody hears of has landed since."""
    memory = stage.create("/private", "one")
    stage.cloud.deliver()
    writer = stage.actor(lambda: stage.update(memory.id, "STRAGGLER")).until(PUT, "/log/")
    stage.memolith().stores.delete(stage.call(), stage.store)
    stage.cloud.deliver()
    for one in (HOME, AWAY):
        stage.clock.advance(61)
        sweep(stage, one)
    writer.fails(OutcomeUnknown)
    stage.copy(stage.found("STRAGGLER", HOME)[0])
    stage.cloud.pending.clear()
    call = {"call": "erasure.status", "store_id": stage.store, "id": stage.store}
    assert stage.cloud.peers.call(region, "eraser", call)["state"] == "erased"
    assert shown(stage, "STRAGGLER", region)


def test_a_put_that_lands_in_a_deleted_store_behind_its_eraser_is_erased_by_the_daily_comparison(
    stage: Stage, region: str
) -> None:
    landed(stage, region)
    compare(stage, region)
    assert shown(stage, "STRAGGLER", region) == []
    compare(stage, region)
    assert stage.searched("/private", region) == []


def test_a_record_that_lands_in_a_deleted_store_that_is_done_is_erased_though_its_event_never_comes(
    stage: Stage,
) -> None:
    stage.memolith().stores.update(stage.call(), stage.store, name="PAYROLL", description="", metadata={})
    key = next(event.key for event in stage.cloud.pending if "/store/" in event.key)
    original = stage.under_way(key)
    stage.cloud.deliver()
    stage.memolith().stores.delete(stage.call(), stage.store)
    stage.cloud.deliver()
    for _ in range(2):
        stage.clock.advance(DAY_S)
        sweep(stage, AWAY)
    assert shown(stage, "PAYROLL", AWAY) == []
    stage.arrive(original)
    stage.cloud.pending.clear()
    assert shown(stage, "PAYROLL", AWAY) == [key]
    stage.clock.advance(DAY_S)
    sweep(stage, AWAY)
    assert shown(stage, "PAYROLL", AWAY) == []
    assert len(stage.cloud.buckets.versions(AWAY, key)) == 1


def test_a_deleted_store_is_gone_through_again_a_day_after_it_was_done(stage: Stage, region: str) -> None:
    landed(stage, region)
    sweep(stage, region)
    assert shown(stage, "STRAGGLER", region), "not before a day has passed"
    stage.clock.advance(DAY_S)
    sweep(stage, region)
    assert shown(stage, "STRAGGLER", region) == stage.searched("/private", region) == []
