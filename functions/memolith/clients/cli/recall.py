"""``memolith recall``: the few memories that matter now, or none."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from memolith.clients.api.client import address
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking
from memolith.clients.cli.output import Json, say, visible
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.limits import RECALL_LIMIT
from memolith.core.trust import UNKNOWN

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def recall(
    store: Store,
    query: Annotated[list[str], typer.Argument(help="What is about to be done, in words.")],
    tool: Annotated[list[str] | None, typer.Option("--tool", help="A tool in use; may be repeated.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=RECALL_LIMIT, help="The greatest number of memories.")
    ] = RECALL_LIMIT,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Show the memories that matter for a task, at most five, each with why. Nothing is shown where nothing matters.

    Example: memolith recall memstore_useast1_01kb… deploy to production --tool git
    """
    asked: dict[str, str | int] = {"query": " ".join(query), "limit": limit}
    if tool:
        asked["recent_tools"] = ",".join(tool)
    with speaking():
        found = connect(url, key).get(address(store, "recall"), asked)["memories"]
    if as_json:
        print(json.dumps(found))
        return
    for one in found:
        mark = " (disputed)" if one.get("disputed") else ""
        why = "; ".join(one["why"])
        say(visible(f"{one['path']}  {one['title']} ({one['age']}, {one.get('trust', UNKNOWN)}){mark}: {why}"))
