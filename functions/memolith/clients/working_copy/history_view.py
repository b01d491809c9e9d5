"""``.memolith`` of a mount, which is read-only: ``local`` (`local_status`), and ``versions/PATH/``, a memory's
versions.

One file for each version that has a text, its name in the order of time:
``20261122T052530.123456Z-modified-memver_….md``. It is not in any listing, so that nothing that walks the tree walks
through all of history.
"""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TypeVar

from memolith.clients.working_copy.local_status import standing
from memolith.clients.working_copy.state import State, errno_of, fail
from memolith.clients.working_copy.store_client import Head, StoreClientError, Version
from memolith.clients.working_copy.working_copy import Shown
from memolith.core.times import rfc3339

ROOT = "/.memolith"
LOCAL = ROOT + "/local"
VERSIONS = ROOT + "/versions"
MEMORIES_REMEMBERED = 64
TEXTS_REMEMBERED = 64

T = TypeVar("T")


class HistoryView:
    """What a working copy's state has besides its files. May be shared between threads."""

    def __init__(self, state: State) -> None:
        self._state, self._client, self._table = state, state.client, state.table
        self._lock = threading.Lock()
        self._listed: OrderedDict[str, Mapping[str, Version]] = OrderedDict()
        self._texts: OrderedDict[str, bytes] = OrderedDict()

    @staticmethod
    def covers(path: str) -> bool:
        """Tell whether a path is in this view."""
        return path == ROOT or path.startswith(ROOT + "/")

    def stat(self, path: str) -> Shown:
        """Return what is at a path; a look at a file of a memory requests the memory's versions. Raises OSError."""
        if self._is_folder(path):
            place = _place(path) if path.startswith(VERSIONS) else "/"
            return Shown(True, 0, self._state.folder_times.at(place))
        if path == LOCAL:
            return Shown(False, len(standing(self._state)), self._state.now_ns())
        version = self._version(path)
        return Shown(False, version.size_bytes or 0, version.made_at_us * 1_000, version.version_id)

    def names(self, folder: str) -> list[tuple[str, bool]]:
        """List the names in a folder, and whether each is a folder too. Raises OSError."""
        if folder == ROOT:
            return [("local", False), ("versions", True)]
        if not self._is_folder(folder):
            fail(errno.ENOENT, "there is no such folder")
        place = _place(folder)
        head = self._table.at(place)
        if head is None:
            return [(name, True) for name in sorted(self._table.names(place))]
        return [(name, False) for name in sorted(self._versions(head))]

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return a part of a version's text. Raises OSError."""
        if path == LOCAL:
            return standing(self._state)[offset : offset + size]
        version_id = self._version(path).version_id
        with self._lock:
            text = self._texts.get(version_id)
        if text is None:
            try:
                text = self._client.version_text(version_id)
            except StoreClientError as error:
                fail(errno_of(error), error.message)
            with self._lock:
                _remember(self._texts, version_id, text, TEXTS_REMEMBERED)
        return text[offset : offset + size]

    def _is_folder(self, path: str) -> bool:
        if path in (ROOT, VERSIONS):
            return True
        if not path.startswith(VERSIONS + "/"):
            return False
        place = _place(path)
        return self._table.is_folder(place) or self._table.at(place) is not None

    def _version(self, path: str) -> Version:
        folder, _, name = path.rpartition("/")
        head = self._table.at(_place(folder)) if folder.startswith(VERSIONS + "/") else None
        version = None if head is None else self._versions(head).get(name)
        if version is None:
            fail(errno.ENOENT, "there is no such version")
        return version

    def _versions(self, head: Head) -> Mapping[str, Version]:
        """Return the versions by name. One listing for each version that the memory comes to have."""
        with self._lock:
            known = self._listed.get(head.version_id)
        if known is not None:
            return known
        try:
            listed = self._client.versions(head.memory_id)
        except StoreClientError as error:
            fail(errno_of(error), error.message)
        suffix = _suffix(head.path)
        named = {_name(version, suffix): version for version in listed if version.content_sha256 is not None}
        with self._lock:
            _remember(self._listed, head.version_id, named, MEMORIES_REMEMBERED)
        return named


def _place(path: str) -> str:
    return path[len(VERSIONS) :] or "/"


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:] if dot > 0 else ""


def _name(version: Version, suffix: str) -> str:
    moment = rfc3339(version.made_at_us).replace("-", "").replace(":", "")
    return f"{moment}-{version.operation}-{version.version_id}{suffix}"


def _remember(known: OrderedDict[str, T], name: str, what: T, most: int) -> None:
    known[name] = what
    while len(known) > most:
        known.popitem(last=False)
