"""``memolith audit``: check that what was acknowledged is what is stored, by the checkpoints that were sealed.

It trusts the objects, the public keys and what was remembered outside the data, and no function of the deployment: it
reads the buckets itself, with the operator's credentials. A laptop's folder is read by a process that has its adapters.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memolith.clients.cli.api_address import chosen_root
from memolith.clients.cli.deployment_target import Aws, Root, Target, find_target, require_store_id
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.groups import group
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, show_fields, show_rows
from memolith.core.errors import InvalidRequest
from memolith.core.objects.witness import witness_prefix
from memolith.core.times import parse_rfc3339, rfc3339

if TYPE_CHECKING:
    from memolith.adapters.saved_keys import KeysByRegion

app = group("Check stored memories against the checkpoints that were sealed when they were acknowledged.")

EXIT_BROKEN = 1
PERIOD_MAX = 10**12 - 1
Always = Annotated[
    bool, typer.Option("--json", help="Print JSON, which is what it prints without this, too.", show_default=False)
]
COLUMNS = ("home", "flaw", "period", "key", "detail")


@app.command()
def verify(
    store_id: Annotated[str | None, typer.Argument(metavar="STORE", help="Only what belongs to this store.")] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="Only from here on: a period's number, or an instant, such as yesterday."),
    ] = None,
    region: Annotated[str | None, typer.Option("--region", help="Only this home; by default every region.")] = None,
    against: Annotated[
        list[str] | None,
        typer.Option("--against", help="Compare all checkpoints with their copies in this region; may be repeated."),
    ] = None,
    keys_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--keys",
            help="What `memolith audit keys` printed, or `memolith regions remove` wrote: trusted beside the keys of "
            "today; may be repeated.",
        ),
    ] = None,
    root: Root = None,
    aws: Aws = False,
    as_json: Json = False,
) -> None:
    """Say "intact to PERIOD", or name every object that is not what was acknowledged, and what was done to it.

    Flaws: altered, metadata_changed, missing, truncated, reordered, rolled_back, replayed, unacknowledged,
    erased_without_order, unreadable, checkpoint_missing, checkpoint_altered, checkpoint_unsigned, forked
    (docs/integrity.md). Exit code 1 if there is one, and 4 if nothing of the store is sealed. Without --since, objects
    that were never acknowledged are found, too. It reads every object once and changes nothing. Where a region's key in
    KMS was replaced, --keys has the file with the public half of the old one. What a region wrote that was removed is
    audited in every other region, if --keys has its key.

    Example: memolith audit verify

    Example: memolith audit verify --aws

    Example: memolith audit verify memstore_… --region eu-west-1 --json

    Example: memolith audit verify --since yesterday --against eu-west-1 --keys keys.json
    """
    if store_id is not None:
        require_store_id(store_id, "STORE")
    if root is not None and against:
        raise InvalidRequest("--against", "is for regions: a laptop's folder has none")
    root = chosen_root(root, aws, region, against)
    first = _since(since)
    files = [path.expanduser().absolute() for path in keys_files or []]
    saved = _saved(files)
    if root is None:
        reports = _on_aws(store_id, first, region, against or [], saved, aws)
    else:
        reports = _on_laptop(root, "verify", store_id or "", str(first), *map(str, files))
    if store_id is not None and first == 1 and not any(one["looked_at"] or one["findings"] for one in reports):
        advice = (
            "Its id is another one, or it was made within the last minute; `memolith stores list` lists the stores."
        )
        raise ApiFailed(f"nothing of {store_id} is sealed here: nothing was compared", Exit.NOT_FOUND, advice)
    if as_json:
        show_rows(reports, (), as_json)
    else:
        _show(reports)
    if not all(report["intact"] for report in reports):
        raise typer.Exit(EXIT_BROKEN)


@app.command()
def prove(
    store_id: Annotated[str, typer.Argument(metavar="STORE", help="The version's store.")],
    version_id: Annotated[str, typer.Argument(metavar="VERSION", help="The version: memver_…")],
    region: Annotated[str | None, typer.Option("--region", help="The bucket to read; by default the first.")] = None,
    root: Root = None,
    aws: Aws = False,
    as_json: Always = True,
) -> None:
    """Print the proof that a version was acknowledged as it is: JSON, for scripts/verify_proof.py.

    Who checks it needs the file of `memolith audit keys` and nothing else. It tells the version's path, author and the
    hash of its text. A version of the last minute is not sealed yet.

    Example: memolith audit prove memstore_… memver_… > proof.json
    """
    require_store_id(store_id, "STORE")
    root = chosen_root(root, aws, region)
    if root is not None:
        show_fields(_on_laptop(root, "prove", store_id, version_id), as_json)
        return
    from memolith.adapters.aws.sealing import KmsSealing
    from memolith.app.operations.proofs import make_proofs

    target = find_target(aws)
    sealing = KmsSealing(target.clients, target.deployment(region))
    show_fields(make_proofs(target.site(region), sealing).of_version(store_id, version_id), as_json)


@app.command()
def keys(
    root: Root = None,
    aws: Aws = False,
    as_json: Always = True,
) -> None:
    """Print the public keys that sign checkpoints, as a JWK set. Keep a copy where nobody else can change it.

    Example: memolith audit keys > keys.json
    """
    root = chosen_root(root, aws)
    if root is not None:
        show_fields(_on_laptop(root, "keys"), as_json)
        return
    from memolith.adapters.aws.sealing import KmsSealing
    from memolith.adapters.saved_keys import jwk_set

    target = find_target(aws)
    show_fields(jwk_set(KmsSealing(target.clients, target.deployment()), target.regions), as_json)


def _show(reports: list[dict[str, Any]]) -> None:
    rows = [{"home": _home(report), **finding} for report in reports for finding in report["findings"]]
    if rows:
        show_rows(rows, COLUMNS, False)
    for report in reports:
        if report["intact"] and report["sealed_until_us"] is None and report["since"] > 1:
            print(f"{_home(report)}: nothing is sealed from period {report['since']} on; {_counts(report)}")
        elif report["intact"]:
            until = report["sealed_until_us"]
            up_to = "nothing is sealed yet" if until is None else f"everything acknowledged before {rfc3339(until)}"
            period = report["until"] if until is None else report["signed_until"]
            print(f"{_home(report)}: intact to period {period} ({up_to}); {_counts(report)}")
        else:
            print(f"{_home(report)}: NOT INTACT, {len(report['findings'])} found; {_counts(report)}")


def _home(report: dict[str, Any]) -> str:
    """Return the home's name; of one that was removed, with the region whose bucket was read."""
    at = report.get("bucket", report["home"])
    return str(report["home"]) if at == report["home"] else f"{report['home']} in {at}"


def _counts(report: dict[str, Any]) -> str:
    told = f"{report['looked_at']} objects looked at, {report['unsealed']} of them unsealed, {report['erased']} erased"
    unsigned = f"; {report['unsigned']} later checkpoints not signed yet" if report["unsigned"] else ""
    return f"{told}; {report['pending']} more not sealed yet{unsigned}"


def _since(text: str | None) -> int | str:
    """Return the number of a period, or an instant as the API takes it. Raises InvalidRequest."""
    if text is None:
        return 1
    if not text.isdecimal():
        return instant(text, local_now(), "--since")
    if not 1 <= int(text) <= PERIOD_MAX:
        raise InvalidRequest("--since", f"must be a period from 1 to {PERIOD_MAX}, or an instant")
    return int(text)


def _saved(paths: list[Path]) -> KeysByRegion:
    from memolith.adapters.saved_keys import read_keys

    try:
        return read_keys(*paths)
    except (OSError, ValueError) as error:
        raise InvalidRequest("--keys", f"it cannot be used: {error}") from error


def _on_aws(
    store_id: str | None, since: int | str, region: str | None, against: list[str], saved: KeysByRegion, aws: bool
) -> list[dict[str, Any]]:
    """Audit each home in its own bucket, or a removed one in all others, against what the other regions saw of it."""
    from memolith.adapters.aws.sealing import KmsSealing
    from memolith.adapters.saved_keys import SavedKeys
    from memolith.app.operations.audit import Instant, make_audit

    target = find_target(aws)
    if unknown := set(against) - set(target.regions):
        raise InvalidRequest("--against", f"{', '.join(sorted(unknown))} is none of {', '.join(target.regions)}")
    first = since if isinstance(since, int) else Instant(parse_rfc3339(since))
    reports = []
    for home, at in _places(target, region, saved):
        sealing = SavedKeys(KmsSealing(target.clients, target.deployment(at)), saved)
        others = [other for other in against if other != at]
        try:
            report = make_audit(target.site(at), sealing).run(home, store_id, first, others)
        except (ValueError, RecursionError) as error:
            raise _unreadable(home, error) from error
        reports.append({**asdict(report), "bucket": at, "intact": report.is_intact})
    return reports


def _unreadable(home: str, error: Exception) -> ApiFailed:
    """Make the error of an audit that met a record it cannot read; an unreadable checkpoint is a finding instead."""
    message = f"the audit of {home} is not finished: a record that it needs cannot be read ({error})"
    advice = (
        f"Look at the last object under {witness_prefix(home)} in each other region's bucket: what that region saw of "
        f"{home}'s checkpoints. docs/operations/integrity-broken.md says what to do; --region audits one home alone."
    )
    return ApiFailed(message, Exit.FAILED, advice)


def _places(target: Target, region: str | None, saved: KeysByRegion) -> list[tuple[str, str]]:
    """Return each home that is meant, with the region whose bucket to read: its own; of a removed one, every region's.

    Without its keys nothing proves what a removed region wrote. It is left out then, and named on standard error.

    Raises:
        InvalidRequest: it is the one that is meant.
    """
    if region is not None and region not in target.former:
        return [(region, region)]
    former = target.former if region is None else (region,)
    for home in former:
        if home not in saved:
            what = f"{home} was removed, and its key with it: name the file that `memolith regions remove` wrote"
            if region is not None:
                raise InvalidRequest("--keys", what)
            print(f"{home}: not audited; {what} with --keys", file=sys.stderr)
    present = [(home, home) for home in target.regions] if region is None else []
    return present + [(home, at) for home in former if home in saved for at in target.regions]


def _on_laptop(root: Path, *task: str) -> Any:
    """Do a task by the module that has the laptop's adapters, and return its answer."""
    import json

    told = {"MEMOLITH_ROOT": str(root.expanduser().absolute())}
    arguments = [sys.executable, "-m", "memolith.entry.audit", *task]
    ended = subprocess.run(arguments, env={**os.environ, **told}, stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        raise typer.Exit(ended.returncode)
    return json.loads(ended.stdout)
