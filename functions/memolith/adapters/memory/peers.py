"""Functions of all regions, called within one process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memolith.ports.errors import OutcomeUnknown, Unavailable

Handler = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class MemoryPeers:
    """`ports.peers.Peers`: what was `register`ed is called directly. Both ways pass through JSON, as Lambda has it."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], Handler] = {}

    def register(self, region: str, function: str, handler: Handler) -> None:
        """Register a function, or replace it."""
        self._functions[region, function] = handler

    def forget(self, region: str) -> None:
        """Answer no call to a region any more."""
        for name in [name for name in self._functions if name[0] == region]:
            del self._functions[name]

    def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a function. One that raises counts as crashed: OutcomeUnknown, with only the type of its error."""
        handler = self._functions.get((region, function))
        if handler is None:
            raise Unavailable(f"no function {function} in {region}")
        request = json.loads(json.dumps(payload))
        try:
            answer = handler(request)
        except Exception as error:
            raise OutcomeUnknown(f"{function} in {region} failed: {type(error).__name__}") from error
        reply: Mapping[str, Any] = json.loads(json.dumps(answer))
        return reply
