"""Data inside a prompt, kept apart from the prompt's own words.

Data is one JSON document between two tags. Angle brackets in it are written as escapes, so that nothing in the data
can end the frame; every JSON reader takes the escapes back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

INPUT = "input"


def framed(document: Mapping[str, Any], tag: str = INPUT) -> str:
    """Return the document as JSON between two tags; equal documents give equal texts."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=1)
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<{tag}>\n{escaped}\n</{tag}>"


def unframed(text: str, tag: str = INPUT) -> dict[str, Any]:
    """Return the document that stands between the tags.

    Raises:
        ValueError: there is none, or it is no JSON object.
    """
    match = re.search(rf"<{tag}>\n(.*)\n</{tag}>", text, re.DOTALL)
    document = json.loads(match[1]) if match else None
    if not isinstance(document, dict):
        raise ValueError(f"there is no document between <{tag}> and </{tag}>")
    return document
