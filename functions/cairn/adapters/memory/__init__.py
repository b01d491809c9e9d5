"""Every port in memory: shipped, contract-tested, safe for threads. For tests, simulations and trying things out."""

from cairn.adapters.memory.clock import ManualClock
from cairn.adapters.memory.dead_letters import MemoryDeadLetters
from cairn.adapters.memory.guardrail import MemoryGuardrail
from cairn.adapters.memory.index import MemoryDatabase, MemoryIndex, MemoryTables
from cairn.adapters.memory.metrics import RecordingMetrics
from cairn.adapters.memory.objects import MemoryBuckets, MemoryErasableObjects, MemoryObjects, PutEvent, StoredVersion
from cairn.adapters.memory.parallel import OneByOne
from cairn.adapters.memory.peers import MemoryPeers
from cairn.adapters.memory.queue import MemoryQueue
from cairn.adapters.memory.randomness import SeededRandomness
from cairn.adapters.memory.signing import MemorySigningKeys
from cairn.adapters.memory.targets import MemoryTargets

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
    "MemorySigningKeys",
    "MemoryTables",
    "MemoryTargets",
    "OneByOne",
    "PutEvent",
    "RecordingMetrics",
    "SeededRandomness",
    "StoredVersion",
]
