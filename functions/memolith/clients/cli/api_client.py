"""Commands that speak the HTTP API, as any program does: through the unchanged `anthropic` SDK, with a key.

Which API and which key, `memolith.clients.cli.api_address` decides, for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memolith.clients.cli.api_address import find_address
from memolith.clients.cli.failures import ApiFailed, Exit, refusal
from memolith.core.errors import InvalidRequest

if TYPE_CHECKING:
    from anthropic import Anthropic
    from anthropic.types.beta.memory_stores import BetaManagedAgentsMemory
from memolith.clients.transfer.read_headers import AT_HOME, live_at

TIMEOUT_S = 35.0
"""A little more than the API itself may take."""


Store = Annotated[str, typer.Argument(help="The store, memstore_…")]


What = Annotated[str, typer.Argument(metavar="PATH|MEMORY", help="A memory's path or its id, mem_…")]


Url = Annotated[
    str | None,
    typer.Option(
        "--api-url", envvar="ANTHROPIC_BASE_URL", help="The API's address; by default the one on this machine."
    ),
]


Key = Annotated[
    str | None, typer.Option("--api-key", help="An API key; by default ANTHROPIC_API_KEY, if an address is given.")
]


Withheld = Annotated[
    bool, typer.Option("--withheld", help="Include texts that the safety scanner withholds; needs an admin's key.")
]


def connect(url: str | None, key: str | None) -> Anthropic:
    """Make a client of the API.

    Raises:
        InvalidRequest: no address was given, and none is known here; or the SDK is not installed.
    """
    try:
        from anthropic import Anthropic
    except ImportError as error:
        raise InvalidRequest("", "this needs the SDK: pip install '.[sdk]'") from error
    address = find_address(url, key)
    return Anthropic(base_url=address.url, api_key=address.key, timeout=TIMEOUT_S)


def once(client: Anthropic) -> Anthropic:
    """Return the same client, for writes: it reports a write whose answer was lost and does not repeat it."""
    return client.with_options(max_retries=0)


@contextmanager
def speaking() -> Iterator[None]:
    """Turn the SDK's errors into the one that a command ends with. Raises ApiFailed."""
    try:
        from anthropic import APIConnectionError, APIStatusError
    except ImportError as error:
        raise InvalidRequest("", "this needs the SDK: pip install '.[sdk]'") from error
    try:
        yield
    except APIStatusError as error:
        raise refusal(error.status_code, error.body) from error
    except APIConnectionError as error:
        raise _no_answer(error) from error


def _no_answer(error: Any) -> ApiFailed:
    """Describe a request that got no answer: one that never reached a server has changed nothing."""
    from httpx2 import ConnectError, ConnectTimeout

    url = error.request.url
    where = f"{url.scheme}://{url.netloc.decode()}"
    if error.request.method == "GET" or isinstance(error.__cause__, ConnectError | ConnectTimeout):
        advice = (
            "Nothing was changed. Does it run (`memolith serve`, `memolith dev status`)? --api-url says "
            "another address."
        )
        return ApiFailed(f"{where} does not answer", Exit.NO_ANSWER, advice)
    advice = "It may have been done: check before you repeat it."
    return ApiFailed(f"{where} did not say what became of it", Exit.UNKNOWN, advice)


def get(client: Anthropic, path: str, **query: str | int) -> dict[str, Any]:
    """Return the JSON of an operation that the SDK has no method for. Raises as the SDK does."""
    from anthropic._types import RequestOptions

    return _json(client.get(path, cast_to=object, options=RequestOptions(params=query)))


def post(client: Anthropic, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON of a write that the SDK has no method for; sent once. Raises as the SDK does."""
    return _json(once(client).post(path, cast_to=object, body=dict(body or {})))


def rows(client: Anthropic, path: str, **query: str | int) -> Iterator[dict[str, Any]]:
    """Yield every row of a listing, a page at a time. Raises as the SDK does."""
    page: dict[str, str | int] = {}
    while True:
        answer = get(client, path, **query, **page)
        yield from answer["data"]
        if answer.get("next_page") is None:
            return
        page = {"page": answer["next_page"]}


def store_address(store: str, part: str, version: str | None = None) -> str:
    """Return the address of a part of a store, such as its quarantine, or of one version in it.

    Raises:
        InvalidRequest: for what is no id, and might name something else.
    """
    if not _is_id(store, "memstore_"):
        raise InvalidRequest("STORE", f"{store} is not the id of a store (memstore_…)")
    if version is not None and not _is_id(version, "memver_"):
        raise InvalidRequest("VERSION", f"{version} is not the id of a version (memver_…); `list` names them")
    return f"/v1/memory_stores/{store}/{part}" + ("" if version is None else f"/{version}")


def _is_id(text: str, prefix: str) -> bool:
    return text.startswith(prefix) and text.replace("_", "").isalnum() and text.isascii()


def _json(answer: object) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise refusal(200, answer)
    return answer


def check_path(what: str) -> None:
    """Raise InvalidRequest unless it is a path or a memory's id."""
    if not what.startswith(("/", "mem_")):
        raise InvalidRequest("PATH|MEMORY", "must be a path, which begins with /, or an id, which begins with mem_")


def memory_id_of(client: Anthropic, store_id: str, what: str) -> str:
    """Return the id of a memory named by id or path: the memory there now, or else the last one that was.

    Raises:
        InvalidRequest: it is neither an id nor a path.
        ApiFailed: no memory was ever there.
    """
    check_path(what)
    if what.startswith("mem_"):
        return what
    live = live_at(client, store_id, what)
    if live is not None:
        return live.id
    for version in client.beta.memory_stores.memory_versions.list(store_id, limit=100, extra_headers=AT_HOME):
        if version.path == what:
            return version.memory_id
    raise ApiFailed(f"no memory is at {what}, nor was one as far back as versions are kept", Exit.NOT_FOUND)


def find_memory(client: Anthropic, store_id: str, what: str, *, full: bool = False) -> BetaManagedAgentsMemory:
    """Find a live memory, named by its path or its id, as the store's home knows it. Two calls at most.

    Raises:
        InvalidRequest: it is neither an id nor a path.
        ApiFailed: there is none.
    """
    check_path(what)
    memory_id = what
    if what.startswith("/"):
        live = live_at(client, store_id, what)
        if live is None:
            raise nothing_at(store_id, what)
        if not full:
            return live
        memory_id = live.id
    return client.beta.memory_stores.memories.retrieve(
        memory_id, memory_store_id=store_id, view="full" if full else "basic", extra_headers=AT_HOME
    )


def nothing_at(store_id: str, path: str) -> ApiFailed:
    """Make the error that there is no memory at a path."""
    advice = f"`memolith ls {store_id}` says what is there, `memolith log` what was."
    return ApiFailed(f"no memory is at {path}", Exit.NOT_FOUND, advice)
