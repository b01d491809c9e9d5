"""Giving a pack the vectors of its memories, where there is a model of meanings."""

from __future__ import annotations

from itertools import pairwise

from memolith.core.search.excerpts import PASSAGE_MAX_CHARS
from memolith.ports.clock import Clock
from memolith.ports.packs import Pack, Packs

AT_ONCE = 16
PASSAGES_MAX = 200
"""How many passages of one text have a vector, the first ones: about 22,000 words."""


def encode_passages(packs: Packs, pack: Pack, clock: Clock, within_us: int) -> tuple[bool, bool]:
    """Encode memories that lack vectors, the newest first, until the time is over.

    Return whether there were any, and whether some are left. A text that the pack has only in part gets none: it is
    found by its words. Without a model nothing is done. Raises DamagedPack.
    """
    if packs.encoder is None:
        return False, False
    until_us, began = clock.now_us() + within_us, False
    while lacking := pack.without_vectors(packs.encoder.name, AT_ONCE):
        if began and clock.now_us() >= until_us:
            return True, True
        texts = pack.contents(lacking)
        encoded = {}
        for document in pack.documents(lacking):
            text = texts[document.memory_id]
            bounds = [*document.starts, len(text)]
            passages = [text[start : min(end, start + PASSAGE_MAX_CHARS)] for start, end in pairwise(bounds)]
            encoded[document.memory_id] = packs.encoder.encode(passages[:PASSAGES_MAX])
        pack.put_vectors(packs.encoder.name, encoded)
        began = True
    return began, False
