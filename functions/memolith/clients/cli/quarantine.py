"""``memolith quarantine``: texts that a verdict withholds: look at them, let them go, bring the memory back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_client import Key, Url, connect, speaking, store_address
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, say, show_rows
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest

app = group("List, show, release and restore texts that the safety scanner withholds.")

PART = "quarantine"

Store = Annotated[str, typer.Argument(metavar="STORE", help="memstore_…")]
Version = Annotated[
    str, typer.Argument(metavar="VERSION", help="memver_…, as `list` shows it; any version that has the text.")
]


@app.command("list", cls=StoreCommand)
def list_withheld(
    store: Store,
    include_released: Annotated[
        bool, typer.Option("--include-released", help="Also list texts that were released.")
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List the withheld texts of a store, with the reasons.

    Example: memolith quarantine list memstore_useast1_01kb… --json
    """
    released = "true" if include_released else "false"
    address = store_address(store, PART)
    with speaking():
        found = list(connect(url, key).rows(address, {"include_released": str(released).lower(), "limit": 100}))
    if as_json:
        print(json.dumps(found))
        return
    if not found:
        say("Nothing is withheld.")
        return
    show_rows([_row(text) for text in found], ("version", "status", "since", "rules", "reason"), as_json=False)


@app.command(cls=StoreCommand)
def show(store: Store, version: Version, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Show one text's verdicts with their findings, and every path and version that has it; never the text.

    Example: memolith quarantine show memstore_useast1_01kb… memver_useast1_01kc…
    """
    address = store_address(store, PART, version)
    with speaking():
        found = connect(url, key).get(address)
    if as_json:
        print(json.dumps(found))
        return
    say(f"{found['memory_version_id']}  {found['status']}")
    for verdict in found["verdicts"] or ():
        _show_verdict(verdict)
    places = [{**place, "current": "yes" if place["head"] else ""} for place in found["places"] or ()]
    say("\nIt stands at:")
    show_rows(places, ("path", "memory_version_id", "created_at", "current"), as_json=False)
    if not found["all_places"]:
        say("There may be more: at most 1,000 are listed, of the store's 100,000 newest versions.")


@app.command(cls=StoreCommand)
def release(
    store: Store,
    version: Version,
    reason: Annotated[str, typer.Option("--reason", help="Why it is harmless; kept in the audit trail.")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Release a text: it is shown again in every region, at every path and version that has it.

    The scanner does not withhold it again for the same rules.

    Example: memolith quarantine release memstore_useast1_01kb… memver_useast1_01kc… --reason "our own red-team notes"
    """
    address = store_address(store, PART, version)
    if not reason.strip():
        raise InvalidRequest("--reason", "must say why, in a few words")
    with speaking():
        found = connect(url, key).post(f"{address}/release", {"reason": reason})
    if as_json:
        print(json.dumps(found))
        return
    say(
        f"{found['memory_version_id']} is released: shown here now, and elsewhere once the verdict has arrived.",
    )


@app.command(cls=StoreCommand)
def restore(store: Store, version: Version, url: Url = None, key: Key = None, as_json: Json = False) -> None:
    """Write the last good version of the memory again, as its newest. The withheld version stays withheld.

    Example: memolith quarantine restore memstore_useast1_01kb… memver_useast1_01kc…
    """
    address = store_address(store, PART, version)
    with speaking():
        memory = connect(url, key).write(f"{address}/restore")
    if as_json:
        print(json.dumps(memory))
        return
    say(f"{memory['path']}  {memory['id']}  is now {memory['memory_version_id']}")


def _row(text: Mapping[str, Any]) -> dict[str, Any]:
    withheld = text["withheld"] or {}
    return {
        "version": text["memory_version_id"],
        "status": text["status"],
        "since": withheld.get("since"),
        "rules": ", ".join(withheld.get("rules", ())),
        "reason": withheld.get("reason"),
    }


def _show_verdict(verdict: Mapping[str, Any]) -> None:
    by = verdict["decided_by"]
    who = next((str(value) for name, value in by.items() if name != "type"), by["type"])
    line = f"{verdict['decided_at']}  {verdict['outcome']}  by {who}: {verdict['reason']}"
    say(line)
    for finding in verdict["findings"]:
        place = f"line {finding['line']}, column {finding['column']}" if finding["line"] else "path"
        told = f"    {finding['rule']} ({finding['severity']}), {place}: {finding['reason']}. {finding['remedy']}"
        say(told)
