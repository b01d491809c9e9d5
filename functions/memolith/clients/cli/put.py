"""``memolith put``: a text becomes a memory, new or changed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.output import Json, show_memory
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Sha256 = Annotated[
    str | None,
    typer.Option(
        "--if-sha256", metavar="SHA256", help="Only if the content still has this hash; `cat --json` shows it."
    ),
]


@app.command(cls=StoreCommand)
def put(
    store: Store,
    path: Annotated[str, typer.Argument(help="The path, such as /notes/todo.md.")],
    file: Annotated[Path, typer.Argument(help="A UTF-8 file; - is standard input.")] = Path("-"),
    new: Annotated[bool, typer.Option("--new", help="Only if the path is free.")] = False,
    if_sha256: Sha256 = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Write a memory's text: create the memory, or change the one at the path.

    The write succeeds only if the memory has not changed since the command began; otherwise nothing is changed and the
    exit code is 5. With --if-sha256, it succeeds only if the memory has not changed since you read it.

    Example: memolith put memstore_useast1_01kb… /notes/todo.md todo.md

    Example: date | memolith put memstore_useast1_01kb… /log/started --new
    """
    if not path.startswith("/"):
        raise InvalidRequest("PATH", "must begin with /")
    if new and if_sha256:
        raise InvalidRequest("--new, --if-sha256", "exclude each other")
    if if_sha256 is not None and re.fullmatch("[0-9a-f]{64}", if_sha256) is None:
        raise InvalidRequest("--if-sha256", "must be 64 hexadecimal digits, in lower case")
    with speaking():
        client = connect(url, key)
        live = None if new else client.memories.at(store, path)
        if live is None and if_sha256 is not None:
            raise InvalidRequest("--if-sha256", f"no memory is at {path}")
    text = text_of(file)  # only now: what others write while a pipe is read is not replaced
    with speaking():
        memories = client.memories
        if live is not None and (file == Path("-") or not file.is_file()):  # a file is read at once
            require_path(client, store, live.id, path)
        if live is None:
            done: Any = memories.create(store, path=path, content=text)
        else:
            still: Any = {"type": "content_sha256", "content_sha256": if_sha256 or live.content_sha256}
            done = memories.update(live.id, memory_store_id=store, content=text, precondition=still)
    before = None if live is None else live.memory_version_id
    show_memory(done, "created" if before is None else _change(before, done), as_json)


def require_path(client: ApiClient, store: str, memory_id: str, path: str) -> None:
    """Raise ApiFailed for a memory that was renamed while its new text was made: its text alone is a precondition."""
    now = client.memories.retrieve(memory_id, memory_store_id=store, view="basic").path
    if now != path:
        told = f"the memory at {path} was renamed to {now} meanwhile, by another client"
        raise ApiFailed(told, Exit.CONFLICT, "Nothing was changed. Put it again: the text becomes a memory of its own.")


def _change(before: str, done: Any) -> str:
    return "unchanged" if done.memory_version_id == before else "changed"


def text_of(file: Path) -> str:
    """Return a file's text, or standard input's, as it is: line ends stay unchanged.

    Raises:
        InvalidRequest: it cannot be read, or is not UTF-8.
    """
    if file == Path("-") and sys.stdin.isatty():
        print("reading the text from the terminal; Ctrl-D on a line of its own ends it", file=sys.stderr)
    try:
        content = sys.stdin.buffer.read() if file == Path("-") else file.read_bytes()
    except OSError as error:
        raise InvalidRequest("FILE", f"{file} cannot be read: {error.strerror}") from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("FILE", f"is not UTF-8 text (byte {error.start}), and a memory is text") from error
