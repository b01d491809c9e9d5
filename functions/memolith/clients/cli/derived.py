"""``memolith erasure derived``: the memories that only one session wrote."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.cli.api_client import Key, Url, connect, session_address, speaking
from memolith.clients.cli.output import Json, show_rows


def derived(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="sesn_…")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the memories that a session wrote, and whether others wrote them too. Removes nothing.

    Deleting a session erases its transcript, and leaves what was made of it: look here, and delete or redact what has
    to go. derived: every version that is kept is of this session. shared: others wrote versions of it as well.

    Example: memolith erasure derived sesn_useast1_01kb…
    """
    address = session_address(session)
    with speaking():
        client = connect(url, key)
        stores = [one["memory_store_id"] for one in client.get(address)["resources"]]
        rows = [row for store_id in stores for row in _in_store(client, store_id, session)]
    show_rows(rows, ("memory_store_id", "memory_id", "path", "provenance", "versions"), as_json)


def _in_store(client: ApiClient, store_id: str, session: str) -> list[dict[str, Any]]:
    """Return the memories of one store that the session wrote. A listing for each of them."""
    written = list(client.versions.list(store_id, session_id=session))
    rows = []
    for memory_id in dict.fromkeys(str(version.memory_id) for version in written):
        versions = list(client.versions.list(store_id, memory_id=memory_id))
        own = [version for version in versions if version.created_by.get("session_id") == session]
        paths = [str(version.path) for version in versions if version.path is not None]
        rows.append(
            {
                "memory_store_id": store_id,
                "memory_id": memory_id,
                "path": paths[0] if paths else None,
                "provenance": "derived" if len(own) == len(versions) else "shared",
                "versions": len(own),
            }
        )
    return rows
