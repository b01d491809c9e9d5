"""Words by which the stand-in recognizes what is worth keeping: English, and rules alone.

Each pattern is tried at the beginning of one sentence of at most `speech.SENTENCE_MAX_CHARS` characters.
"""

from __future__ import annotations

import re

FEEDBACK, PERSON, PROJECT = "feedback", "user", "project"

_WE = r"(?:we|i|everyone|everybody|nobody|no one|(?:the|my|our)(?: \w+){0,2} team)"
_SINCE = r"(?:(?:yesterday|last \w+|(?:as of|since|starting|after) [^,]{1,30}), )?"
_OFTEN = (
    r"(?:(?:always|only|usually|normally|generally|typically|all|both|now|still|also|mostly|just|finally|already|"
    r"recently|really|much|strongly|personally) )*"
)

KEEP = re.compile(
    r"^(?:please |you should |make sure (?:to |you )|i(?:'d| would) like you to |i want you to )*(?:remember|note|"
    r"(?:keep|bear) in mind|(?:don't|do not|never) forget|(?:make|take) a (?:mental )?note|memori[sz]e|write down|"
    r"jot down)(?: (?:this|it|down))?(?: for (?:me|later|next time|the future))?(?:[,:]? that |[,: -]+ "
    r"?)(?P<said>(?!(?:to|it|this|that)\b[^,]*$).+)",
    re.I,
)
KEEP_ALL = re.compile(
    r"^(?:please )?(?:remember|note|save|store|memori[sz]e|write|keep|bear|don't forget)\b (?:(?:this|it|these|the "
    r"following)\b|that(?= (?:for|in|please|too|as)\b|[.:!]?$))[^.:]{0,60}[.:!]?$",
    re.I,
)
"""Asks that a neighbor be kept: the sentence after it, or the one before where it ends the paragraph."""

_WRONG = (
    r"(?:(?:that|this|it)(?:'s| is| was) (?:wrong|not (?:right|correct|true|it)|incorrect|outdated|old)|you(?:'re| "
    r"are) (?:wrong|mistaken))"
)
CORRECTED = re.compile(
    rf"^(?:(?:no|nope|wrong|incorrect|not quite|actually|correction|{_WRONG})(?: ?[,.:;!–—-]+ ?|(?<=ually) "
    rf"))+(?P<said>(?!never mind|forget)\S.*)",
    re.I,
)
CORRECTS = re.compile(rf"^(?:no|nope|wrong|incorrect|not quite|(?:no, )?{_WRONG})[.!]*$", re.I)
CONFIRMED = re.compile(r"^(?:yes|yeah|perfect|exactly)?[,.:;! ]*(?P<said>keep (?:doing|on|using|it)\b.+)", re.I)

ADVERBIAL = re.compile(
    r"^(?:as of|since|starting|until|after|before|in|on|for|at|with|by|during|outside|inside) [^,.]{1,40}, (?=\w)", re.I
)

CUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (FEEDBACK, re.compile(r"^(?:from now on|going forward|in (?:the )?future)[,:]? (?P<said>.+)", re.I)),
    (FEEDBACK, re.compile(r"^(?:please )?(?:don't|do not|avoid|stop) .+", re.I)),
    (FEEDBACK, re.compile(r"^(?:whenever|every time|each time)\b.+", re.I)),
    (
        FEEDBACK,
        re.compile(
            r"^(?!(?:i|we|you (?:always|never)|the|it|he|she|they|there|why|make (?:it|the|this|that|sure (?:it|the|"
            r"this)))\b).*\b(?:always|never|(?:every|each) time|without (?:asking|exception)|unless (?:i|we|asked|"
            r"told)|before (?:every|each|any)|after (?:every|each|any))\b",
            re.I,
        ),
    ),
    (
        PERSON,
        re.compile(
            rf"^(?:personally,? )?(?:i|we) {_OFTEN}(?:prefer|favou?r|like|love|hate|dislike|insist on|care about|"
            rf"tend to|find|can't stand|(?:don't|do not) (?:like|want|use))"
            r" (?!it\b|this\b|that\b|these\b|how\b|what\b|where\b|the way\b|your\b|to see\b)",
            re.I,
        ),
    ),
    (PERSON, re.compile(r"^(?:i|we)(?:'d| would) (?:much )?(?:rather|prefer)\b", re.I)),
    (
        PERSON,
        re.compile(
            r"^(?:i|we)(?:'d| would)? (?:want|like|need|expect) you to (?:always|never|only)?\b.*\b(?:always|never|"
            r"only|when|whenever|every|all|any|in)\b",
            re.I,
        ),
    ),
    (
        PERSON,
        re.compile(
            r"^(?:my|our) (?:name|role|job|title|pronouns|time ?zone|team|manager|preference|preferred|favou?rite|"
            r"(?:native |first )?language)\b",
            re.I,
        ),
    ),
    (
        FEEDBACK,
        re.compile(
            r"^(?:please )?(?:prefer|assume|treat|default to|err on|be (?:brief|concise|terse|careful|explicit|"
            r"polite|direct|precise))\b",
            re.I,
        ),
    ),
    (FEEDBACK, re.compile(r"^no (?!one\b)[\w -]{2,40}(?:,? please\b|\bever\b|\bwithout\b)", re.I)),
    (
        FEEDBACK,
        re.compile(
            r"^(?:please )?(?:use|keep|answer|reply|respond) (?!(?:the|this|that|it|them|those|these|an?|my|your|me|"
            r"to)\b)\S",
            re.I,
        ),
    ),
    (
        FEEDBACK,
        re.compile(
            r"^(?:(?:when|if) in doubt\b|(?:when|if) you (?!have|want|like|need|can|get|mean)[^,]+, (?!i\b|it\b|"
            r"is\b|do\b|can\b|could\b)\w)",
            re.I,
        ),
    ),
    (
        FEEDBACK,
        re.compile(
            r"^(?:(?:all|every|each|any) )?(?:(?!(?:the|these|those|this|my|your|it)\b)[\w`-]+ ){0,3}?(?!this|his|"
            r"its)[\w`-]+s (?:should|must|shall)\b",
            re.I,
        ),
    ),
    (FEEDBACK, re.compile(r"^let's (?:go with|stick (?:with|to)|settle on)\b", re.I)),
    (
        FEEDBACK,
        re.compile(r"^(?:i (?:said|meant) (?!to\b)|it should (?:be|say)|by [\w\"' -]{1,40} (?:i|we) mean)\b", re.I),
    ),
    (
        PROJECT,
        re.compile(
            r"^we (?:don't|do not|no longer|never) (?!know|have|need|see|understand|think|care|mind|want)\w+ \S", re.I
        ),
    ),
    (
        PROJECT,
        re.compile(
            r"^(?:for|in|on|at|with) [^,.]{1,40}?,? we (?:always |only |never )?(?!need|want|should|could|can|have|"
            r"had|got|were|are|saw|found|lost|ran|did)\w+(?<!ed) \S",
            re.I,
        ),
    ),
    (
        FEEDBACK,
        re.compile(
            r"^(?:for|in|on|with) (?!now\b|this\b|that\b)[^,.]{1,40}, (?:please )?(?:use|keep|put|write|prefer|"
            r"avoid|don't|skip)\b",
            re.I,
        ),
    ),
    (
        PROJECT,
        re.compile(
            r"^(?:the|our|all|[\w-]+)(?: [\w`'/.-]+){0,5}? (?:(?:has|have) (?:been )?|was |were |got )?(?:moved "
            r"(?:to|into)|renamed|replaced (?:by|with)|retired|deprecated|sunset|superseded)\b",
            re.I,
        ),
    ),
    (FEEDBACK, re.compile(r"^(?:only|nobody|no one|everyone|everybody) .*\b(?:may|can|must|should)\b", re.I)),
    (PROJECT, re.compile(r"^(?:it|they|that|the|our|my|we)\b.*(?:, not | instead of | rather than )", re.I)),
    (PERSON, re.compile(r"^i (?:always|never|only|usually) \w+ \S", re.I)),
    (
        PROJECT,
        re.compile(r"^we(?:'re| are) (?:using|running on|hosting|targeting|supporting|building (?:on|with))\b", re.I),
    ),
    (
        PERSON,
        re.compile(
            rf"^(?:(?:please )?call me|i {_OFTEN}(?:use|code|type|develop|write (?:in|with|mostly)|work|live|speak|"
            rf"report|lead|maintain|own))\b",
            re.I,
        ),
    ),
    (
        PERSON,
        re.compile(
            r"^(?:i(?:'m| am)|we(?:'re| are)) (?:an?|the|in|based|from|on|responsible|allergic|colou?r-?blind|"
            r"left-handed)\b(?! (?:an? |the )?(?:bit|little|moment|minute|hurry|rush|call|meeting|fence|loss))",
            re.I,
        ),
    ),
    (
        PROJECT,
        re.compile(
            rf"^{_SINCE}{_WE}(?:'ve| have| has)? {_OFTEN}(?:decided|agreed|chose|chosen|settled|picked|switched|"
            rf"moved|migrated|standardi[sz]ed|adopted|dropped|"
            r"retired|replaced|abandoned|renamed|went with|(?:are|'re) (?:going with|moving|switching|migrating|"
            r"dropping|sticking))\b",
            re.I,
        ),
    ),
    (
        PROJECT,
        re.compile(
            r"^(?:(?:the |our )?(?:final )?decision (?:is|was)|it (?:is|was|has been) decided|(?:decided|agreed|"
            r"decision|final decision):)",
            re.I,
        ),
    ),
)

_MODAL = (
    "need|want|should|could|can|can't|cannot|may|might|will|would|have|had|got|get|were|are|was|see|saw|think|hope|"
    "guess|know|look|did|"
    "ran|wrote|built|sent|put|set|told|gave|took|came|spent|began|cut|hit|met|felt|heard|paid|said|do|does|don't|"
    "didn't|left|lost|found|broke|made|went|seem|just|keep"
)
"""Verbs after "we" that tell no habit."""

HABIT = re.compile(
    rf"^(?:we|everyone|everybody|nobody|no one|(?:the|my|our)(?: \w+){{0,2}} team|this project|this repo(?:sitory)?|"
    rf"everything) {_OFTEN}(?!(?:{_MODAL})\b|\w+(?:ed|ing)\b)[a-z]+ \S",
    re.I,
)

SETUP = re.compile(
    r"^(?:in (?:this|our|the) \w+,? )?(?:(?:the|our|my|all|every|each|any|only|everything) (?:[\w`'/.+#&@-]+ "
    r"){1,7}?|(?:(?!(?:the|an?|my|our|that|which|what|how|to|me|us|it)\b)[\w`'/.+#&@-]+ ){1,3}?)(?:(?:now|always|"
    r"only|usually|normally|also|both) )*(?:lives?|runs?|sits|stays?|lands?|costs?|takes|counts|covers?|includes?|"
    r"appl(?:y|ies)|serves?|triggers?|connects?|works? (?:with|from|on|in|at|for)|knows|wants?|prefers?|likes?|"
    r"hates?|leads?|reports to|decides|signs|uses?|requires?|needs?|must|expects?|means|stands for|owns?|belongs?|"
    r"handles?|maintains?|manages|reviews|approves|signs off|goes|go|comes? from|starts|begins|ends|closes|opens|"
    r"happens?|takes place|listens|speaks?|supports?|depends? on|relies on|writes to|reads from|talks to|ships|"
    r"deploys?|expires?|rotates?|keeps|holds|has|contains|can be found|forbids|bans|enforces|follows?|sends|returns|"
    r"accepts|allows|points to|(?:is|are) (?:(?:now|always|currently|still|also) )*(?:the|an?|(?:what|where|who|how|"
    r"why|when) (?:we|our|the)|to be|our|in|at|on|under|behind|with|for|called|named|known|read-only|due|every|"
    r"always|never|only|no longer|\d+|responsible|(?-i:[A-Z`'\"#$])\S*|(?:\w+ed|kept|set|run|built|written|held|"
    r"sent|taken|given|forbidden|hidden|chosen)\b))\b",
    re.I,
)
"""A thing, and how it is set up: in the present tense, with a verb of lasting."""

OWN = re.compile(
    r"^(?:(?:my|our)|the(?= [\w-]+(?: [\w-]+)? (?:of|for|behind) )) (?!(?:error|reason|fix|bug|rest|end|guess|bad|"
    r"point|question|hunch|problem|issue|mistake)\b)(?:[\w-]+ ){1,7}?(?:is|are) \S",
    re.I,
)

PASSING = re.compile(
    r"\b(?:was|were|had|did|went|took|came|fail\w*|crash\w*|broke|broken|flaky|stuck|today|tomorrow|yesterday|"
    r"earlier|later|soon|again|ago|last (?:night|time)|(?:is|are|'s|'re|keeps?) (?:not |still |just |already |now "
    r")*\w+ing|a bit|kind of|pretty|ages|forever|somehow|weird|works? (?:now|fine|well)|has an? (?:error|bug|typo|"
    r"mistake|problem|issue)|i|you|this(?! (?:project|repo|repository|team|company|service|product))|that|here|"
    r"there)\b|\bnow[.!]?$|\b(?:is|are|looks?|feels?) (?:not |so |too |very |quite |all )*(?:red|green|slow|fast|"
    r"fine|good|ok|okay|ready|done|down|up|back|empty|frozen|missing|wrong|weird|strange|better|worse|terrible|"
    r"great|bad|nice|hard|easy|late|early|busy|cold|warm|hot|loud|noisy|funny|over|full|finished|clean|dirty)\b",
    re.I,
)
"""What tells of something that passes, or points at what is in front of the speaker."""

NO_SUBJECT = re.compile(
    r"^(?:if|when|while|since|as|although|even|let|let's|please|can|could|what|why|how|i|we|you|your|he|she|they|it|"
    r"there|here|this|that|these|those|look\w*|see|seems?|got|then|now|not|next|first|second|my (?:guess|bad|point|"
    r"question|hunch))\b",
    re.I,
)

QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
