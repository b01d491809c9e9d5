"""Ids: a prefix that names the kind, and a ULID (48 bits of milliseconds, 80 of randomness, Crockford base 32).

Ids of stores, keys and sessions also carry the region they were born in, so that a region which has not heard of one
yet knows whom to ask: ``memstore_useast1_01kb…``.
Source: https://github.com/ulid/spec (lower case here).
"""

from __future__ import annotations

import hashlib
import re

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES = {character: value for value, character in enumerate(_ALPHABET)}
_ULID = r"[0-7][0-9a-hjkmnp-tv-z]{25}"
_REGION = r"[a-z0-9]{1,40}"
"""Bounded, because an id is part of keys of rows and objects, which are too. Names of regions are far shorter."""

STORE = re.compile(rf"memstore_({_REGION})_({_ULID})")
MEMORY = re.compile(rf"mem_({_ULID})")
VERSION = re.compile(rf"memver_({_ULID})")
KEY = re.compile(rf"apikey_({_REGION})_({_ULID})")
DREAM = re.compile(rf"drm_({_REGION})_({_ULID})")
SESSION = re.compile(rf"sesn_({_REGION})_({_ULID})")
PROPOSAL = re.compile(rf"prop_({_ULID})")
CONFLICT = re.compile(r"conf_[0-9a-f]{40}")
STATEMENT = re.compile(r"stmt_[0-9a-f]{40}")
WORKSPACE = re.compile(r"wrkspc_[a-z0-9]{1,40}")


def primary_thread(session_id: str) -> str:
    """Return the id of a session's one thread: ``sesn_useast1_01kb…`` -> ``sthr_useast1_01kb…``."""
    return f"sthr_{session_id.partition('_')[2]}"


def ulid(time_ms: int, randomness: bytes) -> str:
    """Make 26 characters whose order is the order of `time_ms`. `randomness` is ten bytes."""
    number = (time_ms << 80) | int.from_bytes(randomness[:10], "big")
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def ulid_time_ms(text: str) -> int:
    """Return the milliseconds at which a ULID was made."""
    number = 0
    for character in text[:10]:
        number = number << 5 | _VALUES[character]
    return number


def region_code(region: str) -> str:
    """Shorten a region's name: ``us-east-1`` -> ``useast1``."""
    return region.replace("-", "")


def birth_region(id: str, regions: tuple[str, ...]) -> str | None:
    """Return the region that a store's, key's or session's id names; None when the deployment does not have it."""
    match = STORE.fullmatch(id) or KEY.fullmatch(id) or SESSION.fullmatch(id)
    if match is None:
        return None
    return next((region for region in regions if region_code(region) == match[1]), None)


def instant_of(version_id: str) -> str:
    """Return what all version ids of one millisecond begin with."""
    return version_id[: len("memver_") + 10]


def derived_version_id(version_id: str, attempt: int) -> str:
    """Return the version id of a later attempt of one call: the same instant, other randomness.

    Each attempt of a rename needs its own, so that a retry never mistakes an earlier attempt's abort entry for its own.
    """
    if attempt == 0:
        return version_id
    prefix, _, body = version_id.partition("_")
    digest = hashlib.sha256(f"{version_id}/{attempt}".encode()).digest()
    return f"{prefix}_{ulid(ulid_time_ms(body), digest)}"


def companion_id(version_id: str) -> str:
    """Derive the id of the `moved_out` that commits the `moved_in` `version_id`, or of a late version's refusal.

    Every writer derives the same.
    """
    digest = hashlib.sha256(f"{version_id}/out".encode()).digest()
    return f"memver_{ulid(ulid_time_ms(version_id.partition('_')[2]), digest)}"


def keyed_id(prefix: str, *parts: str) -> str:
    """Derive an id from what a caller named it by, so that the same call always makes the same id. It tells no time."""
    digest = hashlib.sha256("/".join((prefix, *parts)).encode()).digest()
    return f"{prefix}_{ulid(int.from_bytes(digest[:6], 'big'), digest[6:16])}"
