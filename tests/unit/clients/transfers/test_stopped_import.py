"""``memolith import`` that the API refuses half-way: what was imported stays, and the error says nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memolith.clients.cli.failures import Exit
from tests.api.loopback import serving
from tests.api.transport import body_of_event
from tests.unit.clients.desk import Desk
from tests.unit.clients.transfers.reports import fill


def test_an_import_that_is_refused_later_is_not_told_as_if_nothing_was_changed(desk: Desk, tmp_path: Path) -> None:
    busy = json.dumps({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}})

    def throttling(event: Mapping[str, Any]) -> Mapping[str, Any]:
        if b'"/b"' in body_of_event(event):
            return {"statusCode": 429, "headers": {"retry-after": "0.01"}, "isBase64Encoded": False, "body": busy}
        return desk.backend.answer(event)

    folder = str(fill(tmp_path / "f", {"a": "1", "b": "2"}))
    with serving(throttling) as port:
        code, out, err = desk.run("import", folder, "--store", desk.store, "--api-url", f"http://127.0.0.1:{port}")
    assert code == Exit.IN_PART and "stopped before the end" in out
    assert "What was done stays" in err and "Nothing was changed" not in err
