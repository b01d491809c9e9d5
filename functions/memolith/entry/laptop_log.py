"""The laptop's log: one line an event, with its reason, for the person who started the server.

    WARNING memolith.entry.laptop_worker: a message failed reason="no space left on the disk of /home/…" where=…

Lambda's log is JSON, with the same facts as fields of their own (`memolith.entry.telemetry`).
"""

from __future__ import annotations

import json
import logging

from memolith.core.errors import MemolithError

FORMAT = "%(levelname)s %(name)s: %(message)s"
FACTS_MAX_CHARS = 4_000

_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class FactsFormatter(logging.Formatter):
    """Writes the facts of an event (``extra``) behind its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; what is no plain word is written as JSON, so that no fact begins a line of its own."""
        facts = {name: value for name, value in vars(record).items() if name not in _OWN}
        told = " ".join(f"{name}={_told(value)}" for name, value in facts.items())
        return super().format(record) + (f" {told[:FACTS_MAX_CHARS]}" if told else "")


def start_logging(level: str) -> None:
    """Send everything from this level on to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(FactsFormatter(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])


def reason_of(error: BaseException) -> str:
    """Return why something failed: the message of an error that a caller may see, which quotes no content.

    Of any other the name alone, because its message could.
    """
    return error.message if isinstance(error, MemolithError) else type(error).__qualname__


def _told(value: object) -> str:
    if isinstance(value, list | tuple):
        value = " < ".join(map(str, reversed(value)))
    text = str(value)
    return text if text.isprintable() and " " not in text and text else json.dumps(text, ensure_ascii=False)
