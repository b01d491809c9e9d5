"""`core` decides and does no I/O: it imports the standard library's pure parts and itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import LIBRARY, parsed, relative

MODULES = sorted((LIBRARY / "core").rglob("*.py"))
IMPURE = {"io", "logging", "os", "pathlib", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_core_module_imports_only_the_standard_library_and_core(path: Path) -> None:
    for name in imported(path):
        assert name.startswith("memolith.core") or name.partition(".")[0] in sys.stdlib_module_names, name


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_core_module_reads_no_clock_no_randomness_and_no_file(path: Path) -> None:
    assert {name.partition(".")[0] for name in imported(path)} & IMPURE == set()
    called = {
        node.func.id
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & {"open", "print", "input"} == set()
