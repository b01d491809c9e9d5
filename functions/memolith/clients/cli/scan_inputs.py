"""What ``memolith scan`` reads: a file, the files of a folder, the memories of a live store; each text with its place.

Nothing is left out in silence: what cannot be read as text is a `Source` with the reason instead of a text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memolith.clients.cli.api_client import connect, speaking, store_address
from memolith.clients.cli.failures import ApiFailed
from memolith.clients.cli.store_argument import store_called
from memolith.core.errors import InvalidRequest

MOST_BYTES = 4_000_000
"""A larger file is reported and not read: the API's limit for a memory is a fraction of it."""

_STORE = re.compile(r"memstore_[A-Za-z0-9_]+")

LEFT_OUT = frozenset({".git", ".hg", ".svn"})
"""Folders of version control: their files are compressed copies of the ones beside them."""

_LOOKED_AT_BYTES = 8_192

NEITHER = "{} is neither a file nor a folder; as a store: {}"


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to scan.

    Attributes:
        name: as a person knows it: the file as it was asked for, or the memory's path.
        uri: the same as an address, relative to the working folder for a file below it.
        path: what the scanner judges as a memory's path.
        read: gives the text. Raises `UnreadError` where there is none.
    """

    name: str
    uri: str
    path: str
    read: Callable[[], str]


class UnreadError(Exception):
    """A source that holds no text; the message says why."""


def store_of(target: str, api_url: str | None, api_key: str | None) -> str | None:
    """Return the id of the store that a target names, by id or name; None where it is a file or a folder.

    A file or folder of that name comes first. One request for a name.

    Raises:
        InvalidRequest: it is no file or folder, and no API is there to ask. ApiFailed: nor a store, or the API refused
        or did not answer.
    """
    if _STORE.fullmatch(target):
        return target
    if Path(target).exists() or "/" in target:
        return None
    try:
        return store_called(target, api_url, api_key)
    except InvalidRequest as error:
        raise InvalidRequest("PATH", NEITHER.format(target, error.message)) from error
    except ApiFailed as error:
        raise ApiFailed(NEITHER.format(target, error.message), error.exit, error.advice) from error


def files(target: Path) -> list[Source]:
    """List a file, or every file of a folder in the order of their paths. Links to folders are not followed.

    Raises:
        InvalidRequest: there is nothing of that name.
        OSError: a folder cannot be listed.
    """
    if target.is_file():
        return [_file(target, target.name)]
    if not target.is_dir():
        raise InvalidRequest("PATH", f"{target} is neither a file nor a folder, nor a store's id or name")
    return [_file(path, path.relative_to(target).as_posix()) for path in sorted(_below(target))]


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in LEFT_OUT:
                yield from _below(path)
        else:
            yield path


def _file(path: Path, relative: str) -> Source:
    return Source(path.as_posix(), _address(path), f"/{relative}", lambda: _text_of(path))


def _address(path: Path) -> str:
    absolute, here = path.absolute(), Path.cwd()
    return quote(os.fsencode(absolute.relative_to(here))) if absolute.is_relative_to(here) else absolute.as_uri()


def _text_of(path: Path) -> str:
    if not path.is_file():
        raise UnreadError("a link to nowhere, or no regular file")
    if path.stat().st_size > MOST_BYTES:
        raise UnreadError(f"larger than {MOST_BYTES:,} bytes")
    content = path.read_bytes()
    if b"\x00" in content[:_LOOKED_AT_BYTES]:
        raise UnreadError("binary")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UnreadError(f"not UTF-8 (byte {error.start})") from error


def memories(store_id: str, api_url: str | None, api_key: str | None) -> list[Source]:
    """List every memory of a live store, through its API. One request for a thousand memories.

    Args:
        store_id: ``memstore_…``.
        api_url, api_key: as they were given; where they were not, `memolith.clients.cli.api_address` says which.

    Raises:
        InvalidRequest: no address is known, or no key for it.
        ApiFailed: the API refused or did not answer.
    """
    try:
        with speaking():
            client = connect(api_url, api_key)
            listed = list(client.rows(store_address(store_id, "pack"), at_home=True))
    except ApiFailed as error:
        raise ApiFailed(f"{store_id} cannot be read: {error.message}", error.exit, error.advice) from error
    return [_memory(store_id, memory) for memory in listed]


def _memory(store_id: str, memory: Any) -> Source:
    def read() -> str:
        if memory.content is None:
            raise UnreadError("its content is withheld or redacted")
        return str(memory.content)

    return Source(memory.path, f"memolith://{store_id}{quote(memory.path)}", memory.path, read)
