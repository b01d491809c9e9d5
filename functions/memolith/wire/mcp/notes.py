"""The tools beside `memory`, on one store. Each raises ToolFailure, in words for the model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from memolith.core import ages
from memolith.core.times import parse_rfc3339, rfc3339
from memolith.core.trust import UNKNOWN
from memolith.ports.clock import Clock
from memolith.wire.mcp import texts
from memolith.wire.mcp.answers import (
    Activity,
    Backlink,
    Backlinks,
    ChangedNote,
    Conflict,
    Conflicts,
    ConflictSide,
    Context,
    Conversations,
    Directory,
    Entry,
    Found,
    Hits,
    Note,
    Recall,
    Recalled,
    Remarked,
    Spoken,
    Version,
    Versions,
    Written,
)
from memolith.wire.mcp.schemas import (
    ConflictsArguments,
    ContextArguments,
    ConversationsArguments,
    SearchArguments,
)
from memolith.wire.memory_tool import texts as tool_texts
from memolith.wire.memory_tool.places import ROOT, note_place
from memolith.wire.memory_tool.texts import Staged, ToolFailure, text
from memolith.wire.memory_tool.tree import Changed, File, Folder, Gone, Occupied, Tree


class Notes:
    """A store's notes by path.

    Args:
        tree: the store.
        clock: tells a note's age.
    """

    def __init__(self, tree: Tree, clock: Clock) -> None:
        self._tree = tree
        self._clock = clock

    def read(self, path: str) -> Note:
        """Read a note with its content. A listing of its folder and one read."""
        file = self._file(path)
        try:
            return _note(self._tree.read(file.id), self._clock.now_us())
        except Gone:
            raise ToolFailure(tool_texts.VANISHED.format(path=path)) from None

    def write(self, path: str, content: str, expected_sha256: str | None) -> Written:
        """Create a note, or give one new content, on exactly what was read. One conditional commit, or a proposal."""
        try:
            return self._write(path, content, expected_sha256)
        except Staged as staged:
            shown = f"{ROOT}{note_place(path)}"
            return Written(path=shown, outcome="staged", content_sha256=None, staged=str(staged))

    def _write(self, path: str, content: str, expected_sha256: str | None) -> Written:
        target, content = note_place(path), text(content, "content")
        sha256 = hashlib.sha256(content.encode()).hexdigest()
        found = self._tree.find(target)
        if isinstance(found, Folder):
            raise ToolFailure(tool_texts.NOT_A_FILE.format(path=path))
        if expected_sha256 is not None:
            return self._replace(path, found, content, sha256, expected_sha256)
        if found is not None and found.content_sha256 != sha256:
            raise ToolFailure(texts.STANDS_ALREADY.format(path=path))
        if found is not None and (done := self._unchanged(found.id, path, sha256)) is not None:
            return done
        try:
            made = self._tree.create(target, content)
        except Occupied as occupied:
            if occupied.path == target:
                done = self._unchanged(occupied.memory_id, path, sha256) if occupied.memory_id else None
                if done is not None:
                    return done
                raise ToolFailure(texts.STANDS_ALREADY.format(path=path)) from None
            holder = f"{ROOT}{occupied.path}"
            raise ToolFailure(tool_texts.FILE_IN_THE_WAY.format(path=path, holder=holder)) from None
        return _written(made, "created")

    def remember(self, remark: str) -> Remarked:
        """Append a remark to the log of the day. One call."""
        try:
            done = self._tree.remark(text(remark, "text"))
        except Staged as staged:
            return Remarked(path=None, number=None, unchanged=False, staged=str(staged))
        return Remarked(path=f"{ROOT}{done['path']}", number=done["number"], unchanged=done["unchanged"])

    def directory(self, path: str) -> Directory:
        """List what is directly in a directory. One listing."""
        folder = note_place(path)
        found = self._tree.find(folder)
        if found is None:
            raise ToolFailure(tool_texts.VIEW_MISSING.format(path=path))
        if isinstance(found, File):
            raise ToolFailure(texts.NOT_A_DIRECTORY.format(path=path))
        return Directory(path=f"{ROOT}{folder}", entries=[_entry(item) for item in self._tree.children(folder)])

    def search(self, asked: SearchArguments) -> Hits:
        """Find the notes below a directory that answer a query best. One search."""
        now_us = self._clock.now_us()
        query = search_query(asked, now_us)
        return Hits(hits=[found(row, now_us) for row in self._tree.search(query)])

    def activity(self, limit: int, page: int, timeframe: str | None) -> Activity:
        """List a page of the notes that were changed within a timeframe, the last change first. One question."""
        _since("timeframe", timeframe, self._clock.now_us())
        answer = self._tree.graph("activity", {"timeframe": timeframe or None, "page": page, "page_size": limit})
        return Activity(
            notes=[
                ChangedNote(
                    path=None if one["path"] is None else f"{ROOT}{one['path']}",
                    changed_by=[_actor_id(actor) or "" for actor in one["changed_by"]],
                    **{name: one[name] for name in ("memory_id", "operation", "changed_at", "age", "changes", "trust")},
                )
                for one in answer["memories"]
            ],
            since=answer["since"],
            has_more=answer["has_more"],
            truncated=answer["truncated"],
        )

    def versions(self, path: str, limit: int) -> Versions:
        """List a note's newest versions. A listing of its folder, and one of its versions."""
        file = self._file(path)
        return Versions(versions=[_version(row) for row in self._tree.versions(limit, file.id)])

    def context(self, asked: ContextArguments) -> Context:
        """Return a note, or a folder's notes, with what is linked with them. One question to the graph."""
        query = asked.model_dump(exclude={"project"})
        as_of = _since("as_of", asked.as_of, self._clock.now_us())
        answer = self._tree.graph("context", query | {"url": _url(asked.url), "as_of": as_of})
        shown = {"results": [_result(one) for one in answer["results"]], "candidates": _rooted(answer["candidates"])}
        return Context.model_validate({name: answer[name] for name in Context.model_fields} | shown)

    def recall(self, query: str, recent_tools: list[str], loaded: list[str]) -> Recall:
        """Return the few notes that matter for what the query says, possibly none. One question."""
        asked = {"query": query, "recent_tools": ",".join(recent_tools), "loaded": ",".join(loaded)}
        answer = self._tree.graph("recall", {name: text or None for name, text in asked.items()} | {"query": query})
        return Recall(
            memories=[
                Recalled(
                    path=f"{ROOT}{one['path']}",
                    disputed=[of["line"] for of in one["disputed"]],
                    **{name: one[name] for name in ("memory_id", "title", "age", "why", "trust", "content")},
                )
                for one in answer["memories"]
            ]
        )

    def conflicts(self, asked: ConflictsArguments) -> Conflicts:
        """List statements that contradict each other, with both sides. One question to the graph."""
        folder = note_place(asked.directory)
        query = {"path_prefix": f"{folder}/" if folder else None, "status": asked.status, "limit": asked.limit}
        answer = self._tree.graph("conflicts", query)
        return Conflicts(
            conflicts=[
                Conflict(
                    conflict_id=one["id"],
                    kind=one["kind"],
                    status=one["status"],
                    keep=decided.get("keep"),
                    resolved_at=decided.get("resolved_at"),
                    resolved_by=_actor_id(decided.get("resolved_by") or {}),
                    sides=[_side(side) for side in one["sides"]],
                )
                for one in answer["conflicts"]
                for decided in [one["resolution"] or {}]
            ],
            truncated=answer["truncated"],
        )

    def conversations(self, asked: ConversationsArguments) -> Conversations:
        """Find what was said in sessions that have this store. One search of conversations."""
        now_us = self._clock.now_us()
        times = {
            "created_at[gte]": _since("since", asked.since, now_us),
            "created_at[lte]": _since("until", asked.until, now_us),
        }
        answer = self._tree.conversations({"query": asked.query, "limit": asked.limit, **times})
        shown = ("session_id", "session_title", "event_id", "event_type", "processed_at", "age", "trust", "excerpt")
        hits = [Spoken(**{name: one[name] for name in shown}) for one in answer["hits"]]
        return Conversations(hits=hits, truncated=answer["truncated"])

    def backlinks(self, path: str, limit: int, as_of: str | None) -> Backlinks:
        """List the notes that link to one. One question to the graph."""
        instant = _since("as_of", as_of, self._clock.now_us())
        query = {"path": _url(path), "direction": "in", "limit": limit, "as_of": instant}
        try:
            answer = self._tree.graph("graph", query)
        except Gone:
            raise ToolFailure(tool_texts.VIEW_MISSING.format(path=path)) from None
        if answer["candidates"]:
            raise ToolFailure(texts.SEVERAL_NOTES.format(path=path, paths=", ".join(_rooted(answer["candidates"]))))
        nodes = {node["memory_id"]: node for node in answer["nodes"]}
        edges = [edge for edge in answer["edges"] if edge["from"] in nodes]
        return Backlinks(
            links=[
                Backlink(
                    path=f"{ROOT}{nodes[edge['from']]['path']}",
                    title=nodes[edge["from"]]["title"],
                    age=nodes[edge["from"]]["age"],
                    type=edge["type"],
                    line=edge["line"],
                    trust=nodes[edge["from"]]["trust"],
                )
                for edge in edges
            ],
            truncated=answer["truncated"],
        )

    def _file(self, path: str) -> File:
        found = self._tree.find(note_place(path))
        if found is None:
            raise ToolFailure(tool_texts.VIEW_MISSING.format(path=path))
        if isinstance(found, Folder):
            raise ToolFailure(tool_texts.NOT_A_FILE.format(path=path))
        return found

    def _unchanged(self, memory_id: str, path: str, sha256: str) -> Written | None:
        """Accept a write that was done already, as after a lost answer; None where nothing is at the path any more.

        Raises:
            ToolFailure: the home has other content there, which the write would lose.
        """
        try:
            standing = self._tree.at_home(memory_id)
        except Gone:
            return None
        if standing.path != note_place(path):
            return None
        if standing.content_sha256 != sha256:
            raise ToolFailure(texts.STANDS_ALREADY.format(path=path))
        return _written(standing, "unchanged")

    def _replace(self, path: str, found: File | None, content: str, sha256: str, expected_sha256: str) -> Written:
        """Replace a note on what was read. The home decides: what this region has may be older than what was read."""
        if found is None:
            raise ToolFailure(texts.NOT_THERE.format(path=path))
        try:
            done = self._tree.update_on(found.id, expected_sha256, content)
            same = found.content_sha256 == sha256 and found.updated_at == done.updated_at
            return _written(done, "unchanged" if same else "replaced")
        except Changed:
            raise ToolFailure(texts.CHANGED_MEANWHILE.format(path=path)) from None
        except Gone:
            raise ToolFailure(texts.NOT_THERE.format(path=path)) from None


def _url(text: str) -> str:
    """Return what the graph is asked for: a path of the memory tool as the store's, and anything else as it is."""
    return text[len(ROOT) :] if text.startswith(f"{ROOT}/") else text


def _rooted(paths: Sequence[str]) -> list[str]:
    return [f"{ROOT}{path}" for path in paths]


def _result(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return one note of a context, with the memory tool's paths."""
    first = one["primary_result"]
    related = [
        {**beside, "path": f"{ROOT}{beside['path']}"}
        if beside["type"] == "entity"
        else {**beside, "candidates": _rooted(beside["candidates"])}
        for beside in one["related_results"]
    ]
    return {**one, "primary_result": {**first, "path": f"{ROOT}{first['path']}"}, "related_results": related}


def _written(file: File, outcome: Literal["created", "replaced", "unchanged"]) -> Written:
    path, redacted = f"{ROOT}{file.path}", list(file.redacted)
    return Written(path=path, outcome=outcome, content_sha256=file.content_sha256, redacted=redacted)


def _note(file: File, now_us: int) -> Note:
    written_at = parse_rfc3339(file.updated_at)
    return Note(
        path=f"{ROOT}{file.path}",
        memory_id=file.id,
        content_sha256=file.content_sha256,
        content_size_bytes=file.size_bytes,
        updated_at=file.updated_at,
        age=ages.age(written_at, now_us),
        caution=ages.caution(written_at, now_us),
        trust=file.trust,
        content=file.content,
    )


def search_query(asked: SearchArguments, now_us: int) -> dict[str, str]:
    """Return what a search asks for as the API takes it. Raises ToolFailure."""
    folder = note_place(asked.directory)
    since, as_of = _since("after_date", asked.after_date, now_us), _since("as_of", asked.as_of, now_us)
    return {
        "query": asked.query,
        "limit": str(asked.limit),
        **({"path_prefix": f"{folder}/"} if folder else {}),
        **({} if asked.type is None else {"type": asked.type}),
        **({"tags": ",".join(asked.tags)} if asked.tags else {}),
        **({} if since is None else {"updated_at[gte]": since}),
        **({} if as_of is None else {"as_of": as_of}),
    }


def _since(name: str, timeframe: str | None, now_us: int) -> str | None:
    try:
        return None if timeframe is None else rfc3339(ages.since(timeframe, now_us))
    except ValueError as rule:
        raise ToolFailure(texts.BAD_ARGUMENT.format(name=name, reason=rule)) from None


def found(row: Mapping[str, Any], now_us: int, project: str | None = None) -> Found:
    """Return a hit as the API has it as the tool shows it; with several stores also which it is of."""
    memory = row["memory"]
    return Found(
        path=f"{ROOT}{memory['path']}",
        memory_id=memory["id"],
        content_sha256=memory["content_sha256"],
        content_size_bytes=memory["content_size_bytes"],
        updated_at=memory["updated_at"],
        age=ages.age(parse_rfc3339(memory["updated_at"]), now_us),
        score=row["score"],
        excerpt=row["excerpt"],
        trust=memory.get("trust", UNKNOWN),
        disputed=[one["line"] for one in row.get("disputed", ())],
        project=project,
    )


def _entry(item: File | Folder) -> Entry:
    if isinstance(item, Folder):
        return Entry(path=f"{ROOT}{item.path}", type="directory")
    path, size_bytes = f"{ROOT}{item.path}", item.size_bytes
    return Entry(path=path, type="note", content_size_bytes=size_bytes, updated_at=item.updated_at, trust=item.trust)


def _version(row: Mapping[str, Any]) -> Version:
    return Version(
        memory_version_id=row["id"],
        memory_id=row["memory_id"],
        operation=row["operation"],
        path=None if row["path"] is None else f"{ROOT}{row['path']}",
        created_at=row["created_at"],
        created_by=_actor_id(row.get("created_by") or {}),
        content_sha256=row.get("content_sha256"),
        content_size_bytes=row.get("content_size_bytes"),
        trust=row.get("trust", UNKNOWN),
    )


def _side(side: Mapping[str, Any]) -> ConflictSide:
    """Return one side of a conflict: what it says, where, who wrote it and when, and when it says that it holds."""
    memory, stated, relation = side["memory"], side["observation"], side["relation"]
    said = f"{relation['type']} [[{relation['target_text']}]]" if relation else None
    if stated is not None:
        said = f"[{stated['category']}] {stated['content']}" if stated["category"] else stated["content"]
    return ConflictSide(
        path=f"{ROOT}{memory['path']}",
        memory_id=memory["memory_id"],
        line=side["line"],
        statement_id=side["statement_id"],
        says=said,
        valid=(None if stated is None else stated["valid"]) or memory["valid"],
        written_at=side["written_at"],
        written_by=_actor_id(side["written_by"] or {}),
        trust=memory["trust"],
    )


def _actor_id(actor: Mapping[str, Any]) -> str | None:
    return next((value for name, value in actor.items() if name.endswith("_id")), None)
