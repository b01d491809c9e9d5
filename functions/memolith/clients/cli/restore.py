"""``memolith restore``: an old version of one memory, or a whole store as it was at an instant, as new versions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from memolith.clients.api.client import ApiClient
from memolith.clients.api.http import ApiRefused
from memolith.clients.cli.api_client import Key, Store, Url, connect, memory_id_of, speaking
from memolith.clients.cli.failures import Exit, once_changed
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, say, show_rows
from memolith.clients.cli.restore_plan import Action, Done, Restorer, Seen, plan
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest, MemolithError

NOT_FOUND = 404
COLUMNS = ("action", "path", "memory", "result", "reason")

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=StoreCommand)
def restore(
    store: Store,
    what: Annotated[
        str | None, typer.Argument(metavar="PATH|MEMORY", help="One memory; without --version, one that was deleted.")
    ] = None,
    version: Annotated[str | None, typer.Option("--version", help="The version to restore, memver_…")] = None,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="INSTANT",
            help="Restore the store as of then: yesterday, '2 hours ago', 2026-11-22, RFC 3339.",
        ),
    ] = None,
    path_prefix: Annotated[str, typer.Option("--path-prefix", help="Only what is, or was, in this folder.")] = "/",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Restore a deleted memory, an old version of one, or a whole store as of an instant; each change is a new version.

    A memory that another writer changes meanwhile is kept and reported. Memories created since the instant are deleted;
    their versions stay. If the command stops, run it again. Exit code 3: something was kept.

    Example: memolith restore "Team notes" /notes/deleted.md

    Example: memolith restore memstore_useast1_01kb… /notes/todo.md --version memver_01kb…

    Example: memolith restore memstore_useast1_01kb… --as-of 2026-11-21T10:00:00Z --path-prefix /notes/ --dry-run
    """
    _check(what, version, as_of, path_prefix)
    done: list[Done] = []
    try:
        with speaking():
            client = connect(url, key)
            if as_of is None:
                chosen = version or _before_deletion(client, store, what or "")
                done.append(_restore_version(client, store, what or "", chosen, dry_run))
            else:
                then = instant(as_of, local_now(), "--as-of")
                _restore_store(client, store, then, path_prefix, dry_run, done)
    except MemolithError:
        if done:
            _show(done, dry_run, as_json)
        with once_changed(any(one.restored for one in done)):
            raise
    _show(done, dry_run, as_json)
    if not dry_run and not all(one.restored for one in done):
        raise typer.Exit(Exit.IN_PART)


def _check(what: str | None, version: str | None, as_of: str | None, path_prefix: str) -> None:
    if version is not None and what is None:
        raise InvalidRequest("--version", "goes with PATH|MEMORY")
    if (what is None) == (as_of is None):
        raise InvalidRequest("PATH|MEMORY, --as-of", "exactly one of them must be given")
    if not (path_prefix.startswith("/") and path_prefix.endswith("/")):
        raise InvalidRequest("--path-prefix", "must begin and end with /")


def _restore_store(client: ApiClient, store: str, as_of: str, prefix: str, dry_run: bool, done: list[Done]) -> None:
    """Restore a store. Adds each finished step to `done` at once, so that an error does not lose the report."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from memolith.clients.cli.consoles import aside

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=aside, transient=True) as progress:
        task = progress.add_task("comparing", total=None)

        def tell(one: Done) -> None:
            done.append(one)
            progress.advance(task)

        restorer = Restorer(client, store, as_of, tell)
        actions = plan(restorer.then(), restorer.now(), prefix)
        if dry_run:
            done += [Done(action, False, action.reason) for action in actions]
            return
        progress.update(task, description="restoring", total=len(actions), completed=0)
        restorer.carry_out(actions)


def _before_deletion(client: ApiClient, store: str, what: str) -> str:
    """Return the last version with a text of a memory that was deleted. Raises InvalidRequest: it was not."""
    memory_id = memory_id_of(client, store, what)
    versions = client.versions.list(store, memory_id=memory_id)
    newest = next(versions, None)
    if newest is None or newest.operation != "deleted":
        raise InvalidRequest("--version", f"{what} is not deleted: say which version, as `memolith log` shows it")
    found = next((one for one in versions if one.content_sha256 is not None and one.redacted_at is None), None)
    if found is None:
        raise InvalidRequest("PATH|MEMORY", f"no version of {what} has a text any more")
    return str(found.id)


def _restore_version(client: ApiClient, store: str, what: str, version_id: str, dry_run: bool) -> Done:
    """Put the version's content into the memory as it is now; or, if that was deleted, into a new one at its path.

    Raises:
        InvalidRequest: the version is another memory's, a deletion, or its text no longer exists.
    """
    memory_id = memory_id_of(client, store, what)
    old = client.versions.retrieve(version_id, memory_store_id=store)
    if old.memory_id != memory_id:
        raise InvalidRequest("--version", f"{version_id} is a version of another memory, {old.memory_id}")
    if old.content is None or old.path is None:
        raise InvalidRequest("--version", f"{version_id} has no text: it is a deletion, was erased, or is withheld")
    try:
        now = client.memories.retrieve(memory_id, memory_store_id=store, view="basic")
    except ApiRefused as error:
        if error.status != NOT_FOUND:
            raise
        holder = client.memories.at(store, old.path)
        if holder is not None:
            raise InvalidRequest("PATH|MEMORY", f"{old.path} is held by another memory now, {holder.id}") from None
        if not dry_run:
            client.memories.create(store, path=old.path, content=old.content)
        return Done(Action("create", None, _seen(memory_id, old.path, old)), not dry_run)
    if not dry_run:
        still: Any = {"type": "content_sha256", "content_sha256": now.content_sha256}
        client.memories.update(memory_id, memory_store_id=store, content=old.content, precondition=still)
    return Done(Action("update", _seen(memory_id, now.path, now), _seen(memory_id, now.path, old)), not dry_run)


def _seen(id: str, path: str, shown: Any) -> Seen:
    return Seen(id, path, shown.content_sha256)


def _show(done: Sequence[Done], dry_run: bool, as_json: bool) -> None:
    rows = [one.row() | ({"result": "planned"} if dry_run and one.action.kind != "none" else {}) for one in done]
    if as_json:
        print(json.dumps(rows))
        return
    if rows:
        show_rows(rows, COLUMNS, as_json=False)
    else:
        say("nothing to do: it is already so")
