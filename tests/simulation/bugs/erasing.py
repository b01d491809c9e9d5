"""Defects of erasure: redactions, retention, deleted stores, and the text of renames that never came to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memolith.app.erasure import eraser, store_purge
from memolith.app.erasure import retention as retaining
from memolith.app.erasure import service as erasure_service
from memolith.app.indexer import service as indexer_service
from memolith.app.indexer import text_erasures
from memolith.core import fold, retention
from memolith.core.log_position import LogKey
from memolith.core.object_keys import parse_key
from memolith.core.objects.entry import Entry, Operation
from memolith.core.resolved_entry import ResolvedEntry
from memolith.core.rows.content import MemoryRow, VersionRow
from memolith.ports.objects import StoredObject
from tests.simulation import sites
from tests.simulation.bugs.planting import BadObjects, Bug, in_place_of
from tests.simulation.kinds import redacting
from tests.simulation.options import crowded, eroding, overtaken
from tests.simulation.options import retaining as keeping_little

_join_memory = fold.join_memory


class ForgetfulEraser(eraser.Eraser):
    """Erases everywhere but in one region."""

    def erase(self, key: str) -> bool:
        return True if self._region.name == "eu-west-1" else super().erase(key)


class CopyEraser(eraser.Eraser):
    """Erases a replayed version where it counts, and not where it came late."""

    def blank(self, entry: Entry) -> None:
        super().blank(replace(entry, adopts=None))


class ForgetfulStoreErasing(store_purge.StorePurge):
    """Erases deleted stores everywhere but in one region."""

    def begin(self, store_id: str, again: bool = False) -> bool:
        return False if self._region.name == "eu-west-1" else super().begin(store_id, again)


class EarlyIndexing(text_erasures.TextErasures):
    """What comes after the end of its store is kept."""

    def is_deleted(self, view: Any, store_id: str) -> bool:
        return False

    def erase_all(self, view: Any, settled: Sequence[ResolvedEntry]) -> None:
        super().erase_all(view, [one for one in settled if one.void])


class VoidKeepingIndexing(text_erasures.TextErasures):
    """What a rename that never came to be has left behind stays."""

    def erase_all(self, view: Any, settled: Sequence[ResolvedEntry]) -> None:
        super().erase_all(view, [one for one in settled if not one.void])


class ReusedSlots(BadObjects):
    """A slot is free again once its entry is blank: nothing of any worth stands there."""

    def put_if_absent(
        self,
        key: str,
        body: bytes,
        metadata: Mapping[str, str],
        content_sha256: str | None = None,
        region: str | None = None,
    ) -> str | None:
        buckets, here = self._here
        name, found = parse_key(key), buckets.current(region or here, key)
        if found is not None and isinstance(name, LogKey) and Entry.from_metadata(name, found.metadata).blank:
            return buckets.put(region or here, StoredObject(key, body, dict(metadata), len(body)), only_if_absent=False)
        return super().put_if_absent(key, body, metadata, content_sha256, region)


def _without_blank_tombstones(before: MemoryRow | None, entry: Entry) -> MemoryRow:
    """A deletion whose text is erased says nothing any more, so that what came before it is the memory."""
    row = _join_memory(before, entry)
    if not (row.gone and entry.blank and entry.operation is Operation.DELETED):
        return row
    return before if before is not None and not before.gone else replace(row, generation=0)


_outlived = retention.Retention.outlived


def _head_too(self: retention.Retention, version: VersionRow, head: MemoryRow) -> bool:
    return (version.generation or 0) > 0


def _created_long_ago(version: VersionRow, head: MemoryRow) -> int | None:
    return version.created_at


def _all_but_the_head(self: retention.Retention, version: VersionRow, head: MemoryRow) -> bool:
    return _outlived(replace(self, versions=1), version, head)


class OldRedactionsOnly(retaining.RetentionPass):
    """What comes after it was blanked is erased only if somebody ordered it."""

    def is_over(self, entry: Entry) -> bool:
        return False


def _never(self: eraser.Eraser, entry: Entry) -> bool:
    return False


BUGS = (
    Bug(
        "forget one region in a redaction",
        lambda: in_place_of((erasure_service, "Eraser", ForgetfulEraser)),
        ("redacted_text_is_nowhere",),
    ),
    Bug(
        "erase what was adopted, and not its late original",
        lambda: in_place_of((erasure_service, "Eraser", CopyEraser)),
        ("redacted_text_is_nowhere", "the_watermark_never_claims_what_is_missing"),
        redacting,
    ),
    Bug(
        "reuse a blanked slot",
        lambda: in_place_of((sites, "MemoryObjects", ReusedSlots)),
        ("history_has_no_gaps", "nothing_acknowledged_is_lost", "operations_are_linearizable"),
        overtaken,
    ),
    Bug(
        "a blank tombstone ends nothing",
        lambda: in_place_of((fold, "join_memory", _without_blank_tombstones)),
        ("a_rebuild_gives_the_same_rows", "what_is_in_order_is_what_the_history_ends_with", "replicas_converge"),
        keeping_little,
    ),
    Bug(
        "retention takes heads too",
        lambda: in_place_of((retention.Retention, "outlived", _head_too), (retaining, "retired_at", _created_long_ago)),
        ("a_head_is_never_blanked",),
        keeping_little,
    ),
    Bug(
        "retention keeps the head alone",
        lambda: in_place_of((retention.Retention, "outlived", _all_but_the_head)),
        ("the_last_versions_are_kept",),
        keeping_little,
    ),
    Bug(
        "keep what comes after retention took it",
        lambda: in_place_of(
            (erasure_service, "RetentionPass", OldRedactionsOnly), (eraser.Eraser, "_is_over_its_blank", _never)
        ),
        ("retired_text_is_nowhere",),
        keeping_little,
    ),
    Bug(
        "forget one region in the deletion of a store",
        lambda: in_place_of((erasure_service, "StorePurge", ForgetfulStoreErasing)),
        ("a_deleted_store_is_nowhere",),
        eroding,
    ),
    Bug(
        "keep what comes after its store was erased",
        lambda: in_place_of((indexer_service, "TextErasures", EarlyIndexing)),
        ("a_deleted_store_is_nowhere",),
        eroding,
    ),
    Bug(
        "keep a void moved_in",
        lambda: in_place_of((indexer_service, "TextErasures", VoidKeepingIndexing)),
        ("text_of_no_version_is_nowhere", "redacted_text_is_nowhere"),
        crowded,
    ),
)
