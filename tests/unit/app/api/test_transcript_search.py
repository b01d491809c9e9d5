"""Searching what was said: who finds which sessions, and that nothing erased is found, in whichever region."""

from __future__ import annotations

from pathlib import Path

import pytest

from memolith.app.api import transcript_search
from memolith.app.kernel.results import RequestContext, StoreToAttach
from memolith.app.kernel.transcript_results import TranscriptHits
from memolith.core.errors import NotFound, PermissionDenied
from memolith.scanner import Scanner
from tests.unit.app.api.test_transcripts import DAY_S, TOKEN, begin, record, said, sweep
from tests.unit.app.scene import AWAY, HOME, Scene

SPOKEN = "The gateway timed out after 30 seconds on every deploy"


def search(
    scene: Scene,
    query: str = "gateway timeout deploys",
    *,
    at: str = HOME,
    call: RequestContext | None = None,
    **more: object,
) -> TranscriptHits:
    asked = {"limit": 10, **more}
    return scene.at(at).transcript_search.search(call or scene.call(), query=query, **asked)  # type: ignore[arg-type]  # keywords of more than one type


def found(hits: TranscriptHits) -> set[str]:
    return {one.record.session_id for one in hits.hits}


@pytest.fixture
def session(scene: Scene) -> str:
    made = begin(scene)
    record(scene, made, said(SPOKEN, "a"), said("We like tea.", "b"), said("make deploy", "c", type="agent.tool_use"))
    scene.deliver()
    return made


def token(scene: Scene, session: str, call: RequestContext | None = None) -> RequestContext:
    issued = scene.at(HOME).sessions.renew(call or scene.call(), session, 3_600)
    assert issued.token is not None
    return RequestContext(scene.at(HOME).sessions.verify(issued.token))


def test_what_was_said_is_found_in_each_region_with_its_session_and_the_place_that_answers(
    scene: Scene, session: str
) -> None:
    for region in (HOME, AWAY):
        hits = search(scene, at=region)
        assert hits.hits[0].excerpt == SPOKEN
        assert (found(hits), hits.sessions, hits.truncated) == ({session}, 1, False)
    assert search(scene, "kangaroos").hits == ()
    assert [one.excerpt for one in search(scene, "TEA").hits] == ["We like tea."]
    assert search(scene, since=scene.clock.now_us() + 1).hits == ()
    assert found(search(scene, until=scene.clock.now_us())) == {session}
    assert search(scene, store_id="memstore_other").hits == ()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("deny", "Access denied by policy"),
        ("copied", "We copy it by hand"),
        ("move", "Moving the files"),
        ("used", "Using the queue"),
        ("dying", "The workers die"),
        ("die", "The workers are dying"),
        ("bugs", "That is a bug"),
        ("Sitzungen", "Die Sitzung ist um"),
    ],
)
def test_forms_of_a_word_count_as_one(scene: Scene, session: str, query: str, text: str) -> None:
    record(scene, session, said(text, "f"))
    assert [one.excerpt for one in search(scene, query).hits] == [text]


def test_a_date_finds_what_was_said_then_and_puts_none_out_that_has_the_querys_words(
    scene: Scene, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.clock.advance(DAY_S)
    record(scene, session, said("Nothing of interest", "n"), said("The gateway is up", "g"))
    assert {one.excerpt for one in search(scene, "yesterday").hits} >= {SPOKEN, "We like tea."}
    assert search(scene, "tea yesterday").hits[0].excerpt == "We like tea."
    monkeypatch.setattr(transcript_search, "EVENTS_MAX", 1)
    monkeypatch.setattr(transcript_search, "DATED_MAX", 1)
    hits = search(scene, "interest yesterday")
    assert (hits.hits[0].excerpt, len(hits.hits), hits.truncated) == ("Nothing of interest", 2, True)


def test_an_event_that_two_regions_were_sent_is_found_once(scene: Scene, session: str) -> None:
    again = said("The kangaroo is out", "k")
    record(scene, session, again)
    record(scene, session, again, at=AWAY)
    scene.deliver()
    assert len(search(scene, "kangaroo").hits) == 1


def test_an_admins_key_finds_all_sessions_and_another_key_the_one_that_it_names(scene: Scene, session: str) -> None:
    reader = scene.call(scene.cloud.key("read"))
    with pytest.raises(PermissionDenied):
        search(scene, call=reader)
    assert found(search(scene, call=scene.call(scene.cloud.key("read")), session_id=session)) == {session}
    stranger = scene.cloud.key("admin", "wrkspc_other")
    assert search(scene, call=scene.call(stranger)).hits == ()
    with pytest.raises(NotFound):
        search(scene, call=scene.call(stranger), session_id=session)


def test_a_sessions_token_finds_those_of_its_key_of_which_it_has_every_store(scene: Scene, session: str) -> None:
    more = [StoreToAttach(id, "read_only", "") for id in (scene.store, scene.create_store().id)]
    wider = scene.at(HOME).sessions.create(scene.call(), more, title=None, metadata={}, token_lifetime_s=60).record
    other_key = scene.call(scene.cloud.key("admin"))
    alone = [StoreToAttach(scene.store, "read_only", "")]
    foreign = scene.at(HOME).sessions.create(other_key, alone, title=None, metadata={}, token_lifetime_s=60).record
    for one in (wider, foreign):
        record(scene, one.session_id, said(SPOKEN, "a"))
    scene.deliver()
    assert found(search(scene)) == {session, wider.session_id, foreign.session_id}
    own = begin(scene)
    assert found(search(scene, call=token(scene, own))) == {session}
    assert search(scene, call=token(scene, own), session_id=wider.session_id).hits == ()
    assert found(search(scene, call=token(scene, wider.session_id))) == {session, wider.session_id}
    by_another = token(scene, own, other_key)
    assert found(search(scene, call=by_another)) == {session}, "who renewed the token did not begin the session"
    assert search(scene, call=by_another, session_id=foreign.session_id).hits == ()


def test_a_sessions_token_finds_its_own_session_behind_however_many_newer_ones(
    scene: Scene, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = token(scene, session)
    scene.clock.advance(1)
    begin(scene)
    monkeypatch.setattr(transcript_search, "LISTED_MAX", 1)
    hits = search(scene, call=own)
    assert (found(hits), hits.sessions, hits.truncated) == ({session}, 2, True)
    hits = search(scene, call=own, session_id=session)
    assert (found(hits), hits.sessions, hits.truncated) == ({session}, 1, False)
    assert search(scene, call=own, session_id=session, store_id="memstore_other").hits == ()
    monkeypatch.setattr(transcript_search, "LISTED_MAX", 2)
    hits = search(scene, call=own)
    assert (found(hits), hits.sessions, hits.truncated) == ({session}, 2, False), "each is looked at once"


def test_one_session_is_searched_only_if_the_store_that_is_named_is_attached(scene: Scene, session: str) -> None:
    assert found(search(scene, session_id=session, store_id=scene.store)) == {session}
    assert search(scene, session_id=session, store_id="memstore_other").hits == ()


def test_what_was_erased_with_its_session_or_after_its_time_is_found_nowhere(scene: Scene, session: str) -> None:
    kept = begin(scene)
    record(scene, kept, said(SPOKEN, "k"))
    scene.deliver()
    assert found(search(scene)) == {session, kept}
    scene.at(AWAY).sessions.delete(scene.call(), session)
    assert found(search(scene, at=AWAY)) == {kept}
    scene.deliver()
    assert found(search(scene)) == {kept}
    scene.clock.advance(32 * DAY_S)
    for region in (HOME, AWAY):
        sweep(scene, region)
    scene.deliver()
    for region in (HOME, AWAY):
        assert search(scene, at=region).hits == ()


def test_a_secret_that_was_said_is_not_found(scanner_database: Path) -> None:
    scene = Scene(scanner=Scanner.load(scanner_database))
    session = begin(scene)
    record(scene, session, said(f"The token is {TOKEN} for the gateway", "a"))
    [hit] = search(scene, "token gateway").hits
    assert TOKEN not in hit.excerpt and "[REDACTED" in hit.excerpt
    assert search(scene, TOKEN).hits == ()


def test_a_search_reads_a_bounded_number_of_parts_and_says_so(
    scene: Scene, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_search, "PARTS_MAX", 2)
    assert not search(scene).truncated
    for number in range(2):
        scene.clock.advance(1)
        record(scene, session, said(f"The gateway is up, {number}", f"n{number}"))
    hits = search(scene)
    assert (len(hits.hits), hits.truncated) == (2, True)
