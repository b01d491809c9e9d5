"""What a caller asks for in a proposal, checked for its form before anything is looked up. Pure."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memolith.core.decide import sha256_hex
from memolith.core.errors import InvalidRequest
from memolith.core.limits import CONTENT_MAX_BYTES, PROPOSAL_EDITS_MAX, PROPOSAL_MAX_BYTES, PROPOSAL_SOURCES_MAX
from memolith.core.objects.proposal_record import ProposedEdit
from memolith.core.paths import check_path
from memolith.core.sent_size import sent_size
from memolith.core.trust import USER

_FIELDS = {
    "create": ("content",),
    "replace": ("content",),
    "str_replace": ("old", "new"),
    "delete": (),
    "rename": ("to",),
}
"""What each operation needs beside the path. It takes no other of these fields; a rename may have a new text too."""

SAME_TEXT, SAME_PATH = "is the memory's text already", "is the memory's path already"
"""The rules by which an edit is refused that would change nothing."""


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One edit as it is asked for.

    Attributes:
        path: where the memory is. Where `memory_id` names it, it is the path that the region of the call knew, which
            may be old: the store's home goes by the memory (`at_home`).
        at_most: the letter of the class that the edit's text has at best.
    """

    op: str
    path: str
    content: str | None = None
    old: str | None = None
    new: str | None = None
    to: str | None = None
    expected_content_sha256: str | None = None
    why: str = ""
    sources: tuple[str, ...] = ()
    at_most: str | None = USER
    memory_id: str | None = None

    def to_payload(self) -> dict[str, Any]:
        """Write it in JSON's types. An edit by path has no `memory_id`, of which earlier releases do not know."""
        fields = asdict(self)
        if self.memory_id is None:
            del fields["memory_id"]
        return fields

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> EditRequest:
        """Parse what `to_payload` made, also after JSON. Raises TypeError for a field of a newer release."""
        return cls(**{**payload, "sources": tuple(payload["sources"])})

    def at_home(self, path: str, content_sha256: str | None) -> EditRequest:
        """Return the edit of a memory by its id, by the path and the text that the memory has at the store's home.

        What a rename asks for and is so already falls away. Of a rename to the memory's own path a new text is left, or
        a `replace` without any.
        """
        if self.op != "rename":
            return replace(self, path=path)
        if self.to == path:
            return replace(self, op="replace", path=path, to=None)
        kept = self.content is not None and sha256_hex(self.content) == content_sha256
        return replace(self, path=path, content=None if kept else self.content)


def check_edits(edits: Sequence[EditRequest]) -> None:
    """Check the form of a proposal's edits: operations, fields, paths, sizes, and that no two meet at one path.

    Raises:
        InvalidRequest: naming the field of the first edit at fault.
    """
    if not 1 <= len(edits) <= PROPOSAL_EDITS_MAX:
        raise InvalidRequest("edits", f"must have 1 to {PROPOSAL_EDITS_MAX} edits")
    named: dict[str, int] = {}
    for number, edit in enumerate(edits):
        _check_fields(edit, f"edits.{number}")
        for field, path in _paths(edit):
            check_path(path, f"edits.{number}.{field}")
            if path in named:
                raise InvalidRequest(
                    f"edits.{number}.{field}", f"is named by edits.{named[path]} too; make one edit of the two"
                )
            named[path] = number
    check_texts_size(text for edit in edits for text in (edit.content, edit.new))
    if len({source for edit in edits for source in edit.sources}) > PROPOSAL_SOURCES_MAX:
        raise InvalidRequest("edits", f"must name at most {PROPOSAL_SOURCES_MAX} different sources in all")


def _check_fields(edit: EditRequest, field: str) -> None:
    needed = _FIELDS.get(edit.op)
    if needed is None:
        raise InvalidRequest(f"{field}.op", f"must be one of {', '.join(_FIELDS)}")
    for name in ("content", "old", "new", "to"):
        given = getattr(edit, name) is not None
        if name == "content" and edit.op == "rename":
            continue
        if given != (name in needed):
            raise InvalidRequest(f"{field}.{name}", "is required" if not given else f"is no field of a {edit.op}")
    if edit.op == "create" and edit.expected_content_sha256 is not None:
        raise InvalidRequest(f"{field}.expected_content_sha256", "is no field of a create")
    check_content_size(edit.content, f"{field}.content")


def check_content_size(content: str | None, field: str) -> None:
    """Raise InvalidRequest for a text that no memory may have."""
    if content is not None and len(content.encode()) > CONTENT_MAX_BYTES:
        raise InvalidRequest(field, f"must be at most {CONTENT_MAX_BYTES} bytes of UTF-8", too_large=True)


def check_texts_size(texts: Iterable[str | None]) -> None:
    """Raise InvalidRequest for texts that are too much for one proposal."""
    if sum(text_size(text) for text in texts if text) > PROPOSAL_MAX_BYTES:
        rule = (
            f"must have at most {PROPOSAL_MAX_BYTES} bytes of text in all; of a str_replace the whole new text counts"
        )
        raise InvalidRequest("edits", rule, too_large=True)


def text_size(text: str) -> int:
    """Return what a text counts for in a proposal: its bytes, so that four times as much suffices to send it.

    A control character, which takes seven bytes there, counts for two.
    """
    return max(len(text.encode()), sent_size(text) // 4)


def _paths(edit: EditRequest) -> Iterator[tuple[str, str]]:
    yield "path", edit.path
    if edit.to is not None:
        yield "to", edit.to


def request_digest(salt: bytes, actor: str, why: str, edits: Sequence[EditRequest]) -> str:
    """Return an HMAC of what was asked for, and by whom: a repeated request has the same; no text can be guessed."""
    return _hmac(salt, [actor, why, [edit.to_payload() for edit in edits]])


def write_digest(salt: bytes, actor: str, edit: ProposedEdit) -> str:
    """Return an HMAC of a direct write and its author: the same write of the same head has the same, in any region.

    The class of its text counts no more than for a write that is done: the same text again changes nothing.
    """
    about = [edit.memory_id, edit.expected_content_sha256]
    return _hmac(salt, [actor, edit.op, edit.path, edit.to, edit.content_sha256, *about])


def _hmac(salt: bytes, asked: list[Any]) -> str:
    return hmac.new(salt, json.dumps(asked, sort_keys=True).encode(), hashlib.sha256).hexdigest()
