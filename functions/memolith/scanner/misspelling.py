"""Order words with a letter wrong: one edit, two letters swapped, a gap inside, digits for letters, all together.

A model reads "ignroe all previuos instrutcions" as it was meant. So every word of a text is looked up among all the
misspellings of the few dozen words that carry an order, and where one stands, the words around it are read once more
with the right word in its place. A misspelled word is a hint and no finding: the rules decide over the corrected text.

The look-up is one pass that cuts the text into words, and one intersection of sets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from memolith.scanner.disguises import APART, GAPPED, Reading, with_gap

WORDS = (
    "ignore", "disregard", "forget", "override", "bypass", "instruction", "instructions", "previous", "preceding",
    "directives", "guidelines", "guidance", "commands", "prompts", "restrictions", "earlier", "everything", "system",
    "reveal", "password", "credentials", "developer", "without", "confirmation", "remember", "instead", "approval",
    "ignoriere", "vergiss", "missachte", "anweisungen", "vorherigen", "bisherigen", "regeln", "richtlinien",
    "oublie", "oubliez", "ignorez", "consignes", "precedentes", "directives",
    "ignora", "olvida", "olvide", "instrucciones", "anteriores", "reglas",
    "dimentica", "istruzioni", "precedenti", "regole", "esqueca", "instrucoes", "regras",
    "zignoruj", "zapomnij", "instrukcje", "poprzednie", "polecenia",
    "игнорируй", "забудь", "инструкции", "предыдущие", "правила", "указания",
)  # fmt: skip
"""Words of at least six letters, or close to it: of shorter ones every other word is a misspelling."""

_REAL = """
ignored ignores ignorer ignorance ignorant ignoring forge forged forgets forgot overrides overridden bypassed bypasses
systems systemd systemic passwords reveals revealed revel prompt prompted prompter developers developed commander
commanded command guideline directive directives directions restriction instructing instructed instructional
confirmations remembers remembered approvals credential previously proceeding earlies earliest insteads
regime regel regelt regele regal reglas regole regras regola regla regra vorherige bisherige richtlinie anweisung
olvidar olvido olvidado ignorar ignorata ignorato ignoranza oublier oublies oubliee consigne precedente precedenza
dimenticato anterior anteriore instrucao instruccion istruzione instrukcja polecenie
инструкция инструкцию правило правилам указание указаний
""".split()  # noqa: SIM905 - a list of so many quoted words is hard to read
"""Words that a misspelling would also be, and that mean something themselves."""

_LATIN, _CYRILLIC = "abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя"
_LEET = str.maketrans("013457@$!|8", "oieastasilb")
_SIGNS = frozenset("013457@$!|8")
_BEFORE, _AFTER = 120, 200
_MOST_PLACES = 200


@cache
def misspellings() -> dict[bytes, str]:
    """Every misspelling of every word, in UTF-8, and the word. Some tens of thousands; made once a process."""
    known = {word.encode() for word in (*WORDS, *_REAL)}
    table: dict[bytes, str] = {}
    for word in WORDS:
        for wrong in _edits(word):
            encoded = wrong.encode()
            if encoded not in known:
                table.setdefault(encoded, word)
    return table


def _edits(word: str) -> Iterator[str]:
    """Yield what one wrong key makes of a word whose first letter stays: a letter lost, swapped, changed or added."""
    alphabet = _LATIN if word.isascii() else _CYRILLIC
    for place in range(1, len(word)):
        head, tail = word[:place], word[place:]
        yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in alphabet:
            yield head + letter + tail[1:]
            yield head + letter + tail
    yield word[1] + word[0] + word[2:]
    yield word[1:]


def suspicious(word: bytes) -> bool:
    """Whether a word may be a misspelled one: it is, or has digits or signs that may stand for letters."""
    if word in misspellings():
        return True
    if word.isalpha() or not 5 < len(word) < 20 or word.isdigit():
        return False
    return _meant(word.decode("utf-8", "ignore")) is not None


def _meant(spelled: str) -> str | None:
    """Return what a word with digits or signs for letters was meant to be; None if it is none of ours."""
    if _SIGNS.isdisjoint(spelled):
        return None
    stripped = spelled.rstrip("!|").translate(_LEET)
    return stripped if stripped in _EXACT else misspellings().get(stripped.encode())


def corrected(reading: Reading, suspects: Iterable[bytes], gapped_ends: Iterable[int]) -> Reading | None:
    """Return the places around misspelled order words, with the right words in them; None if there is none.

    Args:
        reading: of a text.
        suspects: the words of it that are `suspicious`.
        gapped_ends: where matches of `GAPPED` end, in bytes.
    """
    wrong = _wrong_words(suspects)
    gapped = bool(with_gap(reading, gapped_ends))
    if not wrong and not gapped:
        return None
    forms = [re.escape(word) for word in sorted(wrong, key=len, reverse=True)]
    if gapped:
        forms.append(GAPPED)
    found = re.compile(rf"(?<![\w@$|])(?:{'|'.join(forms)})(?![\w@$|])")
    return _reading(reading, found, wrong)


def _wrong_words(suspects: Iterable[bytes]) -> dict[str, str]:
    """Return the misspelled words, and what each was meant to be."""
    wrong = {}
    for word in suspects:
        spelled = word.decode("utf-8", "ignore")
        meant = _meant(spelled)
        if meant:
            wrong[spelled.rstrip("!|")] = meant
        elif word in misspellings():
            wrong[spelled] = misspellings()[word]
    return wrong


_EXACT = frozenset(WORDS)
_UNGAPPED = re.compile(r"[ ._*|-]")


def _reading(parent: Reading, found: re.Pattern[str], meant: dict[str, str]) -> Reading:
    """Return the windows around the places, corrected, and for each character of them where it came from."""
    text, origin = parent.text, parent.origin
    made: list[str] = []
    starts: list[int] = []
    places: list[int] = []
    length = done = 0

    def add(piece: str, place: int) -> None:
        nonlocal length
        starts.append(length)
        places.append(place)
        made.append(piece)
        length += len(piece)

    for number, match in enumerate(found.finditer(text)):
        if number == _MOST_PLACES:
            break
        stop = max(done, match.start() - _BEFORE)
        if made and stop > done:
            add(APART, done)
        if match.start() > stop:
            add(text[stop : match.start()], stop)
        add(meant.get(match[0]) or _UNGAPPED.sub("", match[0]), match.start())
        done = match.end()
        following = found.search(text, done, done + _AFTER)
        end = following.start() if following else min(len(text), done + _AFTER)
        add(text[done:end], done)
        done = end
    joined = "".join(made)

    def back(start: int, end: int) -> tuple[int, int]:
        return origin(_place(starts, places, start), max(_place(starts, places, end - 1), 0) + 1)

    how = f"{parent.how}, then misspelled words" if parent.how else "misspelled words"
    return Reading(how, joined, joined.encode(), back)


def _place(starts: Sequence[int], places: Sequence[int], position: int) -> int:
    index = bisect_right(starts, position) - 1
    following = places[index + 1] if index + 1 < len(places) else places[index] + 10_000
    return min(places[index] + position - starts[index], max(places[index], following - 1))
