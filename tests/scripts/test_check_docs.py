"""Each check of the documents fires on what it is there for, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from scripts import check_docs
from scripts.check_docs import Problem
from scripts.costing import scale
from scripts.costing.document import DOCUMENT, TABLES

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Puts files into a small repository, which the checks then look at."""
    monkeypatch.setattr(check_docs, "ROOT", tmp_path)
    names: list[str] = []
    monkeypatch.setattr(check_docs, "tracked", lambda: tuple(names))

    def put(**files: str) -> None:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_md", ".md").replace("_py", ".py").replace(
                "_lock", ".lock"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            names.append(str(path.relative_to(tmp_path)))

    put(Makefile="test: setup ## tests\n\tpytest\nsetup:\n")
    check_docs.lines_of.cache_clear()
    yield put
    check_docs.lines_of.cache_clear()


def found(check: Callable[[], Iterable[Problem]]) -> list[str]:
    return [str(problem) for problem in check()]


def test_a_link_to_nowhere(write: Write) -> None:
    write(README_md="[a](docs/a.md) [b](docs/b.md#two) [c](https://x.test/) [d](docs/a.md#one-fine-day)\n[e](#here)\n")
    write(docs__a_md="# One: fine day\n[up](../README.md)\n```\n[not](a-link.md)\n```\n")
    assert found(check_docs.broken_links) == [
        "README.md:1: links to docs/b.md#two, which is not there",
        "README.md:2: links to #here, which has no such heading",
    ]


def test_a_make_target_that_is_not_there(write: Write) -> None:
    write(README_md="`make test`, `make best`; make sure of it.\n```\nmake DIR=x demo   # make it so\n```\n")
    assert found(check_docs.unknown_targets) == [
        "README.md:1: names make best, which the Makefile does not have",
        "README.md:3: names make demo, which the Makefile does not have",
    ]


def test_a_command_or_a_module_that_is_not_there(write: Write) -> None:
    write(scripts__there_py="")
    write(
        README_md="`memolith keys create`, `.venv/bin/memolith keys forge`, `memolith fly`, memolith flies\n"
        "`python -m scripts.there`, `python -m scripts.gone`\n"
    )
    assert found(check_docs.unknown_commands) == [
        "README.md:1: names memolith keys forge, which is not a command",
        "README.md:1: names memolith fly, which is not a command",
        "README.md:2: runs scripts.gone, which is not there",
    ]


def test_a_command_that_does_not_take_what_it_is_given(write: Write) -> None:
    write(
        README_md="`memolith index status --jason`, `memolith index rebuild`, `memolith index status --json | jq`\n"
        "```\n"
        ".venv/bin/memolith index rebuild --region eu-west-1   # a comment\n"
        "memolith index rebuild\n"
        "memolith regions add && memolith keys list --aws\n"
        "memolith index status --aws eu-west-1\n"
        "echo $(memolith keys --help)\n"
        "memolith dev up --whatever\n"
        "```\n"
    )
    assert found(check_docs.unknown_commands) == [
        "README.md:1: gives memolith index status --jason, which it does not have",
        "README.md:4: says memolith index rebuild: Missing option '--region'.",
        "README.md:5: says memolith regions add: Missing argument 'region'.",
        "README.md:6: says memolith index status --aws eu-west-1: Got unexpected extra argument(s) (eu-west-1)",
    ]


def test_a_file_or_a_module_that_is_not_there(write: Write) -> None:
    write(functions__memolith__core__fold_py="def join(): ...\n")
    write(
        docs__a_md="`functions/memolith/core/fold.py` `functions/memolith/core/gone.py` `tests/unit/*.py`\n"
        "`memolith.core.fold.join` `memolith.core.fold.part` `memolith.core.gone`\n"
    )
    assert found(check_docs.missing_files) == ["docs/a.md:1: names functions/memolith/core/gone.py, which is not there"]
    assert found(check_docs.missing_modules) == [
        "docs/a.md:2: names memolith.core.fold.part, which is not there",
        "docs/a.md:2: names memolith.core.gone, which is not there",
    ]


def test_a_section_that_is_not_there(write: Write) -> None:
    api = check_docs.NUMBERED
    write(**{api: "# Title\n## 1. The API\n### 1.2 Requests\n§1.2, §2 and RFC 6750 §3\n"})
    write(a_py=f"Source: {api} §1, §1.2 and §1.20.\n§9 of another page\n")
    assert found(check_docs.missing_sections) == [
        f"{api}:4: cites §2 of {api}, which is not there",
        f"a.py:1: cites §1.20 of {api}, which is not there",
    ]


def test_a_decision_record_with_the_number_of_another_or_another_number_in_its_title(write: Write) -> None:
    titles = {"0001-a": "# 1. A", "0001-b": "# 1. B", "0002-c": "# 3. C", "0003-d": "# 3. D"}
    write(**{f"docs/adr/{name}.md": f"{title}\n" for name, title in titles.items()})
    assert found(check_docs.repeated_decisions) == [
        "docs/adr/0001-b.md:1: has the number of docs/adr/0001-a.md",
        "docs/adr/0002-c.md:1: is not titled with its number, 2",
    ]


def test_whose_machine_it_was_written_on(write: Write) -> None:
    write(scripts__a_py='HERE = "/ro' + 'ot/.cache"\nTHERE = "/artwork/ro' + 'ot/x"\n')
    write(docs__a_md="See /tmp/notes.\n`/tmp/example`\n```\n/tmp/example\n```\n")
    assert found(check_docs.machine_paths) == [
        "scripts/a.py:1: names a path of some machine",
        "docs/a.md:1: names a temporary folder in prose",
    ]


def test_where_packages_came_from(write: Write) -> None:
    write(requirements_lock="--index-url https://pypi.test/simp" + "le\nboto3==1 --hash=sha256:00\n")
    write(docs__a_md="https://regi" + "stry.npmjs.test/x\nhttps://aws.amazon.com/\n")
    assert found(check_docs.registry_addresses) == [
        "requirements.lock:1: names a package registry",
        "docs/a.md:1: names a package registry",
    ]


@pytest.fixture
def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table of each page is made: `make check` itself makes them all, from many thousands of counted calls."""
    monkeypatch.setattr("scripts.costing.document.TABLES", {"writes": TABLES["writes"]})
    monkeypatch.setattr(scale, "TABLES", {"costs": scale.TABLES["costs"]})


@pytest.mark.slow
@pytest.mark.usefixtures("few_tables")
def test_pages_of_costs_and_sizes_that_are_current() -> None:
    assert found(check_docs.stale_costs) == []


@pytest.mark.slow
@pytest.mark.usefixtures("few_tables")
def test_a_stale_page_of_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "cost.md"
    page.write_text(DOCUMENT.read_text().replace("| update |", "| update, formerly |"))
    monkeypatch.setattr("scripts.cost.DOCUMENT", page)
    assert found(check_docs.stale_costs) == ["docs/cost.md:1: is not what the code costs now: make cost"]


@pytest.mark.usefixtures("few_tables")
def test_a_stale_page_of_sizes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "scale.md"
    page.write_text(scale.DOCUMENT.read_text().replace("| 1,000,000 |", "| 1,000,001 |", 1))
    monkeypatch.setattr("scripts.costing.scale.DOCUMENT", page)
    assert found(check_docs.stale_costs) == ["docs/scale.md:1: is not what the code costs now: make cost"]


def test_a_promise_without_its_test_and_a_test_that_is_not_there(write: Write) -> None:
    write(tests__test_a_py="\ndef test_one() -> None: ...\n")
    write(
        docs__consistency_md="1. It is so.\n   `tests/test_a.py::test_one`\n2. So too.\n   Really.\n"
        "4. And so `tests/test_a.py::test_two`.\n`tests/test_b.py::test_one`\n"
    )
    assert found(check_docs.missing_tests) == [
        "docs/consistency.md:5: names tests/test_a.py::test_two, which is not there",
        "docs/consistency.md:6: names tests/test_b.py::test_one, which is not there",
    ]
    assert found(check_docs.untested_promises) == [
        "docs/consistency.md:5: is number 4, after 2",
        "docs/consistency.md:3: promises something and names no test of it",
    ]
