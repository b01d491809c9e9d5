"""Everything that may go wrong at a port call, on purpose.

A `Fault` is one way in which one call fails; a source says which call is struck: `ScriptedFaults` by a list, for a
test of one schedule, `RandomFaults` by `FaultRates` and a seed, for a simulation. `Faulty` is the interceptor that
makes it happen, and raises only what the port allows for that call, so that no caller is asked to survive an error
that no adapter would give it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

from memolith.adapters.layered.intercepted import Call
from memolith.ports.errors import PORT_FAILURES, Contended, OutcomeUnknown, Unavailable
from memolith.ports.ids import Randomness

T = TypeVar("T")


class Fault(StrEnum):
    """One way in which a call fails. A refusal that the caller never hears of (412, say) is a lost reply too."""

    REFUSED = "refused"
    """Unavailable; nothing was done."""
    LOST_REQUEST = "lost_request"
    """Nothing was done, and the caller does not know: OutcomeUnknown where the port has it, else Unavailable."""
    LOST_REPLY = "lost_reply"
    """It was done, or refused, and the caller does not know: OutcomeUnknown where the port has it, else Unavailable."""
    CONTENDED = "contended"
    """Contended; nothing was done. Conditional puts and commits only."""
    CRASH_BEFORE = "crash_before"
    """The caller dies before the call."""
    CRASH_AFTER = "crash_after"
    """The caller dies after the call took effect, before its reply."""


_MAY_BE_UNKNOWN = frozenset({"objects.put_if_absent", "index.commit", "peers.call"})
_MAY_BE_CONTENDED = frozenset({"objects.put_if_absent", "index.commit"})


class FaultSource(Protocol):
    """Says whether a call is struck, and by what."""

    def strike(self, call: Call) -> Fault | None:
        """Choose a fault; asked once for every port call, before it."""


class Faulty:
    """An interceptor that lets `source` strike.

    Args:
        source: what strikes.
        crash: makes the exception a crash is. A BaseException that is no Exception, so that no handler takes it for an
            error; `finally` still runs, as it would not in a crash: code under test must not do port calls there.
    """

    def __init__(self, source: FaultSource, crash: Callable[[], BaseException] | None = None) -> None:
        self._source = source
        self._crash = crash or Crash

    def __call__(self, call: Call, act: Callable[[], T]) -> T:
        fault = self._source.strike(call)
        if fault is None:
            return act()
        if fault is Fault.CRASH_BEFORE:
            raise self._crash()
        if fault is Fault.REFUSED:
            raise Unavailable(f"{call.name}: refused on purpose")
        if fault is Fault.CONTENDED:
            if call.name not in _MAY_BE_CONTENDED:
                raise ValueError(f"{call.name} is never contended")
            raise Contended(f"{call.name}: contended on purpose")
        if fault in (Fault.LOST_REPLY, Fault.CRASH_AFTER):
            with contextlib.suppress(*PORT_FAILURES):
                act()
        if fault is Fault.CRASH_AFTER:
            raise self._crash()
        error = OutcomeUnknown if call.name in _MAY_BE_UNKNOWN else Unavailable
        raise error(f"{call.name}: {fault.value.replace('_', ' ')} on purpose")


class Crash(BaseException):
    """The caller is dead. Only the code that planted it may catch this."""


@dataclass(slots=True)
class Strike:
    """One planned fault: the `occurrence`-th call (from 1) of that name, and of that subject if one is given.

    Attributes:
        fault: what happens.
        name: as in `Call.name`.
        occurrence: counted from when the script begins.
        subject: only calls that are about it: a key, a table, a function.
        fired: whether it has happened. A test asserts it, or it may have tested nothing.
    """

    fault: Fault
    name: str
    occurrence: int = 1
    subject: str | None = None
    fired: bool = False

    def matches(self, call: Call) -> bool:
        return call.name == self.name and (self.subject is None or self.subject in call.subjects)


class ScriptedFaults:
    """Strikes by a list; each once. Safe for threads."""

    def __init__(self, *strikes: Strike) -> None:
        self._strikes = strikes
        self._seen = [0] * len(strikes)
        self._lock = threading.Lock()

    @property
    def pending(self) -> tuple[Strike, ...]:
        """What has not happened yet."""
        return tuple(strike for strike in self._strikes if not strike.fired)

    def strike(self, call: Call) -> Fault | None:
        with self._lock:
            chosen = None
            for number, planned in enumerate(self._strikes):
                if not planned.matches(call):
                    continue
                self._seen[number] += 1
                if chosen is None and not planned.fired and self._seen[number] == planned.occurrence:
                    planned.fired = True
                    chosen = planned.fault
            return chosen


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often each fault strikes: fractions of all calls, together at most 1.

    `crash_*` and `contended` strike where they can: `contended` is nothing at a read.
    """

    refused: float = 0.0
    lost_request: float = 0.0
    lost_reply: float = 0.0
    contended: float = 0.0
    crash_before: float = 0.0
    crash_after: float = 0.0

    def __post_init__(self) -> None:
        shares = self.shares
        if min(share for _, share in shares) < 0 or sum(share for _, share in shares) > 1 + 1e-9:
            raise ValueError("fault rates are fractions, together at most 1")

    @property
    def shares(self) -> Sequence[tuple[Fault, float]]:
        """Each fault with its rate."""
        return tuple((fault, getattr(self, fault.value)) for fault in Fault)


class RandomFaults:
    """Strikes at random; one draw a call, whether it strikes or not, so that a seed repeats the run.

    Args:
        rates: how often.
        randomness: seeded.
        applies: which calls may be struck at all; every call by default.
    """

    def __init__(
        self, rates: FaultRates, randomness: Randomness, applies: Callable[[Call], bool] | None = None
    ) -> None:
        self._shares = rates.shares
        self._randomness = randomness
        self._applies = applies

    def strike(self, call: Call) -> Fault | None:
        drawn = self._randomness.fraction()
        if self._applies is not None and not self._applies(call):
            return None
        for fault, share in self._shares:
            if drawn < share:
                return fault if fault is not Fault.CONTENDED or call.name in _MAY_BE_CONTENDED else None
            drawn -= share
        return None
