"""Renames: of memories, of folders, and the two that editors save with.

- **Write to a temporary name and rename it over the file** is one new version of the memory.
- **Rename the file to a backup and write it anew** is the same: a memory whose file went to a temporary name is
  displaced, and nothing of it reaches the store. What is written at its path becomes its new text. If the backup is
  deleted and nothing was written, the memory is deleted; if it is renamed back, nothing has happened; if it is renamed
  to a name of its own, the memory is; if nothing more happens, the file comes back, or is renamed after all where a
  person may have meant the name.
"""

from __future__ import annotations

import dataclasses
import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from memolith.clients.working_copy.commit_on_close import CommitOnClose
from memolith.clients.working_copy.state import Displaced, State, check_name, errno_of, fail
from memolith.clients.working_copy.store_client import Gone, Head, NoAnswer, Overtaken, StoreClientError
from memolith.clients.working_copy.temporary_names import is_local, may_be_meant
from memolith.clients.working_copy.tree import split, within
from memolith.clients.working_copy.unsaved_texts import Kind, LocalText
from memolith.core.times import is_due

COMES_BACK_US = 30 * 1_000_000
RENAME_ATTEMPTS = 3

log = logging.getLogger("memolith.mount")


class Rename:
    """The renames of a working copy."""

    def __init__(self, state: State, closing: CommitOnClose) -> None:
        self._state, self._closing = state, closing

    def rename(self, old: str, new: str, *, replace: bool) -> None:
        """Rename as rename(2) does; a folder's is one rename for each memory under it, and may stop in between.

        Raises:
            OSError: as rename(2) does, and as `CommitOnClose.commit` does; what was to be moved is where it was.
        """
        if old == new:
            return
        if within(new, old):
            fail(errno.EINVAL, "a folder cannot be moved into itself")
        if not replace and (self._state.find(new) is not None or self._state.is_folder(new)):
            fail(errno.EEXIST, "there is something already")
        found = self._state.find(old)
        if found is None and self._state.is_folder(old):
            self._rename_folder(old, new)
            return
        if self._state.is_folder(new):
            fail(errno.EISDIR, "a folder has that name")
        with self._state.hold(old, new, *self._displaced_to(old)):
            self._rename_file(old, new, replace=replace)

    def come_back(self) -> set[str]:
        """End the saves that no program continued; return the paths that show something else now.

        A displaced memory that got no new text is renamed, if a person may have meant its new name; else its file is
        shown again.
        """
        state, now = self._state, self._state.clock.now_us()
        with state.lock:
            late = [one for one in state.displaced.items() if is_due(one[1].since_us, now, COMES_BACK_US)]
        changed: set[str] = set()
        for path, displaced in late:
            with state.hold(path, displaced.backup):
                if state.displaced.get(path) is displaced and path not in state.locals:
                    changed |= self._end(path, displaced)
        return changed

    def _end(self, path: str, displaced: Displaced) -> set[str]:
        local = self._state.locals.get(displaced.backup)
        if local is not None and local.base == displaced.base and not local.touched and may_be_meant(local.path):
            try:
                self._rename_memory(displaced.base, local.path)
            except OSError as error:
                if error.errno == errno.EIO:
                    return set()
                log.warning("%s could not be renamed to %s: %s", path, local.path, error.strerror)
            else:
                self._state.drop_local(local)
        with self._state.lock:
            del self._state.displaced[path]
        return {path, displaced.backup}

    def _rename_file(self, old: str, new: str, *, replace: bool) -> None:
        """Rename a file; the caller holds both paths.

        A refresh may bring a memory to the target at any time. Without `replace`, one that is there by now is an error,
        and one that comes later is no base of what is written: the store refuses that.
        """
        if not replace and self._state.find(new) is not None:
            fail(errno.EEXIST, "there is something already")
        found = self._state.find(old)
        if isinstance(found, LocalText) and found.kind is Kind.EDIT:
            if is_local(new) and found.base is None:
                self._stays_local(found, new)
                return
            self._closing.commit(found)
            found = self._state.find(old)
        if found is None:
            fail(errno.ENOENT, "there is no such file")
        with self._state.keeping_folder(old):
            if isinstance(found, LocalText):
                self._rename_local(found, new, replace=replace)
            elif is_local(new) and self._state.base_of(new) is None:
                self._displace(found, new)
            elif self._is_taken(new, replace=replace):
                self._replace(found, new)
            else:
                self._rename_memory(found, new)

    def _is_taken(self, new: str, *, replace: bool) -> bool:
        return new in self._state.displaced or (replace and self._state.find(new) is not None)

    # ---- local texts --------------------------------------------------------------------------------------------

    def _stays_local(self, local: LocalText, new: str) -> None:
        """Turn a new file that was not committed yet into a temporary one."""
        with self._replacing(new):
            local.kind, local.waiting = Kind.TEMPORARY, False
            local.sent.clear()
            self._state.move_local(local, new)

    def _rename_local(self, local: LocalText, new: str, *, replace: bool) -> None:
        if is_local(new) and self._state.base_of(new) is None:
            with self._replacing(new):
                self._move_backup(local, new)
        elif self._is_undone(local, new):
            with self._state.lock:
                del self._state.displaced[new]
                self._state.drop_local(local)
        elif (path := self._moved_on(local, new)) is not None:
            self._move_displaced(path, local, new, replace=replace)
        else:
            base = self._state.base_unseen(new) if replace else self._state.base_displaced(new)
            self._save_over(local, new, base)

    def _move_backup(self, local: LocalText, new: str) -> None:
        """Give a temporary file another such name; the memory that it is a backup of is displaced to there."""
        with self._state.lock:
            path = self._displaced_by(local)
            if path is not None:
                self._state.displaced[path] = dataclasses.replace(self._state.displaced[path], backup=new)
            self._state.move_local(local, new)

    def _displaced_to(self, backup: str) -> list[str]:
        """List the paths whose files were moved to this name."""
        with self._state.lock:
            return [path for path, displaced in self._state.displaced.items() if displaced.backup == backup]

    def _displaced_by(self, local: LocalText) -> str | None:
        """Return the path that it was moved away from, even if a program has written to it since. None: it was not."""
        with self._state.lock:
            found = [path for path, one in self._state.displaced.items() if _is_backup(local, one)]
        return found[0] if found else None

    def _moved_on(self, local: LocalText, new: str) -> str | None:
        """Return the same path, if nothing was written there since and the file does not come back to it."""
        path = self._displaced_by(local)
        return None if path == new or path in self._state.locals else path

    def _move_displaced(self, path: str, local: LocalText, new: str, *, replace: bool) -> None:
        """Move a memory from its old path to where its backup goes, with what was written to the backup."""
        check_name(new)
        base = self._state.displaced[path].base
        moved: Head | None = None
        taken = self._is_taken(new, replace=replace)
        if taken:
            self._save_over(local, new, self._state.base_unseen(new))
            self._closing.delete(base)
        else:
            with suppress(FileNotFoundError):  # others have renamed or deleted it: the backup is a memory of its own
                moved = self._rename_memory(base, new)
        with self._state.lock:
            self._state.displaced.pop(path, None)
        if not taken and (moved is None or local.touched):
            # What was written there was made on the text that was displaced, whatever text the rename has taken.
            made_on = moved and dataclasses.replace(moved, content_sha256=base.content_sha256)
            self._save_over(local, new, made_on)
        self._state.drop_local(local)

    def _is_undone(self, local: LocalText, new: str) -> bool:
        """Tell whether a backup comes back to where it was, unchanged, and nothing was written there since."""
        displaced = self._state.displaced.get(new)
        written = local.touched or new in self._state.locals
        return displaced is not None and _is_backup(local, displaced) and not written

    def _save_over(self, local: LocalText, new: str, base: Head | None) -> None:
        """Commit the text of a temporary file as that of the memory at `new`, or as a new memory."""
        check_name(new)
        edit = self._edit_instead(new, base, bytes(local.text))
        edit.changed_at_ns = local.changed_at_ns
        self._closing.commit(edit)
        self._state.drop_local(local)

    def _edit_instead(self, path: str, base: Head | None, text: bytes) -> LocalText:
        """Make an edit of all the text at a path. What is in doubt of an edit that it replaces is in doubt of it."""
        with self._replacing(path) as replaced:
            edit = self._state.add_local(path, Kind.EDIT, base, text)
        edit.touched = True
        if replaced is not None and replaced.kind is Kind.EDIT:
            edit.sent.update(replaced.sent)
        return edit

    @contextmanager
    def _replacing(self, path: str) -> Iterator[LocalText | None]:
        """Drop the local text at a path once another is there; not if this block raises, as where the disk is full.

        A program that still writes it loses what it writes, as on any file system.
        """
        replaced = self._state.locals.get(path)
        yield replaced
        if replaced is not None:
            self._state.drop_local(replaced)

    # ---- memories -----------------------------------------------------------------------------------------------

    def _displace(self, head: Head, new: str) -> None:
        text = self._text(head)
        with self._state.lock:
            shown = self._state.seen.get(head.path, sha256(text).hexdigest())
            base = self._state.base_with(head, shown)
            with self._replacing(new):
                backup = self._state.add_local(new, Kind.TEMPORARY, base, text)
            backup.complete = True
            self._state.unsaved.record(backup)
            self._state.displaced[head.path] = Displaced(base, new, self._state.clock.now_us())

    def _replace(self, head: Head, new: str) -> None:
        """Put its text there first, then delete it here: a process that dies in between leaves both."""
        check_name(new)
        base = self._state.base_unseen(new)
        edit = self._edit_instead(new, base, self._text(head))
        self._closing.commit(edit)
        self._closing.delete(head)

    def _rename_memory(self, head: Head, new: str) -> Head:
        """Rename a memory, and return it. Two requests.

        A path is no precondition, so the home is asked first where the memory is. One that another client has renamed
        stays there, and is shown there. A rename between the two requests goes unnoticed.

        Raises:
            OSError: ENOENT: another client has renamed or deleted it; EBUSY: the path is taken, or the text keeps
                changing; EINVAL, ENAMETOOLONG, EACCES, EIO.
        """
        check_name(new)
        old, listed = head.path, head.content_sha256
        for attempt in range(RENAME_ATTEMPTS):
            try:
                now = self._state.client.head(head.memory_id)
                if now.path not in (old, new):
                    self._state.show_elsewhere(old, now)
                    fail(errno.ENOENT, "somebody else renamed it meanwhile")
                moved = self._state.client.update(head.memory_id, expected_sha256=head.content_sha256, path=new)
                break
            except Gone:
                self._state.table.remove(head.memory_id)
                self._state.changed([head.path])
                fail(errno.ENOENT, "somebody else deleted it meanwhile")
            except Overtaken as error:
                head = self._now(head, error)
            except NoAnswer as error:
                if attempt == RENAME_ATTEMPTS - 1:
                    fail(errno.EIO, error.message)
            except StoreClientError as error:
                fail(errno_of(error), error.message)
        else:
            fail(errno.EBUSY, "somebody else keeps changing it")
        with self._state.lock:
            time = self._state.times_ns.pop(old, None)
            shown = self._state.seen.pop(old, listed)
            self._closing.took(new, moved, time[1] if time else head.changed_at_us * 1_000, shown)
        return moved

    def _now(self, head: Head, error: Overtaken) -> Head:
        """Return the memory as it is now: a rename takes whatever text it has. Raises OSError: the path is taken."""
        try:
            now, text = self._state.client.text(head.memory_id)
        except StoreClientError as unread:
            fail(errno_of(unread), unread.message)
        if now.content_sha256 == head.content_sha256:
            fail(errno.EBUSY, error.message)
        self._state.contents.put(text)
        self._state.table.put(now)
        return now

    def _text(self, head: Head) -> bytes:
        try:
            return self._state.texts.read(head)
        except StoreClientError as error:
            fail(errno_of(error), error.message)

    # ---- folders ------------------------------------------------------------------------------------------------

    def _rename_folder(self, old: str, new: str) -> None:
        state = self._state
        if state.find(new) is not None:
            fail(errno.ENOTDIR, "a file has that name")
        if state.is_folder(new) and state.names(new):
            fail(errno.ENOTEMPTY, "there is something in it")
        for folder in state.folders_under(old):
            state.add_folder(new + folder[len(old) :])
        state.add_folder(new)
        had_ns = state.folder_times.at(old)
        files: set[str] = set()
        for _ in range(RENAME_ATTEMPTS):  # what others have renamed within the folder meanwhile shows after its turn
            files |= (there := self._files_under(old))
            for path in sorted(there):
                target = new + path[len(old) :]
                with state.hold(path, target, *self._displaced_to(path)):
                    if state.find(path) is not None:
                        with suppress(FileNotFoundError):  # others have taken it away from there meanwhile
                            self._rename_file(path, target, replace=False)
        with state.keeping_folder(old):
            for folder in reversed(self._folders_of(files, old)):
                state.remove_folder(folder)
        state.folder_times.moved(old, new)
        state.folder_times.put(new, had_ns)

    def _files_under(self, folder: str) -> set[str]:
        state = self._state
        with state.lock:
            files = {head.path for head in state.table.under(folder)} - set(state.displaced)
            return files | {path for path in state.locals if within(path, folder)}

    def _folders_of(self, files: set[str], old: str) -> list[str]:
        found = {old, *self._state.folders_under(old)}
        for path in files:
            while within(path, old):
                path, _ = split(path)
                found.add(path)
        return sorted(found)


def _is_backup(local: LocalText, displaced: Displaced) -> bool:
    return local.path == displaced.backup and local.base == displaced.base
