"""Use versus mention: whether a phrase is said to the reader or shown to them.

A guide to prompt injection is full of injections. What tells it apart is around the phrase: quotation marks, code, a
table, "such as", "never", and a vocabulary of attack and defence. Each lowers a match's weight; none removes it, since
whoever plants a phrase can also put quotation marks around it. A string inside JSON is not a quotation: that is how
tool results look.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_OPENING = re.compile(r"(?:[\"'“‘«„]|(?<!`)`(?!`))(?=[^\"“”«»`]*$)")
_CLOSING = re.compile(r"[\"'”’»`“]")
_JSON_BEFORE = re.compile(r"[\"'][ \t]*:[ \t]*$|[\[,{][ \t]*$")
_NEGATED = re.compile(
    r"(?:\b(?:never|not|don'?t|doesn'?t|mustn'?t|shouldn'?t|cannot|can'?t|won'?t|without|refus(?:e|es|ing) to|"
    r"avoid|prevents?|blocks?|rejects?|detects?|resists?|against|instead of)\b"
    r"(?![ \t]+(?:hesitate|forget|fail|worry|be afraid|only|just))[ \t]+(?:[\w'-]+[ \t]+){0,2})$",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"\b(?:such as|like|e\.g\.?|i\.e\.?|for example|for instance|examples?|phrases?|patterns?|strings?|"
    r"attack(?:s|ers?)?|payloads?|injections?|inject(?:s|ed)?|says?|saying|asks?|asked|asking|tells?|told|telling|attempt(?:s|ing)?|"
    r"tr(?:y|ies|ied|ying) to|tricks?|instructs?|instructing|causes?|detect(?:s|ion|ed|ing)?|block(?:s|ed|ing)?|"
    r"match(?:es|ing)?|regex|contain(?:s|ing)?|include[sd]?|including|malicious|adversarial|suspicious|"
    r"(?:when|if) (?:an? |the )?users?|input|prompts? like|known as|called|technique|jailbreaks?)\b",
    re.IGNORECASE,
)
_BEFORE = 100
_QUOTE_REACH = 60
_CLOSE_REACH = 160

VOCABULARY = (
    "prompt injection", "jailbreak", "adversarial", "attacker", "malicious", "mitigat", "guardrail", "red team",
    "owasp", "threat model", "vulnerab", "exploit", "exfiltrat", "sanitiz", "untrusted", "defens", "poisoning",
    "payload", "detection", "bypass", "false positive", "social engineering", "phishing", "evasion",
    "countermeasure", "attack vector", "security", "injection attack", "homoglyph", "confusable",
)  # fmt: skip
"""Terms of attack and defence, in lower case: a text that uses many of them is about injections."""


@dataclass(frozen=True)
class Context:
    """A text's surroundings, looked up a match at a time. Costs nothing before the first.

    Attributes:
        text: as written.
        terms: how many different terms of `VOCABULARY` it uses.
    """

    text: str
    terms: int

    @cached_property
    def _fences(self) -> list[int]:
        return sorted(position for mark in ("```", "~~~") for position in self._line_starts_with(mark))

    def _line_starts_with(self, mark: str) -> Iterator[int]:
        position = self.text.find(mark)
        while position >= 0:
            if position == 0 or self.text[position - 1] == "\n" or self._indented(position):
                yield position
            position = self.text.find(mark, position + len(mark))

    def _indented(self, position: int) -> bool:
        """Whether nothing but blanks and quote marks stand before a position on its line."""
        return not self.text[self.text.rfind("\n", 0, position) + 1 : position].strip(" \t>")

    def fenced(self, position: int) -> bool:
        """Whether a position stands inside a closed block of code, in a text that is not all one such block."""
        before = bisect_right(self._fences, position)
        return before % 2 == 1 and before < len(self._fences) and self._fences[0] > 0

    def discount(self, start: int, end: int, negatable: bool = True, how: str = "") -> float:
        """The share of its weight that a match keeps: 1 if it is said to the reader, less if it is shown to them.

        Args:
            start: where the match begins.
            end: where it ends.
            negatable: whether a "not" before it takes its force; descriptions of a persona are full of those.
            how: what had to be undone to see it, if anything; nothing here depends on that.
        """
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", end)
        before = self.text[max(line_start, start - _BEFORE) : start]
        after = self.text[end : line_end if line_end >= 0 else len(self.text)]
        if negatable and _NEGATED.search(before):
            return 0.4
        line = self.text[line_start : min(line_start + 4, len(self.text))].lstrip()
        marked = self.fenced(start) or line.startswith("|") or _quoted(before, after)
        terms = self.terms
        if marked and (terms >= 3 or _DESCRIBED.search(before)):
            return 0.5
        if terms >= 2 and _DESCRIBED.search(before):
            return 0.5
        if terms >= 6 or (marked and terms >= 1):
            return 0.6
        return 0.7 if marked else 1.0


def _quoted(before: str, after: str) -> bool:
    """Whether a short quotation, not a JSON string, encloses the match."""
    near = before[-_QUOTE_REACH:]
    opening = _OPENING.search(near)
    if opening is None or not _CLOSING.search(after[:_CLOSE_REACH]):
        return False
    apostrophe = near[opening.start()] == "'" and opening.start() > 0 and near[opening.start() - 1].isalnum()
    return not apostrophe and not _JSON_BEFORE.search(near[: opening.start()])
