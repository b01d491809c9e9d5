"""A write whose object stands, and which a throttled table keeps out of the index, is told as unknown.

Told that nothing was done (503), the SDK sends the call again, and what it makes would be there twice. Promise 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from memolith.adapters.layered import Call, Fault, Strike
from memolith.app.api.dreams import DreamRequest
from memolith.app.kernel.results import StoreToAttach
from memolith.core.errors import OutcomeUnknown, Unavailable
from memolith.core.objects.run_record import CREATE_NEW, UPDATE_EXISTING
from memolith.core.proposed_edits import EditRequest
from tests.api.dreams.stage import Stage
from tests.unit.app.api.proposal_desk import Desk
from tests.unit.app.api.test_automatic import told
from tests.unit.app.api.test_transcripts import begin, record, said
from tests.unit.app.homes.test_transfer import at_the_cut
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")
PUT, COMMIT = "objects.put_if_absent", "index.commit"


@contextmanager
def throttled_from(scene: Scene, name: str, subject: str = "", at: str = HOME, port: str = "index.") -> Iterator[None]:
    """Once a call of a region that is about `subject` has succeeded, none of its tables answers."""
    met = False

    def around(call: Call, act: Callable[[], T]) -> T:
        nonlocal met
        if met and call.name.startswith(port) and call.origin == at:
            raise Unavailable("the tables are throttled")
        answer = act()
        met = met or (call.name == name and call.origin == at and any(subject in one for one in call.subjects))
        return answer

    with scene.intercepted_by(around):
        yield
    assert met


def objects(scene: Scene, kind: str, at: str = HOME) -> list[str]:
    return [key for key, _ in scene.objects(at) if key.startswith(f"{at}/{kind}/")]


def attached(scene: Scene) -> list[StoreToAttach]:
    return [StoreToAttach(scene.store, "read_write", "")]


# ---- sessions, and what was said in them ---------------------------------------------------------------------------


def test_events_that_are_recorded_and_not_indexed_are_not_told_as_unrecorded(scene: Scene) -> None:
    session_id = begin(scene)
    with throttled_from(scene, PUT, "/transcript/"), pytest.raises(OutcomeUnknown, match="recorded"):
        record(scene, session_id, said("x"))
    assert len(objects(scene, "transcript")) == 1


def test_a_session_that_is_begun_and_not_indexed_is_not_told_as_not_begun(scene: Scene) -> None:
    with throttled_from(scene, PUT, "/session/"), pytest.raises(OutcomeUnknown, match="sesn_"):
        scene.at(HOME).sessions.create(scene.call(), attached(scene), title=None, metadata={}, token_lifetime_s=60)
    assert len(objects(scene, "session")) == 1


@pytest.mark.parametrize("change", ["archive", "delete", "update"])
def test_a_session_that_is_changed_and_not_indexed_is_not_told_as_it_was(scene: Scene, change: str) -> None:
    session_id = begin(scene)
    more = {"title": "another", "metadata": None} if change == "update" else {}
    with throttled_from(scene, PUT, "/session/"), pytest.raises(OutcomeUnknown, match=session_id):
        getattr(scene.at(HOME).sessions, change)(scene.call(), session_id, **more)
    assert len(objects(scene, "session")) == 2


def test_a_transcript_whose_erasure_is_ordered_and_not_indexed_is_not_told_as_kept(scene: Scene) -> None:
    session_id = begin(scene)
    with throttled_from(scene, PUT, "/transcript/"), pytest.raises(OutcomeUnknown, match="repeat"):
        scene.at(HOME).sessions.delete(scene.call(), session_id)


def test_a_session_that_was_ended_before_its_erasure_is_refused_is_not_told_as_not_ended(scene: Scene) -> None:
    session_id = begin(scene)
    refused = Strike(Fault.REFUSED, PUT, occurrence=2)
    with scene.struck_by(refused), pytest.raises(OutcomeUnknown, match="repeat"):
        scene.at(HOME).sessions.delete(scene.call(), session_id)
    assert scene.at(HOME).sessions.retrieve(scene.call(), session_id).record.archived_at is not None


# ---- dreams --------------------------------------------------------------------------------------------------------


def dreaming(stage: Stage, behavior: str = UPDATE_EXISTING, at: str = HOME) -> Any:
    request = DreamRequest(stage.scene.store, (), "claude-x", behavior=behavior)
    memolith = stage.memolith if at == HOME else stage.scene.at(at)
    memolith._dreams = True
    return memolith.dreams.create(stage.scene.call(), request)


def test_a_dream_that_is_begun_and_not_indexed_is_not_told_as_not_begun() -> None:
    stage = Stage()
    with throttled_from(stage.scene, PUT, "/run/"), pytest.raises(OutcomeUnknown, match="drm_"):
        dreaming(stage)
    assert len(objects(stage.scene, "run")) == 1


def test_a_dream_that_is_canceled_and_not_indexed_is_not_told_as_not_canceled() -> None:
    stage = Stage()
    dream = stage.update()
    with throttled_from(stage.scene, PUT, "/run/"), pytest.raises(OutcomeUnknown, match=dream.id):
        stage.memolith.dreams.cancel(stage.scene.call(), dream.id)
    assert len(objects(stage.scene, "run")) == 2


@pytest.mark.parametrize("change", ["create", "cancel"])
def test_what_the_home_did_with_a_dream_and_is_not_indexed_where_it_was_asked_is_not_told_as_undone(
    change: str,
) -> None:
    stage = Stage()
    dream = stage.update() if change == "cancel" else None
    stage.scene.deliver()
    put = len(objects(stage.scene, "run"))
    with throttled_from(stage.scene, "peers.call", at=AWAY), pytest.raises(OutcomeUnknown, match="drm_"):
        if dream is None:
            dreaming(stage, at=AWAY)
        else:
            stage.scene.at(AWAY).dreams.cancel(stage.scene.call(), dream.id)
    assert len(objects(stage.scene, "run")) == put + 1


@pytest.mark.parametrize(("behavior", "made"), [(CREATE_NEW, "memstore_"), (UPDATE_EXISTING, "sesn_")])
def test_a_dream_for_which_something_was_made_before_its_home_did_not_answer_is_not_sent_again(
    behavior: str, made: str
) -> None:
    stage = Stage()
    stage.scene.deliver()
    stores = len(stage.scene.stores(at=AWAY).items)
    gone = Strike(Fault.REFUSED, "peers.call", subject="peerwriter")
    with stage.scene.struck_by(gone), pytest.raises(OutcomeUnknown, match=made):
        dreaming(stage, behavior, at=AWAY)
    assert len(stage.scene.stores(at=AWAY).items) == stores + (behavior == CREATE_NEW)
    assert objects(stage.scene, "run") == []


def test_a_store_that_was_made_for_a_dream_without_a_session_is_told() -> None:
    stage = Stage()
    refused = Strike(Fault.REFUSED, PUT, occurrence=2)
    with stage.scene.struck_by(refused), pytest.raises(OutcomeUnknown, match="memstore_"):
        dreaming(stage, CREATE_NEW)
    with stage.scene.struck_by(Strike(Fault.REFUSED, PUT)), pytest.raises(Unavailable):
        dreaming(stage, CREATE_NEW)


def test_nothing_is_made_for_a_dream_while_its_store_is_being_moved() -> None:
    stage = Stage()

    def begin() -> None:
        made = len(stage.scene.objects())
        with pytest.raises(Unavailable, match="being moved"):
            dreaming(stage, CREATE_NEW)
        assert len(stage.scene.objects()) == made

    at_the_cut(stage.scene, begin)


# ---- proposals, redactions and extractions -------------------------------------------------------------------------


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_proposal_that_is_open_and_cannot_be_shown_is_not_told_as_not_opened(scene: Scene, at: str) -> None:
    desk = Desk(scene)
    edit = EditRequest(op="create", path="/a", content="text", why="")
    with throttled_from(scene, COMMIT, at=at), pytest.raises(OutcomeUnknown, match="prop_"):
        desk.open(edit, at=at)
    scene.deliver()
    assert len(desk.list()) == 1


@pytest.mark.parametrize("at", [HOME, AWAY])
def test_a_proposal_that_is_decided_and_cannot_be_shown_is_not_told_as_open(scene: Scene, at: str) -> None:
    desk = Desk(scene)
    opened = desk.open(EditRequest(op="create", path="/a", content="text", why=""))
    scene.deliver()
    with throttled_from(scene, COMMIT, at=at), pytest.raises(OutcomeUnknown, match=opened.id):
        desk.do("reject", opened, at=at, reason="no")
    scene.deliver()
    assert desk.list("rejected") == [opened.id]


def test_a_redaction_whose_proposal_is_not_indexed_where_it_was_asked_is_not_told_as_undone(scene: Scene) -> None:
    desk = Desk(scene)
    opened = desk.open(EditRequest(op="create", path="/a", content="text", why=""))
    [edit] = desk.do("approve", opened).edits or ()
    assert edit.result is not None and edit.result.memory_id is not None and edit.result.version_id is not None
    scene.update(edit.result.memory_id, "another")
    scene.deliver()
    with throttled_from(scene, COMMIT, at=AWAY), pytest.raises(OutcomeUnknown, match=edit.result.version_id):
        scene.redact(edit.result.version_id, at=AWAY)
    scene.deliver()
    assert scene.version(edit.result.version_id).content is None


def test_a_session_that_is_extracted_and_not_recorded_as_such_is_not_told_as_not_extracted() -> None:
    """Asked again, a model may answer otherwise, and its proposal would be another one."""
    stage = Stage()
    session_id = told(stage)
    with throttled_from(stage.scene, COMMIT, port=PUT), pytest.raises(OutcomeUnknown, match="prop_"):
        stage.memolith.extractions.extract(stage.scene.call(), session_id)
