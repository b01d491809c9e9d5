"""One local text becomes the store's: one conditional write, and what to do when another writer was first.

An edit is made on a base: the head whose text was read, or none where nothing was there. The write is conditional on
it. Where it fails, an edit that only appended is made again on what is there now; any other edit is `Overtaken`, and
its text is the caller's to keep.

A write whose answer is lost is sent again. An update is safe to repeat. What was created, or appended to a text that
has grown since, is recognised: before an append is made again, the memory's versions are asked for the texts that are
in doubt. A caller that commits an edit again later, or after its process was killed, keeps them with the edit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from memolith.clients.working_copy.store_client import (
    Gone,
    Head,
    NoAnswer,
    Overtaken,
    StoreClient,
    StoreClientError,
)
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness

APPEND_ATTEMPTS = 40
ANSWER_ATTEMPTS = 2
"""How often in a row a write that got no answer is sent."""

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5
CHANGED = "somebody else changed it meanwhile"


@dataclass(frozen=True, slots=True)
class Sent:
    """A text that was sent for an edit, and may have been written without an answer.

    Attributes:
        content_sha256: its hash.
        after_us: when the head that it was to replace was made: its own version is later. 0: nothing was there.
        size_bytes: how much of the edit's text is in it; what comes after that was appended since.
    """

    content_sha256: str
    after_us: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A local text, and what it was made on.

    Attributes:
        base: the head that it was made on; None where nothing was at the path.
        text: all of it.
        appended_from: the byte at which what was appended begins, if the edit did nothing but append; the text before
            it is the base's. None for any other edit.
        sent: by hash, the texts in doubt; commits of this edit add to them, and remove what was not written. While it
            has one, an append's text may only grow.
        record: called before each text is sent, when `sent` has it: what it records outlives a kill.
    """

    path: str
    base: Head | None
    text: str
    appended_from: int | None = None
    sent: dict[str, Sent] = field(default_factory=dict)
    record: Callable[[], None] = lambda: None

    @property
    def size_bytes(self) -> int:
        return len(self.text.encode())

    def after(self, size_bytes: int) -> str:
        """Return the text but for its first bytes."""
        return self.text.encode()[size_bytes:].decode()


@dataclass(frozen=True, slots=True)
class Committed:
    """What the path has now. `text` is the edit's own, unless it was appended to what others wrote, or the store took
    secrets out of it.

    Attributes:
        others: others wrote some of it, or all of it since; nobody here was shown that.
    """

    head: Head
    text: str
    others: bool = False


class ConditionalCommit:
    """Commits edits to one store. May be shared between threads."""

    def __init__(self, client: StoreClient, clock: Clock, randomness: Randomness) -> None:
        self._client, self._clock, self._randomness = client, clock, randomness

    def commit(self, edit: Edit) -> Committed:
        """Write an edit. One request; two or three more each time an append is made again, and one to read a text that
        was not stored as it was sent.

        Raises:
            Overtaken: another writer was first, and `now` says what is at the path. Nothing was written.
            Refused, Denied: the store does not accept it. Nothing was written.
            NoAnswer: it is not known to be written; to commit the same edit again is safe.
        """
        base, text = edit.base, edit.text
        for attempt in range(APPEND_ATTEMPTS):
            try:
                return self._stored(self._write(edit, base, text), text, edit)
            except (Overtaken, Gone):
                found = self._found(edit.path, base)
            if found is None:
                raise Overtaken(CHANGED, None)
            if edit.appended_from is None and found[1] == text:
                return Committed(*found)
            written = self._written(found[0], edit)
            if written == edit.size_bytes:
                return Committed(*found, found[1] != edit.text)
            if edit.appended_from is None:
                raise Overtaken(CHANGED, found[0])
            base, text = found[0], found[1] + edit.after(max(written or 0, edit.appended_from))
            self._pause(attempt)
        raise NoAnswer("too many others append to it at once")

    def _stored(self, head: Head, text: str, edit: Edit) -> Committed:
        """Return what the store has of a text that it took: the text itself, unless secrets were taken out of it."""
        others = text != edit.text
        if head.content_sha256 == hash_of(text):
            return Committed(head, text, others)
        now, stored = self._text(head.memory_id)
        return Committed(now, stored, others or now.content_sha256 != head.content_sha256)

    def _write(self, edit: Edit, base: Head | None, text: str) -> Head:
        """Write the text. It stays in doubt unless it is known not to be written."""
        sent = Sent(hash_of(text), 0 if base is None else base.changed_at_us, edit.size_bytes)
        doubtful = sent.content_sha256 in edit.sent
        edit.sent.setdefault(sent.content_sha256, sent)
        edit.record()
        for attempt in range(ANSWER_ATTEMPTS):
            try:
                if base is None:
                    return self._client.create(edit.path, text)
                return self._client.update(base.memory_id, expected_sha256=base.content_sha256, text=text)
            except StoreClientError as error:
                unanswered = error if isinstance(error, NoAnswer) else None
                doubtful |= unanswered is not None and unanswered.maybe_done
                if unanswered is None or attempt == ANSWER_ATTEMPTS - 1:
                    if not doubtful:
                        del edit.sent[sent.content_sha256]
                    raise
                self._pause(attempt + 3)
        raise AssertionError("unreachable")

    def _found(self, path: str, base: Head | None) -> tuple[Head, str] | None:
        """Find the memory that the edit was made on, wherever it is now; else the one that is at the path."""
        if base is not None:
            try:
                return self._text(base.memory_id)
            except Gone:
                pass
        head = self._client.at(path)
        try:
            return None if head is None else self._text(head.memory_id)
        except Gone:
            return None

    def _text(self, memory_id: str) -> tuple[Head, str]:
        head, text = self._client.text(memory_id)
        return head, text.decode()

    def _written(self, head: Head, edit: Edit) -> int | None:
        """Return how many bytes of the edit's text are in a version that was written without an answer; None: no such.

        A version that is no later than the base of a text in doubt has that text by another write. An edit that is no
        append is only written as a whole.
        """
        doubtful = [
            one
            for one in edit.sent.values()
            if edit.appended_from is not None or one.content_sha256 == hash_of(edit.text)
        ]
        if not doubtful:
            return None
        versions = self._client.versions(head.memory_id, at_home=True)
        made = [(version.content_sha256, version.made_at_us) for version in versions]
        sizes = [
            one.size_bytes
            for one in doubtful
            if any(digest == one.content_sha256 and at_us > one.after_us for digest, at_us in made)
        ]
        return max(sizes, default=None)

    def _pause(self, attempt: int) -> None:
        longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**attempt)
        self._clock.pause(longest * self._randomness.fraction())


def hash_of(text: str) -> str:
    """Return a text's ``content_sha256``."""
    return sha256(text.encode()).hexdigest()
