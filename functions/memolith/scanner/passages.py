"""The passages of a text that are read for their meaning: its sentences, and what stands inside and across them.

A sentence is read as it stands, and once more in the parts that its colons, brackets and quotation marks set off: so
nothing before a colon dilutes the order behind it. Lines that a paragraph was wrapped into are read joined, too.
Marks of lists, quotations, headings and tables are left out. Linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 320
"""Characters of a passage; a longer sentence is read in pieces that overlap."""

_STEP = 200
_LEAST_LETTERS = 8
_LEAST_UNSPACED = 4

_MARKS = re.compile(r"[ \t>#*+|~`=_-]*(?:\[[ x]\] |\(?[0-9]{1,3}[.)][ \t])?[ \t*_`]*")
_END = re.compile(r"([.!?;…]+[\"'”’»)*_]{0,3}(?=\s|$)|[。！？；]+[」』”）]?)|[ \t]\|(?=\s|$)|</?[a-z]{1,12} ?/?>")
"""What a sentence ends with, or before."""

_INNER = re.compile(r":(?!//)|[\"“”„«»()\[\]{}<>`|「」『』（）：—–]")
_LETTER = re.compile(r"[^\W\d_]")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")

Span = tuple[int, int]


def passages(text: str) -> Iterator[Span]:
    """Yield where passages begin and end; sentences in the order of the text, each before its own parts."""
    for start, stop in _paragraphs(text):
        lines = list(_lines(text, start, stop))
        for line in lines:
            yield from _sentences(text, *line)
        if len(lines) > 1 and any(text[line[0]].islower() for line in lines[1:]):
            yield from _across(text, start, stop)


def _paragraphs(text: str) -> Iterator[Span]:
    start = 0
    for gap in re.finditer(r"\n[ \t]*\n\s*", text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _lines(text: str, start: int, stop: int) -> Iterator[Span]:
    """Yield the lines of a paragraph without the marks before them; none that is empty."""
    while start < stop:
        end = text.find("\n", start, stop)
        end = stop if end < 0 else end
        marks = _MARKS.match(text, start, end)
        begin = marks.end() if marks else start
        if begin < end:
            yield begin, end
        start = end + 1


def _across(text: str, start: int, stop: int) -> Iterator[Span]:
    """Yield the sentences of a paragraph that go on behind the end of a line."""
    for low, high in _cut(text, start, stop):
        if "\n" in text[low:high]:
            yield from _pieces(text, low, high)


def _sentences(text: str, start: int, stop: int) -> Iterator[Span]:
    for low, high in _cut(text, start, stop):
        yield from _pieces(text, low, high)
        parts = list(_split(_INNER, text, low, high))
        if len(parts) > 1:
            for part in parts:
                yield from _pieces(text, *part)


def _cut(text: str, start: int, stop: int) -> Iterator[Span]:
    for end in _END.finditer(text, start, stop):
        yield start, end.end(1) if end[1] else end.start()
        start = end.end()
    yield start, stop


def _split(mark: re.Pattern[str], text: str, start: int, stop: int) -> Iterator[Span]:
    for found in mark.finditer(text, start, stop):
        yield start, found.start()
        start = found.end()
    yield start, stop


def _pieces(text: str, start: int, stop: int) -> Iterator[Span]:
    """Yield a sentence, or its overlapping pieces; nothing where there is next to no letter."""
    while start < stop and text[start].isspace():
        start += 1
    while stop - start > LONGEST:
        cut = text.rfind(" ", start + _STEP, start + LONGEST)
        yield start, cut if cut > 0 else start + LONGEST
        step = text.find(" ", start + _STEP, stop)
        start = step + 1 if 0 < step < start + LONGEST else start + _STEP
    if _worth_reading(text, start, stop):
        yield start, stop


def _worth_reading(text: str, start: int, stop: int) -> bool:
    unspaced = sum(1 for _ in _UNSPACED.finditer(text, start, stop))
    return unspaced >= _LEAST_UNSPACED or sum(1 for _ in _LETTER.finditer(text, start, stop)) >= _LEAST_LETTERS
