"""This machine's picture of the heads of a store.

It is filled from a listing, and kept fresh by the versions that came since: one request while nothing changes. Where
the region says up to when it is complete, only what was made since then is asked for, with a margin for writes that
were under way; what an answer may still miss (a verdict on an old version, a region that cannot say how complete it
is) the next whole listing brings.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable

from memolith.clients.working_copy.folder_times import FolderTimes
from memolith.clients.working_copy.store_client import Changes, Head, Heads, StoreClient, Version
from memolith.clients.working_copy.tree import Tree
from memolith.core.times import is_due
from memolith.ports.clock import Clock

MARGIN_US = 120 * 1_000_000
"""Longer than a write lives: one that was made before an instant is acknowledged no later than this after it."""

UNSURE_US = 15 * 60 * 1_000_000
"""How far back is asked at most, and where the region does not say up to when it is complete."""

LISTED_ANEW_US = 10 * 60 * 1_000_000


class HeadCache:
    """The heads of one store. May be shared between threads; no request is made under its lock.

    Attributes:
        folder_times: of its folders; noted here as heads come and go.
    """

    def __init__(self, client: StoreClient, clock: Clock) -> None:
        self._client, self._clock = client, clock
        self._lock = threading.RLock()
        self._heads: dict[str, Head] = {}
        self._paths: dict[str, str] = {}
        self._tree = Tree()
        self.folder_times = FolderTimes(clock.now_us() * 1_000)
        self._changes = 0
        self._removed: dict[str, int] = {}
        self._put: dict[str, int] = {}
        self._replaced: set[str] = set()
        self._known: set[str] = set()
        self._since_us = 0
        self._listed_us = 0

    # ---- reading ------------------------------------------------------------------------------------------------

    def at(self, path: str) -> Head | None:
        """Return the head at a path."""
        with self._lock:
            memory_id = self._paths.get(path)
            return None if memory_id is None else self._heads[memory_id]

    def is_folder(self, path: str) -> bool:
        """Tell whether a memory is under it."""
        with self._lock:
            return self._tree.is_folder(path)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder."""
        with self._lock:
            return list(self._tree.names(folder))

    def subfolders(self, folder: str) -> Collection[str]:
        """Return the names of the folders in a folder."""
        with self._lock:
            return set(self._tree.subfolders(folder))

    def under(self, folder: str) -> list[Head]:
        """List every head under a folder."""
        with self._lock:
            return [self._heads[self._paths[path]] for path in self._tree.under(folder)]

    def hashes(self) -> set[str]:
        """Return the hash of every text that the store has."""
        with self._lock:
            return {head.content_sha256 for head in self._heads.values()}

    def let_go(self) -> set[str]:
        """Return the hashes of texts that the store had at the last call of this, and no longer has."""
        with self._lock:
            replaced, self._replaced = self._replaced, set()
            return replaced - self.hashes() if replaced else replaced

    # ---- this machine's own writes ------------------------------------------------------------------------------

    def put(self, head: Head) -> None:
        """Take in the head that a write or a read returned. One older than what is known changes nothing."""
        with self._lock:
            self._changes += 1
            self._put[head.memory_id] = self._changes
            self._apply([head], [])

    def remove(self, memory_id: str) -> None:
        """Remove a deleted memory. A listing that began before does not bring it back."""
        with self._lock:
            self._changes += 1
            self._removed[memory_id] = self._changes
            self._apply([], [memory_id])

    # ---- others' writes -----------------------------------------------------------------------------------------

    def refresh(self) -> set[str]:
        """Ask what has changed; return the paths that did. One request while little changes, else one a hundred.

        Raises:
            NoAnswer, Denied, Gone.
        """
        if not self._listed_us or is_due(self._listed_us, self._clock.now_us(), LISTED_ANEW_US):
            return self._list_anew()
        with self._lock:
            since = self._since_us
        changes = self._client.changes(since)
        self._since_us = self._next_since(changes)
        with self._lock:
            new = [version for version in changes.versions if self._is_news(version)]
            self._known = {_identity(version) for version in changes.versions}
            return self._apply(*_newest(new))

    def _list_anew(self) -> set[str]:
        with self._lock:
            began = self._changes
        now = self._clock.now_us()
        listed = self._client.heads()
        self._since_us = self._next_since(listed)
        with self._lock:
            there = {head.memory_id for head in listed.heads}
            gone = [id for id in self._heads if id not in there and self._put.get(id, 0) <= began]
            heads = [head for head in listed.heads if self._removed.get(head.memory_id, 0) <= began]
            self._removed = {id: when for id, when in self._removed.items() if when > began}
            self._put = {id: when for id, when in self._put.items() if when > began}
            self._listed_us = now
            return self._apply(heads, gone)

    def _next_since(self, answer: Heads | Changes) -> int:
        """Compute the next listing's start by the server's clock: this machine's may be wrong.

        A region whose home's clock was ahead says that it is complete beyond now.
        """
        now = self._clock.now_us() if answer.answered_at_us is None else answer.answered_at_us
        return max(now - UNSURE_US, min(answer.complete_until_us or 0, now) - MARGIN_US)

    def _is_news(self, version: Version) -> bool:
        return _identity(version) not in self._known and version.memory_id not in self._removed

    def _apply(self, heads: Iterable[Head], gone: Iterable[str]) -> set[str]:
        """Take in heads newer than what is known, and remove what was deleted; return the paths that changed."""
        newer = [head for head in heads if self._is_newer(head)]
        changed: set[str] = set()
        for memory_id in [*gone, *(head.memory_id for head in newer)]:
            known = self._heads.pop(memory_id, None)
            if known is not None:
                self._tree.remove(known.path)
                del self._paths[known.path]
                self._replaced.add(known.content_sha256)
                changed.add(known.path)
        came = {head.path: head.changed_at_us for head in newer if head.path not in changed}
        for path in changed - {head.path for head in newer}:
            self.folder_times.name_changed(path, self._clock.now_us() * 1_000)
        for path, at_us in came.items():
            self.folder_times.found(path, at_us * 1_000)
        for head in newer:
            self._evict(head.path)
            self._heads[head.memory_id], self._paths[head.path] = head, head.memory_id
            self._tree.add(head.path)
            changed.add(head.path)
        return changed

    def _evict(self, path: str) -> None:
        """Remove the memory known at a path that another memory has now: it has moved or is deleted."""
        memory_id = self._paths.pop(path, None)
        if memory_id is not None:
            del self._heads[memory_id]
            self._tree.remove(path)

    def _is_newer(self, head: Head) -> bool:
        known = self._heads.get(head.memory_id)
        if known is None:
            return True
        if head.changed_at_us == known.changed_at_us:
            return head != known
        return head.changed_at_us > known.changed_at_us


def _identity(version: Version) -> str:
    return f"{version.version_id} {version.withheld}"


def _newest(versions: Iterable[Version]) -> tuple[list[Head], list[str]]:
    """Reduce versions, newest first, to the heads of existing memories and the ids of deleted ones."""
    newest: dict[str, Version] = {}
    for version in versions:
        newest.setdefault(version.memory_id, version)
    heads, gone = [], []
    for version in newest.values():
        if version.operation == "deleted":
            gone.append(version.memory_id)
        elif version.path is not None and version.content_sha256 is not None and version.size_bytes is not None:
            heads.append(
                Head(
                    version.memory_id,
                    version.path,
                    version.content_sha256,
                    version.size_bytes,
                    version.version_id,
                    version.made_at_us,
                    version.withheld,
                    version.trust,
                )
            )
    return heads, gone
