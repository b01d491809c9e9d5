"""The packer that a laptop's worker and its searches share."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memolith.adapters.memory import ManualClock
from memolith.adapters.system import SystemRandomness, Unmeasured
from memolith.app.safety.write_gate import LettingAllThrough
from memolith.app.search import packer
from memolith.entry.compose_laptop import Machine, open_site


class Packing:
    """A packer that stays at work until another call is at work too, or until no other comes."""

    def __init__(self) -> None:
        self.together = 0
        self._both = threading.Barrier(2)

    def pack(self, store_id: str, since: int | None = None, from_scratch: bool = False) -> int:
        try:
            self._both.wait(timeout=0.2)
            self.together += 1
        except threading.BrokenBarrierError:
            pass
        return 1


def test_two_who_ask_for_a_pack_at_once_do_not_make_it_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packing = Packing()
    monkeypatch.setattr(packer, "make_packer", lambda *ports: packing)
    site = open_site(tmp_path, LettingAllThrough(), Machine(ManualClock(), SystemRandomness(), Unmeasured()))
    try:
        asked = {"call": "pack", "store_id": "memstore_laptop_01kb0000000000000000000000"}
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda _: site.region.peers.call("laptop", "packer", asked), range(2)))
    finally:
        site.close()
    assert answers == [{"number": 1}] * 2
    assert packing.together == 0
