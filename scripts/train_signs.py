"""Learn what the signs of an order are worth: writes `functions/memolith/scanner/rules/signs/weights.toml`.

    python -m scripts.train_signs --hold-out signs   # train without an origin and half of the documents, report on it
    python -m scripts.train_signs --write            # train on all of them, keep the weights

A logistic regression over `Signs.features`. An attack is as strong as its strongest clause, so after a first round
only that clause counts; of a harmless text every clause does. Deterministic: the same texts, the same weights. The
held-out half and `intents_check.txt` are never read here.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memolith.scanner.case_folding import CaseFolder, distinct, read_confusables
from memolith.scanner.rules import RULES_DIRECTORY, read_rules
from memolith.scanner.signs import FOLDER, Signs, read_tables
from scripts import scanner_cases as cases
from scripts import scanner_corpus as corpus

OWN = ("development", "intents", "intents_six", "signs")
MIXED = ("mix_bastioncorpus", "mix_promptbadger")
BENIGN = ("ben_cursorrules", "ben_superpowers", "ben_voltagents", "ben_wshobson")
ROUNDS, STEPS, RATE = 4, 120, 0.08
DECAY = 2.0
"""How strongly weights are held near nothing; those of hand-picked triples and of single signs less."""


@dataclass(frozen=True)
class Text:
    """One text to learn from: where it comes from, what it is, how much each of its clauses counts."""

    origin: str
    attack: bool
    text: str
    weight: float
    document: bool = False

    @property
    def kind(self) -> str:
        """In which column of a report it counts."""
        return "attacks" if self.attack else "documents" if self.document else "harmless"


def texts(corpora: Path) -> Iterator[Text]:
    """Yield every text that there is to learn from; what is not on this machine is left out and said so."""
    for name in OWN:
        for own in corpus.read(name):
            yield Text(name, not own.harmless, own.text, 3.0 if own.harmless else 1.0)
    for rule in read_rules(RULES_DIRECTORY):
        if rule.family.value in ("injection", "persona") and rule.weight >= 7:
            yield from (Text("rules", True, text, 0.5) for text in rule.positives)
        yield from (Text("rules", False, text, 1.0) for text in rule.negatives)
    for name in MIXED:
        for row in _rows(corpora / "scanner-dev" / f"{name}.jsonl"):
            yield Text(name, row["label"] == "malicious", row["text"], 1.0)
    for name in BENIGN:
        for row in _rows(corpora / "scanner-dev" / f"{name}.jsonl"):
            yield Text(name, False, row["text"], 1.0, document=True)
    for row in _rows(corpora / "recall-dev" / "memories.jsonl"):
        yield Text("recall", False, row["text"], 1.0, document=True)
    yield from (Text("readme", False, text[:60_000], 1.0, document=True) for text in cases.readmes())
    yield from (Text("docs", False, text, 1.0, document=True) for _, text in cases.documents())
    yield from (Text("manual", False, text, 1.0, document=True) for text in manuals(0))
    yield from (Text("messages", False, text, 1.0) for text in list(_messages())[::2])


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        print(f"{path.name} is not here; left out")
        return []
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]


def manuals(half: int) -> Iterator[str]:
    """Yield every second manual page in nine languages that is installed here; the other half is for tests."""
    for language in ("de", "es", "fr", "it", "pt", "pt_BR", "pl", "ru", "zh_CN", "ja"):
        pages = sorted(Path("/usr/share/man").glob(f"{language}/man[158]/*.gz"))[half::2][:20]
        for page in pages:
            written = gzip.decompress(page.read_bytes()).decode("utf-8", "replace")
            prose = re.sub(r"(?m)^[.'][A-Za-z]*|\\f(?:\[\w*\]|.)|\\[&e-]", "", written)
            yield prose[:15_000]
    tutors = sorted(Path("/usr/share/vim").glob("vim*/tutor/tutor.*.utf-8"))
    spoken = {"de", "es", "fr", "it", "pt", "pl", "ru", "zh_cn", "ja"}
    yield from (path.read_text("utf-8") for path in tutors if path.suffixes[0][1:] in spoken and half == 0)


def _messages() -> Iterator[str]:
    """Yield what Vim says to its users in nine languages, where it is installed: orders, and none to a reader."""
    for path in sorted(Path("/usr/share/vim").glob("vim*/lang/*/LC_MESSAGES/vim.mo")):
        language, _, charset = path.parts[-3].partition(".")
        if language in {"de", "es", "fr", "it", "pt_BR", "ja", "zh_CN", "pl", "ru"} and charset in {"", "UTF-8"}:
            yield from (text for text in _catalog(path) if len(text) > 15)


def _catalog(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    count, _, table = (int.from_bytes(content[at : at + 4], "little") for at in (8, 12, 16))
    charset = "utf-8"
    for number in range(count):
        entry = table + 8 * number
        length, offset = (int.from_bytes(content[at : at + 4], "little") for at in (entry, entry + 4))
        message = content[offset : offset + length]
        if number == 0:
            found = re.search(rb"charset=([\w-]+)", message)
            charset = found[1].decode() if found else charset
        else:
            yield message.split(b"\0")[0].decode(charset, "replace")


class Table:
    """The clauses of texts as rows of feature numbers."""

    def __init__(self, signs: Signs, found: Sequence[Text]) -> None:
        """Read every text once."""
        confusables = CaseFolder(read_confusables())
        self.texts, self.names = found, {"bias": 0}
        self.rows: list[list[list[int]]] = []
        for text in found:
            encoded = text.text.encode("utf-8", "replace")
            folded = confusables.fold(encoded.decode(), encoded, distinct(encoded)).text
            seen = {clause for clause in signs.clauses(folded) if clause.here.bit_count() > 1}
            self.rows.append(
                [[self.names.setdefault(name, len(self.names)) for name in signs.features(clause)] for clause in seen]
            )

    def fit(self, chosen: Sequence[int]) -> np.ndarray:
        """Return a weight for each feature, learned from some of the texts."""
        flat: list[int] = []
        starts: list[int] = []
        attack: list[bool] = []
        counts: list[float] = []
        owner: list[int] = []
        for number in chosen:
            for row in self.rows[number]:
                starts.append(len(flat))
                flat += row
                attack.append(self.texts[number].attack)
                counts.append(self.texts[number].weight)
                owner.append(number)
        places, begin = np.array(flat), np.array(starts)
        row_of = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(flat))))
        wanted, share = np.array(attack, float), np.array(counts)
        decay, floor = self._held()
        weights, mean, spread, step = (*(np.zeros(len(self.names)) for _ in range(3)), 0)
        weights[0] = -5.0
        for done in range(ROUNDS):
            used = (
                share if done == 0 else share * self._strongest(np.add.reduceat(weights[places], begin), wanted, owner)
            )
            for _ in range(STEPS):
                step += 1
                score = np.add.reduceat(weights[places], begin)
                wrong = (1 / (1 + np.exp(-np.clip(score, -30, 30))) - wanted) * used
                slope = np.bincount(places, weights=wrong[row_of], minlength=len(weights)) + decay * weights
                mean, spread = 0.9 * mean + 0.1 * slope, 0.999 * spread + 0.001 * slope * slope
                weights = weights - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
                weights = np.maximum(weights, floor)
        return weights

    def _held(self) -> tuple[np.ndarray, np.ndarray]:
        """Return how strongly each weight is held near nothing, and the least that it may be."""
        decay, floor = np.full(len(self.names), DECAY), np.full(len(self.names), -np.inf)
        for name, place in self.names.items():
            if name == "bias":
                decay[place] = 0.0
            elif " " in name:
                decay[place] *= 0.1
                floor[place] = 0.0
            elif "+" not in name:
                decay[place] *= 0.3
        return decay, floor

    @staticmethod
    def _strongest(score: np.ndarray, wanted: np.ndarray, owner: Sequence[int]) -> np.ndarray:
        best: dict[int, int] = {}
        for row in map(int, np.nonzero(wanted)[0]):
            if owner[row] not in best or score[row] > score[best[owner[row]]]:
                best[owner[row]] = row
        used = 1.0 - wanted
        used[list(best.values())] = 1.0
        return used

    def score(self, weights: np.ndarray, number: int) -> float:
        """Return the score of a text's strongest clause."""
        return max((float(weights[row].sum()) for row in self.rows[number]), default=-99.0)


def report(table: Table, weights: np.ndarray, origins: Sequence[str]) -> None:
    """Print the shares of attacks and of harmless texts above some scores."""
    for bar in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        shares = []
        for label in ("attacks", "harmless", "documents"):
            scores = [
                table.score(weights, number)
                for number, text in enumerate(table.texts)
                if text.kind == label and (text.document or text.origin in origins)
            ]
            shares.append(f"{label} {np.mean([score >= bar for score in scores]):.3f} of {len(scores)}")
        print(f"bar {bar}: {', '.join(shares)}")


def write(table: Table, weights: np.ndarray, tables: dict[str, Any]) -> None:
    """Keep the weights, each with the name of what it weighs."""
    kept = {name: round(float(weights[place]), 2) for name, place in table.names.items()}
    old = tables["weights"]
    lines = [
        "# What the signs are worth, learned by `python -m scripts.train_signs --write` from the repository's own",
        "# texts (scripts/scanner_corpus without its held-out half and intents_check.txt), the rules' own examples,",
        "# two public collections of short injections, and harmless instruction files, read-me files and messages.",
        "# Never edited but for the two bars and the triples, which are chosen by hand.",
        "",
        f"reject = {old['reject']}",
        f"note = {old['note']}",
        f"triples = {json.dumps(old['triples'], indent=2)}",
        "",
        "[weight]",
        *(f"{json.dumps(name)} = {weight}" for name, weight in sorted(kept.items()) if abs(weight) >= 0.05),
    ]
    (FOLDER / "weights.toml").write_text("\n".join(lines) + "\n", "utf-8")


def main(arguments: list[str]) -> int:
    """Train, and report or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=Path("../shared/corpora"))
    parser.add_argument("--hold-out", action="append", default=[], help="an origin to leave out and to report on")
    parser.add_argument("--write", action="store_true", help="keep the weights")
    options = parser.parse_args(arguments)
    tables = read_tables()
    table = Table(Signs(tables), list(texts(options.corpora)))
    chosen = [number for number, text in enumerate(table.texts) if text.origin not in options.hold_out]
    if options.hold_out:
        background = [number for number in chosen if table.texts[number].document]
        random.Random(3).shuffle(background)  # noqa: S311 - a fixed seed: half of the documents is held out, too
        chosen = sorted(set(chosen) - set(background[::2]))
    weights = table.fit(chosen)
    report(table, weights, options.hold_out or OWN + MIXED)
    if options.write:
        write(table, weights, tables)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
