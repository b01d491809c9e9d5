"""``memolith edit``: a memory in an editor. What was typed is never lost, whatever becomes of the write."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.cli.api_address import words_of_address
from memolith.clients.cli.api_client import Key, Store, Url, connect, find_memory, speaking
from memolith.clients.cli.cat import no_text
from memolith.clients.cli.failures import CHECK_FIRST, ApiFailed, Exit, exit_of, explain
from memolith.clients.cli.output import Json, say, show_memory
from memolith.clients.cli.put import require_path, text_of
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest, MemolithError
from memolith.core.paths import check_path

app = typer.Typer(add_completion=False, rich_markup_mode=None)

NAME_MAX_BYTES = 200
"""Of a file's name, of which a disk takes 255: editors name files of their own after it."""


@app.command(cls=StoreCommand)
def edit(
    store: Store,
    path: Annotated[str, typer.Argument(help="The memory's path; if there is no memory, it is created.")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Open a memory in $VISUAL or $EDITOR, and write it when you close the editor.

    The write succeeds only if the memory is still at its path, with the text that was opened. If another writer changed
    or renamed it, or the write is refused for any other reason, nothing is changed. Your text is kept in a file that
    the error names.

    Example: EDITOR="code --wait" memolith edit memstore_useast1_01kb… /notes/todo.md
    """
    check_path(path)
    with speaking():
        client = connect(url, key)
        live = client.memories.at(store, path)
        was = None if live is None else find_memory(client, store, live.id, full=True)
    if was is not None and was.content is None:
        raise no_text(store, was)
    before = "" if was is None else str(was.content)
    file = _file_of(path, before)
    kept = (
        f"Your text is kept in {file}; to write it over what is there now:\n"
        f"  memolith put {shlex.join([store, path, str(file), *words_of_address(url)])}"
    )
    done, doubt = was, ""
    try:
        with _handling(signal.default_int_handler, signal.SIGHUP):
            _run_editor(file)
            after = text_of(file)
            if after != before:
                doubt = f"{CHECK_FIRST}\n"
                with speaking():
                    done = _write(client, store, path, was, after)
    except MemolithError as error:
        raise ApiFailed(explain(error).removeprefix("error: "), exit_of(error), kept) from error
    except BaseException:
        print(doubt + kept, file=sys.stderr)
        raise
    _forget(file)
    if after == before:
        _show_unchanged(was, as_json)
    else:
        show_memory(done, "created" if was is None else "changed", as_json)


def _file_of(path: str, text: str) -> Path:
    """Make the file that the editor opens, named as the memory is, as far as a file may be."""
    name = path.rpartition("/")[2].encode()[-NAME_MAX_BYTES:].decode(errors="ignore")
    file = Path(mkdtemp(prefix="memolith-edit-")) / name
    try:
        file.write_bytes(text.encode())
    except BaseException:
        _forget(file)
        raise
    return file


def _write(client: ApiClient, store: str, path: str, was: Any, text: str) -> Any:
    memories = client.memories
    if was is None:
        return memories.create(store, path=path, content=text)
    require_path(client, store, was.id, path)
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
    """Run the editor. Ctrl-C is the editor's, as long as it runs, and so is the end of the terminal (SIGHUP).

    Raises:
        InvalidRequest: there is no such editor. ApiFailed: it ended as if it had failed.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        with _handling(lambda *_: None, signal.SIGINT, signal.SIGHUP):  # not SIG_IGN, which the editor would have, too
            ended = subprocess.run([*shlex.split(editor), str(file)], check=False).returncode
    except (OSError, ValueError) as error:
        raise InvalidRequest("EDITOR", f"{editor} cannot be run: say which editor, EDITOR=nano") from error
    if ended:
        raise ApiFailed(f"{editor} ended with {ended}, so nothing was written", Exit.FAILED)


@contextmanager
def _handling(handler: Callable[[int, Any], object], *signals: int) -> Iterator[None]:
    """Have these signals handled so in this block, but for those that are ignored, as SIGHUP under `nohup`."""
    before = {one: signal.signal(one, handler) for one in signals if signal.getsignal(one) != signal.SIG_IGN}
    try:
        yield
    finally:
        for one, was in before.items():
            signal.signal(one, was)


def _forget(file: Path) -> None:
    """Delete the file and what an editor leaves beside it: backups and the like."""
    rmtree(file.parent)
