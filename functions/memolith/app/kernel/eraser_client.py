"""Calls of this region's eraser, the only function that may delete objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region


def erase(region: Region, key: str) -> bool:
    """Has this region's eraser look at an object; whether it found a reason to erase it, which it decides for itself.

    Raises:
        Unavailable: not erased yet; the order stands, and its event brings the eraser again.
    """
    return bool(ask_eraser(region, {"call": "erase", "key": key})["erased"])


def ask_eraser(region: Region, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """This region's eraser's answer.

    Raises:
        Unavailable: it gave none; what it was asked for stands, and its event asks again.
    """
    with repeatable():
        return region.peers.call(region.name, "eraser", payload)
