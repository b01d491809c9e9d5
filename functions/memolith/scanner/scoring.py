"""Weighing: from matches to findings.

Every rule about language has points. A rule counts once in a text, with the weight of its heaviest match; what is only
shown to the reader counts for a part (`memolith.scanner.context`). A finding is high when its own points reach the bar,
medium from `MEDIUM` points. The bar rises with the length of the text, which collects words by accident.

When no rule reaches the bar, and those that stand near each other reach `SUM_BAR` together, that is a finding too: a
persona is built from many small sentences. What is only shown does not add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memolith.scanner.context import Context
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import Family, Severity
from memolith.scanner.rules import Rule

SHORT_TEXT, LONG_TEXT = 600, 3_000
BAR_SHORT, BAR_LONG = 7.0, 10.0
MEDIUM = 5.0
SUM_BAR = 7.0
REACH = 2_500
"""Characters within which several signs add up."""

TOGETHER = "several-signs"
TOGETHER_REASON = "several phrases that together turn a reader's instructions around"
TOGETHER_REMEDY = "Reword or remove the phrases listed, or ask an administrator to allow this rule for the store."


@dataclass(frozen=True, slots=True)
class Hit:
    """One match in the text as written: its rule, its place, and what had to be undone to see it."""

    rule: Rule
    start: int
    end: int
    how: str = ""


def bar(length: int) -> float:
    """The points that reject, for a text of so many characters."""
    share = min(max((length - SHORT_TEXT) / (LONG_TEXT - SHORT_TEXT), 0.0), 1.0)
    return BAR_SHORT + share * (BAR_LONG - BAR_SHORT)


def weigh(hits: Sequence[Hit], context: Context, limit: float, everything: bool = False) -> list[Spot]:
    """What the hits amount to, one spot a rule: medium and high ones, and one for a sum that is high.

    Args:
        hits: matches of rules about language, allowed rules left out.
        context: the text that they were found in.
        limit: the points from which a spot is high; on the write path, the `bar` of the text's length.
        everything: whether to report low spots as well.
    """
    if not hits:
        return []
    weighed = _weighed(hits, context)
    spots = [_spot(*entry, limit) for entry in _heaviest(weighed)]
    telling = [spot for spot in spots if everything or spot.severity is not Severity.LOW]
    if all(spot.severity is not Severity.HIGH for spot in spots):
        telling += _together(weighed)
    return telling


def _weighed(hits: Iterable[Hit], context: Context) -> list[tuple[Hit, float]]:
    """Every hit with its points, in the order of the text."""
    weighed: list[tuple[Hit, float]] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, hit.end)):
        kept = context.discount(hit.start, hit.end, hit.rule.family is not Family.PERSONA, hit.how)
        weighed.append((hit, hit.rule.weight * kept))
    return weighed


def _heaviest(weighed: Iterable[tuple[Hit, float]]) -> list[tuple[Hit, float]]:
    """For each rule its heaviest hit."""
    best: dict[str, tuple[Hit, float]] = {}
    for hit, points in weighed:
        if hit.rule.id not in best or points > best[hit.rule.id][1]:
            best[hit.rule.id] = (hit, points)
    return list(best.values())


def _together(weighed: Sequence[tuple[Hit, float]]) -> list[Spot]:
    """The passage of at most `REACH` characters whose rules add up to most, if that reaches `SUM_BAR`.

    What is only shown to the reader does not add up.
    """
    best: tuple[float, list[Hit]] = (0.0, [])
    first = 0
    for last, (hit, _) in enumerate(weighed):
        while weighed[first][0].start < hit.start - REACH:
            first += 1
        passage = _heaviest(weighed[first : last + 1])
        said = [(hit, points) for hit, points in passage if points >= hit.rule.weight]
        total = sum(points for _, points in said)
        if total > best[0]:
            best = (total, [hit for hit, _ in said])
    points, signs = best
    if points < SUM_BAR or len(signs) < 2:
        return []
    strongest = max(signs, key=lambda hit: hit.rule.weight)
    reason = f"{TOGETHER_REASON}: {', '.join(sorted({hit.rule.id for hit in signs}))}"
    return [
        Spot(TOGETHER, Family.INJECTION, Severity.HIGH, reason, TOGETHER_REMEDY, strongest.start, strongest.end, points)
    ]


def _severity(points: float, limit: float) -> Severity:
    if points >= limit:
        return Severity.HIGH
    return Severity.MEDIUM if points >= MEDIUM else Severity.LOW


def _spot(hit: Hit, points: float, limit: float) -> Spot:
    rule = hit.rule
    reason = f"{rule.reason} ({hit.how})" if hit.how else rule.reason
    return Spot(rule.id, rule.family, _severity(points, limit), reason, rule.remedy, hit.start, hit.end, points)
