"""Rules are data: one family a TOML file, each rule with what it says, what it must find and what it must not.

A rule's patterns are regular expressions over the folded copy of a text (`memolith.scanner.case_folding`: lower case,
no accents on Latin letters, no invisible characters, straight quotes). Three shorthands keep them readable:

- a blank outside a character class stands for the gap between two words: white space, line breaks with their comment
  or quote marks, markdown emphasis; never the end of a sentence;
- ``<name>`` stands for a list of the file's ``[words]`` table;
- ``...`` before a repetition, as in ``...{0,30}``, stands for a character of the same sentence.

A file may name meanings instead of rules: patterns that are one rule for each language of the file, with its words.

Instead of patterns a rule may have ``signs``: lists of expressions that stand in one sentence, in any order
(`memolith.scanner.sentences`). Its ``anchor`` is what the engine looks for.

Every pattern has a bounded width, so that one look at a hit costs the same wherever it stands.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]  # the only way to ask a pattern for its width
from typing import Any

from memolith.scanner import sentences
from memolith.scanner.findings import Family
from memolith.scanner.prefilter import GAP, SENTENCE, loosen

RULES_DIRECTORY = Path(__file__).parent / "rules"
DEEP = "deep"
"""The folder within it of the rules that are too eager, or too slow, for the write path; see
`memolith.scanner.deep`.
"""

MAX_WIDTH = 700


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        id: unique over all families; what an allow-list names.
        family: which score it adds to.
        reason: one line, in words of the person who reads a rejection.
        remedy: what that person can change.
        weight: points it adds to the family's score; see `memolith.scanner.scoring`.
        patterns: expanded regular expressions; any one of them is a hit.
        loose: the same in the form that the engine looks for; see `memolith.scanner.prefilter`.
        anchor: if not empty, what the engine looks for instead: a rare word around which the patterns are tried. What
            stands before it in a match belongs to its sentence.
        reach: how many characters after the anchor's end a match may still take.
        signs: instead of patterns; the expressions of any one list, all in one sentence, are a hit.
        near: whether it says so little that it adds up only with what stands close to it.
        bare: whether it only clears the way for an order and carries nothing out by itself; whoever quotes it in a
            sentence of his own, and nothing else with it, is not refused (`memolith.scanner.context.mentioned`).
        sentence: whether it is about a whole sentence, and so adds up with rules that match words of it.
        check: the name of a further test of the match, in `memolith.scanner.checks`, or empty.
        positives: texts that it must find.
        negatives: texts that it must not find.
        general: whether it is a meaning in one language: what a heavier rule finds in the same words is told instead.
        language: which language it is a meaning in, or empty.
    """

    id: str
    family: Family
    reason: str
    remedy: str
    weight: float
    patterns: tuple[str, ...]
    loose: tuple[str, ...] = ()
    anchor: str = ""
    reach: int = 0
    check: str = ""
    positives: tuple[str, ...] = ()
    negatives: tuple[str, ...] = ()
    general: bool = False
    language: str = ""
    signs: tuple[tuple[str, ...], ...] = ()
    near: bool = False
    bare: bool = False
    sentence: bool = False


@dataclass(frozen=True)
class Pattern:
    """One expression of a rule, as the engine sees it.

    Attributes:
        rule: whose it is.
        expression: what confirms a match.
        loose: what the engine looks for: something cheaper that ends wherever the expression does.
    """

    rule: Rule
    expression: str
    loose: str

    @cached_property
    def width(self) -> int:
        """The longest match, in characters."""
        return sentences.REACH if self.rule.signs else pattern_width(self.expression)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Compiled on the first hit, not at start: there are hundreds, and a text hits few."""
        return re.compile(self.expression)

    @cached_property
    def signs(self) -> tuple[tuple[re.Pattern[str], ...], ...]:
        """Those of the rule, compiled on the first hit."""
        return tuple(tuple(map(re.compile, signs)) for signs in self.rule.signs)


def patterns_of(rules: Iterable[Rule]) -> tuple[Pattern, ...]:
    """Every expression of the rules, in order; the position is the id that the engine reports.

    The expressions of a rule with an anchor become one: they share what is looked for.
    """
    patterns: list[Pattern] = []
    for rule in rules:
        if rule.signs:
            patterns.append(Pattern(rule, "", rule.anchor))
        elif rule.anchor:
            patterns.append(Pattern(rule, "|".join(f"(?:{expression})" for expression in rule.patterns), rule.anchor))
        else:
            patterns += map(Pattern, repeat(rule), rule.patterns, rule.loose)
    return tuple(patterns)


class RuleError(ValueError):
    """A rule file does not say what it must. Raised when rules are loaded, so never while scanning."""


def pattern_width(pattern: str) -> int:
    """Return the longest text a pattern can match.

    Raises:
        RuleError: the pattern has no bound, or one beyond `MAX_WIDTH`.
    """
    width = int(_parser.parse(pattern).getwidth()[1])
    if width > MAX_WIDTH:
        raise RuleError(f"unbounded or too wide ({width} characters): {pattern}")
    return width


def expand(pattern: str, words: Mapping[str, str]) -> str:
    """Write a pattern out: word lists, sentence gaps, word gaps."""

    def word_list(match: re.Match[str]) -> str:
        if match[1] not in words:
            raise RuleError(f"no word list named {match[1]!r}")
        return f"(?:{expand(words[match[1]], words)})"

    pattern = _sentence_gaps(pattern)
    pattern = re.sub(r"<([a-z_0-9]+)>", word_list, pattern)
    return re.sub(r"(\[(?:\\.|[^\]\\])*\])| +(?=[?*+{])| +", lambda m: m[1] or _gap(m), pattern)


def _gap(blank: re.Match[str]) -> str:
    """Return a gap between words; a group of its own if a quantifier follows."""
    return f"(?:{GAP})" if blank.string[blank.end() : blank.end() + 1] in tuple("?*+{") else GAP


def _sentence_gaps(pattern: str) -> str:
    return re.sub(r"\.\.\.(?=\{0,\d+\})", lambda _: SENTENCE, pattern)


def read_rules(directory: Path = RULES_DIRECTORY) -> tuple[Rule, ...]:
    """Every rule of every family in a folder, without those below it, in the order of the files' names.

    Raises:
        RuleError: a field is missing, an id is used twice, a pattern is not bounded.
    """
    rules: dict[str, Rule] = {}
    for path in sorted(directory.glob("*.toml")):
        for rule in _rules_of(path.stem, tomllib.loads(path.read_text("utf-8"))):
            if rule.id in rules:
                raise RuleError(f"{path.name}: rule id {rule.id!r} is used twice")
            rules[rule.id] = rule
    return tuple(rules.values())


def fingerprint(directory: Path = RULES_DIRECTORY) -> str:
    """SHA-256 over the rule files, to tell whether a prebuilt database was built from them."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*.toml")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _edge(spaced: bool, words: Iterable[str]) -> str:
    """Return what is before a word; the engine knows no edges of words beyond ASCII, and leaves a look behind out."""
    if not spaced:
        return ""
    return r"\b" if "".join(words).isascii() else r"(?<!\w)"


def _stems(spaced: bool, words: Iterable[str]) -> str:
    """Return an expression of a list's words; those that begin with a class or an anchor need no edge."""
    marked = [word for word in words if word.startswith(("[", "(?:^"))]
    plain = [word for word in words if word not in marked]
    stems = [f"{_edge(spaced, plain)}(?:{'|'.join(plain)})"] if plain else []
    return "|".join([*stems, *marked])


def _meanings(document: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Mapping[str, str]]]:
    """Every meaning in every language that has examples of it: an entry as of a rule, and its word lists.

    A list's words are stems: in a language with blanks they begin at the beginning of a word and end anywhere. What a
    language says in another order than most, it gives in its own `forms`.
    """
    for language, table in document.get("language", {}).items():
        words = {
            key: _stems(table["spaced"], value)
            for key, value in table.items()
            if isinstance(value, list) and key != "negatives"
        }
        for meaning in document["meaning"]:
            if meaning["id"] not in table["positives"]:
                continue
            yield (
                {
                    **meaning,
                    **table.get("forms", {}).get(meaning["id"], {}),
                    "id": f"{meaning['id']}-{language}",
                    "reason": meaning["reason"].replace("{language}", table["label"]),
                    "positives": table["positives"][meaning["id"]],
                    "negatives": table["negatives"],
                    "general": True,
                    "language": language,
                },
                words,
            )


def _rules_of(name: str, document: Mapping[str, Any]) -> list[Rule]:
    lists: Mapping[str, str] = {key: "|".join(value) for key, value in document.get("words", {}).items()}
    family = Family(document["family"])
    rules = []
    for entry, words in (*((entry, lists) for entry in document.get("rule", [])), *_meanings(document)):
        body = {"signs", "anchor"} if "signs" in entry else {"patterns"}
        missing = {"id", "reason", "remedy", "weight", *body} - set(entry)
        if missing:
            raise RuleError(f"{name}.toml: {entry.get('id', '?')} lacks {', '.join(sorted(missing))}")
        rules.append(
            Rule(
                id=entry["id"],
                family=family,
                reason=entry["reason"],
                remedy=entry["remedy"],
                weight=float(entry["weight"]),
                patterns=tuple(expand(pattern, words) for pattern in entry.get("patterns", ())),
                loose=tuple(loosen(expand(pattern, words)) for pattern in entry.get("patterns", ())),
                anchor=loosen(expand(entry.get("anchor", ""), words)),
                reach=int(entry.get("reach", 0)),
                check=entry.get("check", ""),
                positives=tuple(entry.get("positives", ())),
                negatives=tuple(entry.get("negatives", ())),
                general=bool(entry.get("general", False)),
                language=entry.get("language", ""),
                signs=tuple(tuple(expand(sign, words) for sign in signs) for signs in entry.get("signs", ())),
                near=bool(entry.get("near", False)),
                bare=bool(entry.get("bare", False)),
            )
        )
    return rules
