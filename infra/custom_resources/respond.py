"""What every custom resource needs: run one function for each kind of request, and tell CloudFormation how it went.

Without an answer a stack waits for an hour, so everything that goes wrong is answered too.
Source: AWS CloudFormation User Guide, "Custom resource response objects".
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

Act = Callable[[str, Mapping[str, Any]], None]
REASON_CHARACTERS_MAX = 1_000
_TIMEOUT_S = 10


def answer(
    event: Mapping[str, Any], physical_id: str, act: Act, put: Callable[[str, bytes], None] | None = None
) -> None:
    """Run ``act(request_type, properties)`` and report success, or the error's type and text.

    Args:
        event: CloudFormation's request.
        physical_id: What the resource is called; the same in every request, so that nothing is ever replaced.
        act: Does the work. ``request_type`` is ``Create``, ``Update`` or ``Delete``.
        put: Sends the answer; the default puts it to the address in the event.
    """
    status, reason = "SUCCESS", ""
    try:
        act(event["RequestType"], event["ResourceProperties"])
    except Exception as error:  # noqa: BLE001 - an unanswered request blocks the stack for an hour
        status, reason = "FAILED", f"{type(error).__name__}: {error}"[:REASON_CHARACTERS_MAX]
    body = {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": physical_id,
        **{field: event[field] for field in ("StackId", "RequestId", "LogicalResourceId")},
    }
    (put or _put)(event["ResponseURL"], json.dumps(body).encode())


def _put(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, data=body, method="PUT", headers={"Content-Type": ""})  # noqa: S310
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S):  # noqa: S310 - CloudFormation's own address
        pass
