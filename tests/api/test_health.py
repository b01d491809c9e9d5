"""What a health check sees: an answer without a key, that says nothing but whether to come here. Ours."""

from __future__ import annotations

from memolith.adapters.memory import ManualClock, MemoryIndex, RecordingMetrics, SeededRandomness
from memolith.core.rows.control import ControlRow
from memolith.ports.index import Change
from memolith.wire.http import HttpApi
from tests.api.harness import Backend
from tests.api.transport import to_event
from tests.support.cloud import Cloud

PATH = "/healthz"


def test_a_region_that_is_well_says_so_to_anybody(backend: Backend) -> None:
    reply = backend.raw("GET", PATH, headers={"authorization": "Bearer nobody's"})
    assert (reply.status, reply.body) == (200, {"type": "health", "status": "ok"})
    assert "anthropic-workspace-id" not in reply.headers


def test_health_answers_get_alone(backend: Backend) -> None:
    reply = backend.raw("POST", PATH)
    assert (reply.status, reply.headers["allow"]) == (405, "GET")


def test_below_it_there_is_nothing(backend: Backend) -> None:
    assert backend.raw("GET", f"{PATH}/deep").status == 404


def test_a_region_whose_tables_are_not_complete_or_do_not_answer_sends_callers_elsewhere() -> None:
    cloud = Cloud(("us-east-1",))
    site = cloud.sites["us-east-1"]
    api = HttpApi(site.memolith, ManualClock(), SeededRandomness(), RecordingMetrics())

    def status() -> int:
        return int(api.answer(to_event("GET", PATH))["statusCode"])

    assert status() == 200
    index = MemoryIndex(site.database)
    control = index.read([ControlRow.KEY])[ControlRow.KEY]
    incomplete = ControlRow(serving=1, complete=False).to_attributes()
    index.commit([Change(ControlRow.KEY, control, incomplete)])
    assert status() == 503
    index.commit([Change(ControlRow.KEY, incomplete, control)])
    assert status() == 200
    cloud.tables("us-east-1").drop(1)
    assert status() == 503
