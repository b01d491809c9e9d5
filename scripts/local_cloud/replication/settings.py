"""How well, or badly, the replicator replicates: one immutable record, replaced as a whole while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

ANY_REGION = "*"


class BadSettings(ValueError):
    """The settings cannot be meant; the message names the field and what it takes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What happens between a put at the source and the copy at the destination, for every pair of regions.

    Attributes:
        lag_ms: how old an object is, at least, when it is copied.
        jitter_ms: up to this much more, drawn for each object and pair.
        duplicate: share of the copies (0 to 1) that are put twice, as two versions with an event each.
        reorder: share of the objects (0 to 1) that are held back, so that later ones arrive first. Without it the
            objects of a pair arrive in the order in which they were seen.
        pause: pairs ``(from region, to region)`` that stand still; ``*`` is every region. What is owed accumulates
            and is copied when the pair goes on.
        hold: beginnings of keys that are not copied on any pair; everything else overtakes them.
    """

    lag_ms: float = 0.0
    jitter_ms: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    pause: frozenset[tuple[str, str]] = frozenset()
    hold: frozenset[str] = frozenset()

    def paused(self, source: str, destination: str) -> bool:
        """Tell whether nothing may be copied from one region to the other now."""
        sources, destinations = (source, ANY_REGION), (destination, ANY_REGION)
        return any((one, other) in self.pause for one in sources for other in destinations)

    def held(self, key: str) -> bool:
        """Tell whether an object may not be copied anywhere now."""
        return any(key.startswith(prefix) for prefix in self.hold)

    def changed(self, wanted: Mapping[str, Any]) -> Settings:
        """Replace the settings that a JSON object names; fields not named stay.

        Raises:
            BadSettings: a field that does not exist, or a value outside its range.
        """
        known = {field.name for field in fields(self)}
        if unknown := sorted(set(wanted) - known):
            raise BadSettings(f"no such setting: {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        values: dict[str, Any] = {}
        for name, value in wanted.items():
            if name == "pause":
                values[name] = _pairs(value)
            elif name == "hold":
                values[name] = _prefixes(value)
            elif name.endswith("_ms"):
                values[name] = _number(name, value, float("inf"))
            else:
                values[name] = _number(name, float(value) if isinstance(value, bool) else value, 1.0)
        return replace(self, **values)

    def as_json(self) -> dict[str, Any]:
        """Return the settings as `changed` takes them."""
        return {
            "lag_ms": self.lag_ms,
            "jitter_ms": self.jitter_ms,
            "duplicate": self.duplicate,
            "reorder": self.reorder,
            "pause": sorted(list(pair) for pair in self.pause),
            "hold": sorted(self.hold),
        }


def _number(name: str, value: Any, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= highest:
        reach = "from 0 up" if highest == float("inf") else f"from 0 to {highest:g}"
        raise BadSettings(f"{name} is a number {reach}, not {value!r}")
    return float(value)


def _prefixes(value: Any) -> frozenset[str]:
    if not (isinstance(value, list) and all(isinstance(prefix, str) and prefix for prefix in value)):
        raise BadSettings(f'hold is a list of beginnings of keys such as ["us-east-1/log/"], not {value!r}')
    return frozenset(value)


def _pairs(value: Any) -> frozenset[tuple[str, str]]:
    message = f'pause is a list of pairs such as [["us-east-1", "eu-west-1"]], not {value!r}'
    if not isinstance(value, list):
        raise BadSettings(message)
    for pair in value:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(region, str) for region in pair)):
            raise BadSettings(message)
    return frozenset((pair[0], pair[1]) for pair in value)
