"""Tests of a match that a regular expression cannot make; a rule names one as its ``check``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cairn.scanner.secrets import looks_secret

_HOST = re.compile(r"(?:https?|ftp|wss?)://(?:[^/\s@'\"]*@)?([a-z0-9.{}$_-]+)")
_SECRET_NAME = re.compile(r"\$\{?(?:env:)?([a-z0-9_]*(?:key|token|secret|passw|cred|auth)[a-z0-9_]*)")
_OWN_HOST = re.compile(
    r"^(?:localhost|127\.|0\.0\.0\.0|10\.|192\.168\.|\[?::1|[$%{]|api\.|host\.docker|.*\.(?:internal|local|svc|test)$|"
    r"(?:www\.)?example\.(?:com|org|net)$)"
)
_COMMON = frozenset(
    "api key token secret password passwd auth access client app my the user id url prod dev test bearer admin service "
    "personal bot private public master env credential credentials".split()
)


def sent_elsewhere(match: re.Match[str]) -> bool:
    """Whether a command hands a secret variable to a host that has nothing to do with it.

    ``curl https://api.openai.com/… $OPENAI_API_KEY`` is how an interface is used; the same variable in a request to
    another host is how it is stolen. A host is the variable's own if they share a name, if it is this machine or a
    variable itself, or if it begins with ``api.``.
    """
    command = match[0]
    host = _HOST.search(command)
    if host is None:
        return True
    if _OWN_HOST.match(host[1]):
        return False
    names = {part for name in _SECRET_NAME.findall(command) for part in name.split("_") if len(part) > 2} - _COMMON
    return not any(part in host[1] for part in names)


def holds_secret(match: re.Match[str]) -> bool:
    """Whether the match's last group looks like a secret and not like a placeholder."""
    return looks_secret(next(group for group in reversed(match.groups()) if group is not None))


CHECKS: Mapping[str, Callable[[re.Match[str]], bool]] = {
    "": lambda match: True,
    "sent-elsewhere": sent_elsewhere,
    "holds-secret": holds_secret,
}
