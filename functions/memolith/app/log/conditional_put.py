"""One conditional put, and the settling of its doubtful replies."""

from __future__ import annotations

from enum import Enum

from memolith.app.kernel.region import Region
from memolith.app.log.log_reader import LogReader
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.objects.entry import Entry
from memolith.ports import errors as port_errors

PUT_ATTEMPTS = 6


class Put(Enum):
    """Whether the slot is ours."""

    MINE = "mine"
    TAKEN = "taken"


class ConditionalPut:
    """Takes slots of logs in this region's bucket."""

    def __init__(self, region: Region, logs: LogReader) -> None:
        self._region = region
        self._logs = logs

    def take(self, entry: Entry, body: bytes) -> Put:
        """Put `entry` into its slot, or find it taken; one PUT when nothing is in doubt.

        A taken slot may be taken by this very call, whose reply was lost: the entry there decides.

        Raises:
            Unavailable: refused, and nothing was done.
            Busy: still undecided after several tries, and the slot is free.
            OutcomeUnknown: the slot can be neither put nor read.
        """
        in_doubt = False
        for attempt in range(PUT_ATTEMPTS):
            try:
                metadata = entry.to_metadata()
                self._region.objects.put_if_absent(str(entry.key), body, metadata, entry.content_sha256)
                return Put.MINE
            except port_errors.Contended:
                self._region.back_off(attempt)
                continue
            except port_errors.Unavailable as error:
                if in_doubt:
                    raise OutcomeUnknown("the write may have been committed; read before trying again") from error
                raise Unavailable("the bucket refuses writes now; try again") from error
            except port_errors.OutcomeUnknown:
                in_doubt = True
            except port_errors.ObjectExists:
                pass
            found = self._found(entry)
            if found is not None and found.same_write(entry):
                return Put.MINE
            if found is not None:
                self._region.metrics.count("slots_lost")
                return Put.TAKEN
            self._region.back_off(attempt)
        if in_doubt:
            raise OutcomeUnknown("the write may have been committed; read before trying again")
        raise Busy("others kept writing here; try again")

    def _found(self, entry: Entry) -> Entry | None:
        try:
            return self._logs.entry(entry.key)
        except Unavailable as error:
            raise OutcomeUnknown("the write may have been committed; read before trying again") from error
