"""Weighing: from matches to findings.

Every rule about language has points. A rule counts once in a text, with the weight of its heaviest match; what is
negated counts for a part (`memolith.scanner.context`). A finding is high when its own points reach `BAR`, medium from
`MEDIUM` points. The bar is the same for a text of any length: else an order could be hidden by what stands around it.

When no rule reaches the bar, and those that stand near each other reach `SUM_BAR` together, that is a finding too: a
persona is built from many small sentences. Words count once there, for the heaviest rule that matches them, and what
is negated does not add up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from memolith.scanner.context import MENTIONED, mentioned, share_kept
from memolith.scanner.excerpts import Spot
from memolith.scanner.findings import Family, Severity
from memolith.scanner.rules import Rule

BAR = 7.0
"""The points that reject."""

MEDIUM = 5.0
SUM_BAR = 7.0
REACH = 2_500
"""Characters within which several signs add up."""

NEAR = 400
"""The same for signs that say little by themselves: rules that are `near`."""

Emphasis = Callable[[int, int, str], float]
"""By how much the place of a match raises its weight; given its range, and what had to be undone to see it."""


def evenly(start: int, end: int, how: str) -> float:
    """Every place counts the same: the write path's `Emphasis`."""
    return 1.0


_WIDEST = 2_000
"""Characters that a match in a text as written takes at most."""

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


def told_once(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits without those of general rules in whose words a heavier rule has one: that says the same better.

    Asked before allowed rules are left out, so that whoever allows the heavier rule is not told the general one.
    """
    heavier = sorted((hit.start, hit.end, hit.rule.weight) for hit in hits if not hit.rule.general)
    return [hit for hit in hits if not hit.rule.general or not _covered(hit, heavier)]


def _covered(hit: Hit, heavier: Sequence[tuple[int, int, float]]) -> bool:
    first = bisect_left(heavier, (hit.start - _WIDEST, 0, 0.0))
    last = bisect_left(heavier, (hit.end, 0, 0.0))
    return any(end > hit.start and weight > hit.rule.weight for _, end, weight in heavier[first:last])


def weigh(hits: Sequence[Hit], text: str, emphasis: Emphasis = evenly, everything: bool = False) -> list[Spot]:
    """Return what the hits amount to, one spot a rule: medium and high ones, and one for a sum that is high.

    Args:
        hits: matches of rules about language, allowed rules left out.
        text: as written, in which they were found.
        emphasis: raises the weight of what stands in some places.
        everything: whether to report low spots as well.
    """
    if not hits:
        return []
    weighed = _weighed(hits, text, emphasis)
    spots = [_spot(*entry) for entry in _heaviest(weighed)]
    telling = [spot for spot in spots if everything or spot.severity is not Severity.LOW]
    if all(spot.severity is not Severity.HIGH for spot in spots):
        telling += _together(weighed)
    return telling


def _weighed(hits: Iterable[Hit], text: str, emphasis: Emphasis) -> list[tuple[Hit, float]]:
    """Every hit with its points, in the order of the text."""
    weighed: list[tuple[Hit, float]] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, hit.end)):
        if hit.rule.bare and mentioned(text, hit.start, hit.end):
            weighed.append((hit, min(hit.rule.weight, MENTIONED)))
            continue
        described = hit.rule.family is Family.PERSONA  # descriptions of a persona are full of negations
        kept = 1.0 if described else share_kept(text, hit.start, hit.rule.weight)
        weighed.append((hit, hit.rule.weight * kept * (emphasis(hit.start, hit.end, hit.how) if kept == 1.0 else 1.0)))
    return weighed


def _heaviest(weighed: Iterable[tuple[Hit, float]]) -> list[tuple[Hit, float]]:
    """For each rule its heaviest hit."""
    best: dict[str, tuple[Hit, float]] = {}
    for hit, points in weighed:
        if hit.rule.id not in best or points > best[hit.rule.id][1]:
            best[hit.rule.id] = (hit, points)
    return list(best.values())


def _together(weighed: Sequence[tuple[Hit, float]]) -> list[Spot]:
    """Return the passage of at most `REACH` characters whose rules add up to most, if that reaches `SUM_BAR`.

    What is negated does not add up, and of rules that match the same words only the heaviest does. What is mentioned
    adds up with a sign close to it, and no two mentions do with each other.
    """
    weighed = _thinned(weighed)
    wide = [(hit, points) for hit, points in weighed if not hit.rule.near and not _is_mention(hit, points)]
    total, signs = max(_densest(wide, REACH), _densest(weighed, NEAR), key=lambda passage: passage[0])
    if total < SUM_BAR or len(signs) < 2:
        return []
    strongest = max(signs, key=lambda hit: hit.rule.weight)
    reason = f"{TOGETHER_REASON}: {', '.join(sorted({hit.rule.id for hit in signs}))}"
    return [
        Spot(TOGETHER, Family.INJECTION, Severity.HIGH, reason, TOGETHER_REMEDY, strongest.start, strongest.end, total)
    ]


def _densest(weighed: Sequence[tuple[Hit, float]], reach: int) -> tuple[float, list[Hit]]:
    """Return the points and the hits of the passage of at most that length whose rules add up to most."""
    best: tuple[float, list[Hit]] = (0.0, [])
    first = 0
    for last, (hit, _) in enumerate(weighed):
        while weighed[first][0].start < hit.start - reach:
            first += 1
        passage = _heaviest(weighed[first : last + 1])
        said = _apart((hit, points) for hit, points in passage if points >= hit.rule.weight or _is_mention(hit, points))
        mentions = [(hit, points) for hit, points in said if _is_mention(hit, points)]
        said = [entry for entry in said if entry not in mentions]
        said += mentions[:1] if said else []
        total = sum(points for _, points in said)
        if total > best[0]:
            best = (total, [hit for hit, _ in said])
    return best


def _is_mention(hit: Hit, points: float) -> bool:
    return hit.rule.bare and points == MENTIONED < hit.rule.weight


def _thinned(weighed: Iterable[tuple[Hit, float]]) -> list[tuple[Hit, float]]:
    """Of each rule the heaviest hit in every `REACH` / 8 characters, so that a text of nothing but hits stays cheap."""
    best: dict[tuple[str, int], tuple[Hit, float]] = {}
    for hit, points in weighed:
        place = (hit.rule.id, hit.start * 8 // REACH)
        if place not in best or points > best[place][1]:
            best[place] = (hit, points)
    return sorted(best.values(), key=lambda entry: (entry[0].start, entry[0].end))


def _apart(entries: Iterable[tuple[Hit, float]]) -> list[tuple[Hit, float]]:
    """Of hits that share words the heaviest; one about a whole sentence shares them with nothing."""
    kept: list[tuple[Hit, float]] = []
    for hit, points in sorted(entries, key=lambda entry: -entry[1]):
        if hit.rule.sentence or all(
            other.rule.sentence or hit.end <= other.start or other.end <= hit.start for other, _ in kept
        ):
            kept.append((hit, points))
    return kept


def _severity(points: float) -> Severity:
    if points >= BAR:
        return Severity.HIGH
    return Severity.MEDIUM if points >= MEDIUM else Severity.LOW


def _spot(hit: Hit, points: float) -> Spot:
    rule = hit.rule
    reason = f"{rule.reason} ({hit.how})" if hit.how else rule.reason
    return Spot(rule.id, rule.family, _severity(points), reason, rule.remedy, hit.start, hit.end, points)
