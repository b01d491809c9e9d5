"""What the code counts and measures: every call of `memolith.ports.metrics.Metrics`, as it stands in the source."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[2] / "functions" / "memolith"
METHODS = ("count", "milliseconds")


def counted() -> dict[str, set[frozenset[str]]]:
    """Metric to the sets of dimensions that it is counted with, those that all metrics have left out."""
    found: dict[str, set[frozenset[str]]] = defaultdict(set)
    for path in sorted(LIBRARY.rglob("*.py")):
        for call in _calls(ast.parse(path.read_text())):
            name = call.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                keywords = (keyword.arg for keyword in call.keywords)
                found[name.value].add(frozenset(key for key in keywords if key is not None and key != "value"))
    return dict(found)


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            owner = node.func.value
            if node.args and "metrics" in ast.unparse(owner):
                yield node
