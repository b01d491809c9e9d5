"""``memolith keys``: API keys of a workspace."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memolith.adapters.system import SystemClock
from memolith.clients.cli import http_keys
from memolith.clients.cli.api_client import Key, Url
from memolith.clients.cli.calls import invoke
from memolith.clients.cli.deployment_target import Aws, Target, find_target
from memolith.clients.cli.failures import DoneInPart, Exit
from memolith.clients.cli.groups import group
from memolith.clients.cli.output import Json, say, show_rows
from memolith.core import ids
from memolith.core.errors import InvalidRequest, MemolithError, NotFound, OutcomeUnknown, Unavailable
from memolith.core.times import parse_rfc3339, rfc3339

if TYPE_CHECKING:
    from memolith.clients.cli.rotation import Rotation

app = group("Create, list and revoke API keys; rotate the keys of tokens.")

Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace",
        help="The workspace: wrkspc_ and lower-case letters or digits; by default wrkspc_default, or the key's own.",
    ),
]
Region = Annotated[str | None, typer.Option("--region", help="The region to ask; by default the first.")]


@app.command()
def create(
    workspace: Workspace = None,
    name: Annotated[str, typer.Option("--name", help="What the key is for; the list shows it.")] = "default",
    scope: Annotated[str, typer.Option("--scope", help="read, write or admin.")] = "write",
    expires_at: Annotated[
        str | None,
        typer.Option("--expires-at", metavar="INSTANT", help="From then on it is refused: 2026-12-31T00:00:00Z."),
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option("--store", metavar="STORE", help="Limit it to this store; may be repeated, up to 16 times."),
    ] = None,
    holder: Annotated[
        str | None,
        typer.Option("--holder", help="Who has it: person, agent or service; decides the trust class of its writes."),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option("--requests-per-minute", min=1, help="About how often it may call; more is answered with 429."),
    ] = None,
    region: Region = None,
    aws: Aws = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Create a key. Its text is shown only now, and stored nowhere. Its limits cannot be changed afterwards.

    Example: memolith keys create --scope read --store memstore_useast1_01kb… --expires-at 2026-12-31T00:00:00Z
    """
    limits: dict[str, Any] = {
        "expires_at": None if expires_at is None else _instant(expires_at),
        "stores": store,
        "holder": holder,
        "requests_per_minute": requests_per_minute,
    }
    asked = {name: limit for name, limit in limits.items() if limit not in (None, [])}
    if http_keys.is_meant(url, region, aws):
        wanted = http_keys.Asked(name, scope, expires_at, tuple(store or ()), holder, requests_per_minute)
        http_keys.create(wanted, http_keys.Caller(url, key, workspace), as_json)
        return
    target = find_target(aws)
    payload = {
        "call": "keys.create",
        "workspace_id": _or_default(workspace),
        "name": name,
        "scope": scope,
        **asked,
    }
    issued = invoke(target, region or target.regions[0], "keys", payload)
    _check_limits(asked, issued, [*(["--workspace", workspace] if workspace else []), *(["--aws"] if aws else [])])
    if as_json:
        print(json.dumps(issued))
        return
    say(f"{issued['key_id']}  {issued['scope']}  {issued['name']}")
    print(issued["api_key"])
    say("Keep it: it is not shown again. Other regions accept it once it has been replicated.")


@app.command("list")
def list_keys(
    workspace: Workspace = None,
    region: Region = None,
    aws: Aws = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """List a workspace's keys, including revoked ones.

    Example: memolith keys list --json
    """
    if http_keys.is_meant(url, region, aws):
        show_rows(http_keys.rows(http_keys.Caller(url, key, workspace)), COLUMNS_OF_KEYS, as_json)
        return
    target = find_target(aws)
    payload = {"call": "keys.list", "workspace_id": _or_default(workspace)}
    try:
        found = invoke(target, region or target.regions[0], "keys", payload)
    except OutcomeUnknown as error:  # a list changes nothing, done or not
        raise Unavailable(error.message) from error
    rows = [
        {
            **one,
            "created_at": rfc3339(one["created_at"]),
            "revoked_at": one["revoked_at"] and rfc3339(one["revoked_at"]),
            "expires_at": one.get("expires_at") and rfc3339(one["expires_at"]),
            "stores": one.get("stores"),
            "holder": one.get("holder"),
            "requests_per_minute": one.get("requests_per_minute"),
        }
        for one in found["keys"]
    ]
    show_rows(rows, COLUMNS_OF_KEYS, as_json)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="apikey_…, as `list` shows it.")],
    workspace: Workspace = None,
    region: Annotated[
        str | None, typer.Option("--region", help="The region to ask first; by default the one that made the key.")
    ] = None,
    aws: Aws = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Revoke a key everywhere, and show which regions confirmed it. Such a region refuses the key, and the tokens of
    sessions that were begun or prolonged with it, at once. Any region that answers can revoke it.

    Exit code 3 if a region did not confirm. It will learn of it by replication; run the command again to be sure.

    Example: memolith keys revoke apikey_useast1_01kb…
    """
    if http_keys.is_meant(url, region, aws):
        revoked = http_keys.revoke(key_id, http_keys.Caller(url, key, workspace))
        show_rows([revoked], ("region", "confirmed", "reason"), as_json)
        return
    target = find_target(aws)
    first = region or ids.birth_region(key_id, target.regions) or target.regions[0]
    record = _revoked(target, first, _or_default(workspace), key_id)
    rows = [_confirm(target, name, record) for name in target.regions]
    show_rows(rows, ("region", "confirmed", "reason"), as_json)
    if not all(row["confirmed"] for row in rows):
        raise typer.Exit(Exit.IN_PART)


@app.command("rotate-signing")
def rotate_signing(
    now: Annotated[bool, typer.Option("--now", help="Refuse all earlier tokens: a key has leaked.")] = False,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Sign the tokens of sessions with a new key. Earlier tokens stay true until their own end.

    Twelve hours and ten minutes later, `retire-signing` drops the key that signed them.

    Exit code 3 if a region does not accept the new key within a minute: it signs nothing then, but for --now.

    Example: memolith keys rotate-signing
    """
    show_rows(_rotation(aws).rotate(now=now), COLUMNS, as_json)


@app.command("retire-signing")
def retire_signing(aws: Aws = False, as_json: Json = False) -> None:
    """Accept the tokens of no key but the one that signs. Refused while an earlier key's last token may live.

    Example: memolith keys retire-signing
    """
    show_rows(_rotation(aws).retire(), COLUMNS, as_json)


COLUMNS = ("key", "signs", "accepted")
COLUMNS_OF_KEYS = (
    "key_id",
    "name",
    "scope",
    "created_at",
    "revoked_at",
    "expires_at",
    "stores",
    "holder",
    "requests_per_minute",
)


def _or_default(workspace: str | None) -> str:
    """Return the workspace that an operator means; a key that asks over HTTP has its own."""
    return workspace or "wrkspc_default"


def _rotation(aws: bool) -> Rotation:
    from memolith.clients.cli.rotation import Rotation

    target = find_target(aws)
    return Rotation(target.signing_secrets(), target.regions, SystemClock())


def _revoked(target: Target, first: str, workspace: str, key_id: str) -> str:
    """Revoke a key in `first`, or else in the next region that can; return the key of the object that says so.

    Raises:
        NotFound: no region knows the key. Unavailable, OutcomeUnknown: none revoked it, and some did not answer.
    """
    payload = {"call": "keys.revoke", "workspace_id": workspace, "key_id": key_id}
    failures: list[MemolithError] = []
    for region in dict.fromkeys((first, *target.regions)):
        try:
            return str(invoke(target, region, "keys", payload)["key"])
        except (NotFound, Unavailable, OutcomeUnknown) as error:
            failures.append(error)
    if all(isinstance(error, NotFound) for error in failures):
        raise failures[0]
    kind = OutcomeUnknown if any(isinstance(error, OutcomeUnknown) for error in failures) else Unavailable
    raise kind("; ".join(error.message for error in failures))


def _confirm(target: Target, region: str, key: str) -> dict[str, Any]:
    try:
        invoke(target, region, "indexer", {"call": "fold_key", "key": key})
    except MemolithError as error:
        return {"region": region, "confirmed": False, "reason": error.message}
    return {"region": region, "confirmed": True, "reason": None}


def _instant(text: str) -> int:
    """Parse an instant, as microseconds since 1970. Raises InvalidRequest."""
    try:
        instant_us = parse_rfc3339(text)
        rfc3339(instant_us)  # what is of the year 9999 elsewhere may be of no year in UTC
        return instant_us
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(
            "--expires-at", "must be an RFC 3339 date and time, such as 2026-12-31T00:00:00Z"
        ) from error


def _check_limits(asked: Mapping[str, Any], issued: Mapping[str, Any], where: list[str]) -> None:
    """Raise DoneInPart for a key that a deployment of an earlier release made without its limits; `where` has it
    revoked in the same one.
    """
    if any(issued.get(name) != limit for name, limit in asked.items()):
        revoke = shlex.join(["memolith", "keys", "revoke", str(issued["key_id"]), *where])
        raise DoneInPart(
            f"this deployment is of a release without limits of keys, and made {issued['key_id']} without them",
            f"Run `{revoke}`, then upgrade the deployment.",
        )
