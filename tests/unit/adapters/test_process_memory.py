"""Ours: a server's threads share their memory."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from memolith.adapters.local.process_memory import ARENAS_MAX

ARENAS_OF_TWELVE_THREADS = """
import ctypes, sys, threading
from memolith.adapters.local.process_memory import bound_arenas

bound_arenas()
together = threading.Barrier(12)
def answer():
    kept = [bytes(1_000 + size) for size in range(1_000)]
    together.wait()
threads = [threading.Thread(target=answer) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()

libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
assert libc.malloc_info(0, file) == 0
libc.fclose(file)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="this C library has no arenas")
def test_twelve_threads_share_two_areas_of_memory(tmp_path: Path) -> None:
    told = tmp_path / "arenas.xml"
    subprocess.run([sys.executable, "-c", ARENAS_OF_TWELVE_THREADS, str(told)], check=True)
    assert 1 <= told.read_text().count("<heap ") <= ARENAS_MAX
