"""``memolith activity``: which memories of a store were changed last."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memolith.clients.api.client import address
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking
from memolith.clients.cli.output import Json, show_rows
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.limits import ACTIVITY_PAGE_MAX, ACTIVITY_TIMEFRAME, TIMEFRAME_MAX_CHARS

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def activity(
    store: Store,
    timeframe: Annotated[
        str, typer.Option("--since", metavar="TIMEFRAME", help="How far back: 24h, 7d, yesterday, '2 weeks', 2026-05.")
    ] = ACTIVITY_TIMEFRAME,
    author: Annotated[
        str | None, typer.Option("--by", help="Only what this API key, apikey_…, or session, sesn_…, changed.")
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=ACTIVITY_PAGE_MAX, help="The greatest number of memories.")
    ] = 20,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the memories that were changed last, how often, and by whom. `memolith log` lists each version.

    Example: memolith activity "Team notes" --since yesterday

    Example: memolith activity memstore_useast1_01kb… --by sesn_useast1_01kb… --json
    """
    asked: dict[str, str | int] = {"timeframe": timeframe[: TIMEFRAME_MAX_CHARS + 1], "page_size": limit}
    if author is not None:
        asked["session_id" if author.startswith("sesn_") else "api_key_id"] = author
    with speaking():
        found = connect(url, key).get(address(store, "activity"), asked)
    rows = [_row(one) for one in found["memories"]]
    show_rows(rows, ("changed_at", "operation", "path", "changes", "trust", "by"), as_json)
    if not as_json and (found["has_more"] or found["truncated"]):
        typer.echo("there are more; ask for more with --limit, or for less time with --since", err=True)


def _row(one: dict[str, Any]) -> dict[str, Any]:
    authors = [text for actor in one["changed_by"] for name, text in actor.items() if name.endswith("_id")]
    shown = {name: one[name] for name in ("memory_id", "changed_at", "operation", "path", "changes", "trust")}
    return {**shown, "by": ", ".join(authors)}
