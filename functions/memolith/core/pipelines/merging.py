"""A consolidation without a model: notes go into their memories, memories that say the same become one.

Rules: the newest wording stands, the one before it is kept under ``## Earlier``; what only removed sources said is
deleted; the index names every memory. Where nothing is to be done, there is no edit. The same document gives the same
edits, and a store to which they were applied gives none. Of what has no room in one answer, notes are left from the
earliest one on, and the answer is not `done`; memories that say the same are found again in the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memolith.core.limits import CONTENT_MAX_BYTES
from memolith.core.memory_conventions import INDEX_MAX_BYTES, INDEX_MAX_LINES, INDEX_PATH, frontmatter, index_line
from memolith.core.pipelines.cues import overlap, shingles, slug

SAME = 0.6
"""From which overlap of their shingles on two texts say the same."""

COMPARED_MIN_WORDS = 8
"""Memories of fewer words are never merged with one another: too little says that they mean the same."""

EARLIER = "## Earlier"
EARLIER_MAX = 5
"""How many earlier wordings of one memory are kept in it; older ones are in its versions."""

OPEN_MAX = 20
EDITS_MAX = 60
SOURCES_MAX = 64
WHY_MAX_CHARS = 1_000
"""What an answer has at most, by its form."""

COMPARED_MAX = 400
"""How many memories are compared with one another, the newest first."""

_SOURCES = re.compile(r"^Sources?: (?P<ids>.+)$", re.MULTILINE)


def consolidated(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a consolidation's document: memories to open first, or the edits."""
    memories = {str(one["path"]): dict(one) for one in document.get("memories", ())}
    notes = [note for note in document.get("notes", ()) if note.get("body")]
    wanted = [path for path in map(_path_of, notes) if path in memories and memories[path].get("text") is None]
    if INDEX_PATH in memories and memories[INDEX_PATH].get("text") is None:
        wanted.append(INDEX_PATH)
    if wanted:
        return {"open": list(dict.fromkeys(wanted))[:OPEN_MAX], "edits": [], "summary": "", "done": False}
    texts = {path: str(one["text"]) for path, one in memories.items() if one.get("text") is not None}
    room = EDITS_MAX - 1  # the last is the index's
    edits = [*_removals(texts, document.get("removed", ()), room)]
    edits += _merges(memories, texts, room - len(edits) - len(notes))
    taken, is_done = _taken(notes, texts, room - len(edits))
    edits += taken
    edits += _index(memories, texts, edits)
    return {"open": [], "edits": edits, "summary": _summary(edits), "done": is_done}


def _path_of(note: Mapping[str, Any]) -> str:
    if note.get("update_of"):
        return str(note["update_of"])
    return f"/{note.get('type', 'project')}/{slug(str(note['name']))}.md"


# ---- notes ----------------------------------------------------------------------------------------------------------


def _taken(notes: Sequence[Mapping[str, Any]], texts: dict[str, str], room: int) -> tuple[list[dict[str, Any]], bool]:
    """Return an edit for each memory that a note makes or changes, in order of the notes; the last one wins.

    Also whether that is all: the first note for which there is no edit left ends it, so that none after it is taken.
    """
    changed: dict[str, dict[str, Any]] = {}
    for note in sorted(notes, key=lambda one: (str(one.get("at", "")), str(one.get("id", "")))):
        path = _same_body(note, texts) or _path_of(note)
        before = texts.get(path)
        after = _memory(note, before)
        if after == before:
            continue
        if path not in changed and len(changed) >= room:
            return list(changed.values()), False
        sources = [*changed.get(path, {}).get("sources", ()), str(note["id"])]
        op = changed[path]["op"] if path in changed else ("replace" if path in texts else "create")
        changed[path] = _edit(op, path, "A session says so.", sources, content=after)
        texts[path] = after
    return list(changed.values()), True


def _same_body(note: Mapping[str, Any], texts: Mapping[str, str]) -> str | None:
    """Return the path of the memory that already says what the note says."""
    said = shingles(str(note["body"]))
    found = [(overlap(said, shingles(body_of(text))), path) for path, text in texts.items() if path != INDEX_PATH]
    best = max(found, default=(0.0, ""))
    return best[1] if best[0] >= SAME and len(next(iter(said), ())) > 3 else None


def _memory(note: Mapping[str, Any], before: str | None) -> str:
    body = str(note["body"]).strip()
    earlier: list[str] = []
    if before is not None:
        old = body_of(before)
        if " ".join(old.split()) == " ".join(body.split()) or body in _earlier_of(before):
            return before
        earlier = [old, *_earlier_of(before)]
    lines = ["---", f"name: {_scalar(note['name'])}", f"description: {_scalar(note.get('description', ''))}"]
    lines += [f"type: {note.get('type', 'project')}", "---", "", body, ""]
    if note.get("why"):
        lines += [f"Why: {note['why']}", ""]
    if note.get("how_to_apply"):
        lines += [f"How to apply: {note['how_to_apply']}", ""]
    return _with_earlier("\n".join(lines), earlier)


def body_of(text: str) -> str:
    """Return what a memory says now: without frontmatter, earlier wordings, reasons and sources."""
    rest = _without_earlier(_without_frontmatter(text))
    kept = [line for line in rest.split("\n") if not re.match(r"(?:Why|How to apply|Sources?): ", line)]
    return "\n".join(kept).strip()


def _without_frontmatter(text: str) -> str:
    if not frontmatter(text).given or "\n---" not in text:
        return text
    return text.partition("\n---")[2].partition("\n")[2]


def _earlier_of(text: str) -> list[str]:
    after = text.partition(f"\n{EARLIER}")[2]
    return [line.removeprefix("- ").strip() for line in after.split("\n") if line.startswith("- ")]


def _with_earlier(text: str, earlier: Sequence[str]) -> str:
    """Return a memory with earlier wordings, the newest first: as many as it may have, and has room for."""
    kept = list(dict.fromkeys(" ".join(one.split()) for one in earlier if one.strip()))[:EARLIER_MAX]
    while kept:
        whole = "\n".join([text.rstrip(), "", EARLIER, "", *(f"- {one}" for one in kept), ""])
        if _fits(whole):
            return whole
        kept.pop()
    return text


def _fits(text: str) -> bool:
    return len(text.encode()) <= CONTENT_MAX_BYTES


def _scalar(value: object) -> str:
    flat = " ".join(str(value).split())
    return '"' + flat.replace("\\", "\\\\").replace('"', '\\"') + '"'


# ---- what stands twice, and what lost its sources -------------------------------------------------------------------


def _merges(memories: Mapping[str, Mapping[str, Any]], texts: dict[str, str], room: int) -> Iterator[dict[str, Any]]:
    """Yield edits, at most `room`, that make one memory of two that say the same; the newer one keeps its path."""
    newest = sorted(texts, key=lambda path: (str(memories[path].get("updated_at", "")), path), reverse=True)
    compared = [path for path in newest if path != INDEX_PATH][:COMPARED_MAX]
    known = {path: shingles(body_of(texts[path])) for path in compared}
    absorbed: dict[str, list[str]] = {}
    for position, path in enumerate(compared):
        if any(path in others for others in absorbed.values()) or _short(texts[path]):
            continue
        same = [
            other
            for other in compared[position + 1 :]
            if not _short(texts[other])
            and not any(other in others for others in absorbed.values())
            and overlap(known[path], known[other]) >= SAME
        ]
        same = _absorbable(path, same, texts, room - 1)
        if same:
            absorbed[path] = same
            room -= len(same) + 1
    for path, others in absorbed.items():
        sources = [str(memories[one]["version"]) for one in (path, *others)]
        differing = _differing(path, others, texts)
        if differing:
            merged = _with_earlier(_without_earlier(texts[path]), [*differing, *_earlier_of(texts[path])])
            yield _edit("replace", path, "Other memories said the same.", sources, content=merged)
            texts[path] = merged
        for other in others:
            yield _edit("delete", other, f"It is merged into {path}, which is newer.", sources)
            del texts[other]


def _absorbable(path: str, others: Sequence[str], texts: Mapping[str, str], most: int) -> list[str]:
    """Return those of the others, `most` at most, whose wordings have room in the memory: none of them is lost."""
    taken: list[str] = []
    for other in others[: max(0, most)]:
        differing = _differing(path, [*taken, other], texts)[:EARLIER_MAX]
        whole = _with_earlier(_without_earlier(texts[path]), differing)
        if len(_earlier_of(whole)) == len({" ".join(one.split()) for one in differing}):
            taken.append(other)
    return taken


def _differing(path: str, others: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    now = body_of(texts[path])
    return [body for one in others if (body := body_of(texts[one])) != now]


def _without_earlier(text: str) -> str:
    return text.partition(f"\n{EARLIER}")[0]


def _short(text: str) -> bool:
    return len(body_of(text).split()) < COMPARED_MIN_WORDS


def _removals(texts: dict[str, str], removed: Sequence[str], room: int) -> Iterator[dict[str, Any]]:
    """Yield a deletion, at most `room`, of each memory that names its sources, where all of them were removed."""
    gone = set(removed)
    for path in sorted(texts):
        if not room:
            return
        match = _SOURCES.search(texts[path])
        ids = [one.strip() for one in match["ids"].split(",")] if match else []
        if ids and gone.issuperset(ids):
            yield _edit("delete", path, "Only sessions that were removed supported it.", ids)
            del texts[path]
            room -= 1


# ---- the index ------------------------------------------------------------------------------------------------------


def _index(
    memories: Mapping[str, Mapping[str, Any]], texts: Mapping[str, str], edits: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the edit of the index: entries of memories that are gone leave it, new ones are added at its end.

    What else stands in it stays as it is. A store without an index gets one with the first memory that is made.
    """
    made = [str(edit["path"]) for edit in edits if edit["op"] == "create"]
    gone = {str(edit["path"]) for edit in edits if edit["op"] == "delete"}
    before = texts.get(INDEX_PATH)
    if INDEX_PATH in memories and before is None:
        return
    if before is None and not made:
        return
    kept = [line for line in (before or "").rstrip("\n").split("\n") if not any(_links(line, path) for path in gone)]
    added = [index_line(path, texts[path]) for path in made if not any(_links(line, path) for line in kept)]
    lines = [line for line in (*kept, *added) if before is not None or line]
    while len(lines) > INDEX_MAX_LINES or len("\n".join(lines).encode()) >= INDEX_MAX_BYTES:
        lines.pop()
    after = "\n".join(lines) + "\n"
    if after.strip() == (before or "").strip():
        return
    sources = list(dict.fromkeys(source for edit in edits for source in edit["sources"]))
    op = "create" if before is None else "replace"
    yield _edit(op, INDEX_PATH, "The index follows the memories.", sources, content=after)


def _links(line: str, path: str) -> bool:
    return f"]({path.lstrip('/')})" in line or f"]({path})" in line


def _edit(op: str, path: str, why: str, sources: Sequence[str], content: str | None = None) -> dict[str, Any]:
    return {
        "op": op,
        "path": path,
        "content": content,
        "old": None,
        "new": None,
        "to": None,
        "why": why[:WHY_MAX_CHARS],
        "sources": list(sources)[-SOURCES_MAX:],  # the newest of notes: up to it they are taken
    }


def _summary(edits: Sequence[Mapping[str, Any]]) -> str:
    counts = {op: sum(1 for edit in edits if edit["op"] == op) for op in ("create", "replace", "delete")}
    said = [f"{count} {op}d" for op, count in counts.items() if count]
    return ", ".join(said) if said else ""
