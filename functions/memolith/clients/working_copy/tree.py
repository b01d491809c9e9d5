"""Which names stand in which folder, for paths that come and go. Folders are there while something is in them."""

from __future__ import annotations

from collections.abc import Collection


class Tree:
    """A multiset of paths, by folder. Not for threads that do not share a lock.

    A path may be added several times; it is there until it was removed as often.
    """

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, int]] = {}
        self._subfolders: dict[str, set[str]] = {}

    def add(self, path: str) -> None:
        """Add a path. Costs one step for each segment."""
        self._count(path, 1)

    def remove(self, path: str) -> None:
        """Remove one addition of the path."""
        self._count(path, -1)

    def is_folder(self, path: str) -> bool:
        """Tell whether anything is under it."""
        return path in self._folders

    def names(self, folder: str) -> Collection[str]:
        """Return the names in a folder, in no order; none if there is no such folder."""
        return list(self._folders.get(folder, ()))

    def subfolders(self, folder: str) -> Collection[str]:
        """Return the names of the folders in a folder. The collection is the tree's own."""
        return self._subfolders.get(folder, ())

    def under(self, folder: str) -> list[str]:
        """List every path under a folder that has nothing under it."""
        found: list[str] = []
        for name in self.names(folder):
            path = join(folder, name)
            found += self.under(path) if self.is_folder(path) else [path]
        return found

    def _count(self, path: str, change: int) -> None:
        while path != "/":
            folder, name = split(path)
            names = self._folders.get(folder)
            if names is None:
                names = self._folders[folder] = {}
                self._show_in_parent(folder)
            names[name] = names.get(name, 0) + change
            if not names[name]:
                del names[name]
                if not names:
                    del self._folders[folder]
                    self._hide_in_parent(folder)
            path = folder

    def _show_in_parent(self, folder: str) -> None:
        if folder != "/":
            parent, name = split(folder)
            self._subfolders.setdefault(parent, set()).add(name)

    def _hide_in_parent(self, folder: str) -> None:
        parent, name = split(folder)
        names = self._subfolders.get(parent, set())
        names.discard(name)
        if not names:
            self._subfolders.pop(parent, None)


def split(path: str) -> tuple[str, str]:
    """Split ``/a/b`` into ``/a``, ``b``."""
    folder, _, name = path.rpartition("/")
    return folder or "/", name


def join(folder: str, name: str) -> str:
    """Join a folder and a name: ``/a``, ``b`` -> ``/a/b``."""
    return f"/{name}" if folder == "/" else f"{folder}/{name}"


def within(path: str, folder: str) -> bool:
    """Tell whether a path is under a folder."""
    return folder == "/" or path.startswith(folder + "/")
