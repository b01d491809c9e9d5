"""A store's approval policy: whose writes wait for a person, and under which paths everybody's do. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memolith.core.commands import Command, CreateMemory, DeleteMemory
from memolith.core.decide import sha256_hex
from memolith.core.errors import InvalidRequest
from memolith.core.fold import is_live
from memolith.core.limits import APPROVAL_PATHS_MAX, APPROVAL_PREFIX_MAX_CHARS
from memolith.core.paths import check_path_prefix
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.content import MemoryRow

WRITE, PROPOSE = "write", "propose"
AUTHORS = ("agents", "pipelines", "people")
"""Kinds of authors: sessions, and keys that an agent holds or whose holder is not said; a service's; a person's."""


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """What becomes of a direct write: it is written, or opened as a proposal. By default all are written.

    `paths` are folders, as prefixes that end with a slash, in which every author's writes are proposals.
    """

    agents: str = WRITE
    pipelines: str = WRITE
    people: str = WRITE
    paths: tuple[str, ...] = ()

    def stages(self, author: str, paths: Iterable[str | None]) -> bool:
        """Tell whether a write by such an author, of something at one of these paths, is opened as a proposal."""
        if getattr(self, author) == PROPOSE:
            return True
        return any(path is not None and path.startswith(self.paths) for path in paths) if self.paths else False

    def to_text(self) -> str | None:
        """Write it as a store's record has it; None for the default."""
        return None if self == ApprovalPolicy() else json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def of(cls, text: str | None) -> ApprovalPolicy:
        """Parse what `to_text` made; a field of a newer release is passed over."""
        fields = {} if text is None else json.loads(text)
        known = {name: fields[name] for name in (*AUTHORS, "paths") if name in fields}
        return cls(**{**known, "paths": tuple(known.get("paths", ()))})

    def to_json(self) -> dict[str, Any]:
        """Write it as the API has it."""
        return {**{name: getattr(self, name) for name in AUTHORS}, "paths": [{"prefix": one} for one in self.paths]}


def changed_policy(before: str | None, given: object) -> str | None:
    """Return a store's policy after an update; what that does not mention stays. Raises InvalidRequest."""
    if given is None:
        return before
    if not isinstance(given, Mapping):
        raise InvalidRequest("approval", "must be an object")
    policy = ApprovalPolicy.of(before)
    for name, value in given.items():
        if name == "paths":
            policy = replace(policy, paths=_prefixes(value))
        elif name not in AUTHORS:
            raise InvalidRequest(f"approval.{str(name)[:64]}", "is not a field of this request")
        elif value not in (WRITE, PROPOSE):
            raise InvalidRequest(f"approval.{name}", f"must be '{WRITE}' or '{PROPOSE}'")
        else:
            policy = replace(policy, **{name: value})
    return policy.to_text()


def _prefixes(given: object) -> tuple[str, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > APPROVAL_PATHS_MAX:
        raise InvalidRequest("approval.paths", f"must be a list of at most {APPROVAL_PATHS_MAX} objects with a prefix")
    found = []
    for number, one in enumerate(given):
        field = f"approval.paths.{number}"
        if not isinstance(one, Mapping) or set(one) != {"prefix"} or not isinstance(one["prefix"], str):
            raise InvalidRequest(field, "must be an object with a prefix, and nothing else")
        if len(one["prefix"]) > APPROVAL_PREFIX_MAX_CHARS:
            raise InvalidRequest(f"{field}.prefix", f"must be at most {APPROVAL_PREFIX_MAX_CHARS} characters long")
        try:
            found.append(check_path_prefix(one["prefix"]))
        except InvalidRequest as error:
            raise InvalidRequest(f"{field}.prefix", error.rule) from error
    return tuple(sorted(set(found)))


def author_kind(actor: str, holder: str | None) -> str:
    """Return the kind of author that a caller is, from what the key's record says of its holder."""
    if actor.startswith("session:"):
        return "agents"
    return {"person": "people", "service": "pipelines"}.get(holder or "", "agents")


def edit_of(command: Command, head: MemoryRow | None) -> EditRequest | None:
    """Return the edit that a write amounts to; None where it changes nothing, or changes no live memory."""
    if isinstance(command, CreateMemory):
        return EditRequest("create", command.path, content=command.content, at_most=command.trust)
    if head is None or not is_live(head) or head.path is None:
        return None
    pinned: dict[str, Any] = {"expected_content_sha256": command.expected_content_sha256, "at_most": command.trust}
    if isinstance(command, DeleteMemory):
        return EditRequest("delete", head.path, **pinned)
    kept = command.content is None or sha256_hex(command.content) == head.content_sha256
    content = None if kept else command.content
    if command.path not in (None, head.path):
        return EditRequest("rename", head.path, to=command.path, content=content, **pinned)
    return None if content is None else EditRequest("replace", head.path, content=content, **pinned)
