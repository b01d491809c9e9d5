"""Where a store's memories have what verdicts found in them: secrets that are quoted, phrases that spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memolith.app.kernel.region import Region, View
from memolith.core import verdicts
from memolith.core.fingerprints import Kind
from memolith.core.rows.safety import SightingRow, VerdictRow
from memolith.ports.index import Query
from memolith.scanner import Severity

REPEATED_IN = 3
"""In so many memories of a store a phrase that a rule found is no chance any more: it spreads."""

SECRETS_COMPARED_MAX = 2_000
"""Known secrets of one store that a text is compared with; the first by digest, so always the same ones."""

SIGHTINGS_PER_QUERY = 100
RELEASES_SOUGHT_MAX = 2_000
"""Sightings of a phrase that spreads, among which a text that a person released is looked for; the first by memory."""


@dataclass(frozen=True, slots=True)
class Sightings:
    """What other memories of a store than one have."""

    region: Region
    view: View
    store_id: str
    memory_id: str

    def of_secrets(self) -> dict[str, SightingRow]:
        """Return secrets from verdicts on other memories, by digest; of several sightings, the worst. One query."""
        rows, _ = self._query(SightingRow.prefix(Kind.SECRET), SECRETS_COMPARED_MAX)
        known: dict[str, SightingRow] = {}
        for row in rows:
            if row.digest not in known or row.severity == Severity.HIGH:
                known[row.digest] = row
        return known

    def of_phrase(self, digest: str) -> set[str]:
        """Return other memories that have a phrase: enough of them to tell that it spreads, none if it is released.

        It is released if a person released any text that has it. One query for a phrase that does not spread; for one
        that does, a read besides, and a query and a read for each `SIGHTINGS_PER_QUERY` memories more.
        """
        prefix = SightingRow.prefix(Kind.PHRASE, digest)
        rows, after = self._query(prefix, REPEATED_IN + 1)
        memories, looked_at = {row.memory_id for row in rows}, len(rows)
        if len(memories) + 1 < REPEATED_IN:
            return memories
        while not self.any_released(rows):
            if after is None or looked_at >= RELEASES_SOUGHT_MAX:
                return memories
            rows, after = self._query(prefix, SIGHTINGS_PER_QUERY, after)
            looked_at += len(rows)
        return set()

    def any_released(self, rows: Sequence[SightingRow]) -> bool:
        """Tell whether a person has released a text in which one of these was seen. One read."""
        keys = {VerdictRow.key(row.store_id, row.content_hmac) for row in rows}
        found = self.region.read(self.view.index, sorted(keys)) if keys else {}
        judged = [VerdictRow.from_attributes(attributes) for attributes in found.values()]
        return any(verdicts.releases(row) and not verdicts.withholdings(row) for row in judged)

    def _query(self, prefix: str, limit: int, after: str | None = None) -> tuple[list[SightingRow], str | None]:
        """Return sightings in other memories, and behind which sort key to go on; None if there are no more."""
        found = self.view.index.query(Query("verdicts", self.store_id, prefix=prefix, limit=limit, after=after))
        rows = [SightingRow.from_attributes(one.attributes) for one in found]
        others = [row for row in rows if row.memory_id != self.memory_id]
        return others, found[-1].sort_key if len(found) == limit else None
