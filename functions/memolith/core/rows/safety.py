"""Rows of verdicts, and of the places where a fingerprint was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memolith.core.rows.base import Row, RowKey


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow(Row):
    """What the verdicts on one text say, under whatever version it stands. It holds neither the text nor its hash.

    `withheld` and `released` have, for each version judged, its highest verdict of that kind; `flags` every rule that
    any verdict flagged. What follows from them, `memolith.core.verdicts` says.
    """

    store_id: str
    content_hmac: str
    withheld: Mapping[str, str] | None = None
    released: Mapping[str, str] | None = None
    flags: list[str] | None = None

    @staticmethod
    def key(store_id: str, content_hmac: str) -> RowKey:
        return RowKey("verdicts", store_id, content_hmac)


@dataclass(frozen=True, slots=True, kw_only=True)
class SightingRow(Row):
    """A fingerprint (`core.fingerprints`) in one memory: which of its versions last had it, and in which text.

    It stands in the table of verdicts, out of which it is made, after all of its store's verdicts: no HMAC of a text,
    which is hex, comes after the letter that its sort key begins with.
    """

    store_id: str
    kind: str
    digest: str
    memory_id: str
    severity: str
    version_id: str
    content_hmac: str

    @staticmethod
    def key(store_id: str, kind: str, digest: str, memory_id: str) -> RowKey:
        return RowKey("verdicts", store_id, f"{SightingRow.prefix(kind, digest)}#{memory_id}")

    @staticmethod
    def prefix(kind: str, digest: str = "") -> str:
        """Return what the sort keys of all sightings of a kind, or of one fingerprint, begin with."""
        return f"seen#{kind}#{digest}"
