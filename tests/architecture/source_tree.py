"""The repository's own Python files, parsed once, for the tests of its structure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "functions" / "memolith"
APP = LIBRARY / "app"
PRODUCT = ("functions", "infra", "scripts")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

_INSTALLED = frozenset({".venv", "node_modules"})
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Name:
    """One name that a module defines: a module, class, function, method, field or constant."""

    path: str
    line: int
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """The name's words in lower case: ``PutIfAbsent`` and ``put_if_absent`` have the same three."""
        return tuple(word.lower() for word in _WORDS.findall(self.text))

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    """Return every Python file below the folders, in order of path."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(path for path in found if _INSTALLED.isdisjoint(path.parts)))


@cache
def parsed(path: Path) -> ast.Module:
    """Return the file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def relative(path: Path) -> str:
    """Return the path as the repository names it."""
    return path.relative_to(ROOT).as_posix()


def functions(path: Path) -> Iterator[FunctionNode]:
    """Yield every function and method of the file, nested ones too."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, FunctionNode):
            yield node


def body_lines(function: FunctionNode) -> int:
    """Return how many lines the function's body has, without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body and body[-1].end_lineno else 0


def defined_names(path: Path) -> Iterator[Name]:
    """Yield the names that the file defines for others: itself, classes, functions, fields and constants."""
    where = relative(path)
    yield Name(where, 1, path.parent.name if path.name == "__init__.py" else path.stem)
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ClassDef):
            yield Name(where, node.lineno, node.name)
            yield from _assigned(where, node.body)
        elif isinstance(node, FunctionNode):
            yield Name(where, node.lineno, node.name)
    yield from _assigned(where, parsed(path).body)


def parameter_names(path: Path) -> Iterator[Name]:
    """Yield the names of the parameters of every function of the file."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.arg):
            yield Name(relative(path), node.lineno, node.arg)


def _assigned(where: str, body: list[ast.stmt]) -> Iterator[Name]:
    for statement in body:
        if isinstance(statement, ast.AnnAssign):
            targets: list[ast.expr] = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                yield Name(where, statement.lineno, target.id)
