"""``memolith backup``: stores in a place that no deletion reaches, and from there into any Memolith."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from memolith.clients.cli.api_address import words_of_address
from memolith.clients.cli.api_client import Key, Url, connect, speaking
from memolith.clients.cli.backup_place import (
    BucketOwner,
    BucketRegion,
    EndpointUrl,
    KmsKey,
    Place,
    Profile,
    find_place,
    words_of,
)
from memolith.clients.cli.failures import GOES_ON, Exit
from memolith.clients.cli.groups import group
from memolith.clients.cli.import_ import make_like, settings_left_behind
from memolith.clients.cli.output import Json, show_rows, visible
from memolith.clients.cli.store_argument import one_called, store_called
from memolith.clients.cli.transfer_options import MAX_TRUST, MaxTrust, counting, ending_report
from memolith.clients.transfer import backup
from memolith.clients.transfer.backup import StoredHistory
from memolith.clients.transfer.history import HistoryImporter
from memolith.clients.transfer.report import Row
from memolith.core.errors import InvalidRequest
from memolith.ports.backup_places import BackupPlace

app = group("Back up stores into a folder or a bucket, verify a backup, and restore stores from it.")


@app.command()
def create(
    place: Place,
    store: Annotated[
        list[str] | None,
        typer.Option("--store", help="Only this store, by id or name; may be repeated. By default all."),
    ] = None,
    records: Annotated[
        bool, typer.Option("--records", help="Proposals, sessions, transcripts and dreams, too, to be read.")
    ] = False,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
    bucket_region: BucketRegion = None,
    bucket_owner: BucketOwner = None,
    kms_key: KmsKey = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Back up stores of your workspace, with all versions, into a new or empty folder, or below a prefix of a bucket.

    Use an admin key: withheld texts are given to admins alone. Each workspace needs a backup of its own. The manifest,
    `backup.json`, has the SHA-256 of every file and is put last. Nothing is overwritten: not even what another backup
    puts there at the same time. Exit code 3: a text is missing, or a store that was deleted meanwhile, and the report
    says which.

    With --records the backup has the stores' proposals and decisions, sessions, transcripts and dreams, too, as JSON
    lines. They are kept to be read; no restoration makes anything of them.

    Example: memolith backup create /backups/2026-11-22

    Example: memolith backup create s3://my-backups/2026-11-22 --profile backups --bucket-owner 210987654321
    """
    rows: list[Row] = []
    wanted = [store_called(one, url, key) for one in store or ()]
    written: list[StoredHistory] = []
    with ending_report(rows, as_json, written, "the next backup needs another place") as ending, speaking():
        target = find_place(place, profile, endpoint_url, bucket_region, bucket_owner, kms_key)
        ending["target"] = target.at()
        try:
            with counting("backing up versions", None) as advance, _using(target, "written"):
                client = connect(url, key)
                backup.write(client, target, wanted, rows.append, advance, written, with_records=records)
        except BaseException:
            if written:
                typer.echo(
                    f"{target.at()} has a part of a backup now, and is none without {backup.MANIFEST}; name another"
                    " place for the next one",
                    err=True,
                )
            raise
        for one in written:
            rows += [Row(one.store_id, "written"), Row(one.store_id, "noted", _beside(one))]
        ending["versions"] = sum(one.versions for one in written)


@app.command()
def verify(
    place: Place,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
    bucket_region: BucketRegion = None,
    bucket_owner: BucketOwner = None,
    as_json: Json = False,
) -> None:
    """Read every byte of a backup and compare it with the manifest. Needs no deployment.

    Exit code 3: the backup is whole, and there is something beside it, which is named.

    Example: memolith backup verify /backups/2026-11-22

    Example: memolith backup verify s3://my-backups/2026-11-22 --profile backups
    """
    found, additional = _verified(find_place(place, profile, endpoint_url, bucket_region, bucket_owner))
    rows = [
        {
            "store": one.store_id,
            "name": one.store["name"],
            "versions": one.versions,
            "records": None if one.records is None else sum(one.records.counts.values()),
            "sha256": one.sha256,
        }
        for one in found
    ]
    show_rows(rows, ("store", "name", "versions", "records", "sha256"), as_json)
    if additional:
        raise typer.Exit(Exit.IN_PART)


@app.command()
def restore(
    place: Place,
    store: Annotated[
        list[str] | None, typer.Option("--store", help="Only this one of its stores, by id or name; may be repeated.")
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            help="Go on with the store, by id or name, that a restoration made before it stopped; with one --store.",
        ),
    ] = None,
    max_trust: MaxTrust = None,
    profile: Profile = None,
    endpoint_url: EndpointUrl = None,
    bucket_region: BucketRegion = None,
    bucket_owner: BucketOwner = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Restore stores from a backup, each as a new store with all its versions. Needs an admin key.

    The whole backup is verified first. Memories and versions keep their ids; a store gets a new one, which the report
    names. Every text is scanned again. If the command stops, it says how to go on.

    A version keeps its trust class up to --max-trust, and up to what the key writes: what persons wrote stays theirs
    with a person's key and --max-trust user.

    Example: memolith backup restore /backups/2026-11-22 --api-url https://memory.example.com --api-key sk-memolith-…

    Example: memolith backup restore s3://my-backups/2026-11-22 --store memstore_… --profile backups
    """
    if into is not None and len(store or ()) != 1:
        raise InvalidRequest("--into", "goes with exactly one --store")
    source = find_place(place, profile, endpoint_url, bucket_region, bucket_owner)
    chosen = _chosen(_verified(source)[0], store)
    words = words_of(source, profile, endpoint_url, bucket_region, bucket_owner)
    options = shlex.join(["--max-trust", max_trust or MAX_TRUST, *words_of_address(url)])
    rows: list[Row] = []
    restored: list[dict[str, str]] = []
    with ending_report(rows, as_json, restored, GOES_ON) as ending, speaking():
        ending["source"], ending["stores"] = source.at(), restored
        client = connect(url, key)
        into = into and one_called(client, into)
        with counting("restoring versions", sum(one.versions for one in chosen)) as advance, _using(source, "read"):
            for number, one in enumerate(chosen):
                try:
                    rows += _restore(client, source, one, into, restored, advance, max_trust or MAX_TRUST)
                except BaseException:
                    _say_how_to_go_on(words, chosen[number:], restored, into, options)
                    raise


@contextmanager
def _using(place: BackupPlace, done: str) -> Iterator[None]:
    """Turn what the operating system refuses into an error that names the place. Raises InvalidRequest."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise InvalidRequest("PLACE", f"{error.filename or place.at()} cannot be {done}: {why}") from error


def _beside(one: StoredHistory) -> str:
    """Say what was kept of a store beside its versions, and what was not."""
    if one.records is None:
        return "without proposals, sessions, transcripts and dreams (--records keeps them)"
    counts = ", ".join(f"{count} {kind}s" for kind, count in one.records.counts.items())
    return f"with {counts or 'no other records'}; these are not restored"


def _verified(place: BackupPlace) -> tuple[list[StoredHistory], list[str]]:
    """Verify a backup; return its stores, and the files that are none of it, which are named on standard error."""
    with _using(place, "read"):
        found = backup.stores_of(place)
        total = sum(one.bytes_in_all for one in found)
        with counting("verifying", total, of_bytes=True) as advance:
            additional = backup.verify(place, found, advance)
    for name in additional:
        print(visible(f"not of the backup, and never restored: {place.at(name)}"), file=sys.stderr)
    return found, additional


def _chosen(found: list[StoredHistory], wanted: list[str] | None) -> list[StoredHistory]:
    ids = {_id_of(found, named) for named in wanted or ()}
    return [one for one in found if not wanted or one.store_id in ids]


def _id_of(found: list[StoredHistory], named: str) -> str:
    """Return the id of the one store of a backup that is named by its id or its name. Raises InvalidRequest."""
    ids = [one.store_id for one in found if named in (one.store_id, one.store["name"])]
    if not ids:
        raise InvalidRequest("--store", f"{named} is not in the backup; `memolith backup verify` lists what is")
    if len(ids) > 1:
        raise InvalidRequest("--store", f"names {len(ids)} stores of the backup; use the id: {', '.join(ids)}")
    return ids[0]


def _restore(
    client: Any,
    place: BackupPlace,
    one: StoredHistory,
    into: str | None,
    restored: list[dict[str, str]],
    advance: Any,
    max_trust: str,
) -> list[Row]:
    """Make one store anew; return what became of its memories. Adds its old and new id to `restored` at once."""
    rows: list[Row] = []
    with backup.opened(place, one, lambda _: None) as (manifest, versions):
        made = into or make_like(client, manifest.store, None)
        restored.append({"from": one.store_id, "store": made})
        HistoryImporter(client, made, advance, max_trust).run(versions, rows.append)
    rows += settings_left_behind(one.store)
    if one.store.get("archived_at") is not None:
        client.stores.archive(made)
    rows.append(
        Row(one.store_id, "noted", f"is {made} now; proposals, sessions, transcripts and dreams are not restored")
    )
    return rows


def _say_how_to_go_on(
    place: str, left: list[StoredHistory], restored: list[dict[str, str]], into: str | None, options: str
) -> None:
    """Say on standard error which commands restore the rest; `place` is what they are given to find the backup.

    `into`: the store that the first one goes into, where none was made for it.
    """
    rest = left
    made = restored[-1]["store"] if restored and restored[-1]["from"] == left[0].store_id else into
    if made is not None:
        one = f"--store {left[0].store_id} --into {shlex.quote(made)}"
        typer.echo(f"to go on: memolith backup restore {place} {one} {options}", err=True)
        rest = left[1:]
    if rest:
        names = " ".join(f"--store {one.store_id}" for one in rest)
        typer.echo(f"then: memolith backup restore {place} {names} {options}", err=True)
