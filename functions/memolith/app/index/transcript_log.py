"""Transcripts: parts that are put once where they are recorded, folded everywhere, and read from the bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from memolith.app.index.ack_journal import commit_joined_everywhere
from memolith.app.kernel.damage_report import report_damage
from memolith.app.kernel.listing import rows_of
from memolith.app.kernel.port_calls import find, find_head
from memolith.app.kernel.region import Region, View
from memolith.app.log.conditional_put import Put, has_body, put_if_absent
from memolith.core.errors import Damaged
from memolith.core.integrity import Damage
from memolith.core.object_keys import TRANSCRIPT_ERASURE, TranscriptKey
from memolith.core.objects.checkpoint import Named
from memolith.core.objects.transcript import TranscriptPart
from memolith.core.rows.base import RowKey
from memolith.core.rows.transcripts import TranscriptRow, join_transcript
from memolith.ports.index import Change, Index, Query

ROWS_PER_PAGE = 100


class TranscriptLog:
    """Puts, folds and reads parts of transcripts."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def rows(self, view: View, workspace_id: str, session_id: str) -> list[TranscriptRow]:
        """Return the rows of all parts of a session, of every region. One query for a hundred. Raises Unavailable."""
        query = Query("keys", TranscriptRow.partition(workspace_id, session_id), limit=ROWS_PER_PAGE)
        return list(rows_of(view.index, query, TranscriptRow))

    def rows_after(
        self, view: View, workspace_id: str, session_id: str, sequences: Mapping[str, int]
    ) -> list[TranscriptRow]:
        """Return the rows of each region's parts behind a sequence, and of its order to erase the transcript.

        A query for each region, all at once, and another one for each further hundred rows. Raises Unavailable.
        """
        partition = TranscriptRow.partition(workspace_id, session_id)
        queries = [
            Query("keys", partition, after=f"{region}#{sequence:010d}", prefix=f"{region}#", limit=ROWS_PER_PAGE)
            for region, sequence in sequences.items()
        ]
        tasks = [lambda query=query: list(rows_of(view.index, query, TranscriptRow)) for query in queries]
        return [row for rows in self._region.parallel.run(tasks) for row in rows]

    def put(self, key: TranscriptKey, part: TranscriptPart) -> Put:
        """Put one part, or find its key taken by another. One PUT. Raises as `put_if_absent`."""
        body = part.to_lines()
        return put_if_absent(self._region, str(key), body, {}, is_mine=partial(has_body, self._region, str(key), body))

    def read(self, key: TranscriptKey) -> TranscriptPart:
        """Read a part: from this bucket, that of the region which wrote it, or of another one where these are damaged.

        One GET, a second one where it has not arrived, more where a copy is damaged. Such a copy is counted and logged.

        Raises:
            Damaged: no region has a copy that can be read. Repeating the call does not help. Unavailable.
        """
        damaged: dict[str, Damage] = {}
        part: TranscriptPart | None = None
        for at in dict.fromkeys((self._region.name, key.region, *self._region.regions)):
            found = self._copy(key, at) if at in self._region.regions else Damage.MISSING  # it may have been removed
            if isinstance(found, TranscriptPart):
                part = found
                break
            if found is not Damage.MISSING or at == key.region:
                damaged[at] = found
        if damaged:
            report_damage(self._region, {(key, at): damage for at, damage in damaged.items()})
        if part is None:
            at = self._region.name if self._region.name in damaged else key.region
            raise Damaged(
                "a part of the transcript is damaged, and no region has a copy that can be read",
                region=at,
                object=str(key),
                cause=damaged[at].value,
                hint="delete the session, or deploy the release that can read the part",
            )
        return part

    def _copy(self, key: TranscriptKey, at: str) -> TranscriptPart | Damage:
        """Return one region's copy, or what is wrong with it. One GET. Raises Unavailable."""
        try:
            found = find(self._region.objects, str(key), at)
            return Damage.MISSING if found is None else TranscriptPart.from_lines(found.body)
        except (ValueError, Damaged):
            return Damage.UNREADABLE

    def fold(
        self, view: View, key: TranscriptKey, body: bytes, name: Named | None = None, own: bool = False
    ) -> TranscriptRow:
        """Join one part into every generation of tables. `name` and `own` as for `SessionLog.fold`.

        Raises:
            ValueError: no part of a transcript, or not the one that its key says. Unavailable, OutcomeUnknown.
        """
        part = TranscriptPart.from_lines(body)
        if (part.workspace_id, part.session_id) != (key.workspace_id, key.session_id):
            raise ValueError(f"{key}: the part says that it is of another session")
        row = TranscriptRow.of(part, key.region, key.sequence, len(body))
        row_key = TranscriptRow.key(key.workspace_id, key.session_id, key.region, key.sequence)
        commit_joined_everywhere(
            self._region,
            view,
            partial(self._changes, key=row_key, row=row),
            name,
            own=own,
            contended="the transcript's row stayed contended; read before trying again",
        )
        return row

    def _changes(self, index: Index, key: RowKey, row: TranscriptRow) -> list[Change]:
        attributes = self._region.read(index, [key]).get(key)
        before = None if attributes is None else TranscriptRow.from_attributes(attributes)
        after = join_transcript(before, row).to_attributes()
        return [] if after == attributes else [Change(key, attributes, after)]

    def is_to_be_erased(self, view: View, workspace_id: str, session_id: str) -> bool:
        """Tell whether an order to erase the transcript is folded here. One index read. Raises Unavailable."""
        keys = [
            TranscriptRow.key(workspace_id, session_id, region, TRANSCRIPT_ERASURE) for region in self._region.origins
        ]
        return bool(self._region.read(view.index, keys))


def is_ordered(rows: Sequence[TranscriptRow]) -> bool:
    """Tell whether an order to erase the transcript is among its rows."""
    return any(row.sequence == TRANSCRIPT_ERASURE for row in rows)


def has_order(region: Region, workspace_id: str, session_id: str) -> bool:
    """Tell whether an order to erase the transcript is in this region's bucket.

    A HEAD for each region. Raises Unavailable.
    """
    orders = [TranscriptKey(one, workspace_id, session_id, TRANSCRIPT_ERASURE) for one in region.origins]
    return any(find_head(region.objects, str(order)) is not None for order in orders)
