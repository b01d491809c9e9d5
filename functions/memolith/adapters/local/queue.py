"""A queue in a SQLite database, shared by every process that serves the same folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memolith.adapters.limits import check_messages
from memolith.adapters.local.database import Database
from memolith.ports.clock import Clock
from memolith.ports.errors import OutcomeUnknown, Unavailable

_MESSAGES = (
    "CREATE TABLE IF NOT EXISTS messages "
    "(id INTEGER PRIMARY KEY, body TEXT NOT NULL, due_us INTEGER NOT NULL, taken INTEGER NOT NULL)"
)
_DUE = "CREATE INDEX IF NOT EXISTS messages_due ON messages (due_us)"
_BURIED = "CREATE TABLE IF NOT EXISTS dead_letters (body TEXT NOT NULL, reason TEXT NOT NULL, at_us INTEGER NOT NULL)"

_REFILLED = "CREATE TABLE IF NOT EXISTS refilled (until TEXT)"

AHEAD_MAX_S = 900.0
"""The longest delay and the longest lease, as SQS delays a message. What is due later was sent by a clock that was
ahead and has been set back."""


@dataclass(frozen=True, slots=True)
class Message:
    """What was taken: it comes back after the lease unless it is finished. `taken` counts how often, from 1."""

    id: int
    body: str
    taken: int


class LocalQueue:
    """`ports.queue.Queue`, and the taking from it. At least once: a taker that dies gives back what it took."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        with database.writing() as connection:
            for statement in (_MESSAGES, _DUE, _BURIED, _REFILLED):
                connection.execute(statement)

    def send(self, messages: Sequence[str], delay_s: float = 0.0) -> None:
        """Add the messages in one transaction, to be taken once the delay is over.

        Raises:
            Unavailable. ValueError: the delay is longer than `AHEAD_MAX_S`.
        """
        check_messages(messages)
        _check_ahead(delay_s)
        due_us = self._clock.now_us() + round(delay_s * 1_000_000)
        rows = [(message, due_us) for message in messages]
        try:
            with self._database.writing() as connection:
                connection.executemany("INSERT INTO messages (body, due_us, taken) VALUES (?, ?, 0)", rows)
        except OutcomeUnknown as error:
            raise Unavailable("the messages may not have been sent") from error

    def take(self, limit: int = 10, lease_s: float = 60.0) -> list[Message]:
        """Take up to `limit` due messages, the oldest first; no other worker gets them while the lease lasts.

        Messages whose instant no delay and no lease can have set are due: the clock has been set back since.

        Raises:
            Unavailable, OutcomeUnknown: none was given; what may have been taken comes back after the lease.
            ValueError: the lease is longer than `AHEAD_MAX_S`.
        """
        _check_ahead(lease_s)
        now_us = self._clock.now_us()
        ahead_us = now_us + round(AHEAD_MAX_S * 1_000_000)
        due = "SELECT id, body, taken + 1 FROM messages WHERE due_us <= ? ORDER BY due_us, id LIMIT ?"
        ahead = "SELECT id FROM messages WHERE due_us > ? LIMIT 1"
        with self._database.reading() as connection:
            waiting = (
                connection.execute(due, (now_us, 1)).fetchone() or connection.execute(ahead, (ahead_us,)).fetchone()
            )
            if waiting is None:
                return []
        until_us = now_us + round(lease_s * 1_000_000)
        with self._database.writing() as connection:
            connection.execute("UPDATE messages SET due_us = ? WHERE due_us > ?", (now_us, ahead_us))
            taken = [Message(*row) for row in connection.execute(due, (now_us, limit))]
            statement = "UPDATE messages SET due_us = ?, taken = ? WHERE id = ?"
            connection.executemany(statement, [(until_us, message.taken, message.id) for message in taken])
        return taken

    def finish(self, messages: Sequence[Message]) -> None:
        """Finish messages: they do not come back. Raises Unavailable, OutcomeUnknown."""
        with self._database.writing() as connection:
            connection.executemany("DELETE FROM messages WHERE id = ?", [(message.id,) for message in messages])

    def messages(self) -> list[Message]:
        """List everything that is not finished, due or not, as it was last taken. Raises Unavailable."""
        with self._database.reading() as connection:
            return [Message(*row) for row in connection.execute("SELECT id, body, taken FROM messages")]

    def bury(self, message: Message, reason: str) -> None:
        """Move a message to the dead letters, with the reason. Raises Unavailable, OutcomeUnknown."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM messages WHERE id = ?", (message.id,))
            values = (message.body, reason, self._clock.now_us())
            connection.execute("INSERT INTO dead_letters VALUES (?, ?, ?)", values)

    def buried(self) -> list[tuple[str, str]]:
        """List the dead letters: text and reason, the oldest first. Raises Unavailable."""
        with self._database.reading() as connection:
            return [(body, reason) for body, reason in connection.execute("SELECT body, reason FROM dead_letters")]

    def refilled(self) -> str | None:
        """Return up to which key a new queue was filled again from the objects; "" at first, None once it has all.

        It is new where there was none, or where the one before was damaged. Raises Unavailable.
        """
        with self._database.reading() as connection:
            row = connection.execute("SELECT until FROM refilled").fetchone()
        return "" if row is None else row[0]

    def refill(self, messages: Sequence[str], after: str, until: str | None) -> None:
        """Add the messages of the keys after `after`, up to `until`, which None ends. They are added once.

        Raises:
            Unavailable, OutcomeUnknown: ask how far it is, and go on there.
        """
        check_messages(messages)
        now_us = self._clock.now_us()
        with self._database.writing() as connection:
            row = connection.execute("SELECT until FROM refilled").fetchone()
            if ("" if row is None else row[0]) != after:  # another server of the folder was faster
                return
            connection.execute("DELETE FROM refilled")
            connection.execute("INSERT INTO refilled VALUES (?)", (until,))
            rows = [(message, now_us) for message in messages]
            connection.executemany("INSERT INTO messages (body, due_us, taken) VALUES (?, ?, 0)", rows)


def _check_ahead(seconds: float) -> None:
    if seconds > AHEAD_MAX_S:
        raise ValueError(f"a delay or a lease has at most {AHEAD_MAX_S:.0f} s, not {seconds}")
