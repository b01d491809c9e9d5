"""A class is handed what it works with: parts are put together in composition functions alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import APP, parsed, relative

COMPOSITIONS = {"Memolith", "IndexParts", "EpochParts", "WriterParts"}
"""Classes whose only work is to put others together."""

OF_ONE_CALL = {"AckJournal", "FormerPaths", "Pages", "VersionPositions"}
"""Classes whose objects hold the state of one call, and end with it."""


def collaborators() -> set[str]:
    """Return the classes of `app` that work on a region: whoever uses one is to be given it."""
    return {
        node.name
        for path in APP.rglob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef) and node.name not in OF_ONE_CALL and _takes_a_region(node)
    }


def _takes_a_region(node: ast.ClassDef) -> bool:
    inits = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
    annotations = [argument.annotation for init in inits for argument in init.args.args]
    return any(isinstance(one, ast.Name) and one.id == "Region" for one in annotations)


def built_inside(path: Path, names: set[str]) -> Iterator[str]:
    """Yield each place where a method of a class makes a collaborator by itself."""
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.ClassDef) or node.name in COMPOSITIONS:
            continue
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names:
                yield f"{relative(path)}:{call.lineno}: {node.name} makes its own {call.func.id}"


def test_no_class_of_app_makes_what_it_works_with() -> None:
    names = collaborators()
    assert {"LogReader", "EpochSnapshots", "Projector", "Ownership", "Indexer"} <= names
    assert [place for path in sorted(APP.rglob("*.py")) for place in built_inside(path, names)] == []


def test_every_composition_and_every_class_of_one_call_is_in_app() -> None:
    classes = {
        node.name for path in APP.rglob("*.py") for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)
    }
    assert classes >= COMPOSITIONS | OF_ONE_CALL
