"""Invoking a deployment's functions by name: all that most commands may do, and all that they need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memolith.app.kernel.peer_messages import decode_error
from memolith.clients.cli.deployment_target import Target
from memolith.core.errors import InvalidRequest, OutcomeUnknown, Unavailable
from memolith.ports import errors as port_errors


def invoke(target: Target, region: str, function: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Invoke a function and return its answer; raise its errors as it raised them.

    Raises:
        Unavailable: it cannot be invoked. OutcomeUnknown: it did not say what it did. InvalidRequest: no such region.
    """
    if region not in target.regions:
        raise InvalidRequest("--region", f"{region} is not one of {', '.join(target.regions)}")
    try:
        answer = target.peers(region).call(region, function, payload)
    except port_errors.Unavailable as error:
        raise Unavailable(f"the {function} of {region} cannot be invoked") from error
    except port_errors.OutcomeUnknown as error:
        raise OutcomeUnknown(f"the {function} of {region} did not say what it did") from error
    if "error" in answer:
        raise decode_error(answer["error"])
    return answer
