"""A language model: what it is asked, what it answers, and how it may fail.

    ModelFailure           for the pipeline that asked:
    ├── Throttled          refused because of a rate; the same question may be asked again, later
    ├── ModelUnavailable   unreachable, overloaded or broken; ask again later
    │   └── OutOfTime      there is no time left in this process to ask, or to ask again
    ├── Rejected           refused for a reason that stays: set up wrongly, no right, no such model
    ├── TooLong            more than the model's window takes
    ├── BadAnswer          it answered, twice, with what does not fit the form that was asked for
    └── BudgetExceeded     not asked: the question could cost more than is left
        └── BudgetTooSmall it could cost more than the whole budget: waiting does not help

A model is handed text and hands back text. It has no tools, and nothing that it answers is carried out unchecked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from memolith.ports.errors import PortError

BYTES_PER_TOKEN = 3.2
"""How many bytes of UTF-8 a token has at least, on average: what an estimate divides by where no service counts."""

CALL_TIMEOUT_S = 240.0
"""How long one answer may take: a long one of a large model, and well below the life of a function."""


class Purpose(StrEnum):
    """What a question is for; the dimension of its metrics and costs."""

    EXTRACT = "extract"
    CONSOLIDATE = "consolidate"
    SELECT = "select"
    JUDGE = "judge"
    BOOTSTRAP = "bootstrap"


class Effort(StrEnum):
    """How much a model that can think is to think."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Role(StrEnum):
    """Who said a turn."""

    USER = "user"
    ASSISTANT = "assistant"


class Stop(StrEnum):
    """Why an answer ended. Only `END` is whole."""

    END = "end"
    LENGTH = "length"
    REFUSAL = "refusal"
    FILTERED = "filtered"


class AnswerForm(StrEnum):
    """The forms that an answer can be held to; `adapters.models.forms` has their schemas."""

    EXTRACTION = "extraction.v1"
    CONSOLIDATION = "consolidation.v1"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the system prompt; `cache` where everything up to its end is the same in the next questions."""

    text: str
    cache: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the conversation."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Left:
    """What a budget still allows; None where it does not bound that. `micro_usd` binds only where a price is known."""

    tokens: int | None = None
    micro_usd: int | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """One question.

    Attributes:
        system: what the model is, and the rules; before the turns.
        turns: the conversation, which ends with the user's turn.
        purpose: what for.
        key: the same for the same step of the same run, so that a service that knows repetitions can tell.
        form: what the answer has to fit; None for plain text.
        max_output_tokens: where the answer is cut off.
        effort: None leaves it to the service.
        timeout_s: how long to wait for the whole answer.
        left: what the budget of the run still allows.
        until_us: the last instant at which the model may be asked, also where it is asked again; None where the process
            has no end.
    """

    system: tuple[Block, ...]
    turns: tuple[Turn, ...]
    purpose: Purpose
    key: str
    form: AnswerForm | None = None
    max_output_tokens: int = 8_192
    effort: Effort | None = None
    timeout_s: float = CALL_TIMEOUT_S
    left: Left = Left()
    until_us: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as Anthropic's API counts them: the first is of what was neither read from nor written to a cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0

    @property
    def total(self) -> int:
        """All tokens of all four kinds."""
        return self.input_tokens + self.output_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_creation_input_tokens + other.cache_creation_input_tokens,
            self.cache_read_input_tokens + other.cache_read_input_tokens,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Attributes:
        text: as it came.
        data: the object in it, where a form was asked for and it fits; else None.
        usage: of all calls that it took.
        model: as the service names it, which may be more exact than what was asked for.
        stop: why it ended.
        request_id: the service's, or empty.
        cost_micro_usd: by the price table; None where that has no price for the model. Never guessed.
        repaired: whether the first answer did not fit, and this is the second.
    """

    text: str
    usage: Usage
    model: str
    stop: Stop = Stop.END
    request_id: str = ""
    data: Any = None
    cost_micro_usd: int | None = None
    repaired: bool = False


class ModelFailure(PortError):
    """Base of the failures of a model. Its text never quotes a prompt or an answer.

    Attributes:
        usage: what was billed although there is no answer.
        cost_micro_usd: its cost; None where no price is known.
    """

    usage: Usage = Usage()
    cost_micro_usd: int | None = None


class Throttled(ModelFailure):
    """Refused because of a rate.

    Attributes:
        retry_after_s: when the service said to come back; None where it did not say.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ModelUnavailable(ModelFailure):
    """Unreachable, overloaded, timed out or broken."""


class OutOfTime(ModelUnavailable):
    """Not asked, or not asked again: the answer would come when the process is not there any more."""


class Rejected(ModelFailure):
    """Refused for a reason that asking again does not change."""


class TooLong(ModelFailure):
    """The question is longer than the model's window, or the window was full before the answer was whole."""


class BadAnswer(ModelFailure):
    """The answer did not fit its form, and neither did the second."""


class BudgetExceeded(ModelFailure):
    """Not asked: what the question may cost is more than is left of the budget."""


class BudgetTooSmall(BudgetExceeded):
    """Not asked, and not on another day either: what the question may cost is more than the budget of a whole day."""


class Model(Protocol):
    """One model of one service."""

    @property
    def window_tokens(self) -> int:
        """How many tokens question and answer may have together."""

    def ask(self, ask: Ask) -> Answer:
        """Return the answer.

        Raises:
            ModelFailure: one of its kinds; nothing of Memolith's was changed, though the call may have been billed.
        """

    def tokens(self, ask: Ask) -> int:
        """Return how many input tokens the question has: counted where the service can, else `estimated_tokens`."""


class Models(Protocol):
    """The models of a deployment."""

    def named(self, model_id: str) -> Model:
        """Return the model that a request names.

        Raises:
            Rejected: the deployment has none of that name.
        """


def window_full(usage: Usage) -> TooLong:
    """Return the failure of an answer that filled the model's window before it was whole; it is billed all the same."""
    failure = TooLong("the model's window is full")
    failure.usage = usage
    return failure


def estimated_tokens(ask: Ask) -> int:
    """Return how many input tokens the question has at most, by its bytes."""
    texts = (*(block.text for block in ask.system), *(turn.text for turn in ask.turns))
    return math.ceil(sum(len(text.encode()) for text in texts) / BYTES_PER_TOKEN)
