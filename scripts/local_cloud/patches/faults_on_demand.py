"""The emulator fails on demand (`scripts.local_cloud.faults`): a region cut off, tables throttled, replies lost.

AWS has the AWS Fault Injection Service for this; the emulator has nothing.
"""

from __future__ import annotations

from typing import Any

from scripts.local_cloud.faults import Faulty
from scripts.local_cloud.patches import Patch, need


def _apply() -> None:
    from hypercorn.protocol import http_stream
    from ministack import app

    need(app, "app")
    need(http_stream, "ASGIHTTPState", "HTTPStream")
    closed = http_stream.ASGIHTTPState.CLOSED

    def drop(send: Any) -> None:
        # A stream that is closed before it was answered has its connection closed when the application returns.
        send.__self__.state = closed

    app.app = Faulty(app.app, drop)


PATCH = Patch(
    "faults_on_demand", "no region can be cut off, and no table throttled: `memolith dev faults`, `make drill`", _apply
)
