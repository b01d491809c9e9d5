"""The STORE that most commands begin with: an id, a name, or nothing where a default store is known.

The default is ``MEMOLITH_STORE``, or what `memolith use` keeps for the address that is asked. It takes STORE's place
where the first word is a path or a memory's id, or where there is one word less than the command needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from memolith.adapters.local.files import locked, write_new
from memolith.clients.api.client import ApiClient, Record
from memolith.clients.api.http import NOT_FOUND, ApiRefused
from memolith.clients.cli.api_address import find_address, laptop_root
from memolith.clients.cli.api_client import connect, speaking
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.core import ids
from memolith.core.errors import InvalidRequest

SCHEMA = 1
NO_STORE = (
    "name a store, by its id or its name; `memolith stores list` lists them, and `memolith use STORE` sets a default"
)


LISTINGS: tuple[Mapping[str, str], ...] = ({}, {"include_archived": "true"})
"""Where a name is looked for: among the stores that are written, and only then among those that are archived."""

_DEFAULT = "(default)"
"""What stands for the default store between parsing and running a command."""


class StoreCommand(TyperCommand):
    """A command whose argument ``store`` is an id, a name, or left out. It is called with the id."""

    takes_default = True
    listings = LISTINGS

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with a mark for the default store where none is named. Asks nothing yet."""
        if self.takes_default and not ctx.resilient_parsing and self._lacks_store(ctx, args):
            args = [_DEFAULT, *args]
        return list(super().parse_args(ctx, args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command with the id of the store that was named, or of the default one."""
        named, url, key = ctx.params["store"], ctx.params.get("url"), ctx.params.get("key")
        if named == _DEFAULT:
            named = default_store(url, key)
        ctx.params["store"] = store_called(named, url, key, self.listings)
        return super().invoke(ctx)

    def _lacks_store(self, ctx: Any, args: list[str]) -> bool:
        """Tell whether the words begin with what is no store, or are too few."""
        if any(word in ctx.help_option_names for word in args):
            return False
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        arguments = [one for one in self.params if one.param_type_name == "argument"]
        words: list[str] = []
        for one in arguments:
            value = given.get(one.name)
            if isinstance(value, str):
                words.append(value)
            elif isinstance(value, Sequence):
                words += [each for each in value if isinstance(each, str)]
        if not words:
            return True
        if words[0].startswith("memstore_"):
            return False
        return words[0].startswith(("/", "mem_")) or len(words) < sum(one.required for one in arguments)


class NamedStoreCommand(StoreCommand):
    """The same without a default: a store that is to be changed or deleted is named."""

    takes_default = False


class DeletedStoreCommand(NamedStoreCommand):
    """The same for a store that was deleted."""

    listings = ({"deleted": "true"}, {})


def store_called(named: str, url: str | None, key: str | None, listings: Sequence[Mapping[str, str]] = LISTINGS) -> str:
    """Return the id of a store that is named by its id or its name. No request for an id, else as `one_called`.

    Raises:
        ApiFailed: no store has that name, or several have.
    """
    if named.startswith("memstore_"):  # asks for no address
        return named
    with speaking():
        return one_called(connect(url, key), named, listings)


def one_called(client: ApiClient, named: str, listings: Sequence[Mapping[str, str]] = LISTINGS) -> str:
    """Return an id as it is, or that of the one store with this name, in the first listing that has one.

    A request for 100 stores of each listing; with a session's token, one for each of the session's stores.

    Raises:
        ApiFailed: no store has that name, or several have.
    """
    if named.startswith("memstore_"):
        return named
    own = _of_session(client)
    listed: Iterable[Iterable[Record]] = (client.stores.list(**query) for query in listings)
    if own is not None:
        listed = [one for one in own if one.archived_at is None], own
    found: list[Record] = []
    for stores in listed:
        found = found or [one for one in stores if one.name == named]
    if not found and own is not None:
        names = ", ".join(one.name for one in own)
        raise ApiFailed(f"no store of the token's session is called {named}", Exit.NOT_FOUND, f"It has: {names}")
    if not found:
        hint = "`memolith stores list` lists the stores; with --archived or --deleted, others too."
        raise ApiFailed(f"no store is called {named}", Exit.NOT_FOUND, hint)
    if len(found) > 1:
        names = ", ".join(one.id for one in found)
        raise ApiFailed(f"{len(found)} stores are called {named}", Exit.USAGE, f"Use the id: {names}")
    return str(found[0].id)


def _of_session(client: ApiClient) -> list[Record] | None:
    """Return the stores of a token's session, without those that were deleted. None for an API key, which may list."""
    from memolith.app.auth.session_tokens import PREFIX
    from memolith.wire.mcp.bearers import stores_in

    if not client.http.key.startswith(PREFIX):
        return None
    found = []
    for store_id in stores_in(client.http.key):
        try:
            found.append(client.stores.retrieve(store_id))
        except ApiRefused as error:
            if error.kind != NOT_FOUND:
                raise
    return found


def default_store(url: str | None, key: str | None) -> str:
    """Return the default store, as an id or a name. Raises InvalidRequest: there is none."""
    chosen = os.environ.get("MEMOLITH_STORE") or _kept().get(find_address(url, key).url)
    if not chosen:
        raise InvalidRequest("STORE", NO_STORE)
    return chosen


def keep_default(url: str | None, key: str | None, store: str | None) -> None:
    """Make a store the default for an address; None: none is. Replaces the file as a whole, one process at a time."""
    address, file = find_address(url, key).url, _file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(file.with_suffix(".lock")):
        kept = _kept()
        kept.pop(address, None)
        if store is not None:
            kept[address] = store
        write_new(file.parent, json.dumps({"schema": SCHEMA, "stores": kept}, indent=2).encode()).replace(file)


def _file() -> Path:
    return laptop_root() / "default-stores.json"


def _kept() -> dict[str, str]:
    """Return address to default store. Raises InvalidRequest for a file that is something else."""
    file = _file()
    try:
        stores = json.loads(file.read_text())["stores"]
        return {str(url): str(store) for url, store in stores.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidRequest("STORE", f"{file} cannot be read: delete it, and run `memolith use` again") from error


# ---- completion -----------------------------------------------------------------------------------------------------

COMPLETIONS_MAX = 200


def complete_store(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a store's name or id; a path belongs to the default store. Nothing where no server answers."""
    if incomplete.startswith("/"):
        return complete_path(ctx, incomplete)
    try:
        client = _client(ctx)
        own = _of_session(client)
        stores = list(client.stores.list()) if own is None else own
    except Exception:  # noqa: BLE001 - completion stays silent whatever is wrong: the command itself says it
        return []
    names = [one.id if incomplete.startswith("memstore_") else one.name for one in stores]
    return [name for name in names if name.startswith(incomplete)][:COMPLETIONS_MAX]


def complete_path(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a path of the store that is named before it, a folder at a time."""
    if not incomplete.startswith("/"):
        return []
    try:
        client, named = _client(ctx), ctx.params.get("store")
        if not isinstance(named, str):
            named = default_store(ctx.params.get("url"), ctx.params.get("key"))
        store = named if ids.STORE.fullmatch(named) else one_called(client, named)
        folder = incomplete[: incomplete.rindex("/") + 1]
        found = []
        for row in client.memories.list(store, path_prefix=folder, depth=1):
            if row.path.startswith(incomplete):
                found.append(str(row.path))
            if len(found) == COMPLETIONS_MAX:
                break
        return found
    except Exception:  # noqa: BLE001 - as above
        return []


def _client(ctx: typer.Context) -> ApiClient:
    return connect(ctx.params.get("url") or os.environ.get("ANTHROPIC_BASE_URL") or None, ctx.params.get("key"))
