"""What a working copy knows, and what its paths show: the table, with the local texts laid over it."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from memolith.clients.working_copy.content_cache import ContentCache
from memolith.clients.working_copy.content_fetcher import ContentFetcher
from memolith.clients.working_copy.head_cache import HeadCache
from memolith.clients.working_copy.store_client import (
    Damaged,
    Denied,
    Gone,
    Head,
    NoAnswer,
    Overtaken,
    Refused,
    Staged,
    StoreClient,
    StoreClientError,
)
from memolith.clients.working_copy.tree import Tree, join, split, within
from memolith.clients.working_copy.unsaved_texts import Kind, LocalText, UnsavedTexts
from memolith.core.errors import InvalidRequest
from memolith.core.paths import check_path
from memolith.ports.clock import Clock

STRIPES = 64
_ERRNOS: dict[type[StoreClientError], int] = {
    Overtaken: errno.EBUSY,
    Gone: errno.ENOENT,
    Refused: errno.EINVAL,
    Staged: errno.EACCES,
    Denied: errno.EACCES,
    Damaged: errno.EIO,
    NoAnswer: errno.EIO,
}


def fail(number: int, message: str) -> NoReturn:
    """Raise OSError."""
    raise OSError(number, message)


def errno_of(error: StoreClientError) -> int:
    """Return the errno that a program gets for it."""
    if isinstance(error, Refused) and error.scanner:
        return errno.EPERM
    return _ERRNOS[type(error)]


@dataclass(frozen=True, slots=True)
class Displaced:
    """A memory whose file a program has moved to a temporary name, as editors do before they write it anew.

    Nothing of it reaches the store: the file comes back if no program writes it again.
    """

    base: Head
    backup: str
    since_us: int


class State:
    """The state of one working copy, shared by its parts; `lock` guards what is not a part with a lock of its own.

    Attributes:
        changed: told of paths that show something else now, though no program here wrote them.
        seen: by path, the hash of the text that was last shown to a program that opened it to read.
        times_ns: by path, a text's hash and the time that the file of that text is to show.
        reasons: by path, why its last local text was refused.
    """

    def __init__(
        self,
        client: StoreClient,
        contents: ContentCache,
        unsaved: UnsavedTexts,
        clock: Clock,
        *,
        read_only: bool = False,
    ) -> None:
        self.client, self.contents, self.unsaved, self.clock, self.read_only = (
            client,
            contents,
            unsaved,
            clock,
            read_only,
        )
        self.table = HeadCache(client, clock)
        self.texts = ContentFetcher(client, contents, self.table, clock, self._found_newer)
        self.changed: Callable[[Iterable[str]], None] = lambda paths: None
        self.lock = threading.RLock()
        self.locals: dict[str, LocalText] = {}
        self.displaced: dict[str, Displaced] = {}
        self.seen: dict[str, str] = {}
        self.times_ns: dict[str, tuple[str, int]] = {}
        self.reasons: dict[str, str] = {}
        self.ignored: dict[str, str] = {}
        self.folder_times = self.table.folder_times
        self._places = Tree()
        self._folders: set[str] = set()
        self._stripes = [threading.RLock() for _ in range(STRIPES)]

    # ---- what there is ------------------------------------------------------------------------------------------

    def find(self, path: str) -> LocalText | Head | None:
        """Return what is at a path, as this machine sees it."""
        with self.lock:
            local = self.locals.get(path)
            if local is not None:
                return local
            return None if path in self.displaced else self.table.at(path)

    def is_folder(self, path: str) -> bool:
        """Tell whether it is a folder; ``/`` always is."""
        if path == "/":
            return True
        with self.lock:
            return self._places.is_folder(path) or self.table.is_folder(path)

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted."""
        with self.lock:
            names = {*self._places.names(folder), *self.table.names(folder)} - {""}
            if self.displaced:
                names = {name for name in names if self._shows(join(folder, name))}
        return sorted(names)

    def subfolder_count(self, folder: str) -> int:
        """Count the folders in a folder."""
        with self.lock:
            here, there = self._places.subfolders(folder), self.table.subfolders(folder)
            return len({*here, *there})

    def name_changed(self, *paths: str) -> None:
        """Note that names have come or gone here now: their folders show it."""
        with self.lock:
            for path in paths:
                self.folder_times.name_changed(path, self.now_ns())

    def _shows(self, path: str) -> bool:
        return self.find(path) is not None or self.is_folder(path)

    def show_elsewhere(self, path: str, now: Head) -> None:
        """Show a memory where another client has renamed it to, and no longer at the path at which it was known."""
        self.table.put(now)
        self.seen.pop(path, None)
        self.changed([path, now.path])

    # ---- local texts --------------------------------------------------------------------------------------------

    def add_local(self, path: str, kind: Kind, base: Head | None = None, text: bytes = b"") -> LocalText:
        """Add a local text, over whatever is at the path."""
        local = self.unsaved.add(path, kind, base, text, self.now_ns())
        local.left_us = self.clock.now_us()
        self.show_local(local)
        return local

    def show_local(self, local: LocalText) -> None:
        """Show a local text over its path."""
        with self.lock:
            if local.path not in self.locals:
                self._places.add(local.path)
            self.locals[local.path] = local

    def hide_local(self, local: LocalText) -> None:
        """Remove a local text from its path; it stays on disk."""
        with self.lock:
            if self.locals.get(local.path) is local:
                del self.locals[local.path]
                self._places.remove(local.path)

    def drop_local(self, local: LocalText) -> None:
        """Drop a local text."""
        local.waiting = False
        self.hide_local(local)
        self.unsaved.drop(local)

    def move_local(self, local: LocalText, path: str) -> None:
        """Give a local text another path."""
        with self.lock:
            self.hide_local(local)
            local.path, local.left_us = path, self.clock.now_us()
            self.show_local(local)
        self.unsaved.record(local)

    # ---- folders ------------------------------------------------------------------------------------------------

    def add_folder(self, path: str) -> None:
        """Add a folder that stays though it is empty. Repeatable."""
        with self.lock:
            if path != "/" and path not in self._folders:
                self._folders.add(path)
                self._places.add(path + "/")

    def remove_folder(self, path: str) -> None:
        """Show the folder only while something is in it. Repeatable."""
        with self.lock:
            if path in self._folders:
                self._folders.discard(path)
                self._places.remove(path + "/")

    def folders_under(self, path: str) -> list[str]:
        """List folders that exist even when empty, the path itself included, the innermost last."""
        with self.lock:
            return sorted(folder for folder in self._folders if folder == path or within(folder, path))

    @contextmanager
    def keeping_folder(self, path: str) -> Iterator[None]:
        """Keep the folder of a path while something leaves it, even if it becomes empty."""
        folder, _ = split(path)
        with self.lock:
            lasting = folder in self._folders
            self.add_folder(folder)
        yield
        if not lasting and self.names(folder):
            self.remove_folder(folder)

    # ---- bases --------------------------------------------------------------------------------------------------

    def base_of(self, path: str) -> Head | None:
        """Return the head that a new text for a path replaces."""
        with self.lock:
            displaced = self.displaced.get(path)
            return displaced.base if displaced is not None else self.table.at(path)

    def base_displaced(self, path: str) -> Head | None:
        """Return the same head for a path at which nothing was found; None where nothing is displaced there.

        The table is not asked: what others have put there since then was not found, and is not replaced.
        """
        with self.lock:
            displaced = self.displaced.get(path)
            return None if displaced is None else displaced.base

    def base_with(self, head: Head, content_sha256: str) -> Head:
        """Return the head that a text made from this one replaces, with the text that was read as its precondition.

        While that text was read, the table may have moved on to a head with another text.
        """
        return replace(self.base_of(head.path) or head, content_sha256=content_sha256)

    def base_unseen(self, path: str) -> Head | None:
        """Return the same head for a writer that replaces all of the text: with the text that was last shown here.

        If the store has another text by now, the commit fails: no writer replaces a text that it was not shown. An edit
        that waits there covers the head, so that nothing later than its own base was shown.
        """
        with self.lock:
            local = self.locals.get(path)
        if local is not None and local.kind is Kind.EDIT:
            return local.base
        head = self.base_of(path)
        if head is None:
            return None
        return replace(head, content_sha256=self.seen.get(path, head.content_sha256))

    # ---- small things -------------------------------------------------------------------------------------------

    @contextmanager
    def hold(self, *paths: str) -> Iterator[None]:
        """Lock out all other writers of these paths for this block. It may take as long as a request."""
        with ExitStack() as held:
            for number in sorted({hash(path) % STRIPES for path in paths}):
                held.enter_context(self._stripes[number])
            yield

    def now_ns(self) -> int:
        """Return the clock's time, as files have it."""
        return self.clock.now_us() * 1_000

    def check_writable(self) -> None:
        """Raise OSError (EROFS) if the mount is read-only."""
        if self.read_only:
            fail(errno.EROFS, "mounted read-only")

    def _found_newer(self, head: Head) -> None:
        self.table.put(head)
        self.changed([head.path])


def check_name(path: str) -> None:
    """Raise OSError for a path that a memory cannot have."""
    try:
        check_path(path)
    except InvalidRequest as error:
        fail(errno.ENAMETOOLONG if "at most" in error.message else errno.EINVAL, error.message)
