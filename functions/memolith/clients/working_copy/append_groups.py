"""Appends of several programs at once in one commit.

A program that opens a file to append writes a moment later. A commit of the file waits for that moment, and then
carries the lines of all of them: one request and one version, where each would have overtaken the others.
"""

from __future__ import annotations

import threading

MOMENT_S = 0.02
"""How long a commit waits at most: a fraction of what it takes, for a program that has the file open and is silent."""


class AppendGroups:
    """Who has opened which file to append, and has not written yet. May be shared between threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._expected: dict[str, set[int]] = {}

    def opened(self, path: str, who: object) -> None:
        """Note that a program has opened a file to append."""
        with self._changed:
            self._expected.setdefault(path, set()).add(id(who))

    def settled(self, path: str, who: object) -> None:
        """Note that the program has written, or has closed it. Repeatable."""
        with self._changed:
            expected = self._expected.get(path)
            if expected is not None:
                expected.discard(id(who))
                if not expected:
                    del self._expected[path]
                    self._changed.notify_all()

    def wait(self, path: str) -> None:
        """Return when no writer is expected for this file, and after a moment at the latest."""
        with self._changed:
            self._changed.wait_for(lambda: path not in self._expected, MOMENT_S)
