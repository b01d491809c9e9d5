"""Which API a command speaks to, and with which key. The first of these that there is:

1. ``--api-url``, or ``ANTHROPIC_BASE_URL``;
2. the local cloud of this folder, as ``.memolith/dev.json`` tells;
3. this machine's ``memolith serve``: its folder is ``MEMOLITH_ROOT`` or ``~/.memolith``, its port ``MEMOLITH_PORT`` or
8377.

The key is ``--api-key``. Without it, an address that was named is given ``ANTHROPIC_API_KEY``, or the key that is kept
here for just that address; one that was not named is given the key that is kept here, and no other: a key that is in
the environment for something else goes to no address that was not named.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from memolith.core.errors import InvalidRequest

DEV_FILE = Path(".memolith/dev.json")
DEV_FILE_INVALID = f"{DEV_FILE} makes no sense: `memolith dev up` writes it anew"
LAPTOP_ROOT = "~/.memolith"
LAPTOP_PORT = 8377
PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class Address:
    """Where an API is, and the key for it."""

    url: str
    key: str = field(repr=False)


def find_address(url: str | None, key: str | None) -> Address:
    """Find the API's address, by the rules above.

    Args:
        url: as the caller named it, if it did.
        key: as given on the command line, if it was.

    Raises:
        InvalidRequest: no address is known, or none that can be asked, or no key for it.
    """
    if url:
        _check_named(url)
        chosen = key or os.environ.get("ANTHROPIC_API_KEY") or _kept_key(url)
        if not chosen:
            raise InvalidRequest(
                "--api-key", f"{url} needs a key: give one, or set ANTHROPIC_API_KEY; `memolith keys create` makes one"
            )
        return Address(url, _sendable(chosen))
    here = next(_kept(), None)
    if here is None:
        raise InvalidRequest(
            "--api-url",
            "no Memolith is known here: start `memolith serve` or `memolith dev up`, or say where it is with "
            "--api-url and --api-key, or ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY",
        )
    return Address(here.url, _sendable(key or here.key))


def words_of_address(url: str | None) -> list[str]:
    """Return what a command is to be given to ask the same address again; a key is never shown."""
    return ["--api-url", url] if url else []


def laptop_root() -> Path:
    """Return the folder of this machine's ``memolith serve``: ``MEMOLITH_ROOT``, or the default."""
    return Path(os.environ.get("MEMOLITH_ROOT") or LAPTOP_ROOT).expanduser()


def is_laptop_meant() -> bool:
    """Tell whether a command that names no deployment means this machine's folder.

    It does where the folder has a server's key, and no local cloud runs here.
    """
    return not DEV_FILE.exists() and (laptop_root() / "key").is_file()


def chosen_root(root: Path | None, *deployment: object) -> Path | None:
    """Return the laptop's folder that a command means: the one named, else this machine's own; None for a deployment.

    Args:
        root: as the caller named it, if it did.
        deployment: options of which each one that is given names a deployment.
    """
    if root is not None or any(deployment):
        return root
    return laptop_root() if is_laptop_meant() else None


def is_this_machine(url: str) -> bool:
    """Tell whether an address is of this machine itself."""
    return (urlsplit(url).hostname or "") in ("127.0.0.1", "localhost", "::1")


def _sendable(key: str) -> str:
    """Return a key that a request can carry. Raises InvalidRequest for a line end, or what else no key has."""
    if not (key.isascii() and key.isprintable()):
        raise InvalidRequest("--api-key", "is no API key: it has a line end, or another character that no key has")
    return key


def _check_named(url: str) -> None:
    """Raise InvalidRequest unless a request can be sent to an address."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise InvalidRequest("--api-url", "must begin with http:// or https:// and name a host")


def _kept_key(url: str) -> str | None:
    return next((one.key for one in _kept() if one.url == url.rstrip("/")), None)


def _kept() -> Iterator[Address]:
    """Yield the addresses in this folder and this person's home. Raises InvalidRequest for an invalid file."""
    if DEV_FILE.exists():
        try:
            dev = json.loads(DEV_FILE.read_text())
            urls, key = [region["api_url"] for region in dev["regions"].values()], dev["api_key"]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidRequest("", DEV_FILE_INVALID) from error
        yield from (Address(url.rstrip("/"), key) for url in urls)
    key_file = laptop_root() / "key"
    if key_file.is_file():
        port = os.environ.get("MEMOLITH_PORT") or str(LAPTOP_PORT)
        if not (port.isascii() and port.isdecimal() and 0 < int(port) <= PORT_MAX):
            raise InvalidRequest("MEMOLITH_PORT", f"must be the port of `memolith serve`, from 1 to {PORT_MAX}")
        yield Address(f"http://127.0.0.1:{port}", key_file.read_text().strip())
