"""Whether the documents say what is so (``make check``): links, commands, files, modules, costs; and nothing of whose
machine they were written on.

Each check names a file, a line and what is wrong there. A document may show what does not exist only where it says so.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scripts import cost

ROOT = Path(__file__).resolve().parents[1]
OWN = "scripts/check_docs.py"
TOP_LEVEL = ("docs", "functions", "infra", "scripts", "tests", ".ci")
PROMISES = ("docs/consistency.md", "docs/mount-semantics.md")
NUMBERED = "docs/api-compatibility.md"
ATTACKS = (
    "functions/memolith/scanner/rules/",
    "tests/unit/scanner/",
    "scripts/scanner_cases.py",
    "scripts/scanner_corpus/",
)
"""Where paths of other people's machines, and addresses of registries, are what the text is about."""

_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(`{3,}|~{3,})")
_SPAN = re.compile(r"`([^`\n]+)`")
_MAKE = re.compile(r"(?:^|[\s;&(])make ((?:[A-Z]+=\S+ )*)([a-z][a-z0-9-]*)")
_MEMOLITH = re.compile(r"(?:^|[\s/(])memolith (?=[a-z-])")
_MODULE_RUN = re.compile(r"python -m (scripts[.\w]*)")
_FILE = re.compile(rf"(?<![\w./-])((?:{'|'.join(map(re.escape, TOP_LEVEL))})/[\w./-]*\w\.\w+)(?![\w/*{{])")
_TEST = re.compile(r"(tests/[\w./-]+\.py)::(\w+)")
_NUMBERED = re.compile(r"(\d+)\. ")
_SECTION = re.compile(r"(?<!RFC \d{4} )§(\d+(?:\.\d+)*)")
_DOTTED = re.compile(r"(?<![\w.`/-])(memolith(?:\.\w+)+)")
_MACHINE = re.compile(r"(?<![\w.~*])/(?:work|root)/[\w.]")
_DECISION = re.compile(r"docs/adr/(\d{4})-[^/]*\.md")
_TEMPORARY = re.compile(r"(?<![\w.])/tmp/")
_REGISTRY = re.compile(
    r"https?://(?!tidelift\.com/funding/)[^\s\"'`)]*(?:registry\.|/simple\b|/npm/|artifactory|devpi|nexus)",
    re.IGNORECASE,
)
_PINNED_SOURCE = re.compile(r"^\s*(?:--(?:extra-)?index-url|--find-links|-i )|\"resolved\"\s*:")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a document says and that is not so."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a document; `code` is what of it is code: all of it within a fence, else its spans."""

    path: str
    number: int
    text: str
    code: tuple[str, ...]
    fenced: bool

    def problem(self, what: str) -> Problem:
        return Problem(self.path, self.number, what)


@cache
def tracked() -> tuple[str, ...]:
    """List every file that belongs to the repository and exists."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(name for name in listed.split("\0") if name and (ROOT / name).is_file())


@cache
def lines_of(path: str) -> tuple[Line, ...]:
    """Return a document's lines, with code separated from prose."""
    found, fence = [], ""
    for number, text in enumerate((ROOT / path).read_text().splitlines(), 1):
        mark = _FENCE.match(text.strip())
        if mark and (not fence or text.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        code = (text,) if fence else tuple(_SPAN.findall(text))
        found.append(Line(path, number, text, code, bool(fence)))
    return tuple(found)


def documents() -> Iterator[Line]:
    """Yield every line of every document."""
    for path in tracked():
        if path.endswith(".md"):
            yield from lines_of(path)


# ---- the checks -----------------------------------------------------------------------------------------------------


def stale_costs() -> Iterator[Problem]:
    """Yield a problem if docs/cost.md or docs/scale.md is not what `make cost` would write."""
    if cost.stale():
        yield Problem("docs/cost.md", 1, "is not what the code costs now: make cost")
    if cost.stale_scale():
        yield Problem("docs/scale.md", 1, "is not what the code costs now: make cost")


def broken_links() -> Iterator[Problem]:
    """Yield relative links that lead to no file, and fragments that lead to no heading."""
    for line in documents():
        for target in () if line.fenced else _LINK.findall(re.sub(r"`[^`]*`", "", line.text)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, fragment = target.partition("#")
            path = (ROOT / line.path).parent / name if name else ROOT / line.path
            if not path.exists():
                yield line.problem(f"links to {target}, which is not there")
            elif fragment and path.suffix == ".md" and fragment not in _headings(path):
                yield line.problem(f"links to {target}, which has no such heading")


def _headings(path: Path) -> set[str]:
    """Return the fragments of a document's headings, as GitHub makes them."""
    lines = lines_of(str(path.resolve().relative_to(ROOT)))
    titles = (line.text.lstrip("#").strip().lower() for line in lines if line.text.startswith("#") and not line.fenced)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def unknown_targets() -> Iterator[Problem]:
    """Yield each ``make X`` that is no target of the Makefile."""
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in documents():
        for code in line.code:
            for _, target in _MAKE.findall(_without_comment(code)):
                if target not in targets:
                    yield line.problem(f"names make {target}, which the Makefile does not have")


def unknown_commands() -> Iterator[Problem]:
    """Yield each ``memolith X Y --z`` that the command line refuses, and each module to run that does not exist."""
    for line in documents():
        for code in map(_without_comment, line.code):
            for words in _memolith_words(code):
                problem = _wrong_words(words, whole=line.fenced)
                if problem is not None:
                    yield line.problem(problem)
            for module in _MODULE_RUN.findall(code):
                if not _module_exists(module):
                    yield line.problem(f"runs {module}, which is not there")


def _memolith_words(code: str) -> Iterator[list[str]]:
    """Yield what follows each ``memolith`` in a piece of shell, up to the end of that command."""
    for found in _MEMOLITH.finditer(code):
        text = re.split(r"[;|&)]|\s#|\$\(", code[found.end() :], maxsplit=1)[0]
        try:
            yield shlex.split(text)
        except ValueError:
            yield text.split()


_NOT_HERE = "does not exist."
"""How Typer ends its complaint of a file: a page's command line names the reader's own."""


def _wrong_words(words: list[str], whole: bool) -> str | None:
    """Return what of a command line the commands would refuse.

    Args:
        words: what follows ``memolith``.
        whole: a line to be copied, which must be complete; else only the words that are there are checked.
    """
    from typer import Context
    from typer._click.exceptions import UsageError  # Typer carries Click with it, and names this nowhere else
    from typer.core import TyperGroup

    command, rest = _command_line(), list(words)
    names: list[str] = []
    while isinstance(command, TyperGroup) and rest and not rest[0].startswith("-"):
        names.append(rest.pop(0))
        found = command.get_command(Context(command), names[-1])
        if found is None:
            return f"names memolith {' '.join(names)}, which is not a command"
        command = found
    if "--help" in rest or command.context_settings.get("ignore_unknown_options"):
        return None
    if whole and not isinstance(command, TyperGroup):
        try:
            command.make_context(names[-1], rest)
        except UsageError as error:
            problem = error.format_message()
            return None if problem.endswith(_NOT_HERE) else f"says memolith {' '.join(words)}: {problem}"
        return None
    known = {option for parameter in command.get_params(Context(command)) for option in parameter.opts}
    unknown = [word for word in rest if re.match(r"--\w", word) and word.partition("=")[0] not in known]
    return f"gives memolith {' '.join(names)} {unknown[0]}, which it does not have" if unknown else None


@cache
def _command_line() -> Any:
    """Load the command line, as Typer has it."""
    import typer

    from memolith.clients.cli.main import app

    return typer.main.get_command(app)


def _module_exists(module: str) -> bool:
    base = ROOT / module.replace(".", "/")
    return base.with_suffix(".py").is_file() or (base / "__main__.py").is_file()


def missing_files() -> Iterator[Problem]:
    """Yield files of the repository that a document names in code and that do not exist."""
    for line in documents():
        for code in line.code:
            for name in _FILE.findall(code):
                if not (ROOT / name).exists():
                    yield line.problem(f"names {name}, which is not there")


def missing_modules() -> Iterator[Problem]:
    """Yield modules of the library that a document names in a span and that do not exist."""
    for line in documents():
        for code in () if line.fenced else line.code:
            for name in _DOTTED.findall(code):
                if not _library_has(name.split(".")):
                    yield line.problem(f"names {name}, which is not there")


def _library_has(parts: list[str]) -> bool:
    """Tell whether it is a package, a module, or something that a module defines."""
    path = ROOT / "functions"
    for position, part in enumerate(parts):
        if (path / part).is_dir():
            path /= part
            continue
        module = (path / part).with_suffix(".py")
        if module.is_file():
            rest = parts[position + 1 :]
            return not rest or re.search(rf"\b{re.escape(rest[0])}\b", module.read_text()) is not None
        return False
    return True


def missing_sections() -> Iterator[Problem]:
    """Yield each section that a line of `NUMBERED`, or a line that names it, cites and that it does not have."""
    headings = (line.text for line in lines_of(NUMBERED)) if NUMBERED in tracked() else ()
    numbers = {found[1] for text in headings if (found := re.match(r"#+ (\d+(?:\.\d+)*)", text))}
    for path, number, text in _text_lines():
        for section in _SECTION.findall(text) if path == NUMBERED or Path(NUMBERED).name in text else ():
            if section not in numbers:
                yield Problem(path, number, f"cites §{section} of {NUMBERED}, which is not there")


def missing_tests() -> Iterator[Problem]:
    """Yield each test or checker that a document names in code and whose file does not define it."""
    for line in documents():
        for name, function in (found for code in line.code for found in _TEST.findall(code)):
            path = ROOT / name
            if not path.is_file() or f"\ndef {function}(" not in path.read_text():
                yield line.problem(f"names {name}::{function}, which is not there")


def untested_promises() -> Iterator[Problem]:
    """Yield each numbered promise that names no test, and each gap in their numbers."""
    for path in PROMISES:
        yield from _untested(lines_of(path) if path in tracked() else ())


def _untested(lines: Iterable[Line]) -> Iterator[Problem]:
    found: list[tuple[Line, bool]] = []
    for line in lines:
        if match := _NUMBERED.match(line.text):
            if int(match[1]) != len(found) + 1:
                yield line.problem(f"is number {match[1]}, after {len(found)}")
            found.append((line, False))
        if found and any(_TEST.search(code) for code in line.code):
            found[-1] = (found[-1][0], True)
    for line, tested in found:
        if not tested:
            yield line.problem("promises something and names no test of it")


def repeated_decisions() -> Iterator[Problem]:
    """Yield decision records with a number that another has, or with another number in their title."""
    numbers: dict[str, str] = {}
    for path in tracked():
        named = _DECISION.fullmatch(path)
        if named is None:
            continue
        first = lines_of(path)[0].text
        if not first.startswith(f"# {int(named[1])}. "):
            yield Problem(path, 1, f"is not titled with its number, {int(named[1])}")
        if (other := numbers.setdefault(named[1], path)) != path:
            yield Problem(path, 1, f"has the number of {other}")


def machine_paths() -> Iterator[Problem]:
    """Yield files that name a machine's path, and prose that sends a reader to one of our temporary folders."""
    for path, number, text in _text_lines():
        if _MACHINE.search(text) and not path.startswith(ATTACKS):
            yield Problem(path, number, "names a path of some machine")
    for line in documents():
        if _TEMPORARY.search(_SPAN.sub("", line.text)) and not line.fenced:
            yield line.problem("names a temporary folder in prose")


def registry_addresses() -> Iterator[Problem]:
    """Yield files that name a package registry: what is installed is pinned by hash, wherever it comes from."""
    for path, number, text in _text_lines():
        pinned = path.endswith((".lock", ".txt", ".json")) and _PINNED_SOURCE.search(text)
        if (_REGISTRY.search(text) or pinned) and not path.startswith(ATTACKS):
            yield Problem(path, number, "names a package registry")


def _text_lines() -> Iterator[tuple[str, int, str]]:
    """Yield every line of every tracked text file but this one, whose patterns would match themselves."""
    for path in tracked():
        if path == OWN:
            continue
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            yield path, number, line


def _without_comment(code: str) -> str:
    return re.sub(r"\s#\s.*", "", code)


CHECKS: tuple[Callable[[], Iterable[Problem]], ...] = (
    stale_costs,
    broken_links,
    unknown_targets,
    unknown_commands,
    missing_files,
    missing_modules,
    missing_sections,
    missing_tests,
    untested_promises,
    repeated_decisions,
    machine_paths,
    registry_addresses,
)


def main() -> int:
    """Print every problem; return the exit code 1 if there is one."""
    problems = [problem for check in CHECKS for problem in check()]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
