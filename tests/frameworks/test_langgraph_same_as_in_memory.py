"""LangGraph's own store in memory and ours, given the same operations, answer the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from tests.frameworks.conftest import fresh_shelf
from tests.support.examples import examples

LABELS = st.sampled_from(["users", "ada", "b/c", "é"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
KEYS = st.sampled_from(["", "k", "users", "a/b", "%", "..", "\u200b", "x.json"])
VALUES = st.fixed_dictionaries(
    {"n": st.integers(-2, 2)},
    optional={
        "kind": st.sampled_from(["a", "b"]),
        "deep": st.fixed_dictionaries({"list": st.lists(st.booleans(), max_size=2), "none": st.none()}),
        "text": st.text(max_size=5),
    },
)
NUMBERS = st.dictionaries(
    st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]), st.integers(-2, 2), min_size=1, max_size=2
)
FILTERS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": st.integers(-2, 2) | NUMBERS,
        "kind": st.sampled_from(["a", "c"]) | st.just({"$ne": "a"}) | st.none(),
        "deep": st.just({"list": [True]}) | st.just({"none": None}) | st.just([1]),
    },
)
PATHS = st.lists(LABELS | st.just("*"), min_size=1, max_size=2).map(tuple)
CONDITIONS = st.lists(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS), max_size=2).map(tuple)
PUTS = st.builds(lambda *args: PutOp(*args), NAMESPACES, KEYS, VALUES | st.none())
READS: st.SearchStrategy[Op] = st.one_of(
    st.builds(lambda *args: GetOp(*args), NAMESPACES, KEYS),
    st.builds(lambda prefix, asked: SearchOp(prefix, asked, limit=100), st.just(()) | NAMESPACES, FILTERS),
    st.builds(lambda *args: ListNamespacesOp(*args), CONDITIONS, st.none() | st.integers(1, 3)),
)


def told(result: Any) -> Any:
    """A result without what the two stores need not agree on: times, and the order of what was found."""
    if isinstance(result, Item):
        return result.namespace, result.key, result.value
    if isinstance(result, list):
        return sorted(map(told, result), key=repr)
    return result


def living(store: BaseStore, op: ListNamespacesOp) -> set[tuple[str, ...]]:
    """The namespaces in which something is left; the store in memory goes on to list those that became empty."""
    left = {item.namespace for item in store.search((), limit=1000)}
    return {one[: op.max_depth] for one in listed(store, op._replace(max_depth=None)) if one in left}


def listed(store: BaseStore, op: ListNamespacesOp) -> set[tuple[str, ...]]:
    (found,) = store.batch([op._replace(limit=1000)])
    assert isinstance(found, list)
    return {one for one in found if isinstance(one, tuple)}


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.lists(PUTS | READS, min_size=1, max_size=6), max_size=6))
def test_batches_of_operations_are_answered_as_by_langgraphs_own_store(batches: list[list[Op]]) -> None:
    ours, theirs = fresh_shelf().store, InMemoryStore()
    for batch in batches:
        found, expected = ours.batch(batch), theirs.batch(batch)
        for op, mine, its in zip(batch, found, expected, strict=True):
            if not isinstance(op, ListNamespacesOp):
                assert told(mine) == told(its)
        for op in batch:
            if isinstance(op, ListNamespacesOp):
                assert listed(ours, op) == living(theirs, op)
    assert told(ours.search((), limit=1000)) == told(theirs.search((), limit=1000))
