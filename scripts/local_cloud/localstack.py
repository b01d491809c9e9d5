"""A LocalStack that runs already: which endpoint the environment names, and how the stacks differ there.

The free edition has no HTTP APIs and puts no layers into its functions' containers. So requests come in by function
URLs, behind a process of ours that does what the API's routes do (`front_door`), and each bundle carries its packages.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Mapping
from typing import Any

from scripts.local_cloud import emulator

NAMED_BY = ("AWS_ENDPOINT_URL", "LOCALSTACK_HOST")
"""What names an endpoint, read by localstack-client: a whole address, or a host with or without its port."""


def endpoint_of_environment() -> str | None:
    """Return the endpoint that the environment names; None if it names none.

    Raises:
        ValueError: the port of LOCALSTACK_HOST is no number.
    """
    if not any(os.environ.get(name, "").strip() for name in NAMED_BY):
        return None
    from localstack_client.config import get_service_endpoint

    try:
        named: str | None = get_service_endpoint("s3")
    except RuntimeError as error:
        raise ValueError(f"LOCALSTACK_HOST must be HOST or HOST:PORT: {error}") from error
    return named


def services_of(endpoint: str) -> frozenset[str] | None:
    """Return the names of the services that the LocalStack at `endpoint` has; None if it is no LocalStack.

    MiniStack answers at LocalStack's address of health too, so it is asked first whether it is that.
    """
    if emulator.is_ministack(endpoint):
        return None
    try:
        with urllib.request.urlopen(f"{endpoint}/_localstack/health", timeout=5) as answer:  # noqa: S310 - our own address
            health: Any = json.load(answer)
    except (OSError, ValueError):
        return None
    services = health.get("services") if isinstance(health, Mapping) else None
    return frozenset(services) if isinstance(services, Mapping) and "version" in health else None


def record_for(services: frozenset[str]) -> dict[str, Any]:
    """Return what of the deployment's record is other than for MiniStack: functions run in Lambda's own containers."""
    door = "http_api" if "apigatewayv2" in services else "function_urls"
    return {"bundling": "lambda", "python_version": "3.13", "layers": False, "front_door": door}
