"""How the C library of this machine keeps a process's memory."""

from __future__ import annotations

import ctypes

ARENAS_MAX = 2

_M_ARENA_MAX = -8


def bound_arenas() -> None:
    """Have all threads of this process share `ARENAS_MAX` areas of memory. Call it before any thread is started.

    glibc gives each of a server's threads an area of its own, and each keeps what its largest answers needed: a third
    of a server's memory. Does nothing with a C library that has no such areas.
    Source: https://man7.org/linux/man-pages/man3/mallopt.3.html
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, ARENAS_MAX)
