"""The machine's own clock, randomness and threads; and metrics that are dropped."""

from memolith.adapters.system.clock import SystemClock
from memolith.adapters.system.metrics import Unmeasured
from memolith.adapters.system.parallel import ThreadParallel
from memolith.adapters.system.randomness import SystemRandomness

__all__ = ["SystemClock", "SystemRandomness", "ThreadParallel", "Unmeasured"]
