"""Calls that another region has passed on: how each is delivered, between what reads, and the row that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memolith.adapters.layered import Call as PortCall
from memolith.core.commands import Command, to_payload
from memolith.core.rows.content import VersionRow
from memolith.wire.rpc import peerwriter_calls
from tests.simulation.moving_stage import AWAY, HOME
from tests.simulation.stage import WORKSPACE, Actor, Stage

ACTOR = "api_key:apikey_x"


class Torn:
    """The first batch that a region reads is not one moment: some rows are older than what happens in its middle."""

    def __init__(self, region: str, older: tuple[str, ...], meanwhile: Callable[[], object]) -> None:
        """`older` are the tables whose rows are read before `meanwhile`."""
        self._region, self._older, self._meanwhile = region, older, meanwhile
        self._done = False

    def __call__(self, call: PortCall, act: Callable[[], Any]) -> Any:
        if self._done or call.name != "index.read" or call.origin != self._region:
            return act()
        self._done = True
        before: Mapping[Any, Any] = act()
        self._meanwhile()
        after: Mapping[Any, Any] = act()
        kept = {key: row for key, row in before.items() if key.table in self._older}
        return kept | {key: row for key, row in after.items() if key.table not in self._older}


def copy(stage: Stage, command: Command) -> Actor[Mapping[str, Any]]:
    """One delivery of a call that another region has passed on to the home."""
    return stage.actor(
        lambda: peerwriter_calls(stage.memolith())({"call": "write", "workspace_id": WORKSPACE, **to_payload(command)})
    )


def version_row(stage: Stage, version_id: str) -> VersionRow:
    return VersionRow.from_attributes(stage.cloud.rows(HOME, "versions")[stage.store, version_id])


def change(stage: Stage, version_id: str, **fields: Any) -> Actor[Mapping[str, Any]]:
    """One delivery of a store's change that another region has passed on to the home."""
    seen = stage.cloud.rows(AWAY, "stores")[stage.store, "record"]["slot"]
    request = {"store_id": stage.store, "actor": ACTOR, "version_id": version_id, "seen": seen, **fields}
    return stage.actor(lambda: peerwriter_calls(stage.memolith())({"call": "store", **request}))
