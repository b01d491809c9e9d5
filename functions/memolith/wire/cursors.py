"""Cursors: where a listing goes on, as opaque text.

A cursor carries its version, when it was issued, a fingerprint of the listing it belongs to (operation, workspace,
store, filters; not `limit` and not `view`, which may change from page to page), the position, and a checksum. It is not
signed: it can move a caller only within what its own key may list anyway.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import struct

from memolith.core.errors import InvalidRequest
from memolith.core.limits import CURSOR_LIFETIME_US

_VERSION = 1
_HEADER = struct.Struct(">BQ8s")
_CHECKSUM_BYTES = 6
_TEXT = re.compile(r"page_([A-Za-z0-9_-]{1,4096})")
_MANGLED = "is not a cursor of this API; pass next_page as it came, or omit page"
_FOREIGN = "belongs to another listing; a cursor continues only the listing, with the same filters, that it came from"
_EXPIRED = "has expired; list again from the beginning"

Listing = tuple[str | int | None, ...]
"""What identifies a listing: the operation's name, then everything that decides what it shows."""


def issue(listing: Listing, position: str, now_us: int) -> str:
    """Make the cursor that continues `listing` after `position`."""
    payload = _HEADER.pack(_VERSION, now_us, _fingerprint(listing)) + position.encode()
    return "page_" + base64.urlsafe_b64encode(payload + _checksum(payload)).rstrip(b"=").decode()


def position(cursor: str, listing: Listing, now_us: int) -> str:
    """Return the position in a cursor.

    Raises:
        InvalidRequest: naming ``page``: mangled, of another listing, or older than `CURSOR_LIFETIME_US`.
    """
    payload = _payload(cursor)
    version, issued_us, fingerprint = _HEADER.unpack_from(payload)
    if version != _VERSION or fingerprint != _fingerprint(listing):
        raise InvalidRequest("page", _FOREIGN)
    if now_us - issued_us > CURSOR_LIFETIME_US:
        raise InvalidRequest("page", _EXPIRED)
    try:
        return payload[_HEADER.size :].decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("page", _MANGLED) from error


def _payload(cursor: str) -> bytes:
    match = _TEXT.fullmatch(cursor)
    if match is None:
        raise InvalidRequest("page", _MANGLED)
    try:
        decoded = base64.urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4))
    except binascii.Error as error:
        raise InvalidRequest("page", _MANGLED) from error
    payload, checksum = decoded[:-_CHECKSUM_BYTES], decoded[-_CHECKSUM_BYTES:]
    if len(payload) <= _HEADER.size or checksum != _checksum(payload):
        raise InvalidRequest("page", _MANGLED)
    return payload


def _fingerprint(listing: Listing) -> bytes:
    return hashlib.sha256(json.dumps(listing).encode()).digest()[:8]


def _checksum(payload: bytes) -> bytes:
    return hashlib.sha256(b"cursor" + payload).digest()[:_CHECKSUM_BYTES]
