"""What takes the force from an order: a "never" right before it, and a mention of words that carry nothing out.

A guide to prompt injection is full of injections, and it is tempting to let quotation marks, a code fence, a table or
a vocabulary of attack and defence excuse them. Whoever plants an order can plant all of these around it, and a model
obeys what stands in a fence as it obeys anything else. So no part of a text vouches for another. What is left is
grammar: "never skip the safety checks" is no order to skip them. That holds for the words that follow it directly, in
the same sentence, and never for a rule of full weight.

A mention is the other thing. "Ignore all previous instructions" orders nothing by itself: it clears the way for what
comes next. So where exactly these words stand in quotation marks, inside a sentence of its own on one line, they are
worth a look and no refusal. More than one other word between the marks, or a sign of an order close by, and they count
in full.
"""

from __future__ import annotations

import re

FULL_WEIGHT = 10.0
"""The points of a rule that rejects a text of any length; nothing excuses its matches."""

NEGATED = 0.4
"""The share of its weight that a negated match keeps."""

_REACH = 40
_NEGATION = re.compile(
    r"(?:^|[.!?:;,\n(*>-]|\b(?:and|but|or|so|then|please|you|they|we|i|must|should|shall|will|can|may|do|to))[\s*_\"'`]{0,4}"
    r"(?:never|do not|don['’]?t|does not|doesn['’]?t|must not|mustn['’]?t|should not|shouldn['’]?t|cannot|can['’]?t|"
    r"won['’]?t|will not|may not|not)"
    r"(?:[ \t]+(?:ever|just|simply|blindly|try to|attempt to|be asked to|accidentally))?[\s*_]{1,3}$",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\b(?:why|can['’]?t you|won['’]?t you|could you|would you)\b[^.!?\n]*$", re.IGNORECASE)
"""A question that is a request: "why not", "can't you"."""


MENTIONED = 5.0
"""The points of words that only clear the way, quoted alone in a sentence: those of a flag."""

_OPENED = re.compile(r"[\"'`„“”«‹‚‘’「『《][ \u00a0\u202f]{0,2}(?:\w{1,10}[ ,]{1,2})?$")
_CLOSED = re.compile(
    r"^[^\W\u2e80-\uffff]{0,8}[\u2e80-\u2fff\u3040-\u9fff]{0,2}(?:[ ,][^\W\u2e80-\uffff]{1,16})?"
    r"[ \u00a0\u202f.!…。！,，]{0,3}[\"'`“”»›‘’」』》]"
)
"""The end of the last stem, at most one word more (in some languages "previous" stands last), the mark."""
_LINE = 120
_LEAST_AROUND = 12


def mentioned(text: str, start: int, end: int) -> bool:
    """Whether words stand alone in quotation marks, within a sentence of somebody else on the same line.

    Args:
        text: as written.
        start: where the words begin.
        end: where they end, or where the stem of the last one does.
    """
    before = text[max(0, start - _LINE) : start].rpartition("\n")[2]
    after = text[end : end + _LINE].partition("\n")[0]
    opened, closed = _OPENED.search(before), _CLOSED.search(after)
    if opened is None or closed is None or "\n" in text[start:end]:
        return False
    around = before[: opened.start()] + after[closed.end() :]
    return sum(3 if letter >= "\u2e80" else 1 for letter in around if letter.isalpha()) >= _LEAST_AROUND


def share_kept(text: str, start: int, weight: float) -> float:
    """Return the share of its weight that a match keeps: less than 1 if a negation stands right before it.

    Args:
        text: as written.
        start: where the match begins.
        weight: of its rule; a match of `FULL_WEIGHT` keeps all of it.
    """
    if weight >= FULL_WEIGHT:
        return 1.0
    before = text[max(0, start - _REACH) : start]
    return NEGATED if _NEGATION.search(before) and not _ASKED.search(before) else 1.0
