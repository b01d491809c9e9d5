"""Merkle trees as RFC 6962 hashes them (Certificate Transparency, section 2.1): a root, and proofs that a leaf is in.

A leaf is hashed with a byte 0 before it, two nodes with a byte 1, so that no node passes for a leaf. A tree whose size
is no power of two is split at the largest one below its size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(leaf: bytes) -> bytes:
    """Hash one leaf."""
    return hashlib.sha256(b"\0" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two neighbors into the node above them."""
    return hashlib.sha256(b"\1" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """A tree that grows at its end: the roots of its whole subtrees, the largest first. At most 64 hashes.

    Attributes:
        size: how many leaves it has.
        roots: one for each bit that is set in `size`, the highest first.
    """

    size: int = 0
    roots: tuple[bytes, ...] = ()

    def grown(self, leaves: Iterable[bytes]) -> Frontier:
        """Return the tree with these leaves, not hashed yet, behind its own. Two hashes a leaf, on average."""
        size, roots = self.size, list(self.roots)
        for leaf in leaves:
            node, height = leaf_hash(leaf), size
            while height & 1:
                node = node_hash(roots.pop(), node)
                height >>= 1
            roots.append(node)
            size += 1
        return Frontier(size, tuple(roots))

    @property
    def root(self) -> bytes:
        """The root of the whole tree."""
        if not self.roots:
            return EMPTY_ROOT
        node = self.roots[-1]
        for left in reversed(self.roots[:-1]):
            node = node_hash(left, node)
        return node


def inclusion_path(hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return the proof that the leaf at `index` is in the tree of these leaf hashes: the nodes beside its way up.

    Raises:
        IndexError: there is no such leaf.
    """
    if not 0 <= index < len(hashes):
        raise IndexError(f"no leaf {index} in a tree of {len(hashes)}")
    path: list[bytes] = []
    first, last = 0, len(hashes)
    while last - first > 1:
        middle = first + _split(last - first)
        if index < middle:
            path.append(_root(hashes[middle:last]))
            last = middle
        else:
            path.append(_root(hashes[first:middle]))
            first = middle
    return path[::-1]


def _split(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1


def _root(hashes: Sequence[bytes]) -> bytes:
    if len(hashes) == 1:
        return hashes[0]
    middle = _split(len(hashes))
    return node_hash(_root(hashes[:middle]), _root(hashes[middle:]))
