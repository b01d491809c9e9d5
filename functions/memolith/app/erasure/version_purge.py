"""Older S3 versions that an erasure should have deleted, found by a listing of S3 versions and by no event.

A blank that replicates lands on top of the text in the other region's bucket, and an original that was under way lands
on top of a blank. Either way the event of what landed has this region's eraser delete what is older. Where that event
is lost, the text stays in the bucket under a blank, and a listing of current objects cannot show it.

A slot is put once, so that an entry with several S3 versions is rare, but for the copies that a store of two regions
gets twice. Those are all of the text's size; a blank has no bytes, and tells the one case from the other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby

from memolith.app.erasure.eraser import Eraser
from memolith.app.erasure.store_purge import StorePurge
from memolith.app.erasure.transcript_purge import TranscriptPurge
from memolith.app.index.resumable_scan import ScanProgress, resume_scan
from memolith.app.kernel.region import Region, View
from memolith.core.errors import Damaged
from memolith.core.log_position import LogKey
from memolith.core.object_keys import ProposalKey, StoreKey, TranscriptKey, parse_key
from memolith.core.rows.base import RowKey
from memolith.ports.objects import ErasableObjects, ObjectVersion

VERSIONS_PER_PAGE = 1_000
KINDS = ("log", "store", "transcript", "proposal")
"""Of the objects that may have text."""

PASS = RowKey("control", "erasure#versions", "pass")
"""Where the walk goes on: among the rows that the eraser may write."""


class VersionPurge:
    """Looks through every S3 version of one region's logs and records, once a day."""

    def __init__(
        self,
        region: Region,
        erasable: ErasableObjects,
        eraser: Eraser,
        stores: StorePurge,
        transcripts: TranscriptPurge,
    ) -> None:
        self._region = region
        self._erasable = erasable
        self._eraser = eraser
        self._stores = stores
        self._transcripts = transcripts

    def run(self, deadline_us: int) -> ScanProgress:
        """Go on where time ran out. A LIST for a thousand versions; for a key with a blank, what an erasure costs.

        Raises as `resume_scan`.
        """
        return resume_scan(self._region, "versions", self._page, deadline_us, PASS)

    def _page(self, _: View, after: str | None) -> tuple[ScanProgress, str | None]:
        """Check one page of one prefix. `after` is JSON: the prefix's number, and the last version checked in it."""
        prefixes = [f"{home}/{kind}/" for home in sorted(self._region.origins) for kind in KINDS]
        number, mark = (0, None) if after is None else json.loads(after)
        page = self._erasable.versions(prefixes[number], mark and tuple(mark), VERSIONS_PER_PAGE)
        keys = [key for key, versions in groupby(page.versions, lambda one: one.key) if _has_blank(list(versions))]
        mended = self._region.parallel.run([partial(self._mend, key) for key in keys])
        scanned = ScanProgress(len(page.versions), mended.count(True))
        if page.next_after is not None:
            return scanned, json.dumps([number, page.next_after])
        return scanned, json.dumps([number + 1, None]) if number + 1 < len(prefixes) else None

    def _mend(self, key: str) -> bool:
        """Erase where there is a reason; the eraser's own look decides. Return whether it did. Raises Unavailable.

        What cannot be read is left: every reader reports it.
        """
        with suppress(ValueError, Damaged):
            name = parse_key(key)
            if isinstance(name, LogKey):
                return self._eraser.erase(key)
            if isinstance(name, StoreKey):
                return self._stores.mend_record(name)
            if isinstance(name, TranscriptKey):
                return self._transcripts.clear(key)
            if isinstance(name, ProposalKey):
                return self._stores.mend_proposal(name)
        return False


def _has_blank(versions: Sequence[ObjectVersion]) -> bool:
    """Tell whether one of several versions of a key may be a blank: an entry's is empty, others' are not.

    A key whose versions began on the page before counts too: its current version is not among these.
    """
    if all(one.current for one in versions):
        return False
    is_entry = "/log/" in versions[0].key
    return not is_entry or not versions[0].current or any(one.size_bytes == 0 for one in versions)
