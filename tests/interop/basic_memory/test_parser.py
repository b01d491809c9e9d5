"""Basic Memory 0.24.1's own parser and ours on the same texts: its fixtures, and random ones made of its grammar.

On its fixtures both agree on every observation and relation. These differences are known, and only random texts have
them:

| text | Basic Memory | Memolith |
|---|---|---|
| a tab within a paragraph's text, where a line goes on with it | stays a tab | may become spaces |
| indented code right behind a link reference definition | code | text |
| ``[text](path)`` next to unbalanced brackets or backslashes | as CommonMark | a link where there is none, or none |
| ``[text][label]`` with its definition elsewhere | a link | none |
| dates such as ``3/4/2026`` in a qualifier | read by dateparser | left in the text |
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from memolith.core.graph.note import parse

HERE = Path(__file__).parent
VENV = HERE / ".venv"

PIECES = (  # noqa: SIM905 - a list of marks is read as one text
    '- ~* ~1. ~  ~> ~# ~```~[cat] ~[x] ~[/] ~[00:01] ~[[A]]~[[B|b]]~[[C#d]]~text ~#tag ~(ctx)~ (a) ~rel ~"two words" ~'
    "\n~\n~\n~\n~\n\n~---\n~<div>~`code`~]]~[[~ #bm:links_to~word~p::n~@2026-01-02 ~@effective[2026-01-01,2026-02-01) ~"
    '@occurred:"June 10, 2026" '
).split("~")


def bodies() -> Iterator[str]:
    """Yield the Markdown of the source distribution, without frontmatter, which is not what is compared."""
    [archive] = (VENV / "fixtures").glob("*.tar.gz")
    with tarfile.open(archive) as files:
        for member in files:
            if member.name.endswith(".md") and (file := files.extractfile(member)) is not None:
                text = file.read().decode()
                yield text.split("\n---\n", 1)[1] if text.startswith("---\n") and "\n---\n" in text else text


def theirs(texts: Sequence[str]) -> list[dict[str, list[Any]]]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(VENV), "PYTHONPATH": str(VENV / "parser")}
    done = subprocess.run(
        [VENV / "bin" / "python", HERE / "parse_with_basic_memory.py"],
        input="".join(f"{json.dumps(text)}\n" for text in texts),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(text: str) -> dict[str, list[Any]]:
    found = parse("/x.md", text)
    return {
        "observations": [[one.category, one.text, list(one.tags), one.context] for one in found.observations],
        "relations": [[one.type, one.target, one.context] for one in found.relations],
    }


def counted(found: dict[str, list[Any]]) -> Counter[str]:
    return Counter(f"{kind} {json.dumps(one)}" for kind, all_of in found.items() for one in all_of)


def compared(texts: Sequence[str]) -> tuple[int, list[tuple[str, Counter[str], Counter[str]]]]:
    """How many observations and relations theirs finds, and each text on which the two differ, with what each has."""
    found = [(text, counted(answer), counted(ours(text))) for text, answer in zip(texts, theirs(texts), strict=True)]
    differing = [(text, one - other, other - one) for text, one, other in found if one != other]
    return sum(one.total() for _, one, _ in found), differing


def test_every_observation_and_relation_of_its_own_fixtures_is_the_same() -> None:
    total, differing = compared(list(bodies()))
    assert total > 900
    assert differing == []


def test_of_random_texts_made_of_its_grammar_ninety_seven_of_a_hundred_are_the_same() -> None:
    chosen = random.Random(24)
    texts = ["".join(chosen.choices(PIECES, k=chosen.randint(3, 18))) for _ in range(4_000)]
    _, differing = compared([text for text in texts if not text.startswith("---")])
    assert len(differing) < 120, differing[:5]
