"""What a dream hands to a model, and which of the edits that come back may be applied. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memolith.core.commands import Command, CreateMemory, DeleteMemory, UpdateMemory
from memolith.core.decide import sha256_hex
from memolith.core.limits import CONTENT_MAX_BYTES, PROPOSAL_MAX_BYTES, PROPOSAL_SOURCES_MAX, SOURCES_MAX
from memolith.core.memory_conventions import INDEX_MAX_BYTES, INDEX_MAX_LINES, INDEX_PATH, frontmatter
from memolith.core.objects.proposal_record import PlannedWrite
from memolith.core.proposed_edits import EditRequest, text_size
from memolith.core.trust import rank

ROUNDS_MAX = 8
EDITS_MAX = 60
INPUT_SHARE = 0.5
"""Of the model's window, what the texts of the store may take; of a larger store the model opens what it needs."""

SUMMARY_PATH = "/memory_summary.md"
"""Where agents that load a summary of a store look for it."""

SUMMARY_MAX_BYTES = 8_000
"""About 2,500 tokens: what a summary may take of each agent's context."""


@dataclass(frozen=True, slots=True)
class DreamedMemory:
    """A memory as a dream read it."""

    id: str
    path: str
    version_id: str
    sha256: str
    updated_at: str
    text: str
    trust: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit that a model asked for."""

    op: str
    path: str
    why: str
    sources: tuple[str, ...] = ()
    content: str | None = None
    old: str | None = None
    new: str | None = None
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """The edits that may be applied, and for each that was left out, why."""

    edits: tuple[Edit, ...]
    dropped: tuple[str, ...]


def document(
    memories: Sequence[DreamedMemory],
    opened: Collection[str] | None,
    notes: Sequence[Mapping[str, Any]],
    instructions: str | None,
    now: str,
    least: str | None = None,
) -> dict[str, Any]:
    """Return what a consolidation is asked about. Texts of the `opened` paths are in it; of all where that is None.

    `least` is the class of all that the model was shown. A memory of a lower class says nothing of itself until it is
    opened: its description is words of its own text, and opening it lowers the class of what the dream writes.
    """

    def said(one: DreamedMemory, is_open: bool) -> dict[str, str | None]:
        if not is_open and rank(one.trust) < rank(least):
            return {"type": None, "description": None, "text": None}
        front = frontmatter(one.text)
        return {"type": front.type, "description": front.description, "text": one.text if is_open else None}

    return {
        "now": now,
        "instructions": instructions,
        "notes": list(notes),
        "removed": [],
        "memories": [
            {
                "path": one.path,
                "version": one.version_id,
                "updated_at": one.updated_at,
                **said(one, opened is None or one.path in opened),
            }
            for one in memories
        ],
    }


def edits_of(
    memories: Mapping[str, DreamedMemory],
    opened: Collection[str] | None,
    ask: Callable[[int, Collection[str] | None], Mapping[str, Any]],
) -> Sequence[Mapping[str, Any]] | None:
    """Return the edits that a model asks for after a few rounds, in which it may open texts; None where it only opens.

    `opened`: the paths whose texts the first question has; None for all. `ask` asks the round of that number.
    """
    for number in range(1, ROUNDS_MAX + 1):
        data = ask(number, opened)
        wanted = {path for path in data["open"] if path in memories} - set(opened or ())
        if data["edits"] or opened is None or not wanted:
            edits: Sequence[Mapping[str, Any]] = data["edits"]
            return edits
        opened = {*opened, *wanted}
    return None


def selected(
    edits: Sequence[Mapping[str, Any]],
    memories: Mapping[str, DreamedMemory],
    known_sources: Collection[str],
    *,
    deletes_max: int | None = None,
) -> Selected:
    """Select the edits that may be applied, in their order.

    Left out are: one whose memory is not there or is there already, one that names a source which the dream was not
    given, a replacement of a part that is not there exactly once, one that makes the index or the summary longer
    than agents load, and, with `deletes_max`, all deletions if they are more than that.
    """
    kept: list[Edit] = []
    dropped: list[str] = []
    paths, named = set(memories), set[str]()
    for one in [_edit(raw) for raw in edits[:EDITS_MAX]]:
        touched = {one.path, one.to or one.path}
        reason = "path_twice" if touched & named else _refused(one, memories, paths, known_sources)
        if reason:
            dropped.append(reason)
            continue
        kept.append(one)
        named |= touched
        if one.op in ("delete", "rename"):
            paths.discard(one.path)
        if one.op in ("create", "rename"):
            paths.add(one.to or one.path)
    deletes = sum(1 for one in kept if one.op == "delete")
    if deletes_max is not None and deletes > deletes_max:
        dropped += ["too_many_deletions"] * deletes
        kept = [one for one in kept if one.op != "delete"]
    return Selected(tuple(kept), tuple(dropped))


def _refused(
    edit: Edit, memories: Mapping[str, DreamedMemory], paths: Collection[str], known_sources: Collection[str]
) -> str | None:
    if not edit.sources or not set(edit.sources) <= set(known_sources):
        return "unsupported"
    if edit.op == "create" and edit.path in paths:
        return "path_taken"
    if edit.op == "create":
        return "too_long" if _grows_over_cap(edit, {}) else None
    if edit.path not in paths or edit.path not in memories:
        return "no_such_memory"
    if edit.op == "rename" and edit.to in paths:
        return "path_taken"
    if edit.op == "str_replace" and memories[edit.path].text.count(edit.old or "") != 1:
        return "text_not_found"
    return "too_long" if _grows_over_cap(edit, memories) else None


def is_over_cap(path: str, text: str) -> bool:
    """Tell whether a text is an index or a summary of which agents would load a part alone."""
    size = len(text.encode())
    if path == INDEX_PATH:
        return size > INDEX_MAX_BYTES or len(text.rstrip("\n").split("\n")) > INDEX_MAX_LINES
    return path == SUMMARY_PATH and size > SUMMARY_MAX_BYTES


def _grows_over_cap(edit: Edit, memories: Mapping[str, DreamedMemory]) -> bool:
    """Tell whether an edit leaves an index or a summary over its cap. One that shortens what was over it does not."""
    if edit.op == "delete":
        return False
    memory = memories.get(edit.path)
    if edit.op == "rename":
        return memory is not None and is_over_cap(edit.to or "", memory.text)
    text = edit.content or "" if memory is None else new_text(edit, memory)
    was_over = memory is not None and is_over_cap(edit.path, memory.text) and len(text) < len(memory.text)
    return is_over_cap(edit.path, text) and not was_over


def new_text(edit: Edit, memory: DreamedMemory) -> str:
    """Return the whole text that a replacement makes of a memory."""
    if edit.op == "str_replace":
        return memory.text.replace(edit.old or "", edit.new or "", 1)
    return edit.content or ""


def command_for(edit: Edit, memories: Mapping[str, DreamedMemory], store_id: str, planned: PlannedWrite) -> Command:
    """Return the command that makes an edit, of the very version that was read; its writer fills in actor and class."""
    named: dict[str, Any] = {"store_id": store_id, "version_id": planned.version_id, "actor": ""}
    if edit.op == "create":
        return CreateMemory(**named, memory_id=planned.memory_id, path=edit.path, content=edit.content or "")
    memory = memories[edit.path]
    named |= {"memory_id": memory.id, "expected_content_sha256": memory.sha256}
    named["expected_version_id"] = memory.version_id
    if edit.op == "delete":
        return DeleteMemory(**named)
    if edit.op == "rename":
        return UpdateMemory(**named, path=edit.to)
    return UpdateMemory(**named, content=new_text(edit, memory))


def fit_into_proposal(edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> list[Edit]:
    """Return the edits without those that a proposal has no room for: a text that no memory may have, or that is too
    much beside those before it.
    """
    kept, left = list[Edit](), PROPOSAL_MAX_BYTES
    for edit in edits:
        text = (new_text(edit, memories[edit.path]) if edit.op == "str_replace" else edit.content) or ""
        size = text_size(text)
        if size <= left and len(text.encode()) <= CONTENT_MAX_BYTES:
            kept.append(edit)
            left -= size
    return kept


def as_proposal(edits: Sequence[Edit], memories: Mapping[str, DreamedMemory]) -> list[EditRequest]:
    """Return the edits as a proposal takes them: conditional on what was read; sources are versions alone."""
    versions = {one.version_id for one in memories.values()}
    left = PROPOSAL_SOURCES_MAX
    asked = []
    for edit in edits:
        sources = tuple(one for one in edit.sources if one in versions)[: min(SOURCES_MAX, left)]
        left -= len(sources)
        asked.append(
            EditRequest(
                op=edit.op,
                path=edit.path,
                content=edit.content,
                old=edit.old,
                new=edit.new,
                to=edit.to,
                expected_content_sha256=None if edit.op == "create" else memories[edit.path].sha256,
                why=edit.why,
                sources=sources,
            )
        )
    return asked


def as_resolved(edit: Edit, memories: Mapping[str, DreamedMemory]) -> tuple[str, str, str | None, str | None]:
    """Return by what an edit is known again in a proposal: what it does, its paths, and the hash of its new text."""
    is_part = edit.op == "str_replace"
    text = new_text(edit, memories[edit.path]) if is_part else edit.content
    return "replace" if is_part else edit.op, edit.path, edit.to, None if text is None else sha256_hex(text)


def _edit(raw: Mapping[str, Any]) -> Edit:
    return Edit(
        op=str(raw["op"]),
        path=str(raw["path"]),
        why=str(raw["why"]),
        sources=tuple(raw.get("sources", ())),
        content=raw.get("content"),
        old=raw.get("old"),
        new=raw.get("new"),
        to=raw.get("to"),
    )
