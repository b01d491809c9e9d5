"""Merkle trees beside the reference vectors of Certificate Transparency."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memolith.core.merkle import EMPTY_ROOT, Frontier, inclusion_path, leaf_hash
from scripts.verify_proof import root_of

LEAVES = [
    bytes.fromhex(text)
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
"""The leaves of the test vectors of google/certificate-transparency (merkletree/merkle_tree_test.cc)."""
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


def test_the_root_of_an_empty_tree_is_the_hash_of_nothing() -> None:
    assert Frontier().root == EMPTY_ROOT


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_the_reference_vectors(size: int) -> None:
    assert Frontier().grown(LEAVES[:size]).root.hex() == ROOTS[size - 1]


def test_an_inclusion_proof_is_that_of_the_reference_vectors() -> None:
    hashes = [leaf_hash(leaf) for leaf in LEAVES]
    assert [node.hex() for node in inclusion_path(hashes, 0)] == [
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ]


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=70), st.integers(0, 69), st.integers(0, 69))
def test_every_leaf_has_a_proof_and_no_other_leaf_or_size_has_it(leaves: list[bytes], at: int, cut: int) -> None:
    index = at % len(leaves)
    hashes = [leaf_hash(leaf) for leaf in leaves]
    grown = Frontier().grown(leaves[:cut]).grown(leaves[cut:])
    path = inclusion_path(hashes, index)
    assert grown == Frontier().grown(leaves)
    assert root_of(index, len(leaves), hashes[index], path) == grown.root
    assert root_of(index, len(leaves), leaf_hash(b"another leaf"), path) != grown.root
    assert root_of(index, len(leaves), hashes[index], [*path, EMPTY_ROOT]) is None
    assert root_of(len(leaves), len(leaves), hashes[index], path) is None


def test_a_leaf_beyond_the_tree_has_no_proof() -> None:
    with pytest.raises(IndexError):
        inclusion_path([leaf_hash(b"")], 1)
