"""What `str_replace` and `insert` make of a content. Pure.

Both are asked for by a caller that read the content a moment ago. If another client committed in between, the edit is
made on the new content where it still means the same: a replacement if the old text is still there once; an insertion
if one of the two lines that it was to stand between is still there, where that line is now.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from memolith.wire.memory_tool import texts
from memolith.wire.memory_tool.texts import ToolFailure

CONTEXT_LINES = 2


def replaced(path: str, content: str, old: str, new: str) -> str:
    """Return the content with `old` literally replaced by `new`.

    Raises:
        ToolFailure: `old` is not there, or more than once (the lines of every occurrence, overlapping ones too).
    """
    count = content.count(old)
    if count == 0:
        raise ToolFailure(texts.NO_MATCH.format(old=old, path=path))
    if count > 1:
        raise ToolFailure(texts.MANY_MATCHES.format(old=old, lines=", ".join(_lines_of(content, old))))
    return content.replace(old, new)


def snippet(content: str, old: str, edited: str) -> str:
    """Return the lines about the first changed one, from two before to two after, as they are now."""
    changed = content.count("\n", 0, content.find(old))
    lines = edited.split("\n")
    first = max(0, changed - CONTEXT_LINES)
    return texts.numbered(lines[first : changed + CONTEXT_LINES + 1], first + 1)


def inserted(content: str, line: int, addition: str) -> str:
    """Return the content with `addition` after its line `line` (0: on top), ending with one newline.

    Raises:
        ToolFailure: no such line.
    """
    lines = split(content)
    if not 0 <= line <= len(lines):
        raise ToolFailure(texts.INSERT_RANGE.format(line=line, lines=len(lines)))
    lines.insert(line, addition.rstrip("\n"))
    joined = "\n".join(lines)
    return joined if joined.endswith("\n") else f"{joined}\n"


def moved_line(read: str, line: int, now: str) -> int | None:
    """Find where in `now` an insertion after line `line` of `read` belongs; None where both neighbours are gone.

    The line before decides; where that one was changed, the line after.
    """
    before, after = split(read), split(now)
    if line == 0:
        return 0
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    blocks = matcher.get_matching_blocks()
    for wanted, shift in ((line - 1, 1), (line, 0)):
        for block in blocks:
            if block.a <= wanted < block.a + block.size:
                return block.b + wanted - block.a + shift
    return None


def split(content: str) -> list[str]:
    """Split lines at LF alone, without the empty one that a last newline leaves."""
    lines = content.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _lines_of(content: str, old: str) -> list[str]:
    """Return the line of each occurrence, of many only the first; the last one then says that there are more."""
    lines: list[str] = []
    position, line, counted = content.find(old), 1, 0
    while position != -1 and len(lines) < texts.OCCURRENCES_SHOWN:
        line += content.count("\n", counted, position)
        counted = position
        lines.append(str(line))
        position = content.find(old, position + 1)
    if position != -1:
        lines[-1] += " and more"
    return lines
