"""The tests of LangGraph's store in memory, and of its batches, on a store of Memolith."""

from __future__ import annotations

from tests.interop.langgraph.upstream import NO_VECTORS, EmptyStore, suite_of, theirs

THEIRS = theirs("langgraph_checkpoint-4.3.2", "test_store.py")
THEIRS.InMemoryStore = EmptyStore  # type: ignore[attr-defined]  # their tests look there

NOT_OF_A_STORE = (
    "test_dedupe_ops_maps_repeated_reads_and_puts_to_one_op",
    "test_get_text_at_path",
    "test_get_text_at_path_with_non_dict_mapping",
    "test_validate_op_namespace_rejects_invalid_labels",
    "test_validate_op_namespace_allows_empty_prefix_and_wildcards",
)
DIFFER = dict.fromkeys(
    (
        "test_vector_store_initialization",
        "test_vector_update_with_embedding",
        "test_async_vector_update_with_embedding",
        "test_vector_search_with_filters",
        "test_async_vector_search_with_filters",
        "test_async_batched_vector_search_concurrent",
        "test_embed_with_path",
    ),
    NO_VECTORS,
)

globals().update(suite_of(THEIRS, NOT_OF_A_STORE, DIFFER))
