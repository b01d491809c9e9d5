"""Undoing disguises: every other way to read a reading, where something in it is not ordinary text.

What tells that is cheap, and no word that an attack must hold:

- letters that stand alone, with the same between them over and over;
- marks inside words: emphasis, tags, comments, stars;
- long runs without a blank that are words of the lexicon one after the other (`memolith.scanner.segmenting`);
- sentences with several words that are words of ours once shifted, mirrored, turned around, without doubled letters,
  with their vowels back, their digits read as letters (`memolith.scanner.oddities`).

Each makes a view (`memolith.scanner.views`): only the places in question, decoded, with the way back. A view is read
like any text, by all rules, and is unfolded once more, so that disguises may be put on top of each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from memolith.scanner import oddities
from memolith.scanner.budget import Budget
from memolith.scanner.disguises import APART, Reading, with_gap
from memolith.scanner.lexicon import MIRRORED, STEM, Lexicon, shifted, unsigned
from memolith.scanner.oddities import Oddities, telephone_letter, with_neighbors
from memolith.scanner.offsets import in_characters
from memolith.scanner.segmenting import words_in
from memolith.scanner.signs import Signs
from memolith.scanner.views import Part, Span, around, merged, reversed_parts, view_of
from memolith.scanner.vocabulary import unspaced
from memolith.scanner.words import Words

DEPTH = 2
"""How many disguises may be on top of each other."""

_LETTER = re.compile("[a-z0-9]")
_SPREAD = re.compile(r"(?<![a-z0-9])[a-z0-9@$!](?:[^a-z0-9@$!]{1,6}[a-z0-9@$!](?![a-z0-9])){7,400}")
_BETWEEN = re.compile(r"[^a-z0-9@$!]+")
_MARK = re.compile(
    r"(?<=[^\W\d_])(?:\*{1,3}|__?|``?|~~|\\|\[\]|\{\}|\(\)|<[^<>\n]{0,60}>|-\r?\n[ \t>]{0,8}"
    r"|&(?:shy|zwj|zwnj|#173|#xad|#820[3-5]|#x200[b-d]);)+(?=[^\W\d_])"
)
_STARRED = re.compile(r"(?<![\w*])(?=[a-z]{0,12}\*)[a-z*]{2,20}(?![\w*])")
_DIGITS_INSIDE = re.compile(r"(?=[^a-z]{0,20}[a-z])(?=[^0-9@$€!]{0,20}[0-9@$€!])[a-z0-9@$!|+€]{2,20}")
_LETTERS_BEFORE = re.compile(r"[^\W\d_]+$")
_HALF = 16
"""Letters on one side of a mark inside a word, at most."""

_RUNS = re.compile(r"[^\W\d_]+")
_TAKEN = re.compile(r"[^\W_]{12,}")
_BESIDE = 32
"""Characters beside words that ran together, which are shown with them."""

_LONGEST_TOKEN = 2_000
_TO_BLANK = bytes.maketrans(b"\n\r\t\v\f", b"     ")
_BLANK = ord(" ")
_NOT_BLANK = re.compile(r"[^\s'\x00]+")
_MOST_PLACES = 400
_TOKENS_A_LOOK = 64
"""Tokens that are read between two looks at the budget."""

_MOST_TOKENS = 20_000
"""Tokens of which is remembered how they are read."""
_UPSIDE_DOWN = str.maketrans("bqpdun", "qbdpnu")

_HOW = {oddities.REVERSED: "backwards", oddities.RESPELLED: "respelled", oddities.MIRROR: "mirrored"}
"""How the readings end that are of a way; nothing is undone twice in a row."""

_LEAST_WEIGHTY = 2
_GRAVE = frozenset({"cancel", "free", "reveal", "interrupt", "role", "refuse", "obey"})
"""Signs one of which makes words that run together worth reading."""

_WEIGHTY = _GRAVE | {"rules", "prior", "you", "all", "said", "secret", "private", "authority", "reader", "task"}
"""Signs of which several have to be there."""

_HEAD = 4
"""Letters by which the beginning of such a word is known."""

_SENTENCE = 7
"""Words that are worth reading whatever they speak of: no name of a thing has as many."""

_LONGEST_REMEMBERED = 200
_NO_COMMON = str.maketrans("", "", "aeionrstld")

FLIPPED = frozenset("ɐɔǝɟƃɥᴉɾʞɯɹʇʌʍʎ")
LEAST_FLIPPED = 4
"""Different letters that stand on their heads, from which a text is read so."""


class Unfolder:
    """Finds other ways to read. Immutable but for memos of words; safe to share between threads."""

    def __init__(self, lexicon: Lexicon, signs: Signs) -> None:
        """Take the words that are looked for, and what they are signs of.

        From now on the words that the signs are looked up for are looked at for disguises too.
        """
        self._lexicon = lexicon
        self._signs = signs
        self._kinds = kinds = signs.words("", b"").kinds
        self._oddities = Oddities(lexicon, kinds)
        kinds.odd = lambda word: bool(self._oddities[word])
        self._taken: dict[bytes, tuple[Part, ...]] = {}
        self._respelled_tokens: dict[str, str] = {}

    def unfold(
        self, reading: Reading, words: Words, marks: Mapping[int, Sequence[int]], written: str, budget: Budget
    ) -> Iterator[Reading]:
        """Yield every other way to read a reading.

        Args:
            reading: of a text.
            words: of the reading.
            marks: for each of `memolith.scanner.disguises.SPELLINGS`, where a match of it ends, in bytes.
            written: the text as written, from which the readings are.
            budget: what it may cost.
        """
        yield from self._spread(reading, marks.get(0, ()), budget)
        yield from self._marked(reading, marks.get(1, ()))
        yield from self._gapped(reading, marks.get(2, ()))
        yield from self._run_together(reading, marks.get(3, ()), budget)
        odd = self._oddities.of_sentences(words.odd_sentences())
        for way, numbers in odd.items():
            if budget.spent():
                return
            if not reading.how.endswith(_HOW.get(way, "shifted")):
                yield from self._of_way(reading, words, way, numbers, written, budget)

    def flipped(self, reading: Reading) -> Reading:
        """Return a reading with the letters that look like others upside down as those."""
        text = reading.text.translate(_UPSIDE_DOWN)
        return Reading("upside-down letters", text, text.encode(), reading.origin)

    def _spread(self, reading: Reading, ends: Sequence[int], budget: Budget) -> Iterator[Reading]:
        """Yield letters that stand apart, put together: other gaps than the usual one are gaps between words."""
        parts: list[Part] = []
        for low, high in _windows(reading, ends, 40, 40):
            for match in _SPREAD.finditer(reading.text, low, high):
                if budget.spent():
                    break
                parts += [*_joined(match), (APART, match.end() - 1, match.end())]
        if parts:
            yield view_of(reading, "letters put together", parts)

    def _marked(self, reading: Reading, ends: Sequence[int]) -> Iterator[Reading]:
        """Yield words without the marks inside, and words with letters for their stars."""
        text = reading.text
        windows = _windows(reading, ends, 70, 8)
        found = [match for low, high in windows for match in _MARK.finditer(text, low, high)]
        if any(self._joins(text, match.start(), match.end()) for match in found):
            parts = around(text, (("", match.start(), match.end()) for match in found))
            yield view_of(reading, "without marks inside words", parts)
        if any("*" in text[low:high] for low, high in windows):
            windows = merged(windows, len(text), 80)
            starred = [match for low, high in windows for match in _STARRED.finditer(text, low, high)]
            meant = ((self._lexicon.starred(match[0]), *match.span()) for match in starred[:_MOST_PLACES])
            replaced = [(word, start, end) for word, start, end in meant if word]
            if replaced:
                yield view_of(reading, "stars read as letters", around(text, replaced))

    def _joins(self, text: str, start: int, end: int) -> bool:
        """Whether the letters before and after a mark may be of one word of ours."""
        before, after = _LETTERS_BEFORE.search(text[max(0, start - _HALF) : start]), _RUNS.match(text, end, end + _HALF)
        word = (before[0] if before else "") + (after[0] if after else "")
        return self._lexicon.knows(word)

    def _gapped(self, reading: Reading, ends: Sequence[int]) -> Iterator[Reading]:
        """Yield places where a word of ours has gaps inside, with all small gaps closed, taken apart at known words."""
        spans = _windows(reading, with_gap(reading, ends), 80, 160)
        if spans:
            parts: list[Part] = []
            for start, end in spans:
                for line in re.finditer(r"[^\n]+", reading.text[start:end]):
                    run = re.sub(r"[^a-z]", "", line[0])
                    said = " ".join(words_in(run, self._lexicon)[1])
                    if said:
                        parts.append((said + APART, start + line.start(), start + line.end()))
            if parts:
                yield view_of(reading, "letters put together", parts)

    def _run_together(self, reading: Reading, ends: Sequence[int], budget: Budget) -> Iterator[Reading]:
        """Yield long runs without a blank with blanks between their words."""
        encoded = reading.encoded
        begin = budget.meter()
        _ = self._heads
        budget.forgive(begin)  # made once a process, not for a text
        found: dict[Span, tuple[Part, ...]] = {}
        for start, end in _tokens(encoded, ends):
            token = encoded[start:end]
            said = self._taken.get(token)
            if said is None:
                if budget.spent():
                    break
                said = tuple(self._apart(token.decode("utf-8", "ignore")))
                if len(self._taken) < _MOST_TOKENS and len(token) < _LONGEST_REMEMBERED:
                    self._taken[token] = said
            if said:
                found[start, end] = said
        if found:
            parts: list[Part] = []
            for (start, _), said in zip(_in_characters(reading, list(found)), found.values(), strict=True):
                parts += ((words, start + first, start + last) for words, first, last in said)
            yield view_of(reading, "words taken apart", around(reading.text, parts, _BESIDE, _BESIDE))

    def _apart(self, token: str) -> Iterator[Part]:
        """Yield a token's words with blanks between them; nothing if they do not speak of anything that matters."""
        runs = list(_RUNS.finditer(token))
        if len(runs) > 2 and not unspaced(token):
            words = [run[0] for run in runs]
            if self._matter(words) or self._is_sentence(words):
                yield from (((" ", one.end(), other.start()) for one, other in pairwise(runs)))
            return
        for run in _TAKEN.finditer(token):
            yield from self._of_run(run[0], run.start())

    def _of_run(self, run: str, start: int) -> Iterator[Part]:
        """Yield the words of a run of letters and digits: forwards, backwards, without its digits, shifted."""
        ways: Iterable[str] = (way for way in (run, run[::-1]) if way.isalpha() and self._promises(way))
        words = self._best(ways)
        if not words:
            ways = (way for way in (unsigned(run), *_shifts_of(run)) if way.isalpha() and self._has_stems(way))
            words = self._best(ways)
        if words and (len(words) >= _SENTENCE or self._matter(words)):
            yield " ".join(words) + APART, start, start + len(run)

    def _best(self, ways: Iterable[str]) -> list[str]:
        """Return the words of the way to read a run of letters that costs least; empty if there are none in any."""
        read = (words_in(way, self._lexicon) for way in ways)
        return min((each for each in read if each[1]), default=(0.0, []))[1]

    def _is_sentence(self, words: Sequence[str]) -> bool:
        return len(words) >= _SENTENCE and sum(map(self._lexicon.knows, words)) * 5 >= len(words) * 4

    def _promises(self, run: str) -> bool:
        """Whether the beginning of a word that matters stands in a run of letters."""
        heads = self._heads
        return any(run[place : place + _HEAD] in heads for place in range(len(run) - _HEAD + 1))

    def _has_stems(self, run: str) -> bool:
        """Whether the beginnings of several words stand in it: for what would be read in many ways otherwise."""
        stems = self._lexicon.stems
        return sum(run[place : place + STEM] in stems for place in range(len(run) - STEM + 1)) > 1

    @cached_property
    def _heads(self) -> frozenset[str]:
        kinds = self._kinds
        spoken = ((word, kinds[word.encode()]) for word in self._lexicon.listed if len(word) >= _HEAD)
        return frozenset(word[:_HEAD] for word, of in spoken if of and kinds.speak_of(of, _GRAVE, _GRAVE, 1))

    def _matter(self, words: Sequence[str]) -> bool:
        """Whether words that run together may amount to an order: they set something aside, free or reveal it."""
        kinds = "".join(self._kinds[word.encode()] for word in words)
        if len(kinds) < _LEAST_WEIGHTY or not self._kinds.speak_of(kinds, _GRAVE, _WEIGHTY, _LEAST_WEIGHTY):
            return False
        shown = (set(self._signs.features(seen)) for seen in self._signs.clauses(" ".join(words)))
        return any(_GRAVE & names and len(names & _WEIGHTY) >= _LEAST_WEIGHTY for names in shown)

    def _of_way(
        self, reading: Reading, words: Words, way: str, numbers: list[int], written: str, budget: Budget
    ) -> Iterator[Reading]:
        """Yield odd sentences and those next to them, read in their way."""
        near = list(with_neighbors(numbers, words.count))
        text = reading.text
        spans = merged(_in_characters(reading, [words.place(number) for number in near]), len(text), 2)
        if way == oddities.REVERSED:
            yield view_of(reading, "read backwards", reversed_parts(text, spans))
            yield view_of(reading, "words read backwards", _respelled(text, spans, lambda word: word[::-1], budget))
        elif way == oddities.RESPELLED:
            yield view_of(reading, "words respelled", _respelled(text, spans, self._meant, budget))
        elif way == oddities.TELEPHONE:
            letters = [
                ("".join(map(telephone_letter, _RUNS.findall(text[low:high]))), low, high) for low, high in spans
            ]
            parts = [(" ".join(words_in(run, self._lexicon)[1]), low, high) for run, low, high in letters]
            yield view_of(reading, "telephone letters", parts)
        elif way == oddities.MIRROR:
            parts = [(text[low:high].translate(MIRRORED), low, high) for low, high in spans]
            yield view_of(reading, "letters mirrored", parts)
        else:
            shift = ord(way) - oddities.SHIFTED
            parts = [(_shifted(reading, low, high, shift, written), low, high) for low, high in spans]
            yield view_of(reading, f"letters by {26 - shift} shifted", parts)

    def _meant(self, token: str) -> str:
        """Return what a token without blanks is meant to be: a word of ours, or its letters as they are."""
        meant = self._respelled_tokens.get(token)
        if meant is None:
            meant = self._meant_anew(token)
            if len(self._respelled_tokens) < _MOST_TOKENS and len(token) < 60:
                self._respelled_tokens[token] = meant
        return meant

    def _meant_anew(self, token: str) -> str:
        core = token.strip('.,;:?"()[]/')
        ended = core.rstrip("!|")
        if core.isdigit():
            return token.replace(core, self._lexicon.of_signs(core) or core) if len(core) < 5 else token
        meant = None if ended in self._lexicon.words else self._oddities.meant(core) or self._oddities.meant(ended)
        if meant:
            return token.replace(core, meant)
        return token.replace(core, unsigned(core)) if _DIGITS_INSIDE.fullmatch(core) else token


def _respelled(text: str, spans: Sequence[Span], respell: Callable[[str], str], budget: Budget) -> list[Part]:
    parts: list[Part] = []
    for low, high in spans:
        done = low
        for number, match in enumerate(_NOT_BLANK.finditer(text, low, high)):
            if number % _TOKENS_A_LOOK == 0 and budget.spent():
                break
            parts += [(text[done : match.start()], done, match.start()), (respell(match[0]), *match.span())]
            done = match.end()
        parts.append((text[done:high] + APART, done, high))
    return [part for part in parts if part[0]]


def _shifted(reading: Reading, low: int, high: int, shift: int, written: str) -> str:
    """Return a range with its letters shifted, but for those that have an accent as written: no cipher knows these."""
    text = reading.text[low:high]
    if reading.how or written.isascii():
        return shifted(text, shift)
    places = (reading.origin(place, place + 1)[0] for place in range(low, high))
    return "".join(
        shifted(letter, shift) if written[place : place + 1].isascii() else letter
        for letter, place in zip(text, places, strict=True)
    )


def _shifts_of(run: str) -> Iterator[str]:
    """Yield a run of letters shifted by each count, if too few of its letters are common ones in any language."""
    if run.isascii() and run.isalpha() and len(run.translate(_NO_COMMON)) * 2 >= len(run):
        yield from (shifted(run, shift) for shift in range(1, 26))


def _joined(match: re.Match[str]) -> Iterator[Part]:
    """Yield the letters of a run in which they stand apart, and a blank for each gap that is wider than the usual."""
    text, start = match[0], match.start()
    gaps = [gap[0] for gap in _BETWEEN.finditer(text)]
    usual = max(dict.fromkeys(gaps), key=gaps.count)
    for piece in re.finditer(r"[a-z0-9@$!]|[^a-z0-9@$!]+", text):
        if _BETWEEN.match(piece[0]):
            if len(piece[0]) > len(usual) or (piece[0] != usual and "\n" in piece[0]):
                yield " ", start + piece.start(), start + piece.end()
        else:
            yield piece[0], start + piece.start(), start + piece.end()


def _windows(reading: Reading, ends: Sequence[int], before: int, after: int) -> list[Span]:
    """Return the characters around reported ends, as ranges that do not touch."""
    if not ends:
        return []
    spans = [(end, end) for end in ends]
    found = _in_characters(reading, spans)
    length = len(reading.text)
    return merged(((max(0, low - before), min(length, high + after)) for low, high in found), length, 0)


def _tokens(encoded: bytes, ends: Sequence[int]) -> Iterator[Span]:
    """Yield the runs without a blank that end where they were reported to, in bytes."""
    done = 0
    blanks = encoded.translate(_TO_BLANK) if ends else b""
    for end in ends:
        stop = end - (blanks[end - 1] == _BLANK)
        start = max(done, stop - _LONGEST_TOKEN)
        start = max(start, blanks.rfind(b" ", start, stop) + 1)
        if stop > start:
            yield start, stop
        done = stop


def _in_characters(reading: Reading, spans: Sequence[Span]) -> list[Span]:
    """Return ranges of bytes as ranges of characters."""
    if len(reading.text) == len(reading.encoded):
        return list(spans)
    place = in_characters(reading.encoded, (position for span in spans for position in span))
    return [(place[start], place[end]) for start, end in spans]
