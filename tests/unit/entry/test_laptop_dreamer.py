"""What a laptop's stores have done by themselves, though the look at one of them fails."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from memolith.app.api.automatic import AutomaticPipelines, AutomaticRun
from memolith.core.errors import Unavailable
from memolith.entry.laptop_dreamer import LaptopDreamer
from tests.api.dreams.stage import Stage, choose
from tests.unit.app.scene import HOME


@pytest.mark.parametrize("error", [Unavailable("not now"), ValueError("cannot be read")])
def test_a_store_whose_look_fails_is_named_and_keeps_no_other_store_from_its_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    stage = Stage()
    stores = sorted([stage.scene.store, stage.scene.create_store("other").id])
    for store_id in stores:
        stage.scene.store = store_id
        choose(stage, auto_extract="propose")
    looked: list[str] = []

    def run(_: Any, store_id: str) -> AutomaticRun:
        looked.append(store_id)
        if store_id == stores[0]:
            raise error
        return AutomaticRun()

    monkeypatch.setattr(AutomaticPipelines, "run", run)
    LaptopDreamer(stage.scene.cloud.sites[HOME].region, stage.memolith, stage.workspace)._look_at_stores()
    assert looked == stores
    [told] = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert vars(told)["store"] == stores[0]
