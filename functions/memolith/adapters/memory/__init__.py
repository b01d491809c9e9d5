"""Every port in memory: shipped, contract-tested, safe for threads. For tests, simulations and trying things out."""

from memolith.adapters.memory.clock import ManualClock
from memolith.adapters.memory.dead_letters import MemoryDeadLetters
from memolith.adapters.memory.guardrail import MemoryGuardrail
from memolith.adapters.memory.index import MemoryDatabase, MemoryIndex, MemoryTables
from memolith.adapters.memory.metrics import RecordingMetrics
from memolith.adapters.memory.objects import (
    MemoryBuckets,
    MemoryErasableObjects,
    MemoryObjects,
    PutEvent,
    StoredVersion,
)
from memolith.adapters.memory.parallel import OneByOne
from memolith.adapters.memory.peers import MemoryPeers
from memolith.adapters.memory.queue import MemoryQueue
from memolith.adapters.memory.randomness import SeededRandomness
from memolith.adapters.memory.sealing import MemorySealing, MemorySealMemory
from memolith.adapters.memory.signing import MemorySigningKeys
from memolith.adapters.memory.targets import MemoryTargets

__all__ = [
    "ManualClock",
    "MemoryBuckets",
    "MemoryDatabase",
    "MemoryDeadLetters",
    "MemoryErasableObjects",
    "MemoryGuardrail",
    "MemoryIndex",
    "MemoryObjects",
    "MemoryPeers",
    "MemoryQueue",
    "MemorySealMemory",
    "MemorySealing",
    "MemorySigningKeys",
    "MemoryTables",
    "MemoryTargets",
    "OneByOne",
    "PutEvent",
    "RecordingMetrics",
    "SeededRandomness",
    "StoredVersion",
]
