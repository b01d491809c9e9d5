"""A store as a tree of files: what a mount does for a program, without FUSE.

Paths begin with ``/`` and are those of the store. Every method may be called from several threads. What goes wrong is
an OSError, whose errno is what a program is told.

What a write comes to, and when:

- A file that is opened to write has a `Writing`. Its first write makes a local text of the file, on disk at once.
- `flush` (each close, and fsync) commits it. A shell closes a copy of the file before it writes a byte; so a file that
  was only made or emptied is committed at its last close instead (`release`).
- What no program closes any more (a commit that got no answer, a truncate by name) `commit_waiting` commits.
"""

from __future__ import annotations

import errno
import logging
from dataclasses import dataclass, field

from memolith.clients.working_copy.append_groups import AppendGroups
from memolith.clients.working_copy.commit_on_close import CommitOnClose
from memolith.clients.working_copy.conditional_commit import ConditionalCommit
from memolith.clients.working_copy.content_cache import ContentCache
from memolith.clients.working_copy.local_status import reason_of, state_of
from memolith.clients.working_copy.open_files import OpenFiles, errors_logged
from memolith.clients.working_copy.rename import Rename
from memolith.clients.working_copy.state import State, check_name, errno_of, fail
from memolith.clients.working_copy.store_client import Head, StoreClient, StoreClientError
from memolith.clients.working_copy.temporary_names import STAYS_US, may_be_meant, why_local
from memolith.clients.working_copy.tree import split
from memolith.clients.working_copy.unsaved_texts import Kind, LocalText, UnsavedTexts
from memolith.core.ages import age
from memolith.core.times import is_due
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness

QUIET_US = 2_000_000
"""A text that no program has open is committed once it was left alone for so long."""

log = logging.getLogger("memolith.mount")


@dataclass(frozen=True, slots=True)
class Shown:
    """What stat tells. `tag` changes whenever the text does; `subfolders` counts the folders in a folder."""

    folder: bool
    size_bytes: int = 0
    changed_at_ns: int = 0
    tag: str = ""
    subfolders: int = 0


@dataclass(slots=True)
class WorkingCopy:
    """A working copy of one store.

    Args:
        unsaved: texts that were closed here and not committed; what dead mounts left in it is taken over.
    """

    client: StoreClient
    contents: ContentCache
    unsaved: UnsavedTexts
    clock: Clock
    randomness: Randomness
    read_only: bool = False
    state: State = field(init=False)
    _commits: CommitOnClose = field(init=False)
    _renames: Rename = field(init=False)
    files: OpenFiles = field(init=False)

    def __post_init__(self) -> None:
        self.state = State(self.client, self.contents, self.unsaved, self.clock, read_only=self.read_only)
        self._commits = CommitOnClose(self.state, ConditionalCommit(self.client, self.clock, self.randomness))
        self._renames = Rename(self.state, self._commits)
        self.files = OpenFiles(self.state, self._commits, AppendGroups(), self.clock)
        for local in self.unsaved.inherited:
            self._take_over(local)

    # ---- reading ------------------------------------------------------------------------------------------------

    def stat(self, path: str) -> Shown:
        """Return what is at a path. No request. Raises OSError: ENOENT."""
        state = self.state
        found = state.find(path)
        if isinstance(found, LocalText):
            return Shown(False, len(found.text), found.changed_at_ns, found.id)
        if found is not None:
            return self._shown(path, found)
        if not state.is_folder(path):
            fail(errno.ENOENT, "there is no such file")
        return Shown(True, 0, state.folder_times.at(path), subfolders=state.subfolder_count(path))

    def _shown(self, path: str, head: Head) -> Shown:
        sha256, changed_at_ns = self.state.times_ns.get(path, ("", 0))
        if sha256 != head.content_sha256:
            changed_at_ns = head.changed_at_us * 1_000
        return Shown(False, head.size_bytes, changed_at_ns, head.content_sha256)

    def names(self, folder: str) -> list[tuple[str, bool]]:
        """List a folder's names, and whether each is a folder too. No request. Raises OSError: ENOTDIR, ENOENT."""
        if not self.state.is_folder(folder):
            fail(errno.ENOENT if self.state.find(folder) is None else errno.ENOTDIR, "there is no such folder")
        parent = folder.rstrip("/")
        return [(name, self._is_in_order_as_folder(f"{parent}/{name}")) for name in self.state.names(folder)]

    def open_to_read(self, path: str) -> str:
        """Note that a program is shown this text; return its tag, as `Shown` has it. No request. Raises OSError."""
        found = self.state.find(path)
        if not isinstance(found, Head):
            return self.stat(path).tag
        self.state.seen[path] = found.content_sha256
        return found.content_sha256

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return a part of a text. A request if the text is not here; for many, a few. Raises OSError."""
        found = self.state.find(path)
        if isinstance(found, LocalText):
            return bytes(found.text[offset : offset + size])
        if found is None:
            fail(errno.ENOENT, "there is no such file")
        return self.files.text(found)[offset : offset + size]

    def attributes(self, path: str) -> dict[str, str]:
        """Return Memolith's attributes of a file. Raises OSError: ENOENT."""
        found = self.state.find(path)
        if found is None:
            self.stat(path)
            return {}
        told = {"reason": self.state.reasons.get(path, "")}
        if isinstance(found, LocalText):
            told |= {"state": state_of(found), "reason": reason_of(found) or told["reason"]}
        else:
            told |= {"state": "withheld" if found.withheld else "stored", "content_sha256": found.content_sha256}
            told |= {"memory_id": found.memory_id, "version_id": found.version_id}
            told["trust"] = found.trust
            told["age"] = age(found.changed_at_us, self.clock.now_us())
        return {name: value for name, value in told.items() if value}

    # ---- names ---------------------------------------------------------------------------------------------------

    def unlink(self, path: str) -> None:
        """Delete a file. Raises OSError."""
        state = self.state
        state.check_writable()
        with state.hold(path):
            found = state.find(path)
            if found is None:
                fail(errno.EISDIR if state.is_folder(path) else errno.ENOENT, "there is no such file")
            with state.keeping_folder(path):
                if isinstance(found, LocalText):
                    self._unlink_local(found)
                else:
                    self._commits.delete(found)
            state.name_changed(path)

    def rename(self, old: str, new: str, *, replace: bool = True) -> None:
        """Rename as rename(2) does. Raises OSError."""
        self.state.check_writable()
        self._renames.rename(old, new, replace=replace)
        if old != new:
            self.state.name_changed(old, new)

    def mkdir(self, path: str) -> None:
        """Make a folder, of this mount alone while it is empty. Raises OSError."""
        self.state.check_writable()
        check_name(path)
        if self.state.find(path) is not None or self.state.is_folder(path):
            fail(errno.EEXIST, "there is something already")
        self.state.add_folder(path)
        self.state.name_changed(path)
        self.state.folder_times.put(path, self.state.now_ns())

    def rmdir(self, path: str) -> None:
        """Remove an empty folder. Raises OSError."""
        state = self.state
        state.check_writable()
        if not state.is_folder(path):
            fail(errno.ENOENT if state.find(path) is None else errno.ENOTDIR, "there is no such folder")
        if state.names(path):
            fail(errno.ENOTEMPTY, "there is something in it")
        with state.keeping_folder(path):
            state.remove_folder(path)
        state.folder_times.forget(path)
        state.name_changed(path)

    def set_time(self, path: str, changed_at_ns: int) -> None:
        """Set the time that a file shows here, for as long as it has its present text, or that a folder shows until a
        name comes or goes in it. Raises OSError.
        """
        self.state.check_writable()
        found = self.state.find(path)
        if isinstance(found, LocalText):
            found.changed_at_ns = changed_at_ns
        elif found is not None:
            self.state.times_ns[path] = (found.content_sha256, changed_at_ns)
        elif self.state.is_folder(path):
            self.state.folder_times.put(path, changed_at_ns)

    # ---- from time to time --------------------------------------------------------------------------------------

    def start(self) -> None:
        """List what is in the store. One request for each hundred memories. Raises StoreClientError."""
        self.state.table.refresh()
        self.contents.keep_only(self.state.table.hashes())

    def refresh(self) -> set[str]:
        """Fetch what others wrote; return the paths that show something else now. One request while nothing changes.

        Raises:
            StoreClientError: the store does not answer, or not to this key.
        """
        changed = self.state.table.refresh()
        self.contents.forget(self.state.table.let_go())
        return changed | self._renames.come_back()

    def commit_waiting(self, *, all: bool = False) -> None:
        """Commit waiting texts that are not open; `all`: also those written just now. Logs errors."""
        now_us = self.clock.now_us()
        for local in list(self.state.locals.values()):
            if local.writers:
                continue
            if local.kind is Kind.EDIT and local.waiting and (all or is_due(local.left_us, now_us, QUIET_US)):
                self._commit_edit(local)
            elif local.kind is Kind.TEMPORARY and is_due(local.left_us, now_us, QUIET_US if all else STAYS_US):
                self._commit_temporary(local)

    def close(self) -> None:
        """Commit what waits and release the local texts; the next start tries what could not be committed."""
        self.commit_waiting(all=True)
        self.state.texts.close()
        self.contents.settle()
        self.unsaved.close()

    def _commit_edit(self, local: LocalText) -> None:
        path = local.path
        with self.state.hold(path):
            if local.waiting and local.path == path and not local.writers:
                with errors_logged(path):
                    self._commits.commit(local)

    def _commit_temporary(self, local: LocalText) -> None:
        """Commit a supposed temporary file that was left alone, if its name allows, or log that it stays local."""
        path = local.path
        if not may_be_meant(path):
            if not local.told:
                log.warning("%s: %s", path, why_local(path))
                local.told = True
            return
        with self.state.hold(path):
            if local.complete and local.kind is Kind.TEMPORARY and local.path == path and not local.writers:
                with self.state.lock:
                    if any(displaced.backup == path for displaced in self.state.displaced.values()):
                        return
                local.kind, local.base, local.waiting, local.touched = Kind.EDIT, None, True, True
                with errors_logged(path):
                    self._commits.commit(local)

    # ---- local texts --------------------------------------------------------------------------------------------

    def _take_over(self, local: LocalText) -> None:
        """Take over what a dead mount left: closed edits wait to be committed, others are put beside their files."""
        if local.kind is Kind.EDIT and not local.complete:
            self._commits.keep_unsaved(local)
            return
        local.waiting = local.kind is Kind.EDIT
        if local.kind is Kind.TEMPORARY:
            local.left_us = self.clock.now_us()
        if local.path in self.state.locals:
            self._commits.keep_unsaved(local)
        else:
            self.state.show_local(local)

    def _unlink_local(self, local: LocalText) -> None:
        state, path = self.state, local.path
        if local.kind is Kind.EDIT:
            self._unlink_edit(local)
            return
        with state.lock:
            gone = [(memory, one.base) for memory, one in state.displaced.items() if one.backup == path]
        for memory, base in gone:
            if memory not in state.locals:
                self._commits.delete(base)
            state.displaced.pop(memory, None)
        state.drop_local(local)

    def _unlink_edit(self, local: LocalText) -> None:
        """Delete the memory that an edit was made on, or has made without an answer.

        Any other memory at its path was covered by the edit, and is shown now. A memory that was displaced stays so,
        unless the store has taken the edit: what becomes of its backup decides.
        """
        state, path, base = self.state, local.path, local.base
        displaced = path in state.displaced
        head = None if displaced and not local.sent else self._head_below(local)
        made_here = head is not None and head.content_sha256 in local.sent
        if displaced and not made_here:
            head = None
        others = head is not None and not made_here and (base is None or head.memory_id != base.memory_id)
        if head is not None and made_here:
            state.seen[path] = head.content_sha256
            self._commits.delete(head)
            state.displaced.pop(path, None)
        elif head is not None and base is not None and not others:
            self._commits.delete(base)
        state.drop_local(local)
        if others:
            state.changed([path])
            fail(errno.EBUSY, "somebody else made it meanwhile")

    def _head_below(self, local: LocalText) -> Head | None:
        """Return the head at an edit's path. No request, unless the store may have the edit already. Raises OSError."""
        if not local.sent:
            return self.state.table.at(local.path)
        try:
            head = self.client.at(local.path)
        except StoreClientError as error:
            fail(errno_of(error), error.message)
        if head is not None:
            self.state.table.put(head)
        return head

    def _is_in_order_as_folder(self, path: str) -> bool:
        return self.state.find(path) is None and split(path)[1] != "" and self.state.is_folder(path)
