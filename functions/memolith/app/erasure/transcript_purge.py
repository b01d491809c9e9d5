"""Erasing transcripts: of a session that was deleted or has a store that was, and of parts whose time is over.

The order to erase is an object like any other, so it replicates; each region's eraser blanks the parts in its own
bucket, those of every region, and what arrives after the order as it comes. Retention needs no order: each region goes
by when a part was recorded and by its own rows of the session's stores, and the region that wrote a part goes first.

Nor does an erased store: its final record is the order. A transcript tells what its session read in each of its stores,
so that one of them that is erased takes the whole transcript with it, as the one that keeps it shortest decides.
Whatever erases words of a session, dreams of it that are under way lose what they keep.

    a listing of the bucket -> each session -> its order, its stores' ends, or the days that they allow -> blanks
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from functools import partial

from memolith.app.erasure.dream_step_removal import DreamStepRemoval
from memolith.app.index.resumable_scan import ScanProgress, resume_scan
from memolith.app.index.transcript_log import has_order
from memolith.app.kernel.damage_report import report_damage
from memolith.app.kernel.listing import keys_of
from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region, View
from memolith.core.errors import Damaged, InvalidRequest
from memolith.core.ids import SESSION, WORKSPACE
from memolith.core.integrity import Damage
from memolith.core.object_keys import TranscriptKey, parse_key, parsed_key
from memolith.core.objects.session_record import SessionRecord
from memolith.core.objects.store_record import StoreState
from memolith.core.objects.transcript import TranscriptPart
from memolith.core.retention import DAY_US
from memolith.core.rows.base import RowKey
from memolith.core.rows.identity import SessionRow, StoreRow
from memolith.core.rows.transcripts import TranscriptRow
from memolith.core.transcripts import days_kept, is_over
from memolith.ports import errors as port_errors
from memolith.ports.objects import ErasableObjects

KEYS_PER_PAGE = 1_000
AT_ONCE = 16
GRACE_DAYS = 1
"""How much longer a region keeps what another wrote: the writer's own blank is then here by replication."""

PASS = RowKey("control", "erasure#transcripts", "pass")
"""Where the pass goes on: among the rows that the eraser may write."""


ERASER = "service_account:eraser"
"""Who is named in the blank of a part of which nobody can read who recorded it."""

_log = logging.getLogger(__name__)


class TranscriptPurge:
    """Blanks parts of transcripts in this region's bucket."""

    def __init__(
        self, region: Region, erasable: ErasableObjects, steps: DreamStepRemoval, day_us: int = DAY_US
    ) -> None:
        self._region = region
        self._erasable = erasable
        self._steps = steps
        self._day_us = day_us

    def erase(self, workspace_id: str, session_id: str) -> int:
        """Blank every part of a transcript that is to be erased, and delete its older S3 versions. Repeatable.

        A HEAD and a LIST for each region, for each part a GET and what an erasure costs, and what
        `DreamStepRemoval.erase_of_sessions` costs. Returns how many parts had text. Without an order in this bucket
        nothing is erased.

        Raises:
            InvalidRequest: no ids. Unavailable: not finished; repeat it.
        """
        if WORKSPACE.fullmatch(workspace_id) is None or SESSION.fullmatch(session_id) is None:
            raise InvalidRequest("session_id", "names no session")
        if not has_order(self._region, workspace_id, session_id):
            return 0
        blanked = self._blank(self._parts(workspace_id, session_id), keep_ids=False)
        self._steps.erase_of_sessions({session_id})
        return blanked

    def erase_of_store(self, store_id: str, keys: Iterable[str]) -> int:
        """Blank those of some parts, in the order of their keys, whose sessions have the store. Repeatable.

        The caller knows that the store is to be erased. A look at what serves, an index read for each session, and for
        each part of the store's a GET and what an erasure costs; where there are any, what
        `DreamStepRemoval.erase_of_sessions` costs. Returns how many parts had text.

        Raises:
            Unavailable: not finished; repeat it.
        """
        view = self._region.view()
        return self._blank_all((parts, False) for parts in parts_of(self._region, view, store_id, keys))

    def clear(self, key: str) -> bool:
        """Delete what stands below the blank of a part; return whether anything did. Repeatable.

        A blank that replicates lands on top of the text. A GET, and a LIST of versions. Raises Unavailable.
        """
        name = parse_key(key)
        found = find(self._region.objects, key) if isinstance(name, TranscriptKey) else None
        if found is None or TranscriptPart.from_lines(found.body).erased_at is None:
            return False
        return self._erasable.delete_older(key) > 0

    def run(self, deadline_us: int) -> ScanProgress:
        """Go on with the daily pass over all transcripts of this bucket. Raises as `resume_scan`.

        A LIST for a thousand parts; for a session two index reads and a HEAD for each region; for a part that is due
        what an erasure costs, and for a thousand with any that are, what `DreamStepRemoval.erase_of_sessions` costs.
        """
        return resume_scan(self._region, "transcripts", self._page, deadline_us, PASS)

    def _page(self, view: View, place: str | None) -> tuple[ScanProgress, str | None]:
        """Look at one page of the parts that one region wrote. `place` is JSON: the region's number, the last key."""
        regions = sorted(self._region.origins)
        number, last = (0, None) if place is None else json.loads(place)
        page = self._region.objects.list(f"{regions[number]}/transcript/", last, KEYS_PER_PAGE)
        blanked = self._blank_all(self._due(view, keys) for keys in _by_session(page.keys))
        scanned = ScanProgress(len(page.keys), blanked)
        if page.next_after is not None:
            return scanned, json.dumps([number, page.next_after])
        return scanned, json.dumps([number + 1, None]) if number + 1 < len(regions) else None

    def _blank_all(self, due: Iterable[tuple[list[TranscriptKey], bool]]) -> int:
        """Blank parts, those of one session together, then remove what dreams of these sessions keep; how many parts.

        Each comes with whether the ends of its events' ids are kept. The steps go last, and also where the parts were
        blank: whoever reads before the blank keeps nothing after it, and a call that died between the two is repeated.
        """
        blanked, sessions = 0, set[str]()
        for parts, keep_ids in due:
            blanked += self._blank(parts, keep_ids=keep_ids)
            sessions.update(one.session_id for one in parts)
        if sessions:
            self._steps.erase_of_sessions(sessions)
        return blanked

    def _due(self, view: View, keys: list[TranscriptKey]) -> tuple[list[TranscriptKey], bool]:
        """Return what is due among some parts of one session, all of one region; and whether ends of ids are kept."""
        workspace_id, session_id = keys[0].workspace_id, keys[0].session_id
        parts = [key for key in keys if not key.is_erasure]
        if not parts:
            return [], False
        if has_order(self._region, workspace_id, session_id):
            return parts, False
        stores = self._stores(view, workspace_id, session_id)
        is_erased = any(one.state == StoreState.DELETED for one in stores)
        days = days_kept(one.transcript_days for one in stores)
        days += 0 if keys[0].region == self._region.name else GRACE_DAYS
        row_keys = {TranscriptRow.key(workspace_id, session_id, key.region, key.sequence): key for key in parts}
        rows = self._region.read(view.index, list(row_keys))
        now_us = self._region.clock.now_us()
        due = [
            row_keys[key]
            for key, row in rows.items()
            if is_over(TranscriptRow.from_attributes(row), 0 if is_erased else days, now_us, self._day_us)
        ]
        return due, not is_erased

    def _stores(self, view: View, workspace_id: str, session_id: str) -> list[StoreRow]:
        """Return the stores of a session, also erased ones, as far as this region knows them.

        Raises Unavailable where a table was emptied: without its store's row a part would be kept for the default time.
        """
        keys = [StoreRow.key(store_id) for store_id in stores_of(self._region, view, workspace_id, session_id)]
        rows = self._region.read_whole(view, keys, "keys", "stores")
        return [StoreRow.from_attributes(row) for row in rows.values()]

    def _parts(self, workspace_id: str, session_id: str) -> Iterator[TranscriptKey]:
        for region in self._region.origins:
            prefix = TranscriptKey.prefix(region, workspace_id, session_id)
            for name in keys_of(self._region.objects, TranscriptKey, prefix):
                if not name.is_erasure:
                    yield name

    def _blank(self, keys: Iterable[TranscriptKey], *, keep_ids: bool) -> int:
        tasks = [partial(self._blank_one, key, keep_ids) for key in keys]
        blanked = 0
        for start in range(0, len(tasks), AT_ONCE):
            blanked += sum(self._region.parallel.run(tasks[start : start + AT_ONCE]))
        if blanked:
            self._region.metrics.count("transcript_parts_erased", blanked)
        return blanked

    def _blank_one(self, key: TranscriptKey, keep_ids: bool) -> bool:
        """Put a blank over one part, and delete what is older; return whether it had text.

        One that cannot be read is left where only its time is over: the ends of its events' ids would be lost with it.
        """
        now_us = self._region.clock.now_us()
        try:
            found = find(self._region.objects, str(key))
            if found is None:
                return False
            part = TranscriptPart.from_lines(found.body)
        except (ValueError, Damaged) as error:
            self._report_unreadable(key, error, is_left=keep_ids)
            if keep_ids:
                return False
            blank = TranscriptPart(key.workspace_id, key.session_id, now_us, ERASER, erased_at=now_us)
            return self._put(key, blank)
        if part.erased_at is not None and (keep_ids or not part.kept_ids):
            self._erasable.delete_older(str(key))
            return False
        return self._put(key, part.blanked(now_us, keep_ids=keep_ids)) and bool(part.events)

    def _put(self, key: TranscriptKey, blank: TranscriptPart) -> bool:
        """Put a blank over a part; return whether the part was there."""
        try:
            self._erasable.erase(str(key), blank.to_lines(), {})
        except port_errors.ObjectNotFound:
            return False
        return True

    def _report_unreadable(self, key: TranscriptKey, error: ValueError | Damaged, is_left: bool) -> None:
        report_damage(self._region, {(key, self._region.name): Damage.UNREADABLE})
        done = (
            "its time is over, and its text is left: delete the session, or deploy the release that can read the part"
            if is_left
            else "it was to be erased, and a blank is put over it"
        )
        _log.error("a part of a transcript cannot be read: %s", done, extra={"key": str(key), "reason": str(error)})


def stores_of(region: Region, view: View, workspace_id: str, session_id: str) -> list[str]:
    """Return the ids of the stores that a session has; none where the session is not known here. An index read."""
    key = SessionRow.key(workspace_id, session_id)
    attributes = region.read(view.index, [key]).get(key)
    if attributes is None:
        return []
    record = SessionRecord.from_json(SessionRow.from_attributes(attributes).record.encode())
    return [one.memory_store_id for one in record.attachments]


def parts_of(region: Region, view: View, store_id: str, keys: Iterable[str]) -> Iterator[list[TranscriptKey]]:
    """Yield those of some parts whose sessions have the store, at most a hundred of one session together."""
    for group in _by_session(keys):
        parts = [key for key in group if not key.is_erasure]
        if parts and store_id in stores_of(region, view, parts[0].workspace_id, parts[0].session_id):
            yield parts


def _by_session(keys: Iterable[str]) -> Iterator[list[TranscriptKey]]:
    """Group a page's keys, which are in order, by their sessions; at most a hundred parts together."""
    group: list[TranscriptKey] = []
    for key in keys:
        name = parsed_key(key)
        if not isinstance(name, TranscriptKey):
            continue
        if group and (group[0].session_id != name.session_id or len(group) == 100):  # a read takes a hundred rows
            yield group
            group = []
        group.append(name)
    if group:
        yield group
