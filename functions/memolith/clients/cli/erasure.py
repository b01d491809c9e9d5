"""``memolith erasure``: whether what was to be erased is gone, region by region.

Each region's eraser looks into its own bucket and tables and answers; the caller needs nothing but the permission to
invoke it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memolith.clients.cli.calls import invoke
from memolith.clients.cli.consoles import console
from memolith.clients.cli.deployment_target import Aws, Target, find_target, require_store_id
from memolith.clients.cli.derived import derived
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, show_rows
from memolith.core import ids
from memolith.core.errors import InvalidRequest, NotFound, OutcomeUnknown, Unavailable
from memolith.core.times import rfc3339

app = group("Show how far an erasure is in each region, and search for leftovers.")

app.command()(derived)

EXIT_FOUND = 1
COUNTS = ("ordered", "erased", "pending", "kept", "unknown")

StoreId = Annotated[str, typer.Argument(help="memstore_…")]


@app.command()
def status(
    id: Annotated[str, typer.Argument(help="A memory_version, a memory, or a memory_store.")],
    store_id: Annotated[str | None, typer.Option("--store", help="The memory_store that it is in.")] = None,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Show for each region how far the erasure of a version, a memory's versions, or a store is.

    erased: the object is blank, no older S3 version is left, the rows hold no text. pending: erasure was ordered, and
    text is still there. waiting: the store was deleted, and can be restored until then. kept: no erasure was ordered.
    unknown: the region has no such thing. unreachable: the region did not answer; exit code 1.

    Example: memolith erasure status memver_01kb… --store memstore_useast1_01kb…
    """
    target = find_target(aws)
    store_id = store_id or id
    if ids.STORE.fullmatch(store_id) is None:
        raise InvalidRequest("--store", "is needed for a version or a memory, and must be the id of a memory_store")
    payload = {"call": "erasure.status", "store_id": store_id, "id": id}
    rows = [_row(region, _ask(target, region, payload)) for region in target.regions]
    show_rows(rows, ("region", "state", *(COUNTS if id != store_id else ("progress",))), as_json)
    if any(row["state"] == "unreachable" for row in rows):
        raise typer.Exit(EXIT_FOUND)


@app.command()
def verify(
    store_id: StoreId,
    text_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--text-file", exists=True, dir_okay=False, help="A file with the text to look for, whole or in part."
        ),
    ] = None,
    path: Annotated[list[str] | None, typer.Option("--path", help="A path to look for.")] = None,
    sha256: Annotated[list[str] | None, typer.Option("--sha256", help="A content hash to look for.")] = None,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Search every S3 version and every row of a store, in every region, for leftovers.

    Exit code 1 if there are any, or if a region did not answer, which is a row of its own: unreachable. Exit code 4
    if no region ever had the store.

    Name the texts, paths and hashes to look for. If you name none, the command looks for everything that is not blank,
    as for a deleted store. It reads each object version, so a large store takes minutes. It changes nothing.

    Example: memolith erasure verify memstore_useast1_01kb… --text-file leaked.txt
    """
    require_store_id(store_id, "STORE_ID")
    needles = {
        "texts": [_text_of(file) for file in text_file or []],
        "paths": list(path or []),
        "hashes": [_hash_of(word) for word in sha256 or []],
    }
    target = find_target(aws)
    found: list[dict[str, Any]] = []
    looked_in_all = 0
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for region in target.regions:
            task = progress.add_task(region, total=None)

            def report(looked: int, remains: int, region: str = region, task: Any = task) -> None:
                text = f"{region}: {looked} object versions and rows read, {remains} remains"
                progress.update(task, description=text)

            looked, remains = _search(target, region, {"store_id": store_id, **needles}, report)
            found += remains
            looked_in_all += looked
    if not looked_in_all and not found:  # of a store that was erased, blank objects stay
        raise NotFound("memory_store", store_id)
    if as_json:
        print(json.dumps(found))
    elif found:
        show_rows(found, ("region", "place", "version_id", "what"), as_json=False)
    else:
        console.print("Nothing found.")
    if found:
        raise typer.Exit(EXIT_FOUND)


@app.command()
def resume(store_id: StoreId, aws: Aws = False, as_json: Json = False) -> None:
    """Make every region go through a deleted store once more, as the deletion's event does. Changes no live store.

    Exit code 1 if a region did not answer. What a region does not finish at once, its schedule finishes.

    Example: memolith erasure resume memstore_useast1_01kb…
    """
    require_store_id(store_id, "STORE_ID")
    target = find_target(aws)
    rows = []
    for region in target.regions:
        answer = _ask(target, region, {"call": "erase_store", "store_id": store_id})
        rows.append({"region": region, "state": answer.get("state") or ("erased" if answer["done"] else "pending")})
    show_rows(rows, ("region", "state"), as_json)
    if any(row["state"] == "unreachable" for row in rows):
        raise typer.Exit(EXIT_FOUND)


def _text_of(file: Path) -> str:
    """Return the text to look for, as a memory has it: its line ends stay, but for the file's last one.

    Raises:
        InvalidRequest: it is not UTF-8.
    """
    try:
        return file.read_bytes().decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            "--text-file", f"{file} is not UTF-8 text (byte {error.start}), and a memory is text"
        ) from error


def _hash_of(word: str) -> str:
    """Return a content's SHA-256 as it is stored. Raises InvalidRequest for what is none, and is found nowhere."""
    if not re.fullmatch("[0-9a-f]{64}", word.lower()):
        raise InvalidRequest("--sha256", f"{word} is not 64 hexadecimal digits")
    return word.lower()


def _ask(target: Target, region: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return invoke(target, region, "eraser", payload)
    except (Unavailable, OutcomeUnknown):
        return {"state": "unreachable"}


def _row(region: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    row = {"region": region, **answer}
    if "erase_after" in answer:
        row["progress"] = f"until {rfc3339(answer['erase_after'])}"
    progress = answer.get("progress")
    if progress:
        done_at = progress.get("done_at")
        when = f"since {rfc3339(done_at)}" if done_at else f"begun {rfc3339(progress['started_at'])}"
        row["progress"] = f"{progress['erased']} objects, {when}"
    return row


def _search(
    target: Target, region: str, question: Mapping[str, Any], report: Callable[[int, int], None]
) -> tuple[int, list[dict[str, Any]]]:
    """Search one region, step by step; return how many object versions and rows it read, and what it found.

    Where the region does not answer, the last row says so: such a search proves nothing.
    """
    looked, at = 0, None
    found: list[dict[str, Any]] = []
    while True:
        answer = _ask(target, region, {"call": "erasure.search", "at": at, **question})
        if answer.get("state") == "unreachable":
            return looked, [*found, {"region": region, "what": "unreachable"}]
        looked += answer["looked"]
        found += [{"region": region, **remain} for remain in answer["found"]]
        report(looked, len(found))
        at = answer["next"]
        if at is None:
            return looked, found
