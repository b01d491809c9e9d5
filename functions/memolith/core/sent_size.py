"""What a text takes where it is sent. Pure."""

from __future__ import annotations

import json

_QUOTES = len(json.dumps(json.dumps("")))


def sent_size(text: str) -> int:
    """Return what the characters of a text take in Lambda's answer, which is JSON in JSON: seven bytes each at most, or
    twelve where one is four bytes of UTF-8.
    """
    return len(json.dumps(json.dumps(text, ensure_ascii=False))) - _QUOTES
