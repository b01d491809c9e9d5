"""Where LangGraph's items stand in a store: namespace ("users", "ada") and key "prefs" <-> `/users/ada/prefs.json`.

A label of a namespace is a folder and never has a period (LangGraph refuses one); an item always ends in `.json`: so
that no item can stand where a folder is. What a path may not have is written in hexadecimal (`segments`), so that each
place stands for exactly one namespace and key, and reads as itself wherever it can.
"""

from __future__ import annotations

from memolith.clients.sdk.segments import escaped, unescaped

SUFFIX = ".json"


def folder_of(namespace: tuple[str, ...]) -> str:
    """Return the path prefix of a namespace and all that are under it, with its slash; ``/`` for the empty one."""
    return "/" + "".join(f"{escaped(label)}/" for label in namespace)


def place_of(namespace: tuple[str, ...], key: str) -> str:
    """Return the path of an item. The store itself checks its limits (20 segments, 1,024 bytes)."""
    return f"{folder_of(namespace)}{escaped(key)}{SUFFIX}"


def item_at(path: str) -> tuple[tuple[str, ...], str] | None:
    """Return namespace and key of the item at a path; None for a path that this store cannot have made."""
    *folders, name = path[1:].split("/")
    if not name.endswith(SUFFIX) or any("." in folder for folder in folders):
        return None
    try:
        namespace = tuple(unescaped(folder) for folder in folders)
        key = unescaped(name.removesuffix(SUFFIX))
    except UnicodeDecodeError:
        return None
    return (namespace, key) if place_of(namespace, key) == path else None
