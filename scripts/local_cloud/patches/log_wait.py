"""A function that logs nothing answers at once.

After each call the emulator waits up to 50 ms for a first log line. A line written before the answer is in the pipe
already; 4 ms is enough to find it, and what comes later is shown with the next call.
"""

from __future__ import annotations

from scripts.local_cloud.patches import Patch, PatchMissing, need

FIRST_LINE_WAIT_S = 0.004
IDLE_CONFIRM_S = 0.002
HARD_CAP_S = 0.250


def _apply() -> None:
    from ministack.core import lambda_runtime

    need(lambda_runtime, "Worker")
    need(lambda_runtime.Worker, "_drain_stderr_bounded")
    function = lambda_runtime.Worker._drain_stderr_bounded
    if len(function.__defaults__ or ()) != 3:
        raise PatchMissing("Worker._drain_stderr_bounded no longer takes three waits")
    function.__defaults__ = (FIRST_LINE_WAIT_S, IDLE_CONFIRM_S, HARD_CAP_S)


PATCH = Patch("log_wait", "every warm call of a function that logs nothing takes 50 ms longer", _apply)
