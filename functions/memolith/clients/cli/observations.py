"""``memolith observations``: what the memories of a store state."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from memolith.clients.api.client import address
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking
from memolith.clients.cli.conflicts import list_conflicts
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, say, visible
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.limits import GRAPH_LIMIT_DEFAULT, GRAPH_LIMIT_MAX

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def observations(
    store: Store,
    query: Annotated[list[str] | None, typer.Argument(help="Words that the text has, all of them.")] = None,
    category: Annotated[str | None, typer.Option("--category", "-c", help="Only of this category.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="Only with this tag.")] = None,
    valid_at: Annotated[
        str | None, typer.Option("--valid-at", help="Only what holds at this instant, 2026-07-01T00:00:00Z.")
    ] = None,
    conflicts: Annotated[
        bool, typer.Option("--conflicts", help="Only what contradicts each other, both sides; `--in` narrows it.")
    ] = False,
    folder: Annotated[
        str | None,
        typer.Option("--in", metavar="FOLDER", help="With --conflicts: where one side is below this folder."),
    ] = None,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="With --conflicts: what a memory says that it supersedes.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=GRAPH_LIMIT_MAX, help="The greatest number of results.")
    ] = GRAPH_LIMIT_DEFAULT,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="WHEN", help="As it was: 'yesterday', 2026-06-01.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List what memories state in lines such as `- [category] text #tag`, of the newest memories first.

    Example: memolith observations memstore_useast1_01kb… --category decision

    Example: memolith observations memstore_useast1_01kb… redis --valid-at 2026-07-01T00:00:00Z --json

    Example: memolith observations "Team notes" --conflicts --in /decisions/
    """
    if conflicts:
        if query or category or tag or valid_at or as_of:
            said = "takes neither words nor --category, --tag, --valid-at or --as-of"
            raise typer.BadParameter(said, param_hint="--conflicts")
        list_conflicts(store, folder, "superseded" if superseded else "open", limit, url, key, as_json)
        return
    if folder is not None or superseded:
        raise typer.BadParameter("needs --conflicts", param_hint="--in" if folder is not None else "--superseded")
    asked: dict[str, str | int] = {"limit": limit}
    given = {"category": category, "tag": tag, "valid_at": valid_at, "query": " ".join(query or ())}
    asked |= {name: value for name, value in given.items() if value}
    if as_of is not None:
        asked["as_of"] = instant(as_of, local_now(), "--as-of")
    with speaking():
        found = connect(url, key).get(address(store, "observations"), asked)
    if as_json:
        print(json.dumps(found))
        return
    for one in found["observations"]:
        category_shown = f"[{one['category']}] " if one["category"] else ""
        mark = " (disputed)" if one.get("disputed") else ""
        line = f"{one['memory']['path']}:{one['line']}: {category_shown}{one['content']}{mark}"
        say(visible(line))
    if found["truncated"]:
        typer.echo("there are more; ask for more with --limit", err=True)
