"""What sessions are promised."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.evidence import Evidence
from tests.simulation.history import NEVER


def an_ended_session_stays_ended(evidence: Evidence) -> Iterator[str]:
    """After its end was acknowledged its region never shows a session as open, unless its tables were lost since."""
    for region in next(iter(evidence.final.values()), {}):
        made = [one for one in evidence.history.operations if one.kind == "session" and one.region == region]
        for ended in made:
            if ended.asked["does"] != "end" or not ended.acknowledged:
                continue
            for later in made:
                same = later.asked.get("session_id") == ended.asked["session_id"]
                lost = evidence.wiped.get(region, NEVER)
                if same and later.answer == "open" and (ended.returned or 0) < later.invoked < lost:
                    yield f"{region} shows as open what {ended} had ended: {later}"
