"""The reader: GET requests, answered from this region."""

from __future__ import annotations

from cairn.app.cairn import Cairn
from cairn.app.scanning import Unscanning
from cairn.entry.running import Handler, Running
from cairn.entry.settings import Settings
from cairn.wire.http import HttpApi


def compose(settings: Settings) -> Handler:
    """The function, ready to be called."""
    running = Running.start(settings)
    region = running.region
    api = HttpApi(Cairn(region, Unscanning()), region.clock, region.randomness, running.metrics)
    return running.handler(lambda event, _: api.answer(event))
