"""The rows of a dream: the copies by which it is listed say what the row itself says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memolith.adapters.layered import Call as PortCall
from memolith.app.pipelines.run_log import RunLog
from memolith.core.objects.run_record import DreamStatus
from memolith.core.rows.dreams import DreamRow
from memolith.core.rows.identity import StoreRow
from tests.api.dreams.stage import Stage
from tests.unit.app.scene import HOME


def test_a_batch_that_was_torn_by_a_dreams_end_does_not_list_the_dream_as_open_again() -> None:
    stage = Stage()
    dream = stage.update()
    site = stage.scene.cloud.sites[HOME]
    key = DreamRow.key(dream.id)
    pending = site.region.index.read([key])
    record = DreamRow.from_attributes(pending[key]).parsed
    runs = RunLog(site.region)
    store_key = StoreRow.key(record.store_id)
    store = StoreRow.from_attributes(site.region.index.read([store_key])[store_key])
    ended = replace(record, sequence=record.sequence + 1, status=DreamStatus.CANCELED, ended_at=record.created_at)
    assert runs.put(site.region.view([]), store, ended)
    assert runs.open_everywhere(site.region.view([]), 10) == []
    view, torn = site.region.view([]), list[str]()

    def with_the_row_of_before(call: PortCall, act: Callable[[], Any]) -> Any:
        found = act()
        if call.name != "index.read" or torn:
            return found
        torn.append(call.name)
        return {**found, **pending}

    with stage.scene.intercepted_by(with_the_row_of_before):
        runs.fold(view, record, HOME)
    assert torn
    assert runs.open_everywhere(site.region.view([]), 10) == []
