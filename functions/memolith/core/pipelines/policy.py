"""A store's pipelines policy: whether dreams and extraction may use it, and how far a dream may change it. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from memolith.core.errors import InvalidRequest
from memolith.core.limits import (
    AUTO_DREAM_HOURS_DEFAULT,
    AUTO_DREAM_HOURS_MAX,
    AUTO_DREAM_SESSIONS_DEFAULT,
    AUTO_IDLE_HOURS_DEFAULT,
    AUTO_IDLE_HOURS_MAX,
    DREAM_DELETES_DEFAULT,
    DREAM_DELETES_MAX,
    DREAM_DELETES_PERCENT_DEFAULT,
    DREAM_MODEL_MAX_CHARS,
    DREAM_SESSIONS_MAX,
    DREAM_TOKENS_MAX,
    DREAM_TOKENS_MIN,
    STORE_TOKENS_PER_DAY_MAX,
    UNUSED_DAYS_DEFAULT,
    UNUSED_DAYS_MAX,
)
from memolith.core.pipelines.dreams import Edit
from memolith.core.trust import USER

ALLOW, PROPOSE, WRITE, OFF = "allow", "propose", "write", "off"
ALL, NOT_PEOPLE = "all", "not_people"
COUNT = "count"

MODEL_DEFAULT = "small"
"""The name under which a deployment has its default model; that of a policy in which no model was chosen."""

_WORDS = {
    "dreams": (ALLOW, PROPOSE, OFF),
    "extraction": (ALLOW, OFF),
    "may_edit": (ALL, NOT_PEOPLE),
    "auto_extract": (OFF, PROPOSE),
    "auto_dream": (OFF, PROPOSE, WRITE),
    "usage": (OFF, COUNT),
}
_NUMBERS = {
    "idle_hours": (1, AUTO_IDLE_HOURS_MAX),
    "dream_every_hours": (1, AUTO_DREAM_HOURS_MAX),
    "dream_min_sessions": (1, DREAM_SESSIONS_MAX),
    "max_deletes": (0, DREAM_DELETES_MAX),
    "max_delete_percent": (0, 100),
    "max_tokens": (DREAM_TOKENS_MIN, DREAM_TOKENS_MAX),
    "max_tokens_per_day": (0, STORE_TOKENS_PER_DAY_MAX),
    "unused_days": (1, UNUSED_DAYS_MAX),
}


@dataclass(frozen=True, slots=True)
class PipelinesPolicy:
    """What pipelines may do with a store. The default leaves everything to who asks for a dream or an extraction.

    Attributes:
        dreams: whether a dream may read the store, and, with ``propose``, change it by a proposal alone.
        extraction: whether what a session taught may be proposed to the store.
        may_edit: with ``not_people`` a dream proposes its edits of memories of class ``user``, and writes the others.
        max_deletes, max_delete_percent: the greater of the two is how many memories a dream may delete at once.
        max_tokens: how many tokens one dream may use.
        max_tokens_per_day: how many dreams and extractions may use together on one day, UTC; 0 bounds nothing.
        auto_extract: whether a session is extracted by itself, once it ended, or nothing was said in it for
            `idle_hours`.
        auto_dream: whether the store is consolidated by itself every `dream_every_hours`, if `dream_min_sessions` have
            said something new: as a proposal, or written.
        model: the name of the model that these two ask, and an extraction that is called for, and a dream that names
            none.
        usage: with ``count``, what sessions cite and read is counted by their transcripts.
        unused_days: after how many days without a use a memory is recalled after others that are as good.
    """

    dreams: str = ALLOW
    extraction: str = ALLOW
    may_edit: str = ALL
    max_deletes: int = DREAM_DELETES_DEFAULT
    max_delete_percent: int = DREAM_DELETES_PERCENT_DEFAULT
    max_tokens: int = DREAM_TOKENS_MAX
    max_tokens_per_day: int = 0
    auto_extract: str = OFF
    idle_hours: int = AUTO_IDLE_HOURS_DEFAULT
    auto_dream: str = OFF
    dream_every_hours: int = AUTO_DREAM_HOURS_DEFAULT
    dream_min_sessions: int = AUTO_DREAM_SESSIONS_DEFAULT
    model: str = MODEL_DEFAULT
    usage: str = OFF
    unused_days: int = UNUSED_DAYS_DEFAULT

    @property
    def counts_uses(self) -> bool:
        """Whether uses of memories are counted."""
        return self.usage == COUNT

    @property
    def acts_by_itself(self) -> bool:
        """Whether the store is looked at without a caller."""
        return self.extracts_by_itself or self.dreams_by_itself or self.counts_uses

    @property
    def extracts_by_itself(self) -> bool:
        """Whether sessions are extracted without a caller. A word of a newer release does nothing."""
        return self.may_extract and self.auto_extract == PROPOSE

    @property
    def dreams_by_itself(self) -> bool:
        """Whether the store is consolidated without a caller."""
        return self.may_dream and self.auto_dream in (PROPOSE, WRITE)

    @property
    def may_dream(self) -> bool:
        """Whether a dream may read the store. A word of a newer release, which this one cannot obey, forbids it."""
        return self.dreams in (ALLOW, PROPOSE)

    @property
    def may_extract(self) -> bool:
        """Whether extraction may propose to the store; as `may_dream`."""
        return self.extraction == ALLOW

    def deletes(self, memories: int) -> int:
        """Return how many of a store's memories a dream may delete."""
        return max(self.max_deletes, memories * self.max_delete_percent // 100)

    def waits(self, edit: Edit, trust: str | None) -> bool:
        """Tell whether an edit waits for a person. `trust` is the letter of the memory's class, None of a new one's."""
        return self.dreams != ALLOW or (self.may_edit != ALL and edit.op != "create" and trust == USER)

    def to_text(self) -> str | None:
        """Write it as a store's record has it; None for the default."""
        return None if self == PipelinesPolicy() else json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def of(cls, text: str | None) -> PipelinesPolicy:
        """Parse what `to_text` made; a field of a newer release is passed over."""
        found = {} if text is None else json.loads(text)
        return cls(**{one.name: found[one.name] for one in fields(cls) if one.name in found})

    def to_json(self) -> dict[str, Any]:
        """Write it as the API has it."""
        return asdict(self)


def changed_pipelines(before: str | None, given: object) -> str | None:
    """Return a store's policy after an update; what that does not mention stays. Raises InvalidRequest."""
    if given is None:
        return before
    if not isinstance(given, Mapping):
        raise InvalidRequest("pipelines", "must be an object")
    policy = PipelinesPolicy.of(before)
    for name, value in given.items():
        field = f"pipelines.{str(name)[:64]}"
        if name in _WORDS:
            if value not in _WORDS[name]:
                raise InvalidRequest(field, f"must be one of {', '.join(repr(one) for one in _WORDS[name])}")
        elif name in _NUMBERS:
            least, most = _NUMBERS[name]
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise InvalidRequest(field, f"must be a whole number from {least:,} to {most:,}")
        elif name == "model":
            if not isinstance(value, str) or not 1 <= len(value) <= DREAM_MODEL_MAX_CHARS:
                raise InvalidRequest(field, f"must be a text of 1 to {DREAM_MODEL_MAX_CHARS} characters")
        else:
            raise InvalidRequest(field, "is not a field of this request")
        policy = replace(policy, **{name: value})
    return policy.to_text()


def switched_on(before: str | None, after: str | None) -> str | None:
    """Return the field by which an update has sessions read without a caller, where they were not; None: by none.

    `before` and `after` are a store's policy, as its record has it.
    """
    old, new = PipelinesPolicy.of(before), PipelinesPolicy.of(after)
    changes = {
        "auto_extract": old.auto_extract == OFF != new.auto_extract,
        "auto_dream": old.auto_dream == OFF != new.auto_dream,
        "extraction": new.extracts_by_itself and not old.extracts_by_itself,
        "dreams": new.dreams_by_itself and not old.dreams_by_itself,
    }
    return next((name for name, is_new in changes.items() if is_new), None)
