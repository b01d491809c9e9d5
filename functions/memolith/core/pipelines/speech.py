"""What a person says themselves in a message, sentence by sentence, and which sentences can teach nothing. Pure.

By words, in English. Left out is what a person only passes on (fences, quotations, what follows "the page says:"), and
what is no statement about more than this moment: questions, suppositions, tasks, asides, progress.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SENTENCE_MAX_CHARS = 600
"""A longer one says too much to be one thing; what is read of one is bounded, too."""

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.S)
_PARAGRAPH = re.compile(r"\n\s*\n")
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|no|st|dr|mr|mrs|ms)\.$", re.I)
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+")

_PASSED_ON = re.compile(
    r"\b(?:says?|said|states?|reads?|wrote|writes|found|got|saw|copied|pasted?|quot\w+|replied|returned|printed|"
    r"shows?|sent|mail|e-?mail|message|ticket|issue|page|docs?|readme|comment|file|log|logs|output|error|answer|"
    r"reply|text|review|snippet|transcript|below|following|here (?:is|are|it is|you go)|this is what|look at "
    r"this)\b[^.!?\n]{0,80}:(?:\s|$)",
    re.I,
)
"""What announces the words of others: they stand after its colon, to the end of the paragraph."""

_KEPT_LIST = re.compile(
    r"\b(?:remember|note|keep in mind|rules?|preferences?|conventions?|from now on|always|never)\b", re.I
)

_LEADS = re.compile(
    r"^(?:(?:ok(?:ay)?|also|and|so|but|well|oh|ah|hey|hi|hello|btw|by the way|one (?:more|other|last) thing|another "
    r"thing|quick (?:note|one)|side note|fyi|for your information|just so (?:that )?you know|heads[- ]up|look|"
    r"listen|right|wait|hold on|hmm+|sure|great|good|nice|cool|perfect|thanks(?: a lot)?|thank you|plus|besides|in "
    r"addition|additionally|again|for (?:the record|context|background|reference|future reference)|as (?:a reminder|"
    r"you know|i said)|reminder|important|you should know(?: that)?|it'?s (?:worth|good) (?:knowing|noting)(?: "
    r"that)?|yes|yeah|yep|yup|exactly|indeed|correct|to be clear|generally|in general|as a "
    r"rule)\b\s*[,.:;!–—-]*\s+)+",
    re.I,
)

_HEDGED = re.compile(
    r"\b(?:what if|suppos(?:e|ing)|imagine|let'?s say|say we|maybe|perhaps|might|may want|could|would|"
    r"wonder(?:ing)?|not sure|unsure|i (?:think|guess|suppose|believe|hope|wish)|probably|possibly|presumably|"
    r"hypothetical(?:ly)?|in theory|theoretically|one day|some ?day|eventually|at some point|(?:thinking|dreaming) "
    r"(?:about|of)|consider(?:ing)?|toying|tempted|should we|shall we|as if|if only|were to|seems?|apparently|i'?m "
    r"(?:curious|torn))\b",
    re.I,
)
_FIRM_WOULD = re.compile(r"\b(?:(?:would|'d) (?:much )?(?:rather|prefer)|would like you to)\b", re.I)
"""What has the words of a supposition and is a wish."""

_MOMENT = re.compile(
    r"\b(?:right now|for now|this time|just this once|only this once|(?:in|for) this (?:session|chat|conversation|"
    r"task|one)|currently|at the moment|for the moment|temporarily|tonight|this (?:morning|afternoon|evening)|just "
    r"now|in a (?:minute|second|moment|bit)|one sec(?:ond)?|until then|while (?:you|i) (?:are|am|'re|'m)|next step|"
    r"first step|yet)\b",
    re.I,
)
_ASIDE = re.compile(
    r"^(?:(?:actually|no|wait|well)[,.]? )*(?:never ?mind|don'?t (?:worry|bother|panic|mind)|do not (?:worry|"
    r"bother)|no (?:worries|problem|rush|hurry|need|thanks|thank you|idea|clue|luck|wonder|doubt|big deal|pressure|"
    r"matter|kidding|way)\b|nothing|forget (?:it|about it|that)|scratch that|my (?:bad|mistake|fault|apologies)|"
    r"sorry|i'?m (?:sorry|back|done|off|away|going|heading|about)|we'?re (?:done|good|all set)|(?:that|this|it|"
    r"which)(?:'s| is| was| works?| looks?| sounds?| did| does| makes?| helped?)\b|thanks|thank you)",
    re.I,
)
_CONTRAST = re.compile(
    r",\s*(?:not|never(?! mind))\b|\binstead of\b|\brather than\b|\bno longer\b|\bnot\b.*\bbut\b", re.I
)
_DEPENDENT = re.compile(
    r"^(?:it|they|he|she|them|those|these|this|that|there|otherwise|because|the reason|so that|that'?s why|this way|"
    r"that way|instead)\b",
    re.I,
)
_REASON = re.compile(r"^(?:otherwise|because|the reason|so that|that'?s why|this is (?:because|why))\b", re.I)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a person's own.

    Attributes:
        text: without marks of lists and without words that only lead to it.
        is_question: whether it asks.
        is_hedged: whether it supposes, or leaves open.
        is_momentary: whether it holds for this task alone, or is said by the way.
        is_dependent: whether it says nothing without the sentence before.
        is_reason: whether it gives the reason of the sentence before.
        opens: whether it begins a paragraph.
    """

    text: str
    is_question: bool
    is_hedged: bool
    is_momentary: bool
    is_dependent: bool
    is_reason: bool
    opens: bool

    @property
    def teaches(self) -> bool:
        """Whether it may be worth keeping, as far as its form goes."""
        return not (self.is_question or self.is_hedged or self.is_momentary)


def own_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences that a person says themselves, in their order."""
    outside = _FENCE.sub("\n\n", text.replace("’", "'"))
    for paragraph in _PARAGRAPH.split(outside):
        opens = True
        for raw in _raw_sentences(_own(paragraph)):
            sentence = _sentence(raw, opens)
            if sentence is not None:
                yield sentence
                opens = False


def _own(paragraph: str) -> str:
    """Return a paragraph without the lines that quote, and without what follows an announcement of others' words."""
    lines = [line for line in paragraph.split("\n") if not line.lstrip().startswith((">", "|", "<", "$ ", "#!"))]
    own = "\n".join(lines)
    for match in _PASSED_ON.finditer(own):
        begins = max(own.rfind(". ", 0, match.start()), own.rfind("\n", 0, match.start())) + 1
        if not _KEPT_LIST.search(own[begins : match.start() + 1]):
            return own[:begins]
    return own


def _raw_sentences(paragraph: str) -> Iterator[str]:
    held = ""
    for part in _END.split(paragraph):
        held = f"{held} {part}".strip() if held else part.strip()
        if held and not _ABBREVIATED.search(held):
            yield held
            held = ""
    if held:
        yield held


def _sentence(raw: str, opens: bool) -> Sentence | None:
    if len(raw) > 2 * SENTENCE_MAX_CHARS:
        return None
    text = _LEADS.sub("", _BULLET.sub("", raw.strip(" -*>\t"))).strip()
    if not text or len(text) > SENTENCE_MAX_CHARS:
        return None
    firm = _FIRM_WOULD.sub("", text)
    quoted = sum(len(one) for one in re.findall(r"[\"“][^\"”]*[\"”]", text))
    return Sentence(
        text=text,
        is_question=text.rstrip("\"')").endswith("?") or bool(_ASKING.match(text)),
        is_hedged=bool(_HEDGED.search(firm)),
        is_momentary=bool(_MOMENT.search(text) or (_ASIDE.match(text) and not _CONTRAST.search(text)))
        or quoted * 2 > len(text),
        is_dependent=bool(_DEPENDENT.match(text)),
        is_reason=bool(_REASON.match(text)),
        opens=opens,
    )


_ASKING = re.compile(
    r"^(?:can|could|would|will|do|does|did|is|are|was|were|has|have|should|shall|may|what|why|how|where|which|who|"
    r"whose|when)\s+(?:you|we|i|it|he|she|they|the|this|that|there|anyone|someone|somebody|about|come|many|much|is|"
    r"are|do|does|did)\b(?!.*,)",
    re.I,
)
