"""What clients did and were told: all that the checkers see of a run, apart from what is left at its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memolith.app.kernel.results import Page, Version

NEVER = 1 << 60
"""A moment after every other: when what has not happened did."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory as an answer showed it. `has_text`: with its text, and not as one that is withheld."""

    memory_id: str
    version_id: str
    path: str
    sha256: str
    has_text: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.memory_id[-5:]}@{self.path} {self.version_id[-5:]} {self.sha256[:6]}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error that says that nothing was done. `name` is its class; the rest is what it says."""

    name: str
    kind: str = ""
    path: str = ""
    memory_id: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.kind, self.path, self.memory_id[-5:])))


@dataclass(slots=True)
class Operation:
    """One call of a client.

    Attributes:
        number: its place in the order of invocation.
        client, region, store_id: who, where, on what.
        home: whether the region was the store's home as it was invoked.
        kind: create, update, delete, read, page, versions, history, redact, withhold, release, past; divergent, which
            is a look at what stands apart, and dismiss. Restoring such a version is the ordinary write that it makes;
            `asked` then names it under "restores". Search, whose answer is a page; session; conflicts, which is a look
            at what is open, and resolve. What is brought in from elsewhere is a create.
        asked: the call's arguments.
        invoked, returned: moments (`Scheduler.tick`); `returned` is None while, or because, no answer came.
        answer: what was answered: None is an outcome that nobody knows.
        held_there: ids of what the store's second region held when the answer came, where it asks for one.
        shown_us: by region, the most that its clock had shown when the answer came.
        decided_by: of a write that was answered, the region that decided it: where the call landed, or the home that it
            was passed on to.
    """

    number: int
    client: str
    region: str
    store_id: str
    home: bool
    kind: str
    asked: Mapping[str, Any]
    invoked: int
    returned: int | None = None
    answer: Any = None
    shown_us: Mapping[str, int] = field(default_factory=dict)
    held_there: frozenset[str] = frozenset()
    decided_by: str = ""

    @property
    def refused(self) -> bool:
        return isinstance(self.answer, Refusal)

    @property
    def acknowledged(self) -> bool:
        return self.returned is not None and self.answer is not None and not self.refused

    def __str__(self) -> str:
        asked = " ".join(f"{name}={_short(value)}" for name, value in self.asked.items() if value is not None)
        where = f"{self.client}@{self.region}{'*' if self.home else ''}"
        return f"{self.invoked:6}-{self.returned or '?':<6} {where:16} {self.kind} {asked} -> {_answer(self.answer)}"


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of a listing."""

    items: tuple[Seen, ...]
    next_after: str | None = None

    def __str__(self) -> str:
        return "(" + ", ".join(str(one) for one in self.items) + ")" + (" …" if self.next_after else "")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole store as an answer showed it of one instant; what was erased since has neither path nor hash."""

    items: tuple[Seen, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(str(one) for one in self.items) + ")"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a region said of itself in one batch of reads: up to when it has what each home acknowledged.

    `asked` are the versions that it was asked for in that batch; `counted` and `late` are the positions at which it had
    them, in the history and apart from it. `shown_us` is the most that the region's clock had shown by then.
    `complete` is up to when it has what any home acknowledged, as it tells whoever reads.
    """

    region: str
    moment: int
    until: Mapping[str, int]
    asked: frozenset[str]
    counted: Mapping[str, str]
    late: Mapping[str, str] = field(default_factory=dict)
    shown_us: int = 0
    complete: int | None = None


@dataclass(frozen=True, slots=True)
class Glimpse:
    """What a region showed of one memory between two sweeps of its eraser.

    `shown` is text, blank, or not found; `versions` are (id, whether it has text), without deletions.
    """

    region: str
    store_id: str
    memory_id: str
    invoked: int
    returned: int
    shown: str
    versions: tuple[tuple[str, bool], ...]

    def __str__(self) -> str:
        versions = " ".join(f"{id[-5:]}{'' if text else ' blank'}" for id, text in self.versions)
        return f"{self.invoked}-{self.returned} {self.region} {self.memory_id[-5:]} {self.shown}: {versions}"


@dataclass(slots=True)
class History:
    """Every operation of a run, in the order of invocation."""

    operations: list[Operation] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    glimpses: list[Glimpse] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [str(one) for one in self.operations]


def _version(version: Version) -> str:
    return f"{version.id[-5:]} {version.operation}@{version.path} {'redacted' if version.redacted_at else ''}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 24 else f"…{text[-5:]}"


def _answer(answer: Any) -> str:
    if answer is None:
        return "unknown"
    if isinstance(answer, Version):
        return _version(answer)
    if isinstance(answer, Page):
        return _answer(answer.items) + (" …" if answer.next_after else "")
    if isinstance(answer, tuple):
        return "[" + ", ".join(_answer(one) for one in answer) + "]"
    return str(answer)
