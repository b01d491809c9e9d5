"""``memolith dream``: consolidations of a store, and what they proposed or wrote."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

import typer

from memolith.clients.api.client import DREAMS, SESSIONS, ApiClient, Record, address
from memolith.clients.cli.api_client import Key, Url, connect, speaking
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, printable, say, show_fields, show_rows, visible
from memolith.clients.cli.proposals import not_written, report
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest
from memolith.core.proposals import unified_diff
from memolith.ports.model import ModelFailure

app = group("Have a store consolidated: merge what stands twice, take in what sessions said, propose it for review.")

LAST = "last"
DreamId = Annotated[str, typer.Argument(metavar="DREAM|last", help="drm_…, or `last`: the newest of the workspace.")]
POLL_S = 0.5
LOOKED_AT_MAX = 100
"""How many sessions are looked at for the newest of which something was said."""
OPEN = ("pending", "running")
_HIDDEN = "no lines: a text of it is withheld or gone"
_NO_ROOM = "no lines: one answer has no room for all of them"


@app.command(cls=StoreCommand)
def start(
    store: Annotated[
        str, typer.Argument(metavar="STORE", help="The store, by id or name; may be left out with a default.")
    ],
    session: Annotated[
        list[str] | None, typer.Option("--session", metavar="SESSION", help="A session to read; may be repeated.")
    ] = None,
    recent: Annotated[
        int,
        typer.Option(
            "--recent",
            metavar="N",
            min=0,
            max=LOOKED_AT_MAX,
            help="Read the store's N newest sessions that have a transcript, too; needs an admin's key.",
        ),
    ] = 0,
    into: Annotated[
        str, typer.Option("--into", help="proposal: edits that wait for a person; new: a new store; input: the store.")
    ] = "proposal",
    model: Annotated[
        str | None,
        typer.Option("--model", help="The model's id; by default the store's, else the server's own default."),
    ] = None,
    instructions: Annotated[str | None, typer.Option("--instructions", help="Wishes for this dream.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is over.")] = True,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Begin a dream over a store, and wait for what it comes to. By default it only proposes.

    Exit code 1 if it fails or is canceled while the command waits.

    Example: memolith dream start "Team notes" --recent 5

    Example: memolith dream start memstore_useast1_01kb… --session sesn_useast1_01kb…
    """
    behaviors: dict[str, dict[str, str]] = {
        "proposal": {"type": "propose"},
        "new": {"type": "create_new"},
        "input": {"type": "update_existing", "memory_store_id": store},
    }
    if into not in behaviors:
        raise InvalidRequest("--into", "must be proposal, new or input")
    inputs: list[dict[str, Any]] = [{"type": "memory_store", "memory_store_id": store}]
    body: dict[str, Any] = {"inputs": inputs, "output_behavior": behaviors[into]}
    if model:
        body["model"] = model
    if instructions:
        body["instructions"] = instructions
    with speaking():
        api = connect(url, key)
        named = list(dict.fromkeys([*(session or ()), *_recent(api, store, recent)]))
        if named:
            inputs.append({"type": "sessions", "session_ids": named})
        dream: Mapping[str, Any] = api.post(DREAMS, body)
        while wait and dream["status"] in OPEN:
            time.sleep(POLL_S)
            dream = api.get(address(dream["id"], of=DREAMS))
    _show(dream, as_json)
    if wait and dream["status"] != "completed":
        reason = "" if dream["error"] is None else f": {dream['error']['message']}"
        advice = f"`memolith dream diff {dream['id']}` shows what it had written or proposed by then."
        raise ApiFailed(f"the dream {dream['id']} ended as {dream['status']}{reason}", Exit.FAILED, advice)


@app.command("list")
def list_dreams(
    archived: Annotated[bool, typer.Option("--all", help="Those that are archived, too.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the workspace's dreams, newest first.

    Example: memolith dream list
    """
    with speaking():
        found = list(connect(url, key).rows(DREAMS, {"include_archived": "true" if archived else "false"}))
    rows = [
        {**one, "store": one["inputs"][0]["memory_store_id"], "into": one["output_behavior"]["type"]} for one in found
    ]
    show_rows(rows, ["id", "status", "into", "store", "created_at"], as_json)


@app.command()
def show(dream: DreamId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Show a dream: its state, its model and prompt, what it used, and what it changed.

    Example: memolith dream show drm_laptop_01kb…
    """
    with speaking():
        api = connect(url, key)
        found = api.get(_address(api, dream))
    _show(found, as_json)


@app.command()
def cancel(dream: DreamId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Cancel a dream that is not over.

    Example: memolith dream cancel drm_laptop_01kb…
    """
    with speaking():
        api = connect(url, key)
        found = api.post(_address(api, dream, "cancel"))
    _show(found, as_json)


@app.command()
def diff(dream: DreamId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Show what a dream proposes, or what it wrote, line by line.

    A dream's new store is compared with its input as both are now: what was changed in either since is shown, too.

    Example: memolith dream diff drm_laptop_01kb…
    """
    with speaking():
        api = connect(url, key)
        found = api.get(_address(api, dream))
        changes = _changes(api, found)
    if found["output_behavior"]["type"] == "create_new" and found["outputs"]:
        typer.echo(
            "note: both stores are compared as they are now: what was changed in either since is shown, too", err=True
        )
    if as_json:
        print(json.dumps(changes))
        return
    for change in changes:
        said = change["diff"] or visible(f"{change['path']}  {change['why_none']}")
        say(said.removesuffix("\n"))


@app.command()
def revert(dream: DreamId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Take back what a dream proposed, or wrote into its input, wherever that is still so. Needs a person's key.

    What was changed since stays as it is, and is listed; the exit code is then 3. A dream into a store of its own:
    delete that store.

    Example: memolith dream revert last
    """
    with speaking():
        api = connect(url, key)
        found = api.post(_address(api, dream, "revert"))
    proposals = [] if found["proposal"] is None else [Record(found["proposal"])]
    if as_json:
        print(json.dumps(found))
    else:
        show_rows(found["data"], ["outcome", "path", "memory_id"], False)
        report(proposals)
    left = any(one["outcome"] not in ("reverted", "unchanged") for one in found["data"])
    if left or not_written(proposals, "reversal"):
        raise typer.Exit(Exit.IN_PART)


@app.command()
def replay(
    dream: DreamId,
    service: Annotated[
        str | None,
        typer.Option(
            "--service", help="Who answers: extractive, anthropic, openai, bedrock; keys as its SDK has them."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="As the service names it; by default the dream's.")
    ] = None,
    address: Annotated[str | None, typer.Option("--address", help="Of the service, if not the usual one.")] = None,
    cassette: Annotated[
        Path | None, typer.Option("--cassette", help="A file of recorded answers; a --service adds those it lacks.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Do a dream again, and show how what comes of it differs. Writes nothing, and opens no proposal.

    The store and the sessions are read as they were when the dream was asked for; the questions are the dream's.
    A dream of the stand-in needs no --service.

    Example: memolith dream replay last

    Example: memolith dream replay last --service anthropic --model claude-haiku-4-5 --cassette answers.jsonl
    """
    from memolith.clients.cli.dream_replay import Replayer, answering

    with speaking():
        api = connect(url, key)
        found = api.get(_address(api, dream))
        try:
            done = Replayer(api, answering(found, service, model, address, cassette)).replay(found)
        except ModelFailure as failure:
            raise ApiFailed(f"the model gave no answer: {failure}", Exit.FAILED) from failure
    if as_json:
        print(json.dumps(done.to_json()))
        return
    say(f"{done.model or 'no model was asked'}; prompt {done.prompt_sha256[:12] or 'none'}")
    for path, outcome in done.outcomes.items():
        say(visible(f"{outcome}  {path}"))
        if outcome != "same":
            print(printable(done.diff(path)), end="")
    say("the same came of it" if done.is_same else "something else came of it; nothing was written")


def _address(api: ApiClient, named: str, *parts: str) -> str:
    """Return the address of a dream, or of a part of it; of `last` the newest dream's. Raises ApiFailed: none is."""
    if named != LAST:
        return address(named, *parts, of=DREAMS)
    newest = next(iter(api.rows(DREAMS, {"limit": 1, "include_archived": "true"})), None)
    if newest is None:
        raise ApiFailed("this workspace has had no dream", Exit.NOT_FOUND, "`memolith dream start STORE` begins one.")
    return address(newest["id"], *parts, of=DREAMS)


def _recent(api: ApiClient, store_id: str, count: int) -> list[str]:
    """Return the newest sessions of a store of which something was said: a request, and one for each looked at."""
    if not count:
        return []
    query: dict[str, str | int] = {"memory_store_id": store_id, "include_archived": "true", "limit": LOOKED_AT_MAX}
    found: list[str] = []
    for one in islice(api.rows(SESSIONS, query), LOOKED_AT_MAX):
        if api.get(address(one["id"], "events", of=SESSIONS), {"limit": 1})["data"]:
            found.append(str(one["id"]))
            if len(found) == count:
                break
    return found


def _changes(api: ApiClient, dream: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the lines that a dream changes, by the path of each memory, and where there are none `why_none`."""
    if dream["output_behavior"]["type"] == "create_new":
        outputs = [one["memory_store_id"] for one in dream["outputs"]]
        return _compared(api, dream["inputs"][0]["memory_store_id"], outputs[0]) if outputs else []
    found = api.get(address(dream["id"], "changes", of=DREAMS))
    proposal = found["proposal"]
    proposed = [] if proposal is None else [_proposed(proposal, one) for one in proposal["edits"] or ()]
    written = [_written(found["memory_store_id"], one) for one in found["data"]]
    return proposed + sorted(written, key=itemgetter("path"))


def _proposed(proposal: Mapping[str, Any], edit: Mapping[str, Any]) -> dict[str, str]:
    """Return the lines of an edit, or why there are none: the API compares what is open with what is there now."""
    why = _HIDDEN
    see = f"memolith proposals show {proposal['memory_store_id']} {proposal['id']}"
    if edit.get("diff_left_out"):
        why = f"{_NO_ROOM}; `{see}` says how to read the texts"
    if proposal["status"] != "open":
        why = f"no lines: the proposal is {proposal['status']}; see `{see}`"
    return _change(edit["path"] or "", edit["diff"], why)


def _written(store_id: str, change: Mapping[str, Any]) -> dict[str, str]:
    """Return the lines that a dream changed in one memory of its input, or why there are none."""
    memory_id, old, new = change["memory_id"], change["memory_version_id_before"], change["memory_version_id"]
    path, to, why = change["path"], change["to"], _HIDDEN
    if change["diff_left_out"]:
        named = f"cat {store_id} {memory_id} --version {new}"
        if old is not None:
            named = f"diff {store_id} {memory_id} {old} {new}"
        why = f"{_NO_ROOM}; `memolith {named}` shows them"
    moved = path and to and path != to and change["operation"] != "deleted"
    what = f"rename to {to}" if moved else change["operation"]
    return _change(path or to or memory_id, change["diff"], f"{what}; {why}")


def _compared(api: ApiClient, source: str, output: str) -> list[dict[str, str]]:
    """Return the lines by which a dream's new store differs from its input, as both are now."""
    before, after = _memories(api, source), _memories(api, output)
    found = []
    for path in sorted({*before, *after}):
        sides = (before.get(path), after.get(path))
        if len({one and one["content_sha256"] for one in sides}) == 1:
            continue
        hidden = [one["memory_store_id"] for one in sides if one is not None and one["content"] is None]
        old, new = (None if one is None else one["content"] for one in sides)
        diff = None if hidden else {"text": unified_diff(old, new, path)}
        found.append(_change(path, diff, f"no lines: its text in {' and '.join(hidden)} is withheld or damaged"))
    return found


def _memories(api: ApiClient, store_id: str) -> dict[str, Record]:
    rows = api.rows(address(store_id, "memories"), {"view": "full"})
    return {row["path"]: row for row in rows if row["type"] == "memory"}


def _change(path: str, diff: Mapping[str, Any] | None, why_none: str) -> dict[str, str]:
    if diff is not None and diff["text"]:
        return {"path": path, "diff": diff["text"]}
    return {"path": path, "diff": "", "why_none": why_none if diff is None else "no line differs"}


def _show(dream: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        show_fields(dream, True)
        return
    ours = dream["x_memolith"]
    output = dream["outputs"][0]["memory_store_id"] if dream["outputs"] else None
    cost = None if ours["cost_usd"] is None else f"{ours['cost_usd']:.4f} USD"
    show_fields(
        {
            "id": dream["id"],
            "status": dream["status"],
            "store": dream["inputs"][0]["memory_store_id"],
            "output": output,
            "proposal": ours["proposal_id"],
            "session": dream["session_id"],
            "model": ours["model_answered"] or dream["model"]["id"],
            "prompt_sha256": ours["prompt_sha256"],
            "tokens": sum(dream["usage"].values()) or None,
            "cost": cost,
            "left_out": ours["dropped"],
            "error": None if dream["error"] is None else dream["error"]["message"],
        },
        False,
    )
    if dream["status"] == "completed":
        counts = f"{ours['created']} created, {ours['changed']} changed, {ours['deleted']} deleted"
        store, proposal = dream["inputs"][0]["memory_store_id"], ours["proposal_id"]
        if output is not None:
            say(counts)
        if proposal is not None:
            say(f"proposed for review: memolith proposals show {store} {proposal}")
        elif output is None:
            say("nothing to propose")
