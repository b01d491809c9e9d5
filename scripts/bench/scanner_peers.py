"""Other scanners beside ours, on the same texts in the same run: what each would not let through.

    make bench-scanner-peers                        # ARGS="--agentdojo WHEEL", as for make bench-scanner
    python -m scripts.bench.scanner_peers --python tests/interop/scanner_peers/.venv/bin/python

The peers have a virtual environment of their own (`tests/interop/scanner_peers`). Prints shares of texts, and no text.
Our rules were written with the development corpora in view, so those figures favor us; the groups that begin with
``held out`` are new to everybody, but some of their authors knew how our scanner works.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from memolith.adapters.encoders import installed_meaning
from memolith.scanner import Report, Scanner, Verdict
from scripts import scanner_cases as cases
from scripts import scanner_corpus as corpus
from scripts.bench.scanner import DEFAULT_CORPORA, SEED, Bench, load
from scripts.bench.scanner_held_out import TEMPLATES, goals_of

VERDICTS = Path("tests/interop/scanner_peers/verdicts.py")

Shares = dict[str, dict[str, list[bool]]]
"""By scanner and group of texts: whether each text was refused."""


def groups(bench: Bench) -> Iterator[tuple[str, list[str]]]:
    """Yield the texts that every scanner judges; a group whose corpus is not here is empty."""
    goals = bench.corpus("inj_asb_goals")[:60]
    hijacks = [template.format(goal=goal) for goal in goals for template in cases.HIJACK_TEMPLATES]
    hosts = bench.hosts()
    yield "attacks: goals in five templates", hijacks
    yield (
        "attacks: the same inside a memory",
        [cases.plant(bench.random, bench.random.choice(hosts), text) for text in hijacks],
    )
    yield "attacks: jailbreak personas", bench.corpus("inj_giskard", kind="Jailbreak")
    short = [
        *bench.corpus("mix_promptbadger", label="malicious"),
        *bench.corpus("mix_bastioncorpus", label="malicious"),
    ]
    yield "attacks: short injections", short
    if bench.agentdojo:
        framed = [template.format(goal=goal) for goal in goals_of(bench.agentdojo) for template in TEMPLATES]
        yield "attacks: held out, AgentDojo in its templates", framed
    held_out = [text for name in corpus.HELD_OUT for text in corpus.read(name)]
    yield "attacks: held out, ours", [text.text for text in held_out if not text.harmless]
    yield "harmless: held out, short notes", [text.text for text in held_out if text.kind == "note"]
    yield "harmless: held out, texts about attacks", [text.text for text in held_out if text.kind == "about"]
    yield "harmless: texts with trigger words", bench.triggers()
    yield "harmless: instruction files", bench.benign()[::4]
    yield "harmless: own documents", [text for _, text in cases.documents()]
    vendors = ("sec_gitleaks_tests", "sec_kingfisher_examples")
    yield "secrets: vendors' test strings", [text for name in vendors for text in bench.corpus(name, label="secret")]
    yield (
        "no secrets: vendors' counterexamples",
        [text for name in vendors for text in bench.corpus(name, label="clean")],
    )


def ours(scanner: Scanner, texts: dict[str, list[str]]) -> Shares:
    """Judge by our own scanner: the write path, the deeper look, and a flag counted as a refusal."""
    looks: dict[str, Callable[[str], Report]] = {
        "Memolith, write path": scanner.scan,
        "Memolith, deeper look": scanner.scan_deeply,
    }
    reports = {
        name: {group: [look(text).verdict for text in some] for group, some in texts.items()}
        for name, look in looks.items()
    }
    said = {
        name: {group: [one is Verdict.REJECT for one in verdicts] for group, verdicts in by_group.items()}
        for name, by_group in reports.items()
    }
    flagged = reports["Memolith, write path"].items()
    said["Memolith, write path, flags too"] = {
        group: [one is not Verdict.ALLOW for one in verdicts] for group, verdicts in flagged
    }
    return said


def peers(python: Path, texts: dict[str, list[str]]) -> Shares:
    """Judge by the peers, in their own environment."""
    done = subprocess.run([python, VERDICTS], input=json.dumps(texts), stdout=subprocess.PIPE, text=True, check=True)
    said: Shares = json.loads(done.stdout)
    return said


def main(arguments: list[str]) -> int:
    """Print a table: a line for each scanner, a column for each group of texts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="the interpreter of the peers' environment")
    parser.add_argument("--corpora", type=Path, default=DEFAULT_CORPORA, help="folder of the JSON lines")
    parser.add_argument("--agentdojo", type=Path, default=None, help="the wheel of AgentDojo")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        scanner = load(None, Path(folder), installed_meaning())
    bench = Bench(scanner, options.corpora, "", random.Random(SEED), options.agentdojo)  # noqa: S311 - a fixed seed, so that two runs measure the same
    texts = dict(groups(bench))
    for group in (group for group, some in texts.items() if not some):
        print(f"not measured, its corpus is not here: {group}")
    texts = {group: some for group, some in texts.items() if some}
    print(f"judging {sum(map(len, texts.values())):,} texts, some minutes ...", flush=True)
    said = ours(scanner, texts) | peers(options.python, texts)
    for group, some in texts.items():
        print(f"\n{group} ({len(some):,})")
        for name, by_group in said.items():
            print(f"   {name:<34} {sum(by_group[group]) / len(some):7.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
