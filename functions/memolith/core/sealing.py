"""What a checkpoint seals: the digest of each object that it names, and what the object must be to fit it.

    digest = form, base64url of SHA-256(nonce, key, metadata with the hash of the text, or a record's hash), and a hint
    nonce  = HMAC(the store's salt, key), so that nobody can try texts or paths against the digest of an erased version
    hint   = 48 bits of HMAC(nonce, hash of the text): tells a changed text from changed metadata, and proves nothing

A digest has no more secrets than the hash of a path in a key: both can be tried against by who has the store's salt,
and by nobody once the salt is erased with the store.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as as_json

from memolith.core.objects.checkpoint import Named
from memolith.core.objects.entry import Entry

HINT_CHARACTERS = 8
LOST_KEPT = 20
"""Of the checkpoints that were lost, the last ones."""

SIGNED_EVERY = 60
"""Of checkpoints that name nothing, each of so many periods is signed: an hour of them."""

FORM = "1"
"""The first character of a digest: which metadata it covers."""

SEALED_METADATA = frozenset(
    {
        "schema",
        "id",
        "op",
        "mem",
        "gen",
        "arrived",
        "prev",
        "path",
        "sha",
        "size",
        "at",
        "born",
        "by",
        "src",
        "dst",
        "moved",
        "second",
        "flags",
        "blank",
        "imp",
        "adopts",
        "tr",
    }
)
"""What form 1 covers of an entry's metadata. A field of a newer release is covered by a newer form; never add here."""


@dataclass(frozen=True, slots=True)
class Opening:
    """All that a digest was made from: who has it can check the digest, and nobody can make it from the digest.

    Attributes:
        nonce: in hex; empty for objects that are not under a store's salt.
        metadata: as far as the form covers it.
        body_sha256: of a record, in lower-case hex. Empty for a version: its metadata has the hash of its text, and
            what stands in the body of one without a text says nothing that is not in the metadata.
    """

    key: str
    nonce: str
    metadata: Mapping[str, str]
    body_sha256: str

    @property
    def digest(self) -> str:
        """The digest of the object. 52 characters."""
        pairs = ", ".join([f"[{as_json(name)}, {as_json(text)}]" for name, text in sorted(self.metadata.items())])
        # what json.dumps writes of a list of these, in half its time: a write computes one digest
        covered = f"[{as_json(self.nonce)}, {as_json(self.key)}, [{pairs}], {as_json(self.body_sha256)}]"
        whole = base64.urlsafe_b64encode(hashlib.sha256(covered.encode()).digest()).decode().rstrip("=")
        return FORM + whole + self._hint(self.metadata.get("sha", self.body_sha256))

    def is_text_of(self, digest: str, sha256: str | None = None) -> bool:
        """Tell whether a digest was made for this text (default: this object's own), by its hint."""
        told = self.metadata.get("sha", self.body_sha256) if sha256 is None else sha256
        return digest[-HINT_CHARACTERS:] == self._hint(told)

    def _hint(self, sha256: str) -> str:
        made = hmac.new(self.nonce.encode(), sha256.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(made).decode()[:HINT_CHARACTERS]


def opening_of(key: str, metadata: Mapping[str, str], salt: str) -> Opening:
    """Return what the digest of a version's object is made from, as it is stored. `salt` is the store's, in hex."""
    nonce = hmac.new(bytes.fromhex(salt), b"seal\0" + key.encode(), hashlib.sha256).hexdigest()[:32]
    sealed = {name: value for name, value in metadata.items() if name in SEALED_METADATA}
    return Opening(key, nonce, sealed, "")


def entry_digest(entry: Entry, salt: str) -> str | None:
    """Return the digest of a version's object as its writer put it; None without the salt of its store."""
    if not salt:
        return None
    return opening_of(str(entry.key), entry.to_metadata(), salt).digest


def record_digest(key: str, body: bytes) -> str:
    """Return the digest of a record: an object whose body is all of it, and has enough in it that nobody can guess."""
    return Opening(key, "", {}, hashlib.sha256(body).hexdigest()).digest


def named_record(key: object, body: bytes) -> Named:
    """Return how a checkpoint names a record that was put with this body."""
    return Named(str(key), digest=record_digest(str(key), body))


def is_known_form(digest: str) -> bool:
    """Tell whether this release can check a digest; one of a newer form, only a newer release can."""
    return digest[:1] == FORM


@dataclass(frozen=True, slots=True)
class LastSealed:
    """The last checkpoint that was sealed here: its period, the SHA-256 of its object, and of the one before it."""

    period: int
    sha256: str
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class SealRecord:
    """What is remembered outside the data: the last sealed checkpoint, and those that the history went on without."""

    last: LastSealed
    lost: tuple[LastSealed, ...] = ()


def remembered(record: SealRecord | None, sealed: LastSealed) -> SealRecord:
    """Return what to remember once a checkpoint was sealed.

    An earlier one changes nothing: it may be told late. One of the same period that is another, or that does not name
    the last one as the one before it, shows that an older copy was put in the place of the data: the last one is lost,
    and stays remembered as that. Where periods are left out, nothing can be said.
    """
    if record is None:
        return SealRecord(sealed)
    last = record.last
    if sealed.period < last.period or (sealed.period, sealed.sha256) == (last.period, last.sha256):
        return record
    follows = sealed.period > last.period + 1 or (
        sealed.period == last.period + 1 and sealed.previous in (None, last.sha256)
    )
    return SealRecord(sealed, record.lost if follows else (*record.lost, last)[-LOST_KEPT:])
