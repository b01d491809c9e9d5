"""``memolith edit``: a memory in an editor. What was typed is never lost, whatever becomes of the write."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.cli.api_client import Key, Store, Url, connect, find_memory, speaking
from memolith.clients.cli.cat import no_text
from memolith.clients.cli.failures import ApiFailed, Exit, exit_of, explain
from memolith.clients.cli.output import Json, say, show_memory
from memolith.clients.cli.put import text_of
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest, MemolithError

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def edit(
    store: Store,
    path: Annotated[str, typer.Argument(help="The memory's path; if there is no memory, it is created.")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Open a memory in $VISUAL or $EDITOR, and write it when you close the editor.

    The write succeeds only if the memory still has the text that was opened. If another writer changed it, or the write
    is refused for any other reason, nothing is changed. Your text is kept in a file that the error names.

    Example: EDITOR="code --wait" memolith edit memstore_useast1_01kb… /notes/todo.md
    """
    if not path.startswith("/"):
        raise InvalidRequest("PATH", "must begin with /")
    with speaking():
        client = connect(url, key)
        live = client.memories.at(store, path)
        was = None if live is None else find_memory(client, store, live.id, full=True)
    if was is not None and was.content is None:
        raise no_text(store, was)
    before = "" if was is None else str(was.content)
    file = Path(mkdtemp(prefix="memolith-edit-")) / path.rpartition("/")[2]
    file.write_bytes(before.encode())
    try:
        _run_editor(file)
        after = text_of(file)
        if after == before:
            _forget(file)
            _show_unchanged(was, as_json)
            return
        with speaking():
            done = _write(client, store, path, was, after)
    except MemolithError as error:
        advice = f"Your text is kept in {file}; to write it over what is there now:\n"
        again = f"  memolith put {shlex.join([store, path, str(file)])}"
        raise ApiFailed(explain(error).removeprefix("error: "), exit_of(error), advice + again) from error
    _forget(file)
    show_memory(done, "created" if was is None else "changed", as_json)


def _write(client: ApiClient, store: str, path: str, was: Any, text: str) -> Any:
    memories = client.memories
    if was is None:
        return memories.create(store, path=path, content=text)
    still: Any = {"type": "content_sha256", "content_sha256": was.content_sha256}
    return memories.update(was.id, memory_store_id=store, content=text, precondition=still)


def _show_unchanged(was: Any, as_json: bool) -> None:
    if was is not None:
        show_memory(was, "unchanged", as_json)
    elif as_json:
        print(json.dumps({"result": "unchanged"}))
    else:
        say("nothing was typed, and nothing was made")


def _run_editor(file: Path) -> None:
    """Run the editor. Raises InvalidRequest: there is no such editor. ApiFailed: it ended as if it had failed."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        ended = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
    except (OSError, ValueError) as error:
        raise InvalidRequest("EDITOR", f"{editor} cannot be run: say which editor, EDITOR=nano") from error
    if ended:
        raise ApiFailed(f"{editor} ended with {ended}, so nothing was written", Exit.FAILED)


def _forget(file: Path) -> None:
    """Delete the file and what an editor leaves beside it: backups and the like."""
    rmtree(file.parent)
