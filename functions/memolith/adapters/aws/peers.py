"""Other functions on Lambda."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.errors import AwsError, write_error
from memolith.adapters.aws.names import Deployment
from memolith.ports.errors import OutcomeUnknown

_ERROR_TYPE = re.compile(r"[A-Za-z0-9_.]{1,100}")


class LambdaPeers:
    """`ports.peers.Peers` by synchronous invocation. Sent once: a repetition could do the thing twice."""

    def __init__(self, clients: Clients, deployment: Deployment) -> None:
        self._clients = clients
        self._deployment = deployment

    def call(self, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Invoke once. Of a failure in the other function the error names only the type: the rest may quote content."""
        what = f"{function} in {region}"
        try:
            answer = self._clients.functions(region).invoke(
                FunctionName=self._deployment.function(function),
                InvocationType="RequestResponse",
                Payload=json.dumps(payload).encode(),
            )
            body = answer["Payload"].read()
        except AwsError as error:
            raise write_error(error, what) from error
        if answer.get("FunctionError"):
            raise OutcomeUnknown(f"{what} failed: {_error_type(body)}")
        reply = _parsed(body)
        if not isinstance(reply, dict):
            raise OutcomeUnknown(f"{what} answered with something else than a JSON object")
        return reply


def _error_type(body: bytes) -> str:
    report = _parsed(body)
    name = report.get("errorType") if isinstance(report, dict) else None
    return name if isinstance(name, str) and _ERROR_TYPE.fullmatch(name) else "unknown"


def _parsed(body: bytes) -> Any:
    """Parse the JSON of `body`; None if it is none."""
    try:
        return json.loads(body)
    except ValueError:
        return None
