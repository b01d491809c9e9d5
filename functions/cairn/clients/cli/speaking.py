"""Commands that speak the HTTP API, as any program does: through the `anthropic` SDK, with a key.

Where: ``--api-url`` and ``--api-key``, or the SDK's own variables, or the local cloud that runs in this folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.clients.cli.target import DEV_FILE
from cairn.core.errors import CairnError, InvalidRequest, Unavailable

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory

Store = Annotated[str, typer.Argument(help="The store, memstore_…")]
What = Annotated[str, typer.Argument(metavar="PATH|MEMORY", help="A memory's path, or its id, mem_…")]
Url = Annotated[
    str | None,
    typer.Option("--api-url", envvar="ANTHROPIC_BASE_URL", help="The API's address; else the local one's."),
]
Key = Annotated[
    str | None, typer.Option("--api-key", envvar="ANTHROPIC_API_KEY", help="An API key; else the local cloud's.")
]

AT_HOME = {"x-cairn-consistency": "home"}
"""The header that asks for what the store's home knows."""


class ApiFailed(CairnError):
    """The API refused. The message is its own."""


def connect(url: str | None, key: str | None) -> Anthropic:
    """A client of the API.

    Raises:
        InvalidRequest: it was not said which, and no local cloud runs here.
    """
    from anthropic import Anthropic

    if url is None or key is None:
        if not DEV_FILE.exists():
            raise InvalidRequest(
                "--api-url, --api-key", "must both be given, or ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY be set"
            )
        dev = json.loads(DEV_FILE.read_text())
        first = next(iter(dev["regions"].values()))
        url, key = url or first["api_url"], key or dev["api_key"]
    return Anthropic(base_url=url, api_key=key)


@contextmanager
def speaking() -> Iterator[None]:
    """Turns the SDK's errors into those that a command ends with. Raises ApiFailed, Unavailable."""
    from anthropic import APIConnectionError, APIStatusError

    try:
        yield
    except APIStatusError as error:
        raise ApiFailed(reason_of(error)) from error
    except APIConnectionError as error:
        raise Unavailable(f"{error.request.url.host} does not answer") from error


def reason_of(error: Exception) -> str:
    """What the API said of it, in one line."""
    body = getattr(error, "body", None)
    told = body.get("error", {}).get("message") if isinstance(body, dict) else None
    return str(told or getattr(error, "message", "") or type(error).__name__)


def live_at(client: Anthropic, store_id: str, path: str) -> BetaManagedAgentsMemory | None:
    """The memory at a path now, as the store's home knows it. A listing of its folder."""
    folder = path[: path.rindex("/") + 1]
    listed = client.beta.memory_stores.memories.list(store_id, path_prefix=folder, limit=100, extra_headers=AT_HOME)
    return next((row for row in listed if row.type == "memory" and row.path == path), None)


def memory_id_of(client: Anthropic, store_id: str, what: str) -> str:
    """The id of a memory named by its id or its path: who is there now, or else who was there last.

    Raises:
        InvalidRequest: it is neither an id nor a path, or nobody was ever there.
    """
    if what.startswith("mem_"):
        return what
    if not what.startswith("/"):
        raise InvalidRequest("PATH|MEMORY", "must be a path, which begins with /, or an id, which begins with mem_")
    live = live_at(client, store_id, what)
    if live is not None:
        return live.id
    for version in client.beta.memory_stores.memory_versions.list(store_id, limit=100, extra_headers=AT_HOME):
        if version.path == what:
            return version.memory_id
    raise InvalidRequest("PATH|MEMORY", f"no memory is at {what}, nor was one as far back as versions are kept")
