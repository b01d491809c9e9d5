"""``memolith why``: which version brought a line of a memory, who wrote it, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice, pairwise
from typing import Annotated, Any

import typer

from memolith.clients.api.client import DREAMS, ApiClient, address
from memolith.clients.api.http import ApiRefused
from memolith.clients.cli.api_client import Key, Store, Url, complete_path, connect, memory_id_of, speaking
from memolith.clients.cli.failures import ApiFailed, Exit
from memolith.clients.cli.output import Json, show_fields
from memolith.clients.cli.store_argument import StoreCommand
from memolith.core.errors import InvalidRequest

app = typer.Typer(add_completion=False, rich_markup_mode=None)

VERSIONS_MAX = 1_000
PROPOSALS_MAX, LOOKED_INTO_MAX = 500, 5
LISTED_MAX = 10_000
DREAMS_MAX = 500
"""So far back from a version is looked for what it rests on; what was proposed or begun after it is passed over."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a memory, and the version that brought it; `is_certain`: the text before that version is there."""

    number: int
    text: str
    version: Any
    is_certain: bool


@app.command(cls=StoreCommand)
def why(
    store: Store,
    what: Annotated[str, typer.Argument(metavar="PATH[:LINE]", help="/notes/todo.md:12", autocompletion=complete_path)],
    url: Url = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Say which version brought a line of a memory: when, by whom, and of which trust class.

    Where it came from a proposal or a dream: why, from which sources, with which model and prompt, and at what cost.

    Without a line, the same of the newest version. A line that was moved or changed was brought by who did that.

    Example: memolith why "Team notes" /deploys.md:3
    """
    path, number = _split(what)
    with speaking():
        api = connect(url, key)
        memory_id = memory_id_of(api, store, path)
        versions = islice(api.versions.list(store, memory_id=memory_id, view="full", limit=20), VERSIONS_MAX)
        found = origin_of_line(list(_as_needed(versions, number)), number, path)
        origin = _origin(api, store, found.version)
    row = {
        "path": path,
        "line": found.number or None,
        "text": found.text if number else None,
        "version": found.version["id"],
        "created_at": found.version["created_at"],
        "operation": found.version["operation"],
        "by": _actor(found.version["created_by"]),
        "trust": found.version.get("trust"),
        "note": None if found.is_certain else "the text before this version was erased: the line may be older",
        **origin,
    }
    show_fields(row if as_json else {name: _flat(value) for name, value in row.items()}, as_json)


def _split(what: str) -> tuple[str, int]:
    """Return a path and the number of a line, 0 for none. Raises InvalidRequest."""
    path, colon, line = what.rpartition(":")
    if not colon or not line.isascii() or not line.isdigit():
        return what, 0
    if not 1 <= int(line) <= 10_000_000:
        raise InvalidRequest("PATH:LINE", "must name a line from 1")
    return path, int(line)


def _as_needed(versions: Iterator[Any], number: int) -> Iterator[Any]:
    """Yield versions, the newest first; of a memory without a line to look for the newest alone."""
    return versions if number else islice(versions, 1)


def origin_of_line(versions: Sequence[Any], number: int, path: str) -> Line:
    """Return what brought line `number` of the newest of `versions`, which are the newest first. Pure.

    Raises:
        ApiFailed: there is no such line, or no text.
    """
    if not versions or (number and versions[0]["content"] is None):
        raise ApiFailed(f"{path} has no text: it was deleted, erased or is withheld", Exit.NOT_FOUND)
    if not number:
        return Line(0, "", versions[0], True)
    lines = _lines(versions[0])
    if number > len(lines):
        raise ApiFailed(f"{path} has {len(lines)} line{'s' * (len(lines) != 1)}", Exit.NOT_FOUND)
    text, at = lines[number - 1], number - 1
    for newer, older in pairwise(versions):
        if older["content"] is None:
            return Line(number, text, newer, older["operation"] == "deleted")
        there = _place_before(_lines(older), _lines(newer), at)
        if there is None:
            return Line(number, text, newer, True)
        at = there
    return Line(number, text, versions[-1], len(versions) < VERSIONS_MAX)


def _lines(version: Any) -> list[str]:
    return str(version["content"]).removesuffix("\n").split("\n")


def _place_before(before: Sequence[str], after: Sequence[str], at: int) -> int | None:
    """Return where a line of `after` was in `before`; None where it was not."""
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        if block.b <= at < block.b + block.size:
            return block.a + at - block.b
    return None


# ---- what it rests on ------------------------------------------------------------------------------------------------


def _origin(api: ApiClient, store: str, version: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of the proposal and of the dream that a version came from; nothing for most versions."""
    found: dict[str, Any] = {}
    session = (version["created_by"] or {}).get("session_id")
    proposal = None if session else _proposal(api, store, version)
    if proposal is not None:
        edit = next(one for one in proposal["edits"] if _made(one) == version["id"])
        found = {
            "proposal": proposal["id"],
            "proposed_by": _actor(proposal["proposed_by"]),
            "why": edit["why"] or proposal["why"],
            "sources": edit["sources"],
        }
        session = (proposal["proposed_by"] or {}).get("session_id")
    dream = _dream(api, session, version) if session else None
    if dream is not None:
        ours = dream["x_memolith"]
        found |= {
            "dream": dream["id"],
            "model": ours["model_answered"] or dream["model"]["id"],
            "prompt_sha256": ours["prompt_sha256"],
            "tokens": sum(dream["usage"].values()) or None,
            "cost_usd": ours["cost_usd"],
            "sessions": next((one["session_ids"] for one in dream["inputs"] if one["type"] == "sessions"), []),
        }
        if proposal is None and dream["output_behavior"]["type"] != "create_new":
            found["sources"] = _sources(api, dream["id"], version["memory_id"])
    return found


def _sources(api: ApiClient, dream_id: str, memory_id: str) -> list[str]:
    """Return what the edit of a memory that a dream wrote itself rests on."""
    changes = api.get(address(dream_id, "changes", of=DREAMS))["data"]
    return next((one["sources"] for one in changes if one["memory_id"] == memory_id), [])


def _proposal(api: ApiClient, store: str, version: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the proposal whose approval made a version: of those that were decided before it, the last few."""
    proposals = address(store, "proposals")
    decided: list[Mapping[str, Any]] = []
    for status in ("approved", "reverted"):
        rows = islice(_allowed(api, proposals, {"status": status, "limit": 100}), LISTED_MAX)
        before = islice((one for one in rows if one["proposed_at"] <= version["created_at"]), PROPOSALS_MAX)
        decided += [one for one in before if one["decided_at"] <= version["created_at"]]
    for one in sorted(decided, key=lambda row: str(row["decided_at"]), reverse=True)[:LOOKED_INTO_MAX]:
        whole = api.get(f"{proposals}/{one['id']}")
        if any(_made(edit) == version["id"] for edit in whole["edits"] or ()):
            return whole
    return None


def _made(edit: Mapping[str, Any]) -> str | None:
    return None if edit["result"] is None else edit["result"]["memory_version_id"]


def _dream(api: ApiClient, session: str, version: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the dream whose session this is; it was asked for before the version was written."""
    rows = islice(_allowed(api, DREAMS, {"include_archived": "true", "limit": 100}), LISTED_MAX)
    before = islice((one for one in rows if one["created_at"] <= version["created_at"]), DREAMS_MAX)
    return next((one for one in before if one["session_id"] == session), None)


def _allowed(api: ApiClient, address: str, query: Mapping[str, str | int]) -> Iterator[Mapping[str, Any]]:
    """Yield a listing; nothing of one that the key may not see, as a session's token may not see dreams."""
    try:
        yield from api.rows(address, query)
    except ApiRefused as refused:
        if refused.status not in (403, 404):
            raise


def _actor(actor: Mapping[str, Any] | None) -> str | None:
    return next((value for name, value in (actor or {}).items() if name.endswith("_id")), None)


def _flat(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, list) else value
