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
    r"|\\{0,3}[\"'`](?=[A-Za-z0-9!#$@])"
    r"|>(?=[A-Za-z0-9])|<(?=[A-Za-z0-9])(?![A-Za-z][^<>\s]{0,40}>)"
    rf"){{0,{_MOST}}}"
)
"""What belongs to a password without quotation marks around it, from a place inside it on."""


def end_of_password(text: str, start: int, end: int) -> int:
    """Return where a password ends of which a rule found a range; never before the end of that range."""
    opening = _OPENING.search(text[max(0, start - 8) : start])
    if opening is not None:
        closing = _closing(*opening.groups()).match(text, start, start + _MOST)
        if closing is not None:
            return max(end, closing.start(1))
    rest = _REST.match(text, end)
    return rest.end() if rest else end


def _closing(escape: str, mark: str) -> re.Pattern[str]:
    """Return the pattern of the rest of a line up to the mark that closes what one like it opened, escaped as often."""
    before = rf"(){re.escape(escape)}" if escape else r"(?:\\\\)*()"
    return re.compile(rf"[^\n]*?(?<!\\){before}{mark}")
