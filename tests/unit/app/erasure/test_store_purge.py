"""A store that was deleted: nothing of it stays but that it was, in any region, whatever comes late."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.api.transcripts import EventDraft, EventFilter
from memolith.app.kernel.results import Memory, StoreToAttach
from memolith.core.errors import NotFound, OutcomeUnknown, Unavailable
from memolith.core.object_keys import StoreKey, parse_key
from memolith.core.objects.store_record import StoreRecord
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.base import RowKey
from memolith.core.rows.content import PathRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

NAME, TEXT, PATH = "payroll of the north", "the secret", "/private/path"


@pytest.fixture
def memory(scene: Scene) -> Memory:
    """A memory with a history, in a store with a name; known everywhere."""
    scene.at(HOME).stores.update(scene.call(), scene.store, name=NAME, description=NAME, metadata={"about": NAME})
    made = scene.create(PATH, TEXT)
    scene.update(made, f"{TEXT} again", path="/private/other")
    gone = scene.create("/private/gone", TEXT)
    scene.delete(gone)
    scene.deliver()
    return made


def sweep(scene: Scene, region: str) -> Mapping[str, Any]:
    """The schedule wakes a region's eraser."""
    answer = scene.cloud.peers.call(region, "eraser", {"call": "sweep"})
    scene.deliver()
    return answer


def let_time_pass(scene: Scene) -> None:
    """Longer than any call, and the schedules do their work."""
    scene.clock.advance(61)
    for region in (HOME, AWAY):
        assert sweep(scene, region)["pending"] == 0


def delete(scene: Scene) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.deliver()


def remains(scene: Scene, region: str) -> list[str]:
    """Everything of a region in which something of the store's own stands: every S3 version, every row."""
    needles = [NAME, TEXT, PATH, "/private", scene.salt]
    encoded = [base64.urlsafe_b64encode(one.encode()).decode().rstrip("=")[:-1] for one in needles]
    found = []
    for key in scene.cloud.buckets.page(region, "", None, 10_000).keys:
        for version in scene.cloud.buckets.versions(region, key):
            text = repr((version.object.metadata, version.object.body))
            found += [key for needle in (*needles, *encoded) if needle in text]
    rows = scene.cloud.sites[region].database.everything()
    return found + [repr(row) for row in rows for needle in needles if needle in repr(row)]


@pytest.fixture(autouse=True)
def salted(scene: Scene) -> None:
    scene.salt = scene.cloud.rows(HOME, "stores")[scene.store, "record"]["salt"]


def test_text_paths_name_and_salt_are_gone_from_every_region(scene: Scene, memory: Memory) -> None:
    assert remains(scene, HOME)
    assert remains(scene, AWAY)
    delete(scene)
    let_time_pass(scene)
    assert remains(scene, HOME) == remains(scene, AWAY) == []


def test_the_texts_go_with_the_event_and_only_rows_and_records_wait_for_calls_under_way(
    scene: Scene, memory: Memory
) -> None:
    delete(scene)
    for region in (HOME, AWAY):
        assert all(entry.blank for entry in scene.entries(region))
        assert scene.salt in repr(scene.bodies(region)), "the salt goes last"


def test_rows_and_records_wait_no_longer_though_the_erasure_began_with_a_clock_that_was_ahead(
    scene: Scene, memory: Memory
) -> None:
    scene.clock.advance(30 * 24 * 3600)
    delete(scene)
    scene.clock.advance(-30 * 24 * 3600)
    for region in (HOME, AWAY):
        assert sweep(scene, region)["pending"] == 1, "a call may be under way still"
    let_time_pass(scene)
    assert remains(scene, HOME) == remains(scene, AWAY) == []


def test_every_slot_stays_taken_and_says_who_and_when(scene: Scene, memory: Memory) -> None:
    before = {entry.key: entry for entry in scene.entries()}
    delete(scene)
    let_time_pass(scene)
    after = {entry.key: entry for entry in scene.entries()}
    assert after == {key: entry.blanked() for key, entry in before.items()}


def test_the_records_say_that_there_was_a_store_and_who_ended_it(scene: Scene, memory: Memory) -> None:
    delete(scene)
    let_time_pass(scene)
    for region in (HOME, AWAY):
        records = [
            StoreRecord.from_json(body) for key, body in scene.objects(region) if isinstance(parse_key(key), StoreKey)
        ]
        assert [record.state.value for record in records] == ["active", "active", "deleted"]
        assert not any(record.has_text for record in records)
        assert all(record.created_by.startswith("api_key:") for record in records)


def test_an_original_that_arrives_after_it_all_is_erased_on_arrival(scene: Scene, memory: Memory) -> None:
    key = scene.log_keys()[0]
    original = scene.cloud.buckets.versions(HOME, key)[-1]
    delete(scene)
    let_time_pass(scene)
    scene.cloud.buckets.arrive(original, AWAY)
    assert remains(scene, AWAY)
    scene.deliver()
    assert remains(scene, AWAY) == []


def test_a_record_that_arrives_after_it_all_is_erased_too(scene: Scene, memory: Memory) -> None:
    key = next(key for key, _ in scene.objects(HOME) if isinstance(parse_key(key), StoreKey))
    original = scene.cloud.buckets.versions(HOME, key)[-1]
    delete(scene)
    let_time_pass(scene)
    scene.cloud.buckets.arrive(original, AWAY)
    scene.deliver()
    let_time_pass(scene)
    assert remains(scene, AWAY) == []


def test_a_rename_that_was_half_done_goes_too(scene: Scene, memory: Memory) -> None:
    """Its writer died between the two puts; nobody finishes it in a store that has ended."""
    with (
        scene.struck_by(Strike(Fault.REFUSED, "objects.put_if_absent", occurrence=2)),
        pytest.raises(OutcomeUnknown),
    ):
        scene.update(memory, path="/private/half")
    delete(scene)
    let_time_pass(scene)
    assert remains(scene, HOME) == remains(scene, AWAY) == []


def test_a_claim_that_a_dead_creator_left_goes_too(scene: Scene, memory: Memory) -> None:
    row = PathRow(store_id=scene.store, path="/private/claimed", claim_id="x", claim_expires_at=1)
    key = PathRow.key(scene.store, row.path)
    scene.cloud.sites[HOME].region.index.commit([Change(key, None, row.to_attributes())])
    delete(scene)
    let_time_pass(scene)
    assert remains(scene, HOME) == []


def test_work_that_stops_half_way_goes_on_where_it_stopped(scene: Scene, memory: Memory) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    with scene.struck_by(Strike(Fault.REFUSED, "erasable.erase", occurrence=3)):
        scene.deliver()
    scene.clock.advance(61)
    sweep(scene, HOME)
    let_time_pass(scene)
    assert remains(scene, HOME) == remains(scene, AWAY) == []


def test_the_schedule_goes_on_where_no_event_ever_comes_again(scene: Scene, memory: Memory) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    key = next(event.key for event in scene.cloud.pending)
    scene.drop_events()
    with scene.struck_by(Strike(Fault.REFUSED, "erasable.versions")), pytest.raises(Unavailable):
        scene.cloud.sites[HOME].indexing.object_arrived(key)
    scene.drop_events()
    scene.clock.advance(61)
    assert scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})["pending"] == 0
    scene.drop_events()
    assert remains(scene, HOME) == [], "rows too, though no blank's event was heard"


def test_a_deletion_whose_event_never_came_is_found_by_the_daily_pass(scene: Scene, memory: Memory) -> None:
    scene.at(HOME).stores.delete(scene.call(), scene.store)
    scene.drop_events()
    sweep(scene, HOME)
    scene.clock.advance(61)
    assert scene.cloud.peers.call(HOME, "eraser", {"call": "sweep"})["pending"] == 0
    assert remains(scene, HOME) == []


def test_a_store_that_lives_is_not_touched_whatever_the_eraser_is_told(scene: Scene, memory: Memory) -> None:
    before = scene.objects(HOME)
    assert scene.cloud.peers.call(HOME, "eraser", {"call": "erase_store", "store_id": scene.store}) == {"done": False}
    assert scene.objects(HOME) == before
    assert RowKey("control", "erasure#pending", scene.store)[1:] not in scene.cloud.rows(HOME, "control")


def test_other_stores_are_left_alone(scene: Scene, memory: Memory) -> None:
    other = scene.create_store("other").id
    kept = scene.create("/kept", "kept text", store=other)
    delete(scene)
    let_time_pass(scene)
    assert scene.at(AWAY).memories.retrieve(scene.call(), other, kept.id, full=True).content == "kept text"
    with pytest.raises(NotFound):
        scene.read(memory)


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_progress_is_told(scene: Scene, memory: Memory, region: str) -> None:
    def status() -> Mapping[str, Any]:
        call = {"call": "erasure.status", "store_id": scene.store, "id": scene.store}
        return scene.cloud.peers.call(region, "eraser", call)

    assert status() == {"state": "kept", "deleted": False}
    delete(scene)
    assert (status()["state"], status()["progress"]["erased"]) == ("pending", 5)
    let_time_pass(scene)
    assert status()["state"] == "erased"


def search(scene: Scene, region: str, steps: list[int] | None = None, **needles: list[str]) -> list[str]:
    """Every step of a search; what it found. Notes in `steps` how much each of them looked at."""
    at, found = None, []
    while True:
        call = {"call": "erasure.search", "store_id": scene.store, "at": at, **needles}
        answer = scene.cloud.peers.call(region, "eraser", call)
        found += [remain["what"] for remain in answer["found"]]
        steps = [] if steps is None else steps
        steps.append(answer["looked"])
        at = answer["next"]
        if at is None:
            return found


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_search_finds_what_is_there_and_nothing_once_it_is_gone(scene: Scene, memory: Memory, region: str) -> None:
    assert set(search(scene, region, texts=[TEXT])) == {"text"}
    assert "path" in search(scene, region, paths=[PATH])
    assert set(search(scene, region, hashes=[memory.content_sha256])) == {"hash"}
    assert search(scene, region, texts=["never written"]) == []
    delete(scene)
    assert search(scene, region), "the record still has the name and the salt"
    let_time_pass(scene)
    assert search(scene, region) == search(scene, region, texts=[TEXT, NAME], paths=[PATH]) == []


def test_a_search_looks_at_every_row_once_and_at_no_more_than_a_page_in_one_step(
    scene: Scene, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        scene.create(f"/more/{number}", TEXT)
    scene.deliver()
    whole = search(scene, HOME)
    monkeypatch.setattr("memolith.app.erasure.verification.ROWS_PER_CALL", 2)
    steps: list[int] = []
    assert search(scene, HOME, steps) == whole
    of_rows = steps[-10:]
    assert max(of_rows) == 2 < sum(of_rows)


def test_a_search_finds_an_original_that_came_late_and_no_blank_under_it(scene: Scene, memory: Memory) -> None:
    key = scene.log_keys()[0]
    original = scene.cloud.buckets.versions(HOME, key)[-1]
    delete(scene)
    let_time_pass(scene)
    scene.cloud.buckets.arrive(original, AWAY)
    assert search(scene, AWAY) == ["not blank"]


@pytest.mark.parametrize("path", ['/private/a "b"', "/private/a\\b"])
def test_a_search_finds_a_path_of_a_proposal_though_json_writes_it_with_a_backslash(scene: Scene, path: str) -> None:
    edits = (EditRequest("create", path, content="proposed"),)
    scene.at(HOME).proposals.open(scene.call(), scene.store, why="w", edits=edits, key=None)
    scene.deliver()
    for region in (HOME, AWAY):
        assert search(scene, region, paths=[path]) == ["path"]
    assert search(scene, HOME, paths=[f"{path} not there"]) == []


def test_a_search_for_next_to_nothing_is_refused(scene: Scene) -> None:
    call = {"call": "erasure.search", "store_id": scene.store, "texts": ["x"]}
    assert scene.cloud.peers.call(HOME, "eraser", call)["error"]["type"] == "InvalidRequest"


# ---- transcripts ----------------------------------------------------------------------------------------------------


def begin(scene: Scene, *stores: str) -> str:
    """Begin a session with some stores."""
    attached = [StoreToAttach(one, "read_write", "") for one in stores]
    made = scene.at(HOME).sessions.create(scene.call(), attached, title=None, metadata={}, token_lifetime_s=3_600)
    scene.deliver()
    return made.record.session_id


def say(scene: Scene, session: str, text: str, at: str) -> None:
    """Report one event in a region."""
    draft = EventDraft("user.message", {"content": [{"type": "text", "text": text}]}, text, None)
    scene.at(at).transcripts.record(scene.call(), session, [draft])
    scene.deliver()


def transcripts(scene: Scene, region: str, session: str) -> str:
    """Every S3 version of a session's parts in a region's bucket."""
    keys = [key for key in scene.cloud.buckets.page(region, "", None, 10_000).keys if f"/{session}/" in key]
    versions = [one for key in keys if "/transcript/" in key for one in scene.cloud.buckets.versions(region, key)]
    return repr([version.object.body for version in versions])


def test_the_transcripts_of_its_sessions_are_erased_in_every_region_and_no_others(scene: Scene) -> None:
    other = scene.at(HOME).stores.create(scene.call(), name="other", description="", metadata={}).id
    scene.deliver()
    own, shared, apart = begin(scene, scene.store), begin(scene, other, scene.store), begin(scene, other)
    for session in (own, shared, apart):
        say(scene, session, "said at home", HOME)
        say(scene, session, "said away", AWAY)
    assert search(scene, AWAY, texts=["said at home"]) == ["text", "text"]
    delete(scene)
    let_time_pass(scene)
    for region in (HOME, AWAY):
        for session in (own, shared):
            assert "said" not in transcripts(scene, region, session)
            page = scene.at(region).transcripts.page(scene.call(), session, filter=EventFilter(), limit=9, after=None)
            assert page.items == ()
        assert transcripts(scene, region, apart).count("said at home") >= 1
        assert search(scene, region) == search(scene, region, texts=["said at home"]) == []


def test_what_is_reported_of_its_sessions_afterwards_is_erased_by_the_daily_pass(scene: Scene) -> None:
    session = begin(scene, scene.store)
    delete(scene)
    let_time_pass(scene)
    scene.clock.advance(25 * 3600)
    let_time_pass(scene)
    let_time_pass(scene)
    assert scene.cloud.rows(HOME, "control")["erasure#done", scene.store]["again"], "it is not gone through any more"
    say(scene, session, "said late", AWAY)
    assert search(scene, HOME) == ["not blank"]
    scene.clock.advance(25 * 3600)
    let_time_pass(scene)
    for region in (HOME, AWAY):
        assert "said" not in transcripts(scene, region, session)
        assert search(scene, region) == []
