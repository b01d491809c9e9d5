"""LangGraph's own tests of its stores, from the sources that it publishes, with a store of Memolith in their place.

`make interop` downloads the sources by hash and unpacks them beside the packages that they need; no line of them is in
this repository. They are LangChain's, under the MIT license.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memolith.clients.sdk.langgraph_store import MemolithStore
from tests.frameworks.conftest import fresh_shelf

SOURCES = Path(__file__).parent / ".venv" / "sources"
HELPERS = ("embed_test_utils", "test_store")
"""What their tests import from each other, as modules of a package `tests`."""

FIXTURES = ("fake_embeddings", "conn_string")

NO_VECTORS = "there are no vectors: a query is words, and `index` has no effect"


class EmptyStore(MemolithStore):
    """A store of Memolith with nothing in it, made as one of LangGraph's is; what is said of vectors has no effect."""

    def __init__(self, **_: object) -> None:
        fresh = fresh_shelf().fresh
        super().__init__(fresh.backend.client(), fresh.store_id)


def theirs(folder: str, file: str) -> ModuleType:
    """Load a file of their tests. Raises FileNotFoundError: the sources are not here (`make interop`)."""
    tests = SOURCES / folder / "tests"
    needed = {f"tests.{name}": tests / f"{name}.py" for name in HELPERS if f"{name}.py" != file}
    try:
        for name, path in needed.items():
            if path.exists():
                sys.modules[name] = _loaded(name, path)
        return _loaded(f"{folder}/{file}", tests / file)
    finally:
        for name in needed:
            sys.modules.pop(name, None)


def suite_of(module: ModuleType, not_of_a_store: Collection[str], differ: Mapping[str, str]) -> dict[str, Any]:
    """Return their tests and fixtures, but for those that reach no store.

    Args:
        not_of_a_store: the names of tests of their own helpers.
        differ: why a test is expected to fail, by its name; one that passes after all is an error.
    """
    tests: dict[str, Any] = {name: one for name, one in vars(module).items() if name.startswith("test_")}
    unknown = {*not_of_a_store, *differ} - set(tests)
    if unknown:
        raise ValueError(f"there are no such tests: {sorted(unknown)}")
    for name in not_of_a_store:
        del tests[name]
    for name, reason in differ.items():
        mark: Callable[[Any], Any] = pytest.mark.xfail(strict=True, reason=reason)
        tests[name] = mark(tests[name])
    return tests | {name: vars(module)[name] for name in FIXTURES if name in vars(module)}


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
