"""Quarantine: an admin sees what is withheld and why, lets it go, or brings a memory back to its last good text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from memolith.adapters.layered import Crash, Fault, Faulty, ScriptedFaults, Strike
from memolith.app.kernel.results import Memory, Page, QuarantinedText
from memolith.app.safety.verdicts import Verdicts
from memolith.core.errors import (
    InvalidRequest,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    PreconditionFailed,
    Unavailable,
)
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.safety import SightingRow
from memolith.ports.index import Change
from tests.unit.app.scene import AWAY, HOME, Scene

BAD = "the bad text"


class Ward:
    """A scene, and an admin's short ways to its quarantine."""

    def __init__(self) -> None:
        self.scene = Scene()

    def page(self, at: str = HOME, **options: object) -> Page[QuarantinedText]:
        given = {"include_released": False, "limit": 20, "after": None, **options}
        return self.scene.at(at).quarantine.page(self.scene.call(), self.scene.store, **given)  # type: ignore[arg-type]  # keywords of more than one type

    def show(self, memory: Memory | str, at: str = HOME) -> QuarantinedText:
        return self.scene.at(at).quarantine.retrieve(self.scene.call(), self.scene.store, _version_id(memory))

    def release(self, memory: Memory | str, at: str = HOME, reason: str = "a false alarm") -> QuarantinedText:
        return self.scene.at(at).quarantine.release(
            self.scene.call(), self.scene.store, _version_id(memory), reason=reason
        )

    def restore(self, memory: Memory | str, at: str = HOME) -> Memory:
        return self.scene.at(at).quarantine.restore(self.scene.call(), self.scene.store, _version_id(memory), full=True)

    def seen(self, memory: Memory, at: str = HOME) -> str | None:
        """What a key that may only read is shown."""
        return self.scene.read(memory, at=at, key=self.scene.cloud.key("read")).content


def tell(ward: Ward, verdict: VerdictRecord) -> None:
    """What the home does with a verdict of another region, which was its home, before the object arrives."""
    region = ward.scene.cloud.sites[HOME].region
    Verdicts(region).fold(region.view(), replace(verdict, region=AWAY, sequence=verdict.sequence or 1))


def verdict_keys(ward: Ward) -> list[str]:
    return [key for key in ward.scene.cloud.buckets.page(HOME, "", None, 999).keys if "/verdict/" in key]


def _version_id(memory: Memory | str) -> str:
    return memory if isinstance(memory, str) else memory.version_id


@pytest.fixture
def ward() -> Ward:
    return Ward()


def withheld_in(ward: Ward, good: str = "the good text") -> Memory:
    """A memory whose second text is withheld; known everywhere."""
    made = ward.scene.create("/n/a", good)
    ward.scene.deliver()
    bad = ward.scene.update(made, BAD)
    ward.scene.judge(bad)
    ward.scene.deliver()
    return bad


@pytest.fixture
def bad(ward: Ward) -> Memory:
    return withheld_in(ward)


# ---- looking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_withheld_text_is_listed_with_the_version_it_was_withheld_for(ward: Ward, bad: Memory, at: str) -> None:
    [text] = ward.page(at).items
    assert text.version_ids == (bad.version_id,)
    assert text.withheld is not None
    assert (text.withheld.reason, text.withheld.rules) == ("it turns its reader around", ("deep-rule",))
    assert (text.verdicts, text.places, text.all_places) == (None, None, None)


def test_texts_that_were_only_flagged_are_never_listed_and_released_ones_on_demand(ward: Ward, bad: Memory) -> None:
    odd = ward.scene.create("/odd", "odd")
    ward.scene.judge(odd, VerdictOutcome.FLAG, ("odd-rule",))
    assert len(ward.page(include_released=True).items) == 1
    ward.release(bad)
    assert ward.page().items == ()
    [text] = ward.page(include_released=True).items
    assert text.withheld is None


def test_a_listing_of_many_pages_shows_each_text_once(ward: Ward) -> None:
    made = [ward.scene.create(f"/{number}", f"bad {number}") for number in range(7)]
    for memory in made:
        ward.scene.judge(memory)
    found: list[str] = []
    after: str | None = None
    while True:
        page = ward.page(limit=3, after=after)
        found += [id for text in page.items for id in text.version_ids]
        after = page.next_after
        if after is None:
            break
    assert sorted(found) == sorted(memory.version_id for memory in made)


def test_what_the_second_look_remembers_beside_the_texts_is_no_text(
    ward: Ward, bad: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sightings stand in the same partition. A page of one row at a time meets each of them."""
    monkeypatch.setattr("memolith.app.api.quarantine.ROWS_PER_QUERY", 1)
    key = SightingRow.key(ward.scene.store, "phrase", "0" * 64, bad.id)
    row = SightingRow(
        store_id=ward.scene.store,
        kind="phrase",
        digest="0" * 64,
        memory_id=bad.id,
        severity="high",
        version_id=bad.version_id,
        content_hmac="f" * 64,
    )
    ward.scene.cloud.sites[HOME].region.index.commit([Change(key, None, row.to_attributes())])
    assert [text.version_ids for text in ward.page(include_released=True).items] == [(bad.version_id,)]


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_text_is_in_order_with_every_place_where_it_stands_and_every_verdict(ward: Ward, at: str) -> None:
    scene = ward.scene
    one = scene.create("/one", BAD)
    other = scene.create("/other", BAD)
    scene.update(one, "mended")
    moved = scene.update(other, path="/moved")
    scene.create("/fine", "another text")
    scene.judge(one)
    scene.deliver()
    for named in (one, other, moved):
        text = ward.show(named, at)
        assert text.places is not None and text.verdicts is not None
        assert {(place.version_id, place.path, place.head) for place in text.places} == {
            (one.version_id, "/one", False),
            (other.version_id, "/other", False),
            (moved.version_id, "/moved", True),
        }
        assert text.all_places
        [verdict] = text.verdicts
        assert (verdict.outcome, verdict.decided_by, verdict.rules) == ("withhold", "scanner", ("deep-rule",))


def test_places_beyond_the_bound_are_told_to_be_missing(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memolith.app.api.quarantine.PLACES_MAX", 2)
    made = [ward.scene.create(f"/{number}", BAD) for number in range(3)]
    ward.scene.judge(made[0])
    text = ward.show(made[0])
    assert text.places is not None
    assert (len(text.places), text.all_places) == (2, False)
    monkeypatch.setattr("memolith.app.api.quarantine.PLACES_MAX", 9)
    assert ward.show(made[0]).all_places
    monkeypatch.setattr("memolith.app.api.quarantine.VERSIONS_LOOKED_AT", 1)
    assert ward.show(made[0]).all_places is False


def test_a_text_that_was_erased_is_still_found_by_the_version_it_was_withheld_for(ward: Ward, bad: Memory) -> None:
    ward.scene.update(bad, "mended")
    ward.scene.redact(bad.version_id)
    text = ward.show(bad)
    assert (text.version_ids, text.places) == ((bad.version_id,), ())


@pytest.mark.parametrize("act", [Ward.show, Ward.release])
def test_what_no_verdict_withheld_is_not_in_quarantine(
    ward: Ward, bad: Memory, act: Callable[[Ward, str], object]
) -> None:
    fine = ward.scene.create("/fine", "fine")
    for version_id in (fine.version_id, "memver_" + "0" * 26, "memver_x", "nonsense"):
        with pytest.raises(NotFound):
            act(ward, version_id)


@pytest.mark.parametrize("scope", ["read", "write"])
def test_below_admin_there_is_no_quarantine(ward: Ward, bad: Memory, scope: str) -> None:
    call, quarantine = ward.scene.call(ward.scene.cloud.key(scope)), ward.scene.at(HOME).quarantine
    store = ward.scene.store
    acts: list[Callable[[], object]] = [
        lambda: quarantine.page(call, store, include_released=False, limit=9, after=None),
        lambda: quarantine.retrieve(call, store, bad.version_id),
        lambda: quarantine.release(call, store, bad.version_id, reason="no"),
        lambda: quarantine.restore(call, store, bad.version_id, full=False),
    ]
    for act in acts:
        with pytest.raises(PermissionDenied):
            act()


def test_another_workspaces_quarantine_is_not_there(ward: Ward, bad: Memory) -> None:
    call = ward.scene.call(ward.scene.cloud.key("admin", "wrkspc_other"))
    with pytest.raises(NotFound):
        ward.scene.at(HOME).quarantine.retrieve(call, ward.scene.store, bad.version_id)


# ---- releasing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_released_text_is_in_order_again_where_it_was_asked_at_once_and_everywhere_soon(
    ward: Ward, bad: Memory, at: str
) -> None:
    ward.scene.clock.advance(60)
    text = ward.release(bad, at)
    assert text.withheld is None
    assert text.verdicts is not None
    withheld, released = text.verdicts
    assert (withheld.outcome, released.outcome) == ("withhold", "release")
    assert (released.reason, released.decided_at) == ("a false alarm", ward.scene.clock.now_us())
    assert released.decided_by == ward.scene.version(bad.version_id).created_by, "the same key wrote and released"
    assert [region for region in (HOME, at) if ward.seen(bad, region) != BAD] == []
    ward.scene.deliver()
    assert [ward.seen(bad, region) for region in (HOME, AWAY)] == [BAD, BAD]
    assert ward.scene.create("/again", BAD).path == "/again"


def test_a_release_lifts_every_verdict_that_withholds_the_text(ward: Ward, bad: Memory) -> None:
    ward.scene.judge(bad, rules=("other-rule",))
    text = ward.release(bad)
    assert text.withheld is None
    assert ward.seen(bad) == BAD


@pytest.mark.parametrize("again", [HOME, AWAY])
def test_releasing_again_changes_nothing_and_tells_the_first(ward: Ward, bad: Memory, again: str) -> None:
    first = ward.release(bad)
    ward.scene.deliver()
    ward.scene.clock.advance(60)
    assert ward.release(bad, again, "another reason") == first
    before = ward.scene.cloud.buckets.page(HOME, "", None, 10_000)
    ward.scene.deliver()
    assert ward.scene.cloud.buckets.page(HOME, "", None, 10_000) == before


def test_a_text_that_only_the_answer_of_a_lost_home_told_to_be_withheld_is_released(ward: Ward) -> None:
    scene = ward.scene
    made = scene.create("/n/a", BAD)
    tell(ward, scene.verdict(made))
    assert ward.seen(made) is None
    text = ward.release(made)
    assert text.withheld is None
    assert [(one.outcome, one.region, one.sequence) for one in text.verdicts or ()] == [
        ("withhold", AWAY, 1),
        ("release", HOME, 2),
    ]
    assert [one.rules for one in text.verdicts or ()] == [("deep-rule",), ()]
    assert ward.seen(made) == BAD


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_release_that_only_the_answer_of_a_lost_home_told_is_answered_where_it_is_asked_for_again(
    ward: Ward, at: str
) -> None:
    scene = ward.scene
    made = scene.create("/n/a", BAD)
    scene.deliver()
    tell(ward, scene.verdict(made))
    tell(ward, replace(scene.verdict(made, VerdictOutcome.RELEASE, (), "api_key:apikey_x"), sequence=2))
    text = ward.release(made, at)
    assert [(one.outcome, one.region) for one in text.verdicts or ()] == [("withhold", AWAY), ("release", AWAY)]
    assert verdict_keys(ward) == []
    assert ward.show(made).verdicts == text.verdicts
    assert [ward.seen(made, region) for region in (HOME, at)] == [BAD, BAD]


def test_a_release_that_died_half_way_frees_nothing_and_is_taken_up_again(ward: Ward) -> None:
    scene = ward.scene
    one, other = scene.create("/one", BAD), scene.create("/other", BAD)
    scene.judge(one)
    scene.judge(other, rules=("other-rule",))
    with pytest.raises(Crash), scene.struck_by(Strike(Fault.CRASH_BEFORE, "objects.put_if_absent", 2)):
        ward.release(one)
    assert ward.seen(one) is None
    assert ward.release(other).withheld is None
    assert (ward.seen(one), ward.seen(other)) == (BAD, BAD)


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_release_that_was_put_is_never_said_not_to_have_been(at: str) -> None:
    """Whichever read fails: once the verdict is put, the caller must not take it for undone."""
    reads = 0
    while True:
        reads += 1
        ward = Ward()
        bad = withheld_in(ward)
        before = verdict_keys(ward)
        script = ScriptedFaults(Strike(Fault.REFUSED, "index.read", reads))
        with ward.scene.intercepted_by(Faulty(script)), suppress(OutcomeUnknown):
            try:
                ward.release(bad, at)
            except Unavailable:
                assert verdict_keys(ward) == before
        if script.pending:
            break
    assert 5 < reads < 100
    assert ward.release(bad, at).withheld is None


@pytest.mark.parametrize(("fault", "told"), [(Fault.REFUSED, Unavailable), (Fault.LOST_REPLY, OutcomeUnknown)])
def test_a_home_that_does_not_answer_is_told_and_nothing_is_decided_elsewhere(
    ward: Ward, bad: Memory, fault: Fault, told: type[Exception]
) -> None:
    with ward.scene.struck_by(Strike(fault, "peers.call")), pytest.raises(told):
        ward.release(bad, AWAY)
    assert all(
        not key.startswith(f"{AWAY}/verdict/") for key in ward.scene.cloud.buckets.page(AWAY, "", None, 999).keys
    )
    assert ward.release(bad, AWAY).withheld is None


# ---- restoring ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [HOME, AWAY])
@pytest.mark.parametrize("good", ["the good text", ""])
def test_a_memory_is_brought_back_to_its_last_good_text_as_a_new_version(ward: Ward, at: str, good: str) -> None:
    bad = withheld_in(ward, good)
    restored = ward.restore(bad, at)
    assert (restored.id, restored.content, restored.path) == (bad.id, good, "/n/a")
    ward.scene.deliver()
    for region in (HOME, AWAY):
        assert ward.seen(bad, region) == good
        assert ward.scene.history(bad, at=region) == ["modified", "modified", "created"]


def test_what_is_withheld_or_erased_is_passed_over_on_the_way_back(ward: Ward) -> None:
    scene = ward.scene
    made = scene.create("/a", "good")
    erased = scene.update(made, "erased")
    bad = [scene.update(made, f"bad {number}") for number in range(2)]
    for one in bad:
        scene.judge(one)
    scene.redact(erased.version_id)
    assert ward.restore(made).content == "good"


def test_a_long_history_is_walked_to_its_good_text(ward: Ward) -> None:
    scene = ward.scene
    made = scene.create("/a", "good")
    bad = [scene.update(made, f"bad {number}") for number in range(45)]
    for one in bad:
        scene.judge(one)
    assert ward.restore(made).content == "good"


def test_restoring_again_writes_nothing(ward: Ward, bad: Memory) -> None:
    first = ward.restore(bad)
    again = ward.restore(bad)
    assert (again.version_id, again.content) == (first.version_id, "the good text")


def test_a_memory_without_a_good_text_cannot_be_restored(ward: Ward) -> None:
    made = ward.scene.create("/a", BAD)
    ward.scene.judge(made)
    with pytest.raises(InvalidRequest, match="every version"):
        ward.restore(made)


def test_a_memory_that_somebody_wrote_meanwhile_is_left_alone(ward: Ward, bad: Memory) -> None:
    """Where the restoring lands, the newer version is not known yet."""
    ward.scene.update(bad, "somebody's own cure")
    ward.scene.drop_events()
    with pytest.raises(PreconditionFailed):
        ward.restore(bad, AWAY)
    assert ward.seen(bad) == "somebody's own cure"


def test_a_deleted_memory_is_not_restored(ward: Ward, bad: Memory) -> None:
    ward.scene.delete(bad)
    with pytest.raises(NotFound):
        ward.restore(bad)
