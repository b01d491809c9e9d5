"""What every custom resource needs: run one function for each kind of request, and tell CloudFormation how it went.

Without an answer a stack waits for an hour, so everything that goes wrong is answered too.
Source: AWS CloudFormation User Guide, "Custom resource response objects".
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

Act = Callable[[str, Mapping[str, Any]], None]
REASON_CHARACTERS_MAX = 1_000
_TIMEOUT_S = 10
DENIED = ("AccessDenied", "AccessDeniedException")
DENIED_TRIES = 13
DENIED_PAUSE_S = 5.0
"""A role's policy is seconds old when its function runs, and IAM spreads it within a minute, as a rule sooner."""


def answer(
    event: Mapping[str, Any],
    physical_id: str,
    act: Act,
    put: Callable[[str, bytes], None] | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Run ``act(request_type, properties)`` and report success, or the error's type and text.

    What AWS denies is tried again for a minute, until the role's new policy is known everywhere.

    Args:
        event: CloudFormation's request.
        physical_id: What the resource is called; the same in every request, so that nothing is ever replaced.
        act: Does the work, and may do it again. ``request_type`` is ``Create``, ``Update`` or ``Delete``.
        put: Sends the answer; the default puts it to the address in the event.
        pause: Waits for so many seconds.
    """
    status, reason = "SUCCESS", ""
    try:
        _act_once_allowed(lambda: act(event["RequestType"], event["ResourceProperties"]), pause)
    except Exception as error:  # noqa: BLE001 - an unanswered request blocks the stack for an hour
        status, reason = "FAILED", f"{type(error).__name__}: {error}"[:REASON_CHARACTERS_MAX]
    body = {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": physical_id,
        **{field: event[field] for field in ("StackId", "RequestId", "LogicalResourceId")},
    }
    (put or _put)(event["ResponseURL"], json.dumps(body).encode())


def _act_once_allowed(act: Callable[[], None], pause: Callable[[float], None]) -> None:
    for _ in range(DENIED_TRIES - 1):
        try:
            return act()
        except Exception as error:
            if _code_of(error) not in DENIED:
                raise
        pause(DENIED_PAUSE_S)
    return act()


def _code_of(error: Exception) -> object:
    """Return what AWS calls the error; None for any other. botocore is not imported for it."""
    return getattr(error, "response", {}).get("Error", {}).get("Code")


def _put(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, data=body, method="PUT", headers={"Content-Type": ""})  # noqa: S310 - CloudFormation's own address
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S):  # noqa: S310 - CloudFormation's own address
        pass
