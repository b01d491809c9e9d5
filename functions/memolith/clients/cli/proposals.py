"""``memolith proposals``: edits that wait for a person: look at them, approve or reject them, take them back."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any

import typer

from memolith.clients.api.client import PAGE, ApiClient, Record, address
from memolith.clients.cli.api_client import Key, Url, connect, speaking
from memolith.clients.cli.failures import ApiFailed, Exit, explain
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, confirm, say, show_rows, visible, visible_text
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest

app = group("List, show, approve, reject and revert proposals: edits that wait for a person.")

ALL = "all"
LAST = "last"
STATUSES = ("open", "approved", "rejected", "withdrawn", "expired", "reverted")
_NOT_WRITTEN = ("stale", "refused", "changed_since", "unavailable")
_ADVICE = {
    "result": "`memolith proposals show` has the reasons; propose them again from what the store holds now.",
    "reversal": "`memolith proposals show` has the reasons; `memolith log` shows what was changed since.",
}
"""What to do about edits that were not written (`result`), or not taken back (`reversal`)."""

Store = Annotated[
    str, typer.Argument(metavar="STORE", help="The store, by id or name; may be left out with a default.")
]
ProposalId = Annotated[
    str, typer.Argument(metavar="PROPOSAL|last", help="prop_…, as `list` shows it, or `last`: the newest of them.")
]
_LAST_OF = {"show": STATUSES, "revert": ("approved", "reverted"), "erase": STATUSES[1:]}
"""Of which proposals `last` is the newest, by the command; else of those that are open."""


@app.command("list", cls=StoreCommand)
def list_proposals(
    store: Store,
    status: Annotated[str, typer.Option("--status", help=f"One of {', '.join(STATUSES)}.")] = "open",
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List a store's proposals, newest first; by default those that nobody has decided yet.

    Example: memolith proposals list "Team notes" --status approved
    """
    if status not in STATUSES:
        raise InvalidRequest("--status", f"must be one of {', '.join(STATUSES)}")
    with speaking():
        found = list(connect(url, key).rows(_address(store), {"status": status, "limit": PAGE}))
    rows = [{**one, "edits": one["edit_count"], "proposed_by": _who(one["proposed_by"])} for one in found]
    if not rows and not as_json:
        say(f"No proposal is {status}.")
        return
    columns = ("id", "status", "edits", "proposed_at", "proposed_by", "expires_at")
    show_rows(found if as_json else rows, columns, as_json)


@app.command(cls=StoreCommand)
def show(store: Store, proposal: ProposalId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Show a proposal: why, each edit with the lines that it changes, and what stands against it now.

    Example: memolith proposals show "Team notes" last
    """
    with speaking():
        client = connect(url, key)
        found = client.get(_address(store, _id(client, store, proposal, "show")), {"diff": "unified"})
    if as_json:
        print(json.dumps(found))
        return
    head = f"{found['id']}  {found['status']}  proposed by {_who(found['proposed_by'])} at {found['proposed_at']}"
    say(f"{head}{_one_more(found)}", "bold")
    for name in ("why", "reason"):
        if found[name]:
            say(f"{name}: {visible_text(found[name])}")
    for edit in found["edits"]:
        _show_edit(found, edit)


@app.command(cls=StoreCommand)
def approve(
    store: Store,
    proposal: Annotated[
        str, typer.Argument(metavar="PROPOSAL|last|all", help="prop_…, or of those that are open the `last`, or `all`.")
    ],
    edits: Annotated[
        list[int] | None, typer.Option("--edit", help="Only the edit of this number; may be repeated.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before approving all.")] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Approve a proposal, or some of its edits: they are written as versions that you have approved.

    An edit whose memory has changed since is stale and not written; the exit code is then 1. Where the store wants two
    people's approval, nothing is written before the second. Of `all`, one that is refused holds up no other; the exit
    code is then 3.

    Example: memolith proposals approve "Team notes" prop_01kb… --edit 1 --edit 3
    """
    if proposal == ALL and edits:
        raise InvalidRequest("--edit", "cannot be combined with all")
    if proposal == ALL:
        _approve_all(connect(url, key), store, yes, as_json)
    else:
        _decide(store, proposal, "approve", {} if not edits else {"edits": list(edits)}, url, key, as_json)


@app.command(cls=StoreCommand)
def reject(
    store: Store,
    proposal: ProposalId,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept with the proposal.")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Reject a proposal: nothing of it is written.

    Example: memolith proposals reject "Team notes" prop_01kb… --reason "we decided otherwise on Monday"
    """
    if not reason.strip():
        raise InvalidRequest("--reason", "must say why, in a few words")
    _decide(store, proposal, "reject", {"reason": reason}, url, key, as_json)


@app.command(cls=StoreCommand)
def withdraw(store: Store, proposal: ProposalId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Withdraw a proposal that this key has made, before it is decided.

    Example: memolith proposals withdraw "Team notes" prop_01kb…
    """
    _decide(store, proposal, "withdraw", {}, url, key, as_json)


@app.command(cls=StoreCommand)
def revert(store: Store, proposal: ProposalId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Take back what an approved proposal has written, wherever nobody has changed it since.

    Example: memolith proposals revert "Team notes" prop_01kb…
    """
    _decide(store, proposal, "revert", {}, url, key, as_json)


@app.command(cls=StoreCommand)
def erase(store: Store, proposal: ProposalId, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Have the paths, texts and reasons of a decided proposal erased in every region. Needs a key of scope admin.

    Example: memolith proposals erase "Team notes" prop_01kb…
    """
    _decide(store, proposal, "erase", {}, url, key, as_json)


def _decide(
    store: str,
    proposal: str,
    change: str,
    body: Mapping[str, Any],
    url: str | None,
    key: str | None,
    as_json: bool,
) -> None:
    with speaking():
        client = connect(url, key)
        told = client.post(f"{_address(store, _id(client, store, proposal, change))}/{change}", body)
    if as_json:
        print(json.dumps(told))
    else:
        report([told])
    if change in ("approve", "revert"):
        _require_written([told], "result" if change == "approve" else "reversal")


def _approve_all(client: ApiClient, store: str, yes: bool, as_json: bool) -> None:
    """Approve every open proposal, the oldest first, and tell what became of each before what went wrong.

    Raises:
        ApiFailed: each was refused, or no answer came, and nothing was approved; or edits were not written.
    """
    with speaking():
        ids = _open_ids(client, store)
    if ids:
        confirm(f"Approve {len(ids)} proposals?", yes)
    elif not as_json:
        say("No proposal is open.")
    approved: list[Record] = []
    failures: list[ApiFailed] = []
    for one in ids:
        try:
            with speaking():
                approved.append(client.post(f"{_address(store, one)}/approve", {}))
        except ApiFailed as error:
            failures.append(ApiFailed(f"{one}: {error.message}", error.exit, error.advice))
            if error.exit in (Exit.NO_ANSWER, Exit.UNKNOWN):
                break
    if as_json:
        print(json.dumps(approved))
    else:
        report(approved)
    if failures and not approved:
        raise failures[0]
    for failure in failures:
        typer.echo(explain(failure), err=True)
    if failures:
        raise typer.Exit(Exit.IN_PART)
    _require_written(approved, "result")


def _id(client: ApiClient, store: str, named: str, command: str) -> str:
    """Return a proposal's id; of `last` the newest that the command may be about, a request for each status."""
    if named != LAST:
        return named
    statuses = _LAST_OF.get(command, ("open",))
    found = [
        one for status in statuses for one in islice(client.rows(_address(store), {"status": status, "limit": 1}), 1)
    ]
    if not found:
        if statuses == STATUSES:
            raise ApiFailed("this store has no proposals", Exit.NOT_FOUND)
        raise ApiFailed(
            f"no proposal of this store is {' or '.join(statuses)}",
            Exit.NOT_FOUND,
            "`memolith proposals list STORE --status approved` lists the approved ones.",
        )
    return str(max(found, key=lambda one: str(one["proposed_at"]))["id"])


def _open_ids(client: ApiClient, store: str) -> list[str]:
    """Return the open proposals, the oldest first: a later one may build on what an earlier one leaves alone."""
    found = client.rows(_address(store), {"status": "open", "limit": PAGE})
    return [str(one["id"]) for one in found][::-1]


def report(proposals: list[Record]) -> None:
    """Print what became of each edit of proposals, and of each proposal."""
    for one in proposals:
        for edit in one["edits"] or ():
            result = edit["reversal"] or edit["result"]
            if result is not None:
                say(_outcome(result, f"  {edit['op']}  {visible(edit['path'] or '(erased)')}"))
        say(f"{one['id']}  {'erased' if one['erased'] else one['status']}{_one_more(one)}")


def _require_written(proposals: list[Record], kind: str) -> None:
    """Raise ApiFailed where an edit was not written (`result`), or not taken back (`reversal`)."""
    left = not_written(proposals, kind)
    if left:
        raise ApiFailed(f"edits left as they are: {left}", Exit.FAILED, _ADVICE[kind])


def not_written(proposals: list[Record], kind: str) -> int:
    """Return how many edits were not written (`result`), or not taken back (`reversal`)."""
    found = [edit[kind] for one in proposals for edit in one["edits"] or ()]
    return sum(result is not None and result["outcome"] in _NOT_WRITTEN for result in found)


def _outcome(result: Mapping[str, Any], of: str = "") -> str:
    """Return what became of an edit, and the reason where there is one."""
    return f"{result['outcome']}{of}" + (f": {visible(result['detail'])}" if result["detail"] else "")


def _one_more(proposal: Mapping[str, Any]) -> str:
    waits = proposal["status"] == "open" and proposal.get("endorsed_by") is not None
    return f"  approved by {_who(proposal['endorsed_by'])}; another person has to approve it, too" if waits else ""


def _show_edit(proposal: Mapping[str, Any], edit: Mapping[str, Any]) -> None:
    target = f" -> {visible(edit['to'])}" if edit["to"] else ""
    result = edit["reversal"] or edit["result"]
    outcome = f"  {_outcome(result)}" if result else ""
    say(
        f"\n[{edit['number']}] {edit['op']} {visible(edit['path'] or '(erased)')}{target}  ({edit['trust']}){outcome}",
        "cyan",
    )
    if edit["why"]:
        say(f"why: {visible_text(edit['why'])}")
    if edit["sources"]:
        say(f"sources: {', '.join(edit['sources'])}")
    if edit["conflict"]:
        say(f"conflict: {edit['conflict']}", "red")
    if edit["withheld"]:
        say("the text is withheld by the safety scanner", "red")
    if edit.get("diff_left_out"):
        say(_left_out(proposal, edit), "red")
    for line in visible_text((edit["diff"] or {}).get("text", "")).splitlines():
        say(line, {"+": "green", "-": "red"}.get(line[:1], ""))


def _left_out(proposal: Mapping[str, Any], edit: Mapping[str, Any]) -> str:
    """Say that an edit's lines are not in the answer, and how to read what it changes."""
    said = "its lines are left out, as one answer has no room for all of them."
    if edit.get("content_left_out"):
        return f"{said} Nor has it room for the new text: reject the proposal, and have it proposed again in parts."
    store = proposal["memory_store_id"]
    if edit["op"] != "create":
        said += f" `memolith cat {shlex.join([store, visible(edit['path'])])}` shows the text that is there now."
    if edit["op"] != "delete":
        said += f" `memolith proposals show {store} {proposal['id']} --json` has the new text."
    return said


def _who(actor: Mapping[str, Any] | None) -> str:
    return next((str(value) for name, value in (actor or {}).items() if name != "type"), "")


def _address(store: str, proposal: str | None = None) -> str:
    return address(store, "proposals", *([] if proposal is None else [proposal]))
