"""The prebuilt database: compiled patterns and parsed rules in one file of the bundle.

Compiling takes some fifteen seconds and parsing the rule files a tenth of one; both are done once, when the bundle is
built. A hyperscan database belongs to the kind of processor and the version of hyperscan that made it. So the file says
what it was made from, and whatever does not fit is not used: the caller compiles instead, and says so.

Layout: `MAGIC`, the length of the header (4 bytes, big-endian), the header (compressed JSON: fingerprint of the rule
files, the rules, the lengths of each set's databases), the databases.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import hyperscan

from memolith.scanner.case_folding import read_confusables
from memolith.scanner.disguises import ENCODINGS, SPELLINGS
from memolith.scanner.engine import Engine, PatternSet, compile_databases
from memolith.scanner.findings import Family
from memolith.scanner.lexicon import Lexicon, words_of
from memolith.scanner.rules import DEEP, RULES_DIRECTORY, Rule, fingerprint, patterns_of, read_rules
from memolith.scanner.secrets import CANDIDATES
from memolith.scanner.signs import Signs, read_tables

MAGIC = b"memolith-scanner-5\n"
DATABASE_NAME = "scanner.hsdb"


class UnusableDatabaseError(ValueError):
    """A prebuilt database that does not fit this machine, this hyperscan or these rules."""


@dataclass(frozen=True)
class Matchers:
    """What a scan matches with.

    Attributes:
        folded: the rules about language, for the folded copy.
        written: the rules about secrets and all marks, for the text as written.
        rules: those of both.
        confusables: see `memolith.scanner.case_folding.read_confusables`.
        deep_ids: of the deeper rules.
        signs: what a sentence speaks of; see `memolith.scanner.signs`.
        lexicon: the words that disguises are undone for.
        load_deep: makes the engine of the deeper rules, for the folded copy too. The write path never asks for it.
    """

    folded: Engine
    written: Engine
    rules: tuple[Rule, ...]
    confusables: dict[str, str]
    deep_ids: frozenset[str]
    signs: Signs
    lexicon: Lexicon
    load_deep: Callable[[], Engine]

    def split_marks(self, marks: dict[int, list[int]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
        """Split the marks of the text as written into those of `CANDIDATES` and of `ENCODINGS`, each from 0."""
        first = len(CANDIDATES)
        return (
            {mark: ends for mark, ends in marks.items() if mark < first},
            {mark - first: ends for mark, ends in marks.items() if mark >= first},
        )


def pattern_sets(rules: Sequence[Rule]) -> tuple[PatternSet, PatternSet]:
    """Return two sets to compile: rules about language (folded copy), rules about secrets and marks (as written)."""
    secret = [rule for rule in rules if rule.family is Family.SECRET]
    language = [rule for rule in rules if rule.family is not Family.SECRET]
    return (
        PatternSet(patterns_of(language), SPELLINGS, marks_apart=True),
        PatternSet(patterns_of(secret), CANDIDATES + ENCODINGS),
    )


def deep_set(rules: Sequence[Rule]) -> PatternSet:
    """Return the set to compile of the deeper rules."""
    return PatternSet(patterns_of(rules))


def compile_matchers(directory: Path = RULES_DIRECTORY) -> Matchers:
    """Parse the rules and compile them. Some fifteen seconds of CPU."""
    rules, deep_rules = read_rules(directory), read_rules(directory / DEEP)
    folded, written = pattern_sets(rules)

    def load_deep() -> Engine:
        deep = deep_set(deep_rules)
        return Engine(deep, compile_databases(deep))

    return Matchers(
        Engine(folded, compile_databases(folded)),
        Engine(written, compile_databases(written)),
        rules,
        read_confusables(),
        frozenset(rule.id for rule in deep_rules),
        Signs(read_tables()),
        Lexicon(_words(rules)),
        load_deep,
    )


def build_database(target: Path, directory: Path = RULES_DIRECTORY) -> None:
    """Compile the rules and write the file that `load_matchers` reads. Run by the bundler, on the target's processor.

    Raises:
        RuleError: a rule file is wrong.
        OSError: the file cannot be written.
    """
    rules, deep = read_rules(directory), read_rules(directory / DEEP)
    databases = [
        [hyperscan.dumpb(database) for database in compile_databases(patterns)]
        for patterns in (*pattern_sets(rules), deep_set(deep))
    ]
    header = {
        "fingerprint": database_fingerprint(directory),
        "rules": [asdict(rule) for rule in rules],
        "deep_rules": [asdict(rule) for rule in deep],
        "confusables": read_confusables(),
        "signs": read_tables(),
        "words": _words(rules),
        "lengths": [[len(database) for database in of_set] for of_set in databases],
    }
    encoded = zlib.compress(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(MAGIC + struct.pack(">I", len(encoded)) + encoded + b"".join(chain.from_iterable(databases)))


def load_matchers(source: Path, directory: Path = RULES_DIRECTORY) -> Matchers:
    """Read a prebuilt database. A few milliseconds.

    Raises:
        UnusableDatabaseError: missing, damaged, or made for other rules, another hyperscan or another processor.
    """
    try:
        content = source.read_bytes()
    except OSError as error:
        raise UnusableDatabaseError(f"{source.name} cannot be read: {error.strerror}") from error
    if not content.startswith(MAGIC):
        raise UnusableDatabaseError(f"{source.name} is not a scanner database of this version")
    start = len(MAGIC) + 4
    (length,) = struct.unpack(">I", content[len(MAGIC) : start])
    try:
        header = json.loads(zlib.decompress(content[start : start + length]))
    except (ValueError, zlib.error) as error:
        raise UnusableDatabaseError(f"{source.name} is damaged") from error
    if header["fingerprint"] != database_fingerprint(directory):
        raise UnusableDatabaseError(f"{source.name} was built from other rules")
    rules = tuple(map(_rule, header["rules"]))
    offset, databases = start + length, []
    for sizes in header["lengths"]:
        ends = list(accumulate(sizes, initial=offset))
        databases.append([content[one:other] for one, other in pairwise(ends)])
        offset = ends[-1]
    folded, written = pattern_sets(rules)

    def load_deep() -> Engine:
        return Engine(deep_set(tuple(map(_rule, header["deep_rules"]))), _load(databases[2], source))

    return Matchers(
        Engine(folded, _load(databases[0], source)),
        Engine(written, _load(databases[1], source)),
        rules,
        header["confusables"],
        frozenset(entry["id"] for entry in header["deep_rules"]),
        Signs(header["signs"]),
        Lexicon(header["words"]),
        load_deep,
    )


def _words(rules: Iterable[Rule]) -> list[str]:
    return words_of((rule.patterns for rule in rules), read_tables()["words"])


def _load(serialized: Sequence[bytes], source: Path) -> list[Any]:
    try:
        databases = [hyperscan.loadb(database, hyperscan.HS_MODE_BLOCK) for database in serialized]
        for database in databases:
            database.scratch = hyperscan.Scratch(database)
    except hyperscan.HyperscanError as error:
        raise UnusableDatabaseError(f"{source.name} was built for another processor or hyperscan: {error}") from error
    return databases


def database_fingerprint(directory: Path = RULES_DIRECTORY) -> str:
    """Of all that is compiled; hyperscan itself refuses a database of another version or processor."""
    marks = "\0".join((*SPELLINGS, *CANDIDATES, *ENCODINGS))
    return hashlib.sha256(f"{fingerprint(directory)}\0{marks}".encode()).hexdigest()


def _rule(entry: dict[str, Any]) -> Rule:
    """Return a rule as `asdict` wrote it: JSON has no tuples and no enumerations."""
    values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()}
    values["family"] = Family(entry["family"])
    values["signs"] = tuple(map(tuple, entry["signs"]))
    return Rule(**values)
