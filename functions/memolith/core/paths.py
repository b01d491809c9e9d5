"""The grammar of a memory's path, its hash, and its neighbours in the tree.

Source: docs/api-compatibility.md §1.10 (the API's rule); `HMAC` under the store's salt is ours, because a path can be
personal and must be erasable, while an S3 key never can.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata

from memolith.core.errors import InvalidRequest
from memolith.core.limits import PATH_MAX_BYTES, PATH_MAX_SEGMENTS

_LINE_SEPARATORS = "\u2028\u2029"


def check_path(path: str, field: str = "path") -> str:
    """Return the path itself when it obeys the grammar.

    Raises:
        InvalidRequest: naming `field` and the first rule that is broken.
    """
    rule = _broken_rule(path)
    if rule is not None:
        raise InvalidRequest(field, rule)
    return path


def check_path_prefix(prefix: str) -> str:
    """Return a listing's prefix if it is valid: a path that ends with ``/``, or ``/`` alone. Raises InvalidRequest."""
    if prefix == "/":
        return prefix
    if not prefix.endswith("/"):
        raise InvalidRequest("path_prefix", "must end with /")
    check_path(prefix[:-1], "path_prefix")
    return prefix


def _broken_rule(path: str) -> str | None:
    try:
        size_bytes = len(path.encode())
    except UnicodeEncodeError:
        return "must not contain lone surrogates"
    if not path.startswith("/") or len(path) < 2:
        return "must start with / and name at least one segment"
    if size_bytes > PATH_MAX_BYTES:
        return f"must be at most {PATH_MAX_BYTES} bytes of UTF-8"
    segments = path[1:].split("/")
    if len(segments) > PATH_MAX_SEGMENTS:
        return f"must have at most {PATH_MAX_SEGMENTS} segments"
    if "" in segments:
        return "must not have an empty segment, nor end with /"
    if "." in segments or ".." in segments:
        return "must not have a . or .. segment"
    if any(unicodedata.category(character) in {"Cc", "Cf"} or character in _LINE_SEPARATORS for character in path):
        return "must not contain control or format characters"
    if not unicodedata.is_normalized("NFC", path):
        return "must be in Unicode normalization form NFC"
    return None


def path_hash(salt: bytes, path: str) -> str:
    """Hash a path to 64 hexadecimal characters, pseudonymous while the salt exists, meaningless after."""
    return hmac.new(salt, path.encode(), hashlib.sha256).hexdigest()


def ancestors(path: str) -> list[str]:
    """List every proper ancestor, nearest last: ``/a/b/c`` -> ``/a``, ``/a/b``."""
    segments = path[1:].split("/")
    return ["/" + "/".join(segments[:depth]) for depth in range(1, len(segments))]
