"""One machine's Memolith: objects as files that are written once, tables and queue in SQLite.

The same promises as on AWS, by the means of one machine: `link` is the conditional put, a transaction of SQLite the
conditional commit, and both hold between processes and over a kill at any moment. What is missing is what one machine
cannot have: replicas. Linux and macOS; a local file system with hard links, because neither `link` nor SQLite's
shared memory is to be trusted over a network.
"""

from memolith.adapters.local.database import Database, is_open_elsewhere
from memolith.adapters.local.failures import DamagedDatabase
from memolith.adapters.local.index import LocalIndex, LocalTables
from memolith.adapters.local.objects import LocalBucket, LocalErasableObjects, LocalObjects
from memolith.adapters.local.queue import LocalQueue, Message
from memolith.adapters.local.sealing import LocalSealing, LocalSealMemory
from memolith.adapters.local.signing import LocalSigningKeys

__all__ = [
    "DamagedDatabase",
    "Database",
    "LocalBucket",
    "LocalErasableObjects",
    "LocalIndex",
    "LocalObjects",
    "LocalQueue",
    "LocalSealMemory",
    "LocalSealing",
    "LocalSigningKeys",
    "LocalTables",
    "Message",
    "is_open_elsewhere",
]
