"""Metadata: pairs of text that callers keep with a store or a session."""

from __future__ import annotations

from collections.abc import Mapping

from memolith.core.errors import InvalidRequest
from memolith.core.limits import METADATA_MAX_PAIRS


def patched(metadata: Mapping[str, str], patch: Mapping[str, str | None] | None) -> dict[str, str]:
    """Apply a merge patch, in which None deletes a key. Raises InvalidRequest for more pairs than there may be."""
    merged = {**metadata, **(patch or {})}
    kept = {name: value for name, value in merged.items() if value is not None}
    if len(kept) > METADATA_MAX_PAIRS:
        raise InvalidRequest("metadata", f"must have at most {METADATA_MAX_PAIRS} pairs")
    return kept
