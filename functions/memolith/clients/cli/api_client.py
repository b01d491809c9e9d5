"""Commands that speak the HTTP API, as any program does, with a key.

Which API and which key, `memolith.clients.cli.api_address` decides, for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from memolith.adapters.system import SystemClock
from memolith.clients.api.client import SESSIONS, ApiClient, ApiStaged, Record, address
from memolith.clients.api.http import ApiRefused, ApiUnanswered, HttpApi
from memolith.clients.cli.api_address import find_address, is_this_machine
from memolith.clients.cli.failures import CHECK_FIRST, ApiFailed, Exit, refusal
from memolith.core import ids
from memolith.core.errors import InvalidRequest


def _complete_store(ctx: typer.Context, incomplete: str) -> list[str]:
    from memolith.clients.cli.store_argument import complete_store

    return complete_store(ctx, incomplete)


def complete_path(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a path of the store that was named before it."""
    from memolith.clients.cli import store_argument

    return store_argument.complete_path(ctx, incomplete)


Store = Annotated[
    str,
    typer.Argument(
        help="The store, by id or name; where a default is set (`memolith use`), it may be left out.",
        autocompletion=_complete_store,
    ),
]


What = Annotated[
    str,
    typer.Argument(metavar="PATH|MEMORY", help="A memory's path or its id, mem_…", autocompletion=complete_path),
]


Url = Annotated[
    str | None,
    typer.Option(
        "--api-url", envvar="ANTHROPIC_BASE_URL", help="The API's address; by default the one on this machine."
    ),
]


Key = Annotated[
    str | None, typer.Option("--api-key", help="An API key; by default ANTHROPIC_API_KEY, if an address is given.")
]


AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="INSTANT", help="As it was then: yesterday, '2 hours ago', 3d, 2026-11-22, RFC 3339."
    ),
]


Withheld = Annotated[
    bool, typer.Option("--withheld", help="Include texts that the safety scanner withholds; needs an admin's key.")
]


def connect(url: str | None, key: str | None) -> ApiClient:
    """Make a client of the API. Opens no connection yet.

    Raises:
        InvalidRequest: no address was given, and none is known here.
    """
    address = find_address(url, key)
    return ApiClient(HttpApi(address.url, address.key, SystemClock()))


@contextmanager
def speaking() -> Iterator[None]:
    """Turn the API's errors into the one that a command ends with. Raises ApiFailed."""
    try:
        yield
    except ApiRefused as error:
        raise refusal(error.status, error.body, maybe_done=error.maybe_done) from error
    except ApiUnanswered as error:
        raise _no_answer(error) from error
    except ApiStaged as staged:
        advice = "The store has such writes wait for a person: `memolith proposals show` shows it, `approve` writes it."
        told = f"staged for approval as {staged.id}; it is not in memory yet"
        raise ApiFailed(told, Exit.FAILED, advice) from staged


def _no_answer(error: ApiUnanswered) -> ApiFailed:
    """Describe a request that got no answer: one that never reached a server has changed nothing."""
    if error.maybe_done:
        return ApiFailed(f"{error.url} did not say what became of it", Exit.UNKNOWN, CHECK_FIRST)
    start = "Start it with `memolith serve`" if is_this_machine(error.url) else "Is the address right, and reachable?"
    advice = f"Nothing was changed. {start}; --api-url gives another address."
    return ApiFailed(f"{error.url} does not answer", Exit.NO_ANSWER, advice)


def store_address(store: str, part: str, version: str | None = None) -> str:
    """Return the address of a part of a store, such as its quarantine, or of one version in it.

    Raises:
        InvalidRequest: for what is no id, and might name something else.
    """
    if not _is_id(store, "memstore_"):
        raise InvalidRequest("STORE", f"{store} is not the id of a store (memstore_…)")
    if version is not None and not _is_id(version, "memver_"):
        raise InvalidRequest("VERSION", f"{version} is not the id of a version (memver_…); `list` names them")
    return address(store, part, *(() if version is None else (version,)))


def session_address(session: str, name: str = "SESSION") -> str:
    """Return the address of a session. Raises InvalidRequest, naming the argument, for what is no id."""
    if ids.SESSION.fullmatch(session) is None:
        raise InvalidRequest(name, f"{session} is not the id of a session (sesn_…)")
    return address(session, of=SESSIONS)


def _is_id(text: str, prefix: str) -> bool:
    return text.startswith(prefix) and text.replace("_", "").isalnum() and text.isascii()


def check_path(what: str) -> None:
    """Raise InvalidRequest unless it is a path or a memory's id."""
    if not what.startswith(("/", "mem_")):
        raise InvalidRequest("PATH|MEMORY", "must be a path, which begins with /, or an id, which begins with mem_")


def memory_id_of(client: ApiClient, store_id: str, what: str) -> str:
    """Return the id of a memory named by id or path: the memory there now, or else the last one that was.

    Raises:
        InvalidRequest: it is neither an id nor a path.
        ApiFailed: no memory was ever there.
    """
    check_path(what)
    if what.startswith("mem_"):
        return what
    live = client.memories.at(store_id, what)
    if live is not None:
        return str(live.id)
    for version in client.versions.list(store_id):
        if version.path == what:
            return str(version.memory_id)
    raise ApiFailed(f"no memory is at {what}, nor was one as far back as versions are kept", Exit.NOT_FOUND)


def find_memory(client: ApiClient, store_id: str, what: str, *, full: bool = False) -> Record:
    """Find a live memory, named by its path or its id, as the store's home knows it. Two calls at most.

    Raises:
        InvalidRequest: it is neither an id nor a path.
        ApiFailed: there is none.
    """
    check_path(what)
    memory_id = what
    if what.startswith("/"):
        live = client.memories.at(store_id, what)
        if live is None:
            raise nothing_at(store_id, what)
        if not full:
            return live
        memory_id = live.id
    return client.memories.retrieve(memory_id, memory_store_id=store_id, view="full" if full else "basic")


def memory_then(client: ApiClient, store_id: str, what: str, when: str) -> Record:
    """Find a memory with its text as it was at an instant, named by its path then or its id. Two calls at most.

    Raises:
        InvalidRequest: it is neither an id nor a path.
        ApiFailed: there was none.
    """
    check_path(what)
    memory_id = what
    if what.startswith("/"):
        folder = what[: what.rindex("/") + 1]
        found = (row for row in client.memories.list(store_id, path_prefix=folder, as_of=when) if row.path == what)
        there = next(found, None)
        if there is None:
            raise ApiFailed(f"no memory was at {what} at {when}", Exit.NOT_FOUND, "`memolith log` lists versions.")
        memory_id = there.id
    return client.memories.retrieve(memory_id, memory_store_id=store_id, view="full", as_of=when)


def below(client: ApiClient, store_id: str, what: str) -> list[str]:
    """Return the paths of all memories in a folder, at any depth; none where it is no folder."""
    if not what.startswith("/"):
        return []
    folder = what if what.endswith("/") else f"{what}/"
    return [str(row.path) for row in client.memories.list(store_id, path_prefix=folder) if row.type == "memory"]


def nothing_at(store_id: str, path: str) -> ApiFailed:
    """Make the error that there is no memory at a path."""
    advice = f"`memolith ls {store_id}` says what is there, `memolith log` what was."
    return ApiFailed(f"no memory is at {path}", Exit.NOT_FOUND, advice)
