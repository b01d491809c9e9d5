"""``memolith conflicts``: statements that contradict each other, and a person's decision about them."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memolith.clients.api.client import address
from memolith.clients.cli.api_client import Key, Store, Url, connect, speaking
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, say, visible
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest
from memolith.core.limits import GRAPH_LIMIT_DEFAULT, GRAPH_LIMIT_MAX

app = group("List statements that contradict each other, and resolve them.")

Folder = Annotated[str | None, typer.Option("--in", metavar="FOLDER", help="Only where one side is below this folder.")]
STATUSES = ("open", "superseded", "resolved")
BOTH = "both"


@app.command("list", cls=StoreCommand)
def list_conflicts(
    store: Store,
    folder: Folder = None,
    status: Annotated[str, typer.Option("--status", help=f"One of {', '.join(STATUSES)}.")] = "open",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=GRAPH_LIMIT_MAX, help="The greatest number of results.")
    ] = GRAPH_LIMIT_DEFAULT,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List what contradicts each other, both sides, with who wrote it and when.

    Example: memolith conflicts list "Team notes" --in /decisions/
    """
    if status not in STATUSES:
        raise InvalidRequest("--status", f"must be one of {', '.join(STATUSES)}")
    asked = {**_asked(limit, folder), "status": status}
    with speaking():
        found = connect(url, key).get(address(store, "conflicts"), asked)
    if as_json:
        print(json.dumps(found))
        return
    for one in found["conflicts"]:
        _show(one)
    if found["truncated"]:
        typer.echo("there are more; ask for more with --limit, or narrow them with --in", err=True)


@app.command(cls=StoreCommand)
def resolve(
    store: Store,
    conflict: Annotated[str, typer.Argument(metavar="CONFLICT", help="conf_…, as `list` shows it, or how it begins.")],
    keep: Annotated[
        str, typer.Option("--keep", metavar="STATEMENT|both", help="stmt_…, or how it begins; `both`, if both stand.")
    ],
    folder: Folder = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Decide about a conflict: which statement holds, or that both do. It is decided once, by a person's key.

    No memory is changed. Where a statement says something else later, that is another conflict. It is looked for among
    the hundred of each status whose memories changed last; `--in` narrows them.

    Example: memolith conflicts resolve "Team notes" conf_5f0c --keep stmt_91ab
    """
    client = connect(url, key)
    with speaking():
        listed, more = _listed(client, store, _asked(GRAPH_LIMIT_MAX, folder))
        if not listed:
            below = f" below {folder}" if folder else ""
            raise ApiFailed(f"no conflict of this store is known{below}", Exit.NOT_FOUND)
        hint = "; there are more: name a folder of one side with --in" if more else ""
        one = _named("CONFLICT", conflict, listed, "id", hint)
        keep = keep if keep == BOTH else str(_named("--keep", keep, one["sides"], "statement_id")["statement_id"])
        body = {"memory_version_ids": [side["memory_version_id"] for side in one["sides"]], "keep": keep}
        decided = client.post(address(store, "conflicts", one["id"], "resolve"), body)
    if as_json:
        print(json.dumps(decided))
        return
    _show({**one, "status": "resolved", "resolution": decided})


def _asked(limit: int, folder: str | None) -> dict[str, str | int]:
    return {"limit": limit, **({"path_prefix": folder} if folder else {})}


def _listed(client: Any, store: str, asked: dict[str, str | int]) -> tuple[list[Any], bool]:
    """Return the conflicts that may be meant, and whether there are more.

    They are the open ones, and those that are decided, as repeating is allowed.
    """
    path = address(store, "conflicts")
    found = [client.get(path, {**asked, "status": status}) for status in STATUSES]
    return [one for page in found for one in page["conflicts"]], any(page["truncated"] for page in found)


def _named(argument: str, beginning: str, rows: list[Any], name: str, hint: str = "") -> Any:
    found = [one for one in rows if str(one[name]).startswith(beginning)]
    if len(found) != 1:
        known = ", ".join(str(one[name]) for one in rows[:10])
        raise InvalidRequest(argument, f"must name one of {known}{hint}")
    return found[0]


def _show(one: dict[str, Any]) -> None:
    decided = one["resolution"]
    if decided is None:
        say(visible(f"{one['id']}  {one['status']}"), "bold")
    else:
        by, at = _id_of(decided["resolved_by"]), str(decided["resolved_at"])[:19]
        say(visible(f"{one['id']}  resolved: {decided['keep']}, by {by} at {at}Z"), "bold")
    for mark, side in zip("-+", one["sides"], strict=True):
        say(visible(f"{mark} {_place(side)}: {_said(side)}{_holds(side)}"))
        author = f"by {_id_of(side['written_by'])}" if side["written_by"] else "by nobody who is known"
        say(visible(f"    {side['memory']['trust']}, {side['memory']['age']}, {author}; {side['statement_id']}"))
    typer.echo("")


def _place(side: dict[str, Any]) -> str:
    return str(side["memory"]["path"]) + ("" if side["line"] is None else f":{side['line']}")


def _said(side: dict[str, Any]) -> str:
    stated, relation = side["observation"], side["relation"]
    if stated is not None:
        return (f"[{stated['category']}] " if stated["category"] else "") + str(stated["content"])
    return f"{relation['type']} [[{relation['target_text']}]]" if relation else "the memory as a whole"


def _holds(side: dict[str, Any]) -> str:
    valid = (side["observation"] or {}).get("valid") or side["memory"]["valid"]
    if valid is None:
        return ""
    since, until = ((valid[name] or "")[:10] for name in ("from", "until"))
    return f"  [{since}, {until})"


def _id_of(actor: dict[str, Any]) -> str:
    return next((str(text) for name, text in actor.items() if name.endswith("_id")), "unknown")
