"""From a local text to the store: what a close, an fsync and a rename over a file come down to.

Whatever becomes of the commit, the text is not lost: it is the store's, or it waits (no answer), or it is kept
beside the file, and the error says which.
"""

from __future__ import annotations

import errno
import logging
from functools import partial

from memolith.clients.working_copy.conditional_commit import Committed, ConditionalCommit, Edit, hash_of
from memolith.clients.working_copy.state import State, errno_of, fail
from memolith.clients.working_copy.store_client import Denied, Gone, Head, NoAnswer, Overtaken, Staged, StoreClientError
from memolith.clients.working_copy.temporary_names import beside
from memolith.clients.working_copy.unsaved_texts import Kind, LocalText
from memolith.core.limits import CONTENT_MAX_BYTES

DELETE_ATTEMPTS = 2

log = logging.getLogger("memolith.mount")


class CommitOnClose:
    """Commits local texts and deletions. The caller holds the path."""

    def __init__(self, state: State, committing: ConditionalCommit) -> None:
        self._state, self._committing = state, committing

    def commit(self, local: LocalText) -> None:
        """Commit an edit; it is no local text any more then. One request; none if nothing changed, and the store
        cannot have taken another text of it without an answer.

        Raises:
            OSError: ESTALE: others changed it too; EILSEQ: it is not UTF-8; EFBIG: it is too long; EPERM: the safety
                scanner refuses it; EINVAL, EACCES, ENOENT: the store does, or it waits for approval. The text is kept
                beside the file. EIO: the store did not answer; the text stays in its place, and is tried again.
        """
        local.complete = True
        text = self._text_of(local)
        if local.base is not None and not local.sent and hash_of(text) == local.base.content_sha256:
            self._forget(local)
            return
        record = partial(self._state.unsaved.record, local)
        try:
            done = self._committing.commit(Edit(local.path, local.base, text, local.appended_from, local.sent, record))
        except Overtaken as error:
            self._keep(local, "conflict", error.message, errno.ESTALE, error.now)
        except NoAnswer as error:
            self._wait(local, error)
        except StoreClientError as error:
            self._keep(local, "refused", error.message, errno_of(error))
        else:
            self._took(local, done, text)

    def keep_unsaved(self, local: LocalText) -> None:
        """Put a text whose writer died before closing it beside the file, for a person to look at."""
        self._move_beside(local, "unsaved", "its writer ended before it closed the file")

    def delete(self, head: Head) -> None:
        """Delete a memory, if it is as it was last shown here. Two requests.

        The precondition is the text alone, so the home is asked first where the memory is. One that another client has
        renamed is kept, and shown at its path: at this one nothing is left. A rename between the two goes unnoticed.

        Raises:
            OSError: EBUSY: another client changed it; it is shown now, and may be deleted. EACCES: the deletion waits
                for approval, and the file stays; or this key may not. EIO.
        """
        expected = self._state.seen.get(head.path, head.content_sha256)
        for attempt in range(DELETE_ATTEMPTS):
            try:
                now = self._state.client.head(head.memory_id)
                if now.path != head.path:
                    self._state.show_elsewhere(head.path, now)
                    return
                self._state.client.delete(head.memory_id, expected_sha256=expected)
                break
            except Gone:
                break
            except Overtaken as error:
                self._show_now(head)
                fail(errno.EBUSY, error.message)
            except NoAnswer as error:
                if attempt == DELETE_ATTEMPTS - 1:
                    fail(errno.EIO, error.message)
            except Staged as error:
                self._state.reasons[head.path] = f"its deletion is {error.message}"
                log.warning("%s stays: its deletion is %s", head.path, error.message)
                fail(errno_of(error), error.message)
            except StoreClientError as error:
                fail(errno_of(error), error.message)
        self._state.table.remove(head.memory_id)
        self._state.seen.pop(head.path, None)

    def took(self, path: str, head: Head, changed_at_ns: int, shown_sha256: str) -> None:
        """Note what the store has accepted from here: the file shows the time at which it was written here.

        Args:
            shown_sha256: which text of it was shown here; another client's is none, though the store has it by now.
        """
        state = self._state
        with state.lock:
            state.table.put(head)
            state.seen[path] = shown_sha256
            state.times_ns[path] = (head.content_sha256, changed_at_ns)
            state.reasons.pop(path, None)
            state.displaced.pop(path, None)

    def _text_of(self, local: LocalText) -> str:
        if len(local.text) > CONTENT_MAX_BYTES:
            message = f"a memory has at most {CONTENT_MAX_BYTES} bytes, and this has {len(local.text)}"
            self._keep(local, "refused", message, errno.EFBIG)
        try:
            return local.text.decode()
        except UnicodeDecodeError as error:
            message = f"it is not UTF-8 text (byte {error.start}), and a memory is text"
            self._keep(local, "refused", message, errno.EILSEQ)
        raise AssertionError("unreachable")

    def _took(self, local: LocalText, done: Committed, text: str) -> None:
        state = self._state
        state.contents.put(done.text.encode())
        self.took(local.path, done.head, local.changed_at_ns, self._shown_by(local, done, text))
        state.drop_local(local)
        local.stored_differs = done.text != text
        if local.stored_differs or done.head.path != local.path:
            state.changed([local.path, done.head.path])

    def _shown_by(self, local: LocalText, done: Committed, text: str) -> str:
        """Return the hash of the text that counts as shown here once the edit is committed.

        It is the store's text, unless others wrote some of it and no program here has opened that to read. An append
        shows no program what it goes on after.
        """
        seen, base = self._state.seen.get(local.path), local.base
        appends_unread = (
            local.appended_from is not None and base is not None and seen not in (None, base.content_sha256)
        )
        if done.others or appends_unread:
            return seen or hash_of(text)
        return done.head.content_sha256

    def _forget(self, local: LocalText) -> None:
        with self._state.lock:
            self._state.displaced.pop(local.path, None)
            self._state.drop_local(local)

    def _wait(self, local: LocalText, error: NoAnswer) -> None:
        local.reason = error.message
        self._state.unsaved.settle(local)
        log.warning("%s waits to be written: %s", local.path, error.message)
        fail(errno.EIO, error.message)

    def _keep(self, local: LocalText, why: str, message: str, number: int, now: Head | None = None) -> None:
        """Put the text beside the file, and show in the file what the store has."""
        path = local.path
        local.failure = number
        self._move_beside(local, why, message)
        with self._state.lock:
            self._state.displaced.pop(path, None)
            self._state.reasons[path] = message
            if now is not None:
                self._state.table.put(now)
            shown = self._state.table.at(path)
            if shown is not None:
                self._state.seen[path] = shown.content_sha256
        self._state.changed([path, local.path])
        fail(number, message)

    def _move_beside(self, local: LocalText, why: str, message: str) -> None:
        state, path = self._state, local.path
        with state.lock:
            taken = 0
            while state.find(kept := beside(path, why, state.clock.now_us(), taken)) is not None:
                taken += 1
            local.kind, local.reason, local.waiting, local.complete = Kind.KEPT, message, False, True
            state.move_local(local, kept)
        state.unsaved.settle(local)
        log.warning("%s: %s. The text is kept in %s", path, message, kept)

    def _show_now(self, head: Head) -> None:
        try:
            now, text = self._state.client.text(head.memory_id)
        except (Gone, Denied, NoAnswer):
            return
        self._state.contents.put(text)
        self._state.table.put(now)
        self._state.seen[now.path] = now.content_sha256
        self._state.displaced.pop(head.path, None)
        self._state.changed([head.path, now.path])
