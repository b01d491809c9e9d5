"""The texts of heads: from this machine's disk, else from the store; many at once where many are read one by one.

Who reads one text gets one. Who goes on (`grep -r`, `cp -r`) gets all that is missing: with the whole store, where much
of it is, else folder by folder.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from memolith.clients.working_copy.content_cache import ContentCache
from memolith.clients.working_copy.head_cache import HeadCache
from memolith.clients.working_copy.store_client import Gone, Head, NoAnswer, StoreClient, StoreClientError
from memolith.clients.working_copy.tree import split
from memolith.ports.clock import Clock

MISSES = 3
PAUSE_US = 2_000_000
"""So many texts that were not here, each asked for no longer than this after the one before it was asked for, or came,
are one reader who goes on: however slow the store is."""

AT_ONCE = 8
UNIT = 50
"""Folders of no more memories than this are asked for in one go with what is under them."""

WORTH = 4
"""Of memories in a folder, or in the store, one in so many must be missing for all of them to be fetched."""

log = logging.getLogger("memolith.mount")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A folder to be fetched; `deep`: with the folders in it."""

    folder: str
    deep: bool
    heads: tuple[Head, ...]


class ContentFetcher:
    """Reads texts of heads. May be shared between threads.

    Args:
        put: told of a head that turned out to be newer than the one that was asked for.
    """

    def __init__(
        self, client: StoreClient, contents: ContentCache, table: HeadCache, clock: Clock, put: Callable[[Head], None]
    ) -> None:
        self._client, self._contents, self._table, self._clock, self._put = client, contents, table, clock, put
        self._misses, self._last_us = 0, 0
        self._arrived = threading.Condition()
        self._under_way = False
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="memolith-texts")

    def read(self, head: Head) -> bytes:
        """Return the text of a head, or of what the memory has become.

        No request for a text that is here. Raises StoreClientError.
        """
        text = self._contents.get(head.content_sha256)
        if text is None:
            # With the last of many it may have come since it was looked for: their fetch is not under way any more.
            text = self._from_many(head) if self._goes_on() else self._contents.get(head.content_sha256)
        if text is not None:
            return text
        now, text = self._client.text(head.memory_id)
        self._last_us = self._clock.now_us()
        self._contents.put(text)
        if now != head:
            self._put(now)
        return text

    def close(self) -> None:
        """Stop what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _goes_on(self) -> bool:
        with self._arrived:
            now = self._clock.now_us()
            self._misses = self._misses + 1 if now - self._last_us <= PAUSE_US else 1
            self._last_us = now
            return self._under_way or self._misses >= MISSES

    def _from_many(self, head: Head) -> bytes | None:
        """Wait until the text has come with others, or all have. It may have come since it was looked for."""
        with self._arrived:
            if not self._under_way:
                fetch = self._fetch_for(self._missing(self._table.under("/")))
                if fetch is None:
                    return self._contents.get(head.content_sha256)
                self._under_way = True
                threading.Thread(target=self._run, args=(fetch,), name="memolith-texts", daemon=True).start()
            self._arrived.wait_for(lambda: not self._under_way or self._contents.has(head.content_sha256))
        return self._contents.get(head.content_sha256)

    def _fetch_for(self, missing: Sequence[Head]) -> Callable[[], None] | None:
        """Choose how to get what is missing; None where one by one is best."""
        if len(missing) < MISSES:
            return None
        if len(missing) * WORTH >= len(self._table.under("/")):
            return self._fetch_everything
        units = list(self._units_missing())
        return (lambda: self._fetch_units(units)) if units else None

    def _run(self, fetch: Callable[[], None]) -> None:
        try:
            fetch()
        except (StoreClientError, RuntimeError) as error:  # RuntimeError: the pool was shut down
            log.info("texts were not fetched in bulk: %s", error)
        finally:
            with self._arrived:
                self._under_way = False
                self._misses = 0
                self._arrived.notify_all()

    def _fetch_everything(self) -> None:
        try:
            self._take(self._client.everything())
        except (Gone, NoAnswer) as error:
            log.info("the store is not to be had in a few large pages: %s", error)
            self._fetch_units(list(self._units_missing()))

    def _fetch_units(self, units: Sequence[_Unit]) -> None:
        list(self._pool.map(lambda unit: self._take(self._client.texts(unit.folder, deep=unit.deep)), units))

    def _take(self, texts: Iterator[tuple[Head, bytes]]) -> None:
        for number, (_, text) in enumerate(texts):
            self._contents.put_soon(text)
            if number % 10 == 0:
                self._tell()
        self._tell()

    def _tell(self) -> None:
        with self._arrived:
            self._arrived.notify_all()

    def _missing(self, heads: Sequence[Head]) -> list[Head]:
        return [head for head in heads if not head.withheld and not self._contents.has(head.content_sha256)]

    def _units_missing(self) -> Iterator[_Unit]:
        """Yield folders of which enough is missing."""
        for unit in self._units("/"):
            missing = self._missing(unit.heads)
            if missing and len(missing) * WORTH >= len(unit.heads):
                yield unit

    def _units(self, folder: str) -> Iterator[_Unit]:
        heads = tuple(self._table.under(folder))
        direct = tuple(head for head in heads if split(head.path)[0] == folder)
        if len(heads) <= UNIT or len(direct) == len(heads):
            yield _Unit(folder, True, heads)
            return
        if direct:
            yield _Unit(folder, False, direct)
        for name in self._table.names(folder):
            path = f"{folder.rstrip('/')}/{name}"
            if self._table.is_folder(path):
                yield from self._units(path)
