"""``memolith mv``: a memory under another path."""

from __future__ import annotations

from typing import Annotated

import typer

from memolith.clients.cli.api_client import Key, Store, Url, What, connect, find_memory, speaking
from memolith.clients.cli.output import Json, show_memory
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def mv(
    store: Store,
    what: What,
    to: Annotated[str, typer.Argument(metavar="TO", help="The new path; if it ends with /, the folder to move into.")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Move a memory to another path. It keeps its id and its versions. A path that is taken is refused.

    Example: memolith mv memstore_useast1_01kb… /notes/todo.md /done/
    """
    if not to.startswith("/"):
        raise InvalidRequest("TO", "must begin with /")
    with speaking():
        client = connect(url, key)
        memory = find_memory(client, store, what)
        path = to + memory.path.rpartition("/")[2] if to.endswith("/") else to
        done = client.memories.update(memory.id, memory_store_id=store, path=path)
    show_memory(done, "moved", as_json)
