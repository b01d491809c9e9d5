"""The machine's own clock, randomness and threads; and metrics that nobody collects."""

from cairn.adapters.system.clock import SystemClock
from cairn.adapters.system.metrics import Unmeasured
from cairn.adapters.system.parallel import ThreadParallel
from cairn.adapters.system.randomness import SystemRandomness

__all__ = ["SystemClock", "SystemRandomness", "ThreadParallel", "Unmeasured"]
