"""``memolith transcript``: what was said in other programs' sessions, as transcripts of sessions here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from memolith.app.auth.session_tokens import PREFIX
from memolith.clients.api.client import SESSIONS, ApiClient
from memolith.clients.api.http import ApiRefused
from memolith.clients.cli.api_client import Key, Url, connect, session_address, speaking
from memolith.clients.cli.failures import Exit
from memolith.clients.cli.groups import group
from memolith.clients.cli.instants import instant, local_now
from memolith.clients.cli.output import Json, say, show_rows, visible
from memolith.clients.cli.store_argument import default_store, store_called
from memolith.clients.transfer.conversations import Conversation, Program, after, batches, read_conversation
from memolith.core.errors import InvalidRequest
from memolith.core.limits import SEARCH_LIMIT_DEFAULT, SEARCH_LIMIT_MAX

app = group("Import session files of Claude Code and Codex, report a running session; show and search what was said.")

SOURCE = "transcript_source"
"""The metadata of a session that says which file's session it is."""

_OF_THE_FILE = (400, 413)
"""Refusals that are about one file, after which the others are imported all the same."""

Of = Annotated[Program, typer.Option("--format", help="The program that wrote the file.")]
SessionId = Annotated[str, typer.Option("--session", metavar="SESSION", help="sesn_…")]


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Session files, *.jsonl.")],
    program: Of,
    store: Annotated[
        str | None, typer.Option("--store", help="The store of the sessions, by id or name; else the default one.")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Import session files: make a session of each session id in them, with the store attached, and its transcript.

    Import a file again as often as you like: only what was appended since is added. Secrets are taken out before
    anything is stored. Needs a key of scope admin, which may list sessions. Exit code 3: a file was not imported.

    Example: memolith transcript import --format claude-code ~/.claude/projects/*/*.jsonl --store "Team notes"

    Example: memolith transcript import --format codex ~/.codex/sessions/2026/11/23/rollout-*.jsonl
    """
    rows: list[dict[str, Any]] = []
    try:
        with speaking():
            client = connect(url, key)
            store_id = store_called(store or default_store(url, key), url, key)
            known = _known(client, store_id)
            for file in files:
                rows.append({"file": str(file), **_import(client, store_id, file, program, known)})
    finally:
        if rows:
            columns = ("file", "session", "accepted", "duplicates", "redactions", "unreadable", "reason")
            show_rows(rows, columns, as_json)
    if any("reason" in row for row in rows):
        raise typer.Exit(Exit.IN_PART)


@app.command()
def push(
    file: Annotated[Path, typer.Argument(help="The session file, *.jsonl.")],
    session: SessionId,
    program: Of = Program.CLAUDE_CODE,
    after_cursor: Annotated[
        bool, typer.Option("--after-cursor", help="Send only what follows the last event that the session has.")
    ] = False,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Report a session file to a session that exists: what a hook runs at the end of a turn or of a session.

    Takes an API key or the session's own token. What is there already is not added again, with or without
    --after-cursor, which only sends less. With the session's token it sends everything: listing the last event, such as
    a tool's result, would lower the trust class of all that the session writes from then on.

    Example: memolith transcript push --session sesn_useast1_01kb… ~/.claude/projects/-app/0f3b….jsonl --after-cursor
    """
    address = session_address(session, "--session")
    try:
        conversation = read_conversation(file, program)
    except OSError as error:
        raise InvalidRequest("FILE", f"{file} cannot be read: {error.strerror}") from error
    with speaking():
        client = connect(url, key)
        if after_cursor and not client.http.key.startswith(PREFIX):  # to list an event lowers a session's class
            last = client.get(f"{address}/events", {"order": "desc", "limit": 1})["data"]
            cursor = last[0]["client_event_id"] if last else None
            conversation.events = after(conversation.events, cursor)
        sent = _send(client, session, conversation)
    if as_json:
        print(json.dumps({"session": session, **sent}))
    else:
        accepted, known, secrets = sent["accepted"], sent["duplicates"], sent["redactions"]
        say(f"{session}  {accepted} recorded, {known} known already, {secrets} secrets taken out")


@app.command()
def show(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="sesn_…")],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Show what was said and done in a session, in order.

    Example: memolith transcript show sesn_useast1_01kb…
    """
    address = session_address(session)
    with speaking():
        events = list(connect(url, key).rows(f"{address}/events", {"limit": 100}))
    if as_json:
        print(json.dumps(events))
        return
    for event in events:
        say(f"{event['processed_at']}  {event['type']}  {event['trust']}", "bold")
        text = _text_of(event)
        if text:
            say("\n".join(f"  {visible(line)}" for line in text.splitlines()))


@app.command("search")
def search(
    query: Annotated[list[str], typer.Argument(help="Words that were said: an error message, a path, a name.")],
    store: Annotated[str | None, typer.Option("--store", help="Only sessions with this store, by id or name.")] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="SESSION", help="Only this one, sesn_….")] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only what was said since: an instant, yesterday, '2 weeks ago'.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only what was not said after that instant.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=SEARCH_LIMIT_MAX, help="The greatest number of results.")
    ] = SEARCH_LIMIT_DEFAULT,
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Find what was said and done in sessions. Needs a key of scope admin, unless --session names one.

    Example: memolith transcript search ECONNREFUSED 5432 --since '2 weeks ago'

    Example: memolith transcript search "rollback of the gateway" --store "Team notes" --json
    """
    asked: dict[str, str | int] = {"query": " ".join(query), "limit": limit}
    if since is not None:
        asked["created_at[gte]"] = instant(since, local_now(), "--since")
    if until is not None:
        asked["created_at[lte]"] = instant(until, local_now(), "--until")
    if session is not None:
        asked["session_id"] = session
    with speaking():
        if store is not None:
            asked["memory_store_id"] = store_called(store, url, key)
        found = connect(url, key).get("/v1/sessions/search", asked)
    if as_json:
        print(json.dumps(found))
        return
    for hit in found["hits"]:
        say(visible(f"{hit['processed_at']}  {hit['session_id']}  {hit['event_type']}  ({hit['trust']})"), "bold")
        for line in hit["excerpt"].splitlines():
            say(f"    {visible(line)}")
    if found["truncated"]:
        typer.echo("only the newest were searched; narrow it with --since, --until, --store or --session", err=True)


def _import(client: ApiClient, store_id: str, file: Path, program: Program, known: dict[str, str]) -> dict[str, Any]:
    """Import one file; return its session and what was recorded, or the reason why not. Raises ApiError otherwise.

    A session that it begins is added to `known`: other files may be of the same session.
    """
    session: str | None = None
    try:
        conversation = read_conversation(file, program)
        source = _source(program, conversation)
        session = known[source] = known.get(source) or _begin(client, store_id, program, conversation)
        return {"session": session, **_send(client, session, conversation)}
    except OSError as error:
        return {"session": session, "reason": error.strerror}
    except InvalidRequest as error:
        return {"session": session, "reason": error.message}
    except ApiRefused as error:
        if error.status not in _OF_THE_FILE:
            raise
        return {"session": session, "reason": error.message}


def _known(client: ApiClient, store_id: str) -> dict[str, str]:
    """Return the sessions of the store that were imported, by the program and its own name of them: of two the older.

    Sessions are listed newest first.
    """
    sessions = client.rows(SESSIONS, {"memory_store_id": store_id, "include_archived": "true", "limit": 100})
    return {one["metadata"][SOURCE]: one["id"] for one in sessions if SOURCE in one["metadata"]}


def _source(program: Program, conversation: Conversation) -> str:
    return f"{program.value}:{conversation.name}"


def _begin(client: ApiClient, store_id: str, program: Program, conversation: Conversation) -> str:
    """Begin the session of a file, and end it: it was over before it came here, and its token would be of no use.

    It may write, as whoever imports it may: so what it taught is proposed by itself, where the store's policy says so.
    """
    body = {
        "resources": [{"type": "memory_store", "memory_store_id": store_id, "access": "read_write"}],
        "title": f"{program.value} {conversation.name}"[:255],
        "metadata": {SOURCE: _source(program, conversation)},
        "token_lifetime_seconds": 60,
    }
    session = str(client.post(SESSIONS, body)["id"])
    client.post(f"{session_address(session)}/archive")
    return session


def _send(client: ApiClient, session: str, conversation: Conversation) -> dict[str, int]:
    """Report a file's events, in as many calls as they take. A call whose reply is lost may be sent again."""
    told = {"accepted": 0, "duplicates": 0, "redactions": 0}
    for batch in batches(conversation.events):
        receipt = client.post(f"{session_address(session)}/transcript", {"events": batch})
        told = {name: count + receipt[name] for name, count in told.items()}
    return {**told, "unreadable": conversation.unreadable}


def _text_of(event: Mapping[str, Any]) -> str:
    content = event.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [str(block["text"]) for block in blocks if isinstance(block, Mapping) and "text" in block]
    if "input" in event:
        texts.append(f"{event.get('name', '')} {json.dumps(event['input'], ensure_ascii=False)}")
    return "\n".join(texts)
