"""The times that a mount's folders show: a folder's time is when a name last came or went in it.

A store has no folders. What this machine knows of their times: its own changes, and those of others from when it
hears of them. Of what was there before, the newest change of a memory under the folder stands for it.
"""

from __future__ import annotations

from memolith.clients.working_copy.tree import split, within


class FolderTimes:
    """Times in nanoseconds, by folder. Not for threads that do not share a lock.

    Args:
        now_ns: what a folder shows that nothing is known of.
    """

    def __init__(self, now_ns: int) -> None:
        self._start_ns = now_ns
        self._times_ns: dict[str, int] = {}

    def at(self, folder: str) -> int:
        """Return a folder's time."""
        return self._times_ns.get(folder, self._start_ns)

    def put(self, folder: str, at_ns: int) -> None:
        """Set a folder's time."""
        self._times_ns[folder] = at_ns

    def name_changed(self, path: str, at_ns: int) -> None:
        """Note that the name at a path has come or gone at an instant."""
        self._times_ns[split(path)[0]] = at_ns

    def found(self, path: str, at_ns: int) -> None:
        """Note a memory that others made, in every folder above it. Costs one step for each segment."""
        while path != "/":
            path, _ = split(path)
            if self._times_ns.get(path, 0) >= at_ns:
                return
            self._times_ns[path] = at_ns

    def moved(self, old: str, new: str) -> None:
        """Give a renamed folder, and those in it, the times that they had."""
        for path, at_ns in list(self._times_ns.items()):
            if path == old or within(path, old):
                del self._times_ns[path]
                self._times_ns[new + path[len(old) :]] = at_ns

    def forget(self, folder: str) -> None:
        """Forget a folder that is gone. Repeatable."""
        self._times_ns.pop(folder, None)
