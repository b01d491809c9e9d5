"""Where a password ends: a rule may know only its beginning, for it stops at a character that a password may hold.

Between quotation marks, a password ends at the closing one. Without them it goes on to the next blank, but not over
what the text around it is built of: the next field of a connection string, a closing quotation mark, a tag.
"""

from __future__ import annotations

import re

_MOST = 400
"""Characters of one password that are looked at."""

_OPENING = re.compile(r"(\\{0,7})([\"'`])\Z")
_REST = re.compile(
    r"(?:[!#$%*+\-./0-9:=?@A-Z^_a-z~]"
    # A separator, unless a name follows that has a value of its own.
    r"|[,;&|](?=[^\s\"'`,;&|)\]}])(?![A-Za-z_][A-Za-z0-9_.-]{0,40}(?: [A-Za-z0-9_.-]{1,40}){0,3} ?[=:])"
    r"|\\{0,7}[\"'`](?=[A-Za-z0-9!#$@])"
    r"|>(?=[A-Za-z0-9])|<(?=[A-Za-z0-9])(?![A-Za-z][^<>\s]{0,40}>)"
    rf"){{0,{_MOST}}}"
)
"""What belongs to a password without quotation marks around it, from a place inside it on."""

_MARK = re.compile(r"(\\*)([\"'`]?)")


def end_of_password(text: str, start: int, end: int) -> int:
    """Return where a password ends of which a rule found a range; never before the end of that range."""
    opening = _OPENING.search(text[max(0, start - 8) : start])
    if opening is not None:
        closing = _closing(len(opening[1]), opening[2]).match(text, start, start + _MOST)
        if closing is not None:
            return max(end, closing.start(1))
    rest = _REST.match(text, end)
    return rest.end() if rest else end


def end_before_escape(text: str, start: int, end: int) -> int:
    """Return where a value ends of which a rule found a range, without the backslashes that escape a mark behind it.

    JSON escapes a quotation mark with one backslash, JSON in JSON with three, then seven; such a mark is followed by
    the one that closes the text around it, which is escaped once less. Every other backslash is the value's.
    """
    own = end - start - len(text[start:end].rstrip("\\"))
    behind = _MARK.match(text, end)
    if not own or behind is None:
        return end
    count = own + len(behind[1]) + 1
    escape = (count & -count) - 1 if behind[2] else 0
    while escape and not _closing(escape // 2, behind[2]).match(text, behind.end()):
        escape //= 2
    return behind.end(1) - escape


def _closing(escape: int, mark: str) -> re.Pattern[str]:
    """Return the pattern of the rest of a line up to the mark that closes what one like it opened, escaped as often.

    Before it there may be backslashes that are escaped themselves.
    """
    return re.compile(rf"[^\n]*?(?<!\\)(?:\\{{{2 * escape + 2}}})*()\\{{{escape}}}{mark}")
