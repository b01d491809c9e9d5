"""``memolith mount``: a store as a folder of this machine."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from memolith.clients.cli.api_address import find_address
from memolith.clients.cli.api_client import Key, Store, Url
from memolith.clients.cli.failures import ApiFailed, Exit, unanswered
from memolith.clients.cli.output import Json
from memolith.clients.cli.store_argument import StoreCommand
from memolith.clients.working_copy.store_client import StoreClientError
from memolith.core import ids
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def mount(
    store: Store,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="An empty folder; created if it is missing.")],
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every write.")] = False,
    interval_s: Annotated[
        float, typer.Option("--interval", min=0.1, max=3600, help="Seconds between checks for what others wrote.")
    ] = 5.0,
    desk: Annotated[
        Path, typer.Option("--desk", envvar="MEMOLITH_DESK", help="Where texts are cached and unsaved edits are kept.")
    ] = Path("~/.memolith/desk"),
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Mount a store as a folder, until you unmount it (fusermount3 -u DIR) or press Ctrl-C.

    Each close of a changed file is one commit. If a text cannot be committed, the program gets an error and the text is
    kept beside its file. What the folder can and cannot do: docs/mount-semantics.md.

    Example: memolith mount memstore_useast1_01kb… ~/memory
    """
    from memolith.adapters.system import SystemClock
    from memolith.clients.mount.mounting import check_folder, check_fuse, ignored_of, open_copy, place_of
    from memolith.clients.mount.mounting import mount as show
    from memolith.clients.working_copy.http_store_client import HttpStoreClient

    check_fuse()
    if not ids.STORE.fullmatch(store):
        raise InvalidRequest("STORE", "must be a memory store's id, memstore_…")
    folder = folder.expanduser().absolute()
    check_folder(folder)
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")
    address = find_address(url, key)
    client = HttpStoreClient(address.url, address.key, store, SystemClock())
    place = place_of(desk, store)
    try:
        copy = open_copy(client, place, read_only=read_only)
    except StoreClientError as error:
        raise unanswered(error, "Nothing was mounted.") from error
    waiting = [local.path for local in copy.unsaved.inherited]

    def mounted() -> None:
        if as_json:
            told = {"mounted": str(folder), "memory_store_id": store, "pid": os.getpid(), "left": waiting}
            print(json.dumps(told), flush=True)
            return
        print(f"{store} is in {folder}. Ctrl-C, or fusermount3 -u {folder}, ends it.", flush=True)
        for path in waiting:
            print(f"left by an earlier mount: {path}", flush=True)

    try:
        show(copy, folder, ignored_of(place), interval_s, mounted)
    except OSError as error:
        raise ApiFailed(str(error.strerror), Exit.FAILED) from error
    sys.stdout.flush()
