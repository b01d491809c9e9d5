"""The eraser: the only one that may overwrite or delete, and only in its own region.

It trusts no caller's word that something is to be erased: it looks for the reason in the region itself.

    an order of redaction | the deletion of the store | a rename that never came to be | retention | a blank under it
"""

from __future__ import annotations

from dataclasses import replace

from memolith.app.erasure.retention import RetentionPass
from memolith.app.kernel.port_calls import find_head
from memolith.app.kernel.region import Region
from memolith.app.log.log_reader import LogReader
from memolith.app.log.store_log import StoreLog
from memolith.core.errors import Damaged, InvalidRequest, Unavailable
from memolith.core.log_position import LogKey
from memolith.core.object_keys import RedactionKey, parse_key
from memolith.core.objects.entry import Entry, Operation
from memolith.ports import errors as port_errors
from memolith.ports.objects import ErasableObjects


class Eraser:
    """Blanks log objects that are to be erased, one at a time."""

    def __init__(
        self, region: Region, erasable: ErasableObjects, retaining: RetentionPass, logs: LogReader, records: StoreLog
    ) -> None:
        self._region = region
        self._erasable = erasable
        self._retaining = retaining
        self._logs = logs
        self._records = records

    def erase(self, key: str) -> bool:
        """Blank one object and delete its older S3 versions, if there is a reason; return whether. Repeatable.

        Raises:
            InvalidRequest: not a key of a log. Unavailable: not finished; repeat it.
        """
        log_key = parse_key(key)
        if not isinstance(log_key, LogKey):
            raise InvalidRequest("key", "names no entry of a log")
        entry = self._logs.entry(log_key)
        if entry is None or not self._has_reason(entry):
            return False
        self.blank(entry)
        return True

    def blank(self, entry: Entry) -> None:
        """Blank an entry for which the caller has a reason, and the straggler of the same text that it replayed.

        Raises Unavailable: not finished; repeat it.
        """
        if entry.adopts is not None:
            late = self._logs.entry(replace(entry.key, slot=entry.adopts))
            if late is not None and late.version_id == entry.version_id:
                self.blank(late)
        key = str(entry.key)
        try:
            if entry.blank:
                self._erasable.delete_older(key)
            else:
                self._erasable.erase(key, b"", entry.blanked().to_metadata())
                self._region.metrics.count("erased_objects")
        except port_errors.ObjectNotFound as error:
            raise Unavailable("the object to erase is not there", object=key, hint="try again") from error

    def _has_reason(self, entry: Entry) -> bool:
        if entry.blank:
            return True
        if entry.operation is Operation.MOVED_IN and any(one.void for one in self._logs.resolve(entry)):
            return True
        if any(self._ordered(region, entry) for region in self._region.origins):
            return True
        if self._retaining.is_over(entry) or self._records.deletion(entry.key.store_id) is not None:
            return True
        return self._is_over_its_blank(entry)

    def _is_over_its_blank(self, entry: Entry) -> bool:
        """Tell whether a copy of the entry that was under way landed on top of its blank.

        The rows of tables that are being rebuilt may not say so yet. A LIST; a GET where there is an older version.
        """
        key = str(entry.key)
        older = [one for one in self._erasable.versions(key).versions if one.key == key and not one.current]
        return any(self._is_blank_of(entry, one.version_id) for one in older if one.size_bytes == 0)

    def _is_blank_of(self, entry: Entry, s3_version_id: str) -> bool:
        try:
            found = self._erasable.read_version(str(entry.key), s3_version_id)
            older = Entry.from_metadata(entry.key, found.metadata)
        except (port_errors.ObjectNotFound, Damaged, ValueError):
            return False
        return older.blank and older.version_id == entry.version_id

    def _ordered(self, region: str, entry: Entry) -> bool:
        key = RedactionKey(region, entry.key.store_id, entry.version_id)
        return find_head(self._region.objects, str(key)) is not None
