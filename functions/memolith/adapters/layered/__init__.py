"""Adapters around adapters: every port call can be counted, scheduled or struck, whatever stands behind the port."""

from memolith.adapters.layered.faulty import (
    Crash,
    Fault,
    FaultRates,
    FaultSource,
    Faulty,
    RandomFaults,
    ScriptedFaults,
    Strike,
)
from memolith.adapters.layered.instrumented import CallCounts
from memolith.adapters.layered.intercepted import (
    Call,
    InterceptedDeadLetters,
    InterceptedErasableObjects,
    InterceptedIndex,
    InterceptedObjects,
    InterceptedPeers,
    InterceptedQueue,
    InterceptedTables,
    Interceptor,
)

__all__ = [
    "Call",
    "CallCounts",
    "Crash",
    "Fault",
    "FaultRates",
    "FaultSource",
    "Faulty",
    "InterceptedDeadLetters",
    "InterceptedErasableObjects",
    "InterceptedIndex",
    "InterceptedObjects",
    "InterceptedPeers",
    "InterceptedQueue",
    "InterceptedTables",
    "Interceptor",
    "RandomFaults",
    "ScriptedFaults",
    "Strike",
]
