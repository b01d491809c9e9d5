"""``memolith search``: full-text search over one store."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from memolith.clients.api.client import address
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, say, visible
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.limits import SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX
from memolith.core.trust import UNKNOWN

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def search(
    store: Store,
    query: Annotated[list[str], typer.Argument(help="Words, names or dates; or a whole question.")],
    folder: Annotated[str | None, typer.Option("--in", help="Only below this folder, such as /notes/.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=SEARCH_LIMIT_MAX, help="The greatest number of results.")
    ] = SEARCH_LIMIT_DEFAULT,
    min_trust: Annotated[
        str | None,
        typer.Option("--min-trust", metavar="CLASS", help="Only texts of this trust class or better: agent."),
    ] = None,
    type: Annotated[str | None, typer.Option("--type", help="Only memories whose frontmatter says this type.")] = None,
    tags: Annotated[
        str | None, typer.Option("--tags", help="Only memories whose frontmatter has all of these tags, with commas.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only what was changed since: an instant, yesterday, '2 weeks ago'.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only what was not changed after that instant.")] = None,
    author: Annotated[
        str | None, typer.Option("--by", help="Only what this API key, apikey_…, or session, sesn_…, wrote last.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="INSTANT", help="The store as it was: yesterday, '2 hours ago'.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Find the memories that match a query best, and the passage in each.

    Example: memolith search memstore_useast1_01kb… "when do we deploy?"

    Words in quotation marks have to stand in the text just so, unless the query is a question (?).

    Example: memolith search memstore_useast1_01kb… '"release train" Friday' --since '2 weeks ago'

    Example: memolith search "Team notes" timeout --as-of '2 days ago'

    Example: memolith search memstore_useast1_01kb… Caroline pizza --in /people/ --json
    """
    asked: dict[str, str | int] = {"query": " ".join(query), "limit": limit}
    if folder is not None:
        asked["path_prefix"] = folder
    if since is not None:
        asked["updated_at[gte]"] = instant(since, local_now(), "--since")
    if until is not None:
        asked["updated_at[lte]"] = instant(until, local_now(), "--until")
    if as_of is not None:
        asked["as_of"] = instant(as_of, local_now(), "--as-of")
    if author is not None:
        asked["session_id" if author.startswith("sesn_") else "api_key_id"] = author
    asked |= {name: value for name, value in (("min_trust", min_trust), ("type", type), ("tags", tags)) if value}
    with speaking():
        found = connect(url, key).get(address(store, "search"), asked)["data"]
    if as_json:
        print(json.dumps(found))
        return
    for hit in found:
        mark = " (disputed)" if hit.get("disputed") else ""
        say(f"{visible(hit['memory']['path'])}  ({hit['memory'].get('trust', UNKNOWN)}){mark}", "bold")
        for line in hit["excerpt"].splitlines():
            say(f"    {visible(line)}")
