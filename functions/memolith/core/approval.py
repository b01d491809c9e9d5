"""A store's approval policy: whose writes wait for a person, and under which paths everybody's do. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from memolith.core.commands import AdoptVersion, Command, CreateMemory, DeleteMemory, ImportVersion, WriteCommand
from memolith.core.decide import Commit, sha256_hex
from memolith.core.errors import InvalidRequest
from memolith.core.fold import is_live
from memolith.core.limits import APPROVAL_PATHS_MAX, APPROVAL_PREFIX_MAX_CHARS
from memolith.core.paths import check_path_prefix
from memolith.core.proposed_edits import EditRequest
from memolith.core.rows.content import MemoryRow

_OF_PATH = frozenset(("prefix", "require"))

WRITE, PROPOSE = "write", "propose"
AUTHORS = ("agents", "pipelines", "people")
"""Kinds of authors: sessions, and keys that an agent holds or whose holder is not said; a service's; a person's."""


@dataclass(frozen=True, slots=True)
class ApprovalPolicy:
    """What becomes of a direct write: it is written, or opened as a proposal. By default all are written.

    `paths` are folders, as prefixes that end with a slash, in which every author's writes are proposals; `twice` those
    of them whose proposals two people have to approve.
    """

    agents: str = WRITE
    pipelines: str = WRITE
    people: str = WRITE
    paths: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()

    def approvals(self, paths: Iterable[str | None]) -> int:
        """Return how many people have to approve edits of what is at these paths."""
        return 2 if any(path is not None and path.startswith(self.twice) for path in paths) else 1

    def stages(self, author: str, paths: Iterable[str | None]) -> bool:
        """Tell whether a write by such an author, of something at one of these paths, is opened as a proposal."""
        if getattr(self, author) == PROPOSE:
            return True
        return any(path is not None and path.startswith(self.paths) for path in paths) if self.paths else False

    def to_text(self) -> str | None:
        """Write it as a store's record has it; None for the default."""
        fields = {name: value for name, value in asdict(self).items() if name != "twice" or value}
        return None if self == ApprovalPolicy() else json.dumps(fields, sort_keys=True)

    @classmethod
    def of(cls, text: str | None) -> ApprovalPolicy:
        """Parse what `to_text` made; a field of a newer release is passed over."""
        fields = {} if text is None else json.loads(text)
        known = {name: fields[name] for name in AUTHORS if name in fields}
        return cls(**known, paths=tuple(fields.get("paths", ())), twice=tuple(fields.get("twice", ())))

    def to_json(self) -> dict[str, Any]:
        """Write it as the API has it."""
        paths = [{"prefix": one, **({"require": 2} if one in self.twice else {})} for one in self.paths]
        return {**{name: getattr(self, name) for name in AUTHORS}, "paths": paths}


def changed_policy(before: str | None, given: object) -> str | None:
    """Return a store's policy after an update; what that does not mention stays. Raises InvalidRequest."""
    if given is None:
        return before
    if not isinstance(given, Mapping):
        raise InvalidRequest("approval", "must be an object")
    policy = ApprovalPolicy.of(before)
    for name, value in given.items():
        if name == "paths":
            prefixes = _prefixes(value)
            twice = tuple(sorted(prefix for prefix, people in prefixes.items() if people == 2))
            policy = replace(policy, paths=tuple(sorted(prefixes)), twice=twice)
        elif name not in AUTHORS:
            raise InvalidRequest(f"approval.{str(name)[:64]}", "is not a field of this request")
        elif value not in (WRITE, PROPOSE):
            raise InvalidRequest(f"approval.{name}", f"must be '{WRITE}' or '{PROPOSE}'")
        else:
            policy = replace(policy, **{name: value})
    return policy.to_text()


def _prefixes(given: object) -> dict[str, int]:
    """Return how many people have to approve below each prefix; of one that is named twice, the greater number."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) > APPROVAL_PATHS_MAX:
        raise InvalidRequest("approval.paths", f"must be a list of at most {APPROVAL_PATHS_MAX} objects with a prefix")
    found: dict[str, int] = {}
    for number, one in enumerate(given):
        field = f"approval.paths.{number}"
        if not isinstance(one, Mapping) or not isinstance(one.get("prefix"), str) or not set(one) <= _OF_PATH:
            raise InvalidRequest(field, "must be an object with a prefix and perhaps require, and nothing else")
        people = one.get("require", 1)
        if isinstance(people, bool) or people not in (1, 2):
            raise InvalidRequest(f"{field}.require", "must be 1 or 2")
        if len(one["prefix"]) > APPROVAL_PREFIX_MAX_CHARS:
            raise InvalidRequest(f"{field}.prefix", f"must be at most {APPROVAL_PREFIX_MAX_CHARS} characters long")
        try:
            prefix = check_path_prefix(one["prefix"])
        except InvalidRequest as error:
            raise InvalidRequest(f"{field}.prefix", error.rule) from error
        found[prefix] = max(people, found.get(prefix, 1))
    return found


def author_kind(actor: str, holder: str | None) -> str:
    """Return the kind of author that a caller is, from what the key's record says of its holder."""
    if actor.startswith("session:"):
        return "agents"
    return {"person": "people", "service": "pipelines"}.get(holder or "", "agents")


def waits(approval: str | None, command: WriteCommand, head: MemoryRow | None, commit: Commit) -> bool:
    """Tell whether a store's policy has a version wait for a person that its home is about to put after `head`.

    What names no author passes it: what was approved or taken back, what came late, and what is imported.
    """
    if approval is None or isinstance(command, AdoptVersion | ImportVersion) or command.author is None:
        return False
    return ApprovalPolicy.of(approval).stages(command.author, (None if head is None else head.path, commit.path))


def edit_of(command: Command, head: MemoryRow | None) -> EditRequest | None:
    """Return the edit that a write amounts to; None where it changes nothing: no live memory, nor another version than
    it expects.

    It names the memory by its id and asks for all that the write does: `head` may be old, and the store's home, where
    it is looked at again, leaves out what is so already.
    """
    if isinstance(command, CreateMemory):
        return EditRequest("create", command.path, content=command.content, at_most=command.trust)
    if head is None or not is_live(head) or head.path is None:
        return None
    if command.expected_version_id not in (None, head.version_id):
        return None
    named: dict[str, Any] = {
        "memory_id": head.memory_id,
        "expected_content_sha256": command.expected_content_sha256,
        "at_most": command.trust,
    }
    if isinstance(command, DeleteMemory):
        return EditRequest("delete", head.path, **named)
    same_content = command.content is None or sha256_hex(command.content) == head.content_sha256
    if same_content and command.path in (None, head.path):
        return None
    op = "replace" if command.path is None else "rename"
    return EditRequest(op, head.path, to=command.path, content=command.content, **named)
