"""The one put-if-absent: one policy for S3's 409, and one way to settle a reply that was lost.

409 (ConditionalRequestConflict)   undecided: back off and put again
reply lost                         look whose object stands there; where nothing does, put again
412                                taken, perhaps by this very put: look whose object it is
refused                            nothing was done, unless an earlier attempt is in doubt
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum

from memolith.app.kernel.port_calls import find
from memolith.app.kernel.region import Region
from memolith.app.log.log_reader import LogReader
from memolith.core.errors import Busy, OutcomeUnknown, Unavailable
from memolith.core.objects.entry import Entry
from memolith.ports import errors as port_errors

PUT_ATTEMPTS = 6

READ_FIRST = "read before trying again"


class Put(Enum):
    """Whether the slot is ours."""

    MINE = "mine"
    TAKEN = "taken"


def put_if_absent(
    region: Region,
    key: str,
    body: bytes,
    metadata: Mapping[str, str],
    *,
    is_mine: Callable[[], bool | None] | None = None,
    content_sha256: str | None = None,
    at: str | None = None,
    on_put: Callable[[str | None], None] | None = None,
) -> Put:
    """Put an object, or find its key taken. One PUT when nothing is in doubt.

    Args:
        is_mine: reads what stands at the key: True where this put did it, False where another did, None where the key
            is free. Without it, whatever stands there counts as taken, as it should for an object that everybody would
            put alike; an earlier attempt of this very call may have put it.
        content_sha256: as `Objects.put_if_absent`.
        at: the region whose bucket it is; this one by default.
        on_put: is told the id of the object's version, where the reply to the put has come.

    Raises:
        Unavailable: refused, and nothing was done.
        Busy: still undecided after several tries, and the key is free.
        OutcomeUnknown: the key can be neither put nor read.
    """
    in_doubt = False
    for attempt in range(PUT_ATTEMPTS):
        try:
            version = region.objects.put_if_absent(key, body, metadata, content_sha256, at)
            if on_put is not None:
                on_put(version)
            return Put.MINE
        except port_errors.Contended:
            region.back_off(attempt)
            continue
        except port_errors.ObjectExists:
            if is_mine is None:
                return Put.TAKEN
        except OutcomeUnknown:
            in_doubt = True
        except Unavailable as error:
            if in_doubt:
                raise _unknown(region, key, at) from error
            raise
        try:
            mine = None if is_mine is None else is_mine()
        except Unavailable as error:
            raise _unknown(region, key, at) from error
        if mine is not None:
            return Put.MINE if mine else Put.TAKEN
        region.back_off(attempt)
    if in_doubt:
        raise _unknown(region, key, at)
    raise Busy("others kept writing here; try again")


def has_body(region: Region, key: str, body: bytes) -> bool | None:
    """Tell whether an object has just this body, for `put_if_absent` to ask as `is_mine`; None where the key is free.

    One GET. Raises Unavailable.
    """
    found = find(region.objects, key)
    return None if found is None else found.body == body


def _unknown(region: Region, key: str, at: str | None) -> OutcomeUnknown:
    return OutcomeUnknown("the write may have been committed", region=at or region.name, object=key, hint=READ_FIRST)


class ConditionalPut:
    """Takes slots of logs in this region's bucket."""

    def __init__(self, region: Region, logs: LogReader) -> None:
        self._region = region
        self._logs = logs

    def take(self, entry: Entry, body: bytes) -> Entry | None:
        """Put `entry` into its slot and return it; None where the slot is taken. As `put_if_absent`.

        A slot that holds the same write is ours; then the entry is returned as it stands there.
        """
        found: Entry | None = None
        version: str | None = None

        def on_put(id: str | None) -> None:
            nonlocal version
            version = id

        def is_mine() -> bool | None:
            nonlocal found
            found = self._logs.entry(entry.key)
            return None if found is None else found.same_write(entry)

        metadata, sha256 = entry.to_metadata(), entry.content_sha256
        put = put_if_absent(
            self._region, str(entry.key), body, metadata, is_mine=is_mine, content_sha256=sha256, on_put=on_put
        )
        if put is Put.TAKEN:
            self._region.metrics.count("slots_lost")
            return None
        return found or replace(entry, object_version=version)
