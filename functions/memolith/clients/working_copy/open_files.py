"""Files that are open to be written: a local text, from the first write to the commit of a close."""

from __future__ import annotations

import contextlib
import errno
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from memolith.clients.working_copy.append_groups import AppendGroups
from memolith.clients.working_copy.commit_on_close import CommitOnClose
from memolith.clients.working_copy.state import State, check_name, errno_of, fail
from memolith.clients.working_copy.store_client import Head, StoreClientError
from memolith.clients.working_copy.temporary_names import is_local
from memolith.clients.working_copy.unsaved_texts import Kind, LocalText
from memolith.ports.clock import Clock

LOCAL_MAX_BYTES = 16 * 1024 * 1024

log = logging.getLogger("memolith.mount")


@dataclass(slots=True, eq=False)
class Writing:
    """A file that is open to be written.

    Attributes:
        append: at its end only.
        path: where it was opened.
        local: what was written through it and has not been answered for.
        last: what was last written through it, whatever has become of it.
    """

    append: bool = False
    path: str = ""
    local: LocalText | None = None
    last: LocalText | None = None


class OpenFiles:
    """What programs do with files that they have opened to write."""

    def __init__(self, state: State, commits: CommitOnClose, append_groups: AppendGroups, clock: Clock) -> None:
        self._state = state
        self._commits = commits
        self._append_groups = append_groups
        self._clock = clock

    def create(self, path: str, *, append: bool = False, exclusive: bool = False, emptied: bool = False) -> Writing:
        """Create a file, open to be written. Nothing is in the store yet. Raises OSError.

        Args:
            exclusive: one that has come to be there meanwhile is an error; else it is opened, and `emptied`.
        """
        state = self._state
        state.check_writable()
        check_name(path)
        if state.is_folder(path):
            fail(errno.EISDIR, "a folder has that name")
        with state.hold(path):
            if state.find(path) is not None:
                if exclusive:
                    fail(errno.EEXIST, "there is something already")
                return self.open_to_write(path, append=append, emptied=emptied)
            base = state.base_displaced(path)
            kind = Kind.TEMPORARY if is_local(path) and base is None else Kind.EDIT
            local = state.add_local(path, kind, base)
            local.appended_from = 0 if append and base is None else None
            local.writers = 1
            state.name_changed(path)
            return self._opened(Writing(append, path, local, local))

    def open_to_write(self, path: str, *, append: bool = False, emptied: bool = False) -> Writing:
        """Open an existing file to write, `emptied` at once if asked. Raises OSError."""
        self._state.check_writable()
        if self._state.find(path) is None:
            if self._state.is_folder(path):
                fail(errno.EISDIR, "it is a folder")
            fail(errno.ENOENT, "there is no such file")
        writing = Writing(append, path)
        if emptied:
            self.truncate(path, 0, writing)
        return self._opened(writing)

    def _opened(self, writing: Writing) -> Writing:
        if writing.append:
            self._append_groups.opened(writing.path, writing)
        return writing

    def write(self, path: str, writing: Writing, offset: int, content: bytes) -> int:
        """Write a part of a text, at its end if it is open to be appended to; return how much. Raises OSError."""
        with self._state.hold(path):
            self._check_goes_on(path, writing)
            local = self._local(path, append=writing.append)
            if writing.append:
                offset = len(local.text)
            if offset + len(content) > LOCAL_MAX_BYTES:
                fail(errno.EFBIG, "it is too long")
            if local.appended_from is not None and offset < local.fixed_bytes:
                self._no_append(local)
            self._state.unsaved.write(local, offset, content)
            self._touch(local, writing)
        if writing.append:
            self._append_groups.settled(writing.path, writing)
        return len(content)

    def truncate(self, path: str, size: int, writing: Writing | None = None) -> None:
        """Cut a text, or fill it with NUL bytes. Raises OSError."""
        self._state.check_writable()
        if size > LOCAL_MAX_BYTES:
            fail(errno.EFBIG, "it is too long")
        with self._state.hold(path):
            if writing is not None:
                self._check_goes_on(path, writing, emptied=size == 0)
            local = self._local(path, emptied=size == 0)
            if local.appended_from is not None and (size < local.fixed_bytes or local.appended_from == 0):
                self._no_append(local)
            touched = local.touched or size > 0 or local.kind is not Kind.EDIT
            self._state.unsaved.truncate(local, size)
            self._touch(local, writing)
            local.touched = touched

    def flush(self, path: str, writing: Writing, *, last: bool = False) -> None:
        """Handle a close or an fsync. One commit if something was written. Raises OSError as `CommitOnClose.commit`
        does.

        One commit for all programs that append at the same time; each of them gets the error if it fails.
        """
        if writing.append and writing.local is not None and writing.local.touched:
            self._append_groups.wait(writing.path)
        with self._state.hold(path):
            local = writing.local
            if local is None:
                self._check_not_failed(path, writing)
                found = self._state.locals.get(path)
                if found is None or found.kind is not Kind.EDIT or not found.waiting or found.writers:
                    return
                local = found
            if local.failure and local.path != path:
                self._let_go(writing)
                fail(local.failure, local.reason)
            if local.kind is not Kind.EDIT or not local.waiting:
                self._close_local(local)
                self._let_go(writing)
                return
            if not local.touched and not last:
                return
            try:
                self._commits.commit(local)
            finally:
                self._let_go(writing)

    def release(self, path: str, writing: Writing) -> None:
        """Handle the last close. Commits what was only made or emptied; no program gets the error if that fails."""
        self._append_groups.settled(writing.path, writing)
        local = writing.local
        if local is None:
            return
        with self._state.hold(local.path):
            if local.writers > 1 or local.touched:
                self._let_go(writing)
                return
            with errors_logged(local.path):
                self.flush(local.path, writing, last=True)

    def _local(self, path: str, *, append: bool = False, emptied: bool = False) -> LocalText:
        """Return the local text that is written to; the first write makes it."""
        state = self._state
        found = state.find(path)
        if isinstance(found, LocalText):
            return found
        if found is None:
            if not append or state.is_folder(path):
                fail(errno.ESTALE, "somebody else deleted it meanwhile")
            local = state.add_local(path, Kind.EDIT)
            local.appended_from = 0
            return local
        if emptied:
            return state.add_local(path, Kind.EDIT, state.base_unseen(path))
        text = self.text(found)
        base = state.base_with(found, sha256(text).hexdigest())
        local = state.add_local(path, Kind.EDIT, base, text)
        local.appended_from = len(text)
        state.unsaved.record(local)
        return local

    def text(self, head: Head) -> bytes:
        """Return a memory's text. A request if it is not here. Raises OSError: EACCES where it is withheld."""
        if head.withheld:
            fail(errno.EACCES, "its text is withheld by the safety scanner")
        try:
            return self._state.texts.read(head)
        except StoreClientError as error:
            fail(errno_of(error), error.message)

    def _touch(self, local: LocalText, writing: Writing | None) -> None:
        local.changed_at_ns, local.left_us = self._state.now_ns(), self._clock.now_us()
        local.touched = True
        local.waiting = local.kind is Kind.EDIT
        if local.complete and local.kind is not Kind.KEPT:
            local.complete = False
            self._state.unsaved.record(local)
        if writing is not None and writing.local is not local:
            self._let_go(writing)
            writing.local = writing.last = local
            local.writers += 1

    def _check_goes_on(self, path: str, writing: Writing, *, emptied: bool = False) -> None:
        """Raise OSError where a write at an offset would not go on in the text that was written through this file.

        The offsets of a program are those of its own text. In a text of another client they would replace its middle.
        """
        self._check_not_failed(path, writing)
        last, found = writing.last, self._state.find(path)
        if writing.append or emptied or last is None or found is None or found is last:
            return
        head = found.base if isinstance(found, LocalText) else found
        known = (sha256(last.text).hexdigest(), self._state.seen.get(path))
        if last.stored_differs or head is None or head.content_sha256 not in known:
            fail(errno.ESTALE, "it has another text by now than what was written: open it again")

    def _check_not_failed(self, path: str, writing: Writing) -> None:
        """Raise OSError again if what was written through this file is kept beside it; an append needs no text."""
        last = writing.last
        if last is not None and last.failure and last.path != path and not writing.append:
            fail(last.failure, last.reason)

    def _close_local(self, local: LocalText) -> None:
        """Note the close of a local text that is no edit: if the mount dies, what it leaves of it is whole."""
        local.left_us = self._clock.now_us()
        if not local.complete:
            local.complete = True
            self._state.unsaved.record(local)

    def _no_append(self, local: LocalText) -> None:
        local.appended_from = None
        self._state.unsaved.record(local)

    def _let_go(self, writing: Writing) -> None:
        if writing.local is not None:
            writing.local.writers -= 1
            writing.local = None


@contextlib.contextmanager
def errors_logged(path: str) -> Iterator[None]:
    """Log an error that no program waits for any more."""
    try:
        yield
    except OSError as error:
        log.warning("%s was not written: %s", path, error.strerror)
    except Exception:  # a defect that one text meets keeps no other from being committed
        log.exception("%s was not written, and is tried again", path)
