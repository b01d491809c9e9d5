"""Records of sessions: put again while that is undecided, and found where they stand."""

from __future__ import annotations

import pytest

from memolith.adapters.layered import Fault, Strike
from memolith.app.auth.session_log import SessionLog
from memolith.core.errors import OutcomeUnknown
from memolith.core.objects.session_record import SessionRecord
from tests.support.cloud import WORKSPACE
from tests.unit.app.scene import HOME, Scene

PUT = "objects.put_if_absent"


def record(scene: Scene) -> SessionRecord:
    region = scene.cloud.sites[HOME].region
    return SessionRecord(WORKSPACE, region.new_regional_id("session"), None, {}, (), scene.clock.now_us(), "apikey_x")


@pytest.mark.parametrize("fault", [Fault.CONTENDED, Fault.LOST_REQUEST, Fault.LOST_REPLY])
def test_a_session_whose_put_is_undecided_or_in_doubt_is_put_again(scene: Scene, fault: Fault) -> None:
    sessions, began = SessionLog(scene.cloud.sites[HOME].region), record(scene)
    with scene.struck_by(Strike(fault, PUT)):
        key = sessions.put(began, 1)
    assert sessions.context(key) == began


def test_a_session_whose_put_is_refused_after_a_lost_reply_is_told_as_in_doubt(scene: Scene) -> None:
    sessions, began = SessionLog(scene.cloud.sites[HOME].region), record(scene)
    with scene.struck_by(Strike(Fault.LOST_REPLY, PUT), Strike(Fault.REFUSED, PUT, 2)), pytest.raises(OutcomeUnknown):
        sessions.put(began, 1)
