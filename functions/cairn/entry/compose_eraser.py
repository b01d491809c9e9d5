"""The eraser: blanks what an order or an abandoned rename asks for, in its own region."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cairn.adapters.aws.erasing import S3ErasableObjects
from cairn.app.erasing import Eraser
from cairn.entry.running import Answer, Event, Handler, Running
from cairn.entry.settings import Settings


def compose(settings: Settings) -> Handler:
    """The function, ready to be called."""
    running = Running.start(settings)
    erasable = S3ErasableObjects(running.clients, settings.deployment)
    return running.handler(dispatch(Eraser(running.region, erasable)))


def dispatch(eraser: Eraser) -> Answer:
    """Answers ``{"call": "erase", "key": …}`` with whether there was a reason to."""

    def answer(event: Event, _: object) -> Mapping[str, Any]:
        if event.get("call") != "erase":
            raise ValueError("no such call")
        return {"erased": eraser.erase(event["key"])}

    return answer
