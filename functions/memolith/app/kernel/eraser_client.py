"""Calls of this region's eraser, the only function that may delete objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region


def erase(region: Region, key: str) -> bool:
    """Ask this region's eraser to check an object; return whether it found a reason to erase it.

    Raises:
        Unavailable: not erased yet; the order stands, and its event brings the eraser again.
    """
    return bool(ask_eraser(region, {"call": "erase", "key": key})["erased"])


def ask_eraser(region: Region, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask this region's eraser and return its answer.

    Raises:
        Unavailable: it gave none; the request stands, and its event repeats it.
    """
    with repeatable():
        return region.peers.call(region.name, "eraser", payload)
