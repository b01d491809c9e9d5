"""Another program's configuration, read as it stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memolith.core.errors import InvalidRequest


def json_of(file: Path) -> dict[str, Any]:
    """Read a file of JSON; empty where there is none.

    Raises:
        InvalidRequest: it cannot be read, or makes no sense.
    """
    try:
        read = json.loads(file.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise InvalidRequest("", f"{file} cannot be read: {error}") from error
    return read if isinstance(read, dict) else {}
