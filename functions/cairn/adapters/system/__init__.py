"""The machine's own clock and randomness."""

from cairn.adapters.system.clock import SystemClock
from cairn.adapters.system.randomness import SystemRandomness

__all__ = ["SystemClock", "SystemRandomness"]
