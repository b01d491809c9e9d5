"""Hostile-looking paths: those that mean another place once somebody decodes them.

The API's own grammar (`memolith.core`) refuses empty, ``.`` and ``..`` segments and characters that show nothing. A
path can obey it and still be an attack on whatever reads it next: a mount, a tool, an exporter that decodes percent
signs. So a path is decoded as often as anybody might (percent signs up to three times, over-long UTF-8, ``%u``, HTML
entities, ``0x2e``), NFKC-folded, its backslashes turned, and then judged.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from memolith.scanner.findings import Severity

DECODINGS = 3

REMEDY = "Use a plain path of named segments, such as /notes/todo.md."


@dataclass(frozen=True)
class PathRule:
    """One rule: an id, one line why, the shape of a decoded path that it finds, and how much that weighs."""

    id: str
    reason: str
    pattern: re.Pattern[str]
    severity: Severity = Severity.HIGH


_ODD_DOTS = str.maketrans(
    {
        "․": ".",
        "‥": "..",
        "…": "...",
        "。": ".",
        "．": ".",
        "∕": "/",
        "⁄": "/",
        "⧸": "/",
        "╱": "/",
        "∖": "\\",
        "⧵": "\\",
        "﹨": "\\",
        "＼": "\\",
        "／": "/",
    }
)

RULES: tuple[PathRule, ...] = (
    PathRule(
        "path-traversal",
        "a segment begins with two dots and leads out of the store",
        re.compile(r"(?:^|/)[\s\"';,|&<>=?@%:]*\.\.|(?:^|/)\.(?:/|$)|/\.[;%]|\.\.[/;%]"),
    ),
    PathRule("path-scheme", "a URL, where a path belongs", re.compile(r"^/*[a-zA-Z][a-zA-Z0-9+.-]{1,20}:/", re.ASCII)),
    PathRule("path-drive", "a drive letter", re.compile(r"(?:^|/)[a-zA-Z]:(?:/|$)|^/*[a-zA-Z]:[^/]")),
    PathRule(
        "path-absolute",
        "a network share, or an absolute path inside a path",
        re.compile(r"^//|//[^/]|^/*[?.]/[a-zA-Z]:|//$"),
    ),
    PathRule("path-home", "a home directory", re.compile(r"(?:^|/)~")),
    PathRule(
        "path-control",
        "control or format characters, or their encodings",
        re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"),
    ),
    PathRule(
        "path-system",
        "names a file of the operating system or of a server's configuration",
        re.compile(
            r"^/*(?:etc/(?:passwd|shadow|master\.passwd|gshadow|sudoers|security/)|proc/(?:self|version|\d+|cmdline)|"
            r"(?:windows|winnt)/(?:win\.ini|system\.ini|system32|repair)|boot\.ini|web-inf/|dev/(?:null|tcp|udp|sd[a-z]))",
            re.IGNORECASE,
        ),
    ),
    PathRule(
        "path-repository",
        "a folder of version control or of SSH, whose files programs run or obey",
        re.compile(r"(?:^|/)(?:\.(?:git|hg|svn|jj|ssh)|git~1)(?:/|$)", re.IGNORECASE),
        Severity.MEDIUM,
    ),
    PathRule(
        "path-encoded",
        "percent signs, entities or over-long bytes that stand for dots, slashes or control characters",
        re.compile(r"(?!)"),
    ),
)
BY_ID = {rule.id: rule for rule in RULES}

_PERCENT_U = re.compile(r"%u([0-9a-fA-F]{4})")
_HEX_ESCAPE = re.compile(r"(?:\\x|0x|\\u00|%%?\\x)([0-9a-fA-F]{2})")
_SUSPECT_BYTES = re.compile(rb"[\xc0\xc1][\x00-\xff]|\xe0[\x80-\x9f][\x80-\xbf]|[\xf0-\xfc][\x80\x8f][\x80-\xbf]{2,4}")
_ENCODED = re.compile(
    r"%(?:25)*(?:2e|2f|5c|0[0-9a-f]|7f|u[0-9a-f]{4})|%(?:25)*(?:c0|c1|e0%(?:25)*80|f0%(?:25)*80|f8|fc)|&#x?[0-9a-f]{2}|0x2[ef]|0x5c|\\x",
    re.IGNORECASE,
)


def hits(path: str) -> list[str]:
    """Return the ids of the rules that a path breaks, in the order of `RULES`; empty for a harmless one.

    Args:
        path: as the API takes it: with a leading ``/``; one without is judged the same.
    """
    readings = _readings(path)
    found = [rule.id for rule in RULES if any(rule.pattern.search(reading) for reading in readings)]
    if _ENCODED.search(path):
        found.append("path-encoded")
    if "path-control" not in found and any(_shows_nothing(char) for char in readings[-1]):
        found.append("path-control")
    return found


def _shows_nothing(char: str) -> bool:
    return (
        ord(char) > 0x7F and unicodedata.category(char) in ("Cf", "Cc", "Cs", "Zl", "Zp") and char not in "\u200c\u200d"
    )


def _readings(path: str) -> list[str]:
    """Return the path as written and after each decoding, folded for judging."""
    readings = [_fold(path)]
    current = path
    for _ in range(DECODINGS):
        decoded = _decode(current)
        if decoded == current:
            break
        current = decoded
        readings.append(_fold(current))
    return readings


def _fold(path: str) -> str:
    return unicodedata.normalize("NFKC", path.translate(_ODD_DOTS)).replace("\\", "/")


def _decode(path: str) -> str:
    path = html.unescape(path) if "&" in path else path
    path = _PERCENT_U.sub(lambda m: chr(int(m[1], 16)), path)
    path = _HEX_ESCAPE.sub(lambda m: chr(int(m[1], 16)), path)
    if "%" not in path:
        return path
    raw = unquote_to_bytes(path.encode("utf-8", "surrogatepass"))
    return _SUSPECT_BYTES.sub(_shortest, raw).decode("utf-8", "replace")


def _shortest(match: re.Match[bytes]) -> bytes:
    """Return an over-long UTF-8 sequence as the ASCII character that it stands for."""
    raw = match[0]
    code = raw[-1] & 0x3F
    if len(raw) == 2:
        code |= (raw[0] & 0x1F) << 6
    elif len(raw) >= 3:
        code |= (raw[-2] & 0x3F) << 6
    return bytes([code & 0x7F])
