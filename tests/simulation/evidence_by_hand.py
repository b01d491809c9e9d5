"""Evidence made by hand, of what a test says and of nothing else."""

from __future__ import annotations

from memolith.core.log_position import Epoch, LogRef, Slot
from tests.simulation.evidence import Evidence, Tables
from tests.simulation.history import History

STORE, MEMORY, VERSION = "memstore_a", "mem_a", "memver_a"
HOME = "us-east-1"
LOST = Epoch(2, "ap-south-1")
ORIGINAL = str(LogRef("ec2d", Slot(Epoch(1, "us-east-1"), 9)))
ADOPTED = str(LogRef("ec2d", Slot(LOST, 1)))


def evidence_with(history: History, rows: dict[str, Tables] | None = None) -> Evidence:
    """Evidence of a history and rows, and of nothing else."""
    return Evidence(
        history=history, final={}, rows=rows or {}, rebuilt={}, stored={}, objects={}, homes={}, wiped={}, defects=[]
    )
