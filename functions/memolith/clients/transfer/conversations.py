"""Session files of Claude Code and Codex, read as events of a transcript.

Both write one JSON object a line, in the order in which things happened, and only ever append. What was said, done and
answered becomes events; what the program keeps for itself (settings, counts, hidden reasoning, the instructions that it
adds to each conversation) does not. Each event has a name of its own, so that a file that is read again adds nothing.

Source: the files themselves, ``~/.claude/projects/*/*.jsonl`` and ``~/.codex/sessions/**/rollout-*.jsonl``, as both
programs write them in 2026.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from memolith.core.errors import InvalidRequest
from memolith.core.limits import TRANSCRIPT_EVENTS_MAX, TRANSCRIPT_MAX_BYTES, TRANSCRIPT_OBJECTS_MAX
from memolith.wire import strict_json

Event = dict[str, Any]

TEXT_MAX_CHARS = 100_000
"""Of one text of an event; the rest of it is left out, and it says so."""

NAME_MAX_CHARS = 200

FIELDS_MAX = 60
DEPTH_MAX = 20
"""Of one object of a tool's input, and of its nesting; what has more is kept as the text of its JSON."""

BATCH_BYTES = TRANSCRIPT_MAX_BYTES - 100_000

INPUT_MAX_BYTES = TEXT_MAX_BYTES = BATCH_BYTES - 100_000
"""Of a tool's input, or of one text, as JSON: one call takes it together with the event's other fields."""

_CHAR_MAX_BYTES = 12
"""What one character may take as JSON in ASCII."""


class Program(StrEnum):
    """Whose files are read."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"


@dataclass(slots=True)
class Conversation:
    """One file: the program's own name of the session, its events, and how many lines were no JSON object."""

    name: str
    events: list[Event] = field(default_factory=list)
    unreadable: int = 0


def read_conversation(path: Path, program: Program) -> Conversation:
    """Read a file.

    Raises:
        OSError: it cannot be read. InvalidRequest: nothing in it looks like a session of that program.
    """
    is_claude = program is Program.CLAUDE_CODE
    read, is_own = (_of_claude_code, _is_claude_codes) if is_claude else (_of_codex, _is_codexs)
    conversation = Conversation(path.stem)
    lines, known = [], False
    for text in path.read_bytes().decode(errors="replace").split("\n"):
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if isinstance(line, dict):
            known = known or is_own(line)
            lines.append(line)
        else:
            conversation.unreadable += 1
    if not known:
        raise InvalidRequest(str(path), f"is not a session file of {program.value}: no line has a type of its own")
    conversation.name = _name_of(lines, program) or conversation.name
    met = Counter[str]()
    for line in lines:
        conversation.events += read(conversation.name, line, met)
    return conversation


def batches(events: list[Event]) -> Iterator[list[Event]]:
    """Yield the events in groups that one call takes."""
    group: list[Event] = []
    size = objects = 0
    for event in events:
        bytes_more, objects_more = len(json.dumps(event)) + 2, _objects(event)
        is_full = size + bytes_more > BATCH_BYTES or objects + objects_more >= TRANSCRIPT_OBJECTS_MAX
        if group and (is_full or len(group) == TRANSCRIPT_EVENTS_MAX):
            yield group
            group, size, objects = [], 0, 0
        group.append(event)
        size += bytes_more
        objects += objects_more
    if group:
        yield group


def after(events: list[Event], client_event_id: str | None) -> list[Event]:
    """Return the events after the one of that name; all of them where none has it."""
    place = next((n for n, event in enumerate(events) if event["client_event_id"] == client_event_id), -1)
    return events[place + 1 :]


def _name_of(lines: list[dict[str, Any]], program: Program) -> str | None:
    """Return the id that the first line with one has.

    Claude Code keeps a subagent's part of a session in another file under the session's id, and a resumed session may
    begin with lines of the one before it: one conversation, whose lines keep their names.
    """
    for line in lines:
        meta = line.get("payload") if line.get("type") == "session_meta" else line
        name = line.get("sessionId") if program is Program.CLAUDE_CODE else _mapping(meta).get("id")
        if isinstance(name, str) and name:
            return name[:NAME_MAX_CHARS]
    return None


# ---- Claude Code ---------------------------------------------------------------------------------------------------


_CLAUDE_TYPES = frozenset({"user", "assistant", "system", "summary", "file-history-snapshot"})
"""Some of the types of its lines; the others' have the session's id."""


def _is_claude_codes(line: Mapping[str, Any]) -> bool:
    """Tell whether Claude Code writes such a line."""
    kind = line.get("type")
    return isinstance(kind, str) and (kind in _CLAUDE_TYPES or isinstance(line.get("sessionId"), str))


def _of_claude_code(_: str, line: Mapping[str, Any], __: Counter[str]) -> Iterator[Event]:
    """Yield the events of a line: one for each block of a message. What a subagent is told, no person has said."""
    kind, message, uuid = line.get("type"), line.get("message"), line.get("uuid")
    if kind not in ("user", "assistant") or not isinstance(message, Mapping) or not isinstance(uuid, str):
        return
    if line.get("isMeta") or line.get("isApiErrorMessage"):
        return
    said = "agent.message" if kind == "assistant" else "user.message"
    if kind == "user" and line.get("isSidechain"):
        said = "agent.thread_message_sent"
    elif line.get("isCompactSummary"):
        said = "agent.thread_context_compacted"
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for number, block in enumerate(blocks if isinstance(blocks, list) else []):
        made = _event_of_block(said, block) if isinstance(block, Mapping) else None
        if made is not None:
            yield {**made, "client_event_id": uuid if number == 0 else f"{uuid}/{number}", **_at(line)}


def _event_of_block(said: str, block: Mapping[str, Any]) -> Event | None:
    kind = block.get("type")
    if kind == "text":
        return _said(said, block.get("text"))
    if kind == "image":
        return {"type": said, "content": [{"type": "image", "source": {"type": "base64", "data": "[image]"}}]}
    if kind == "tool_use":
        name = str(block.get("name"))
        used = "agent.mcp_tool_use" if name.startswith("mcp__") else "agent.tool_use"
        return _used(used, name, block.get("input"), block.get("id"))
    if kind == "tool_result":
        return _answered(block.get("tool_use_id"), block.get("content"), bool(block.get("is_error")))
    return None


# ---- Codex ---------------------------------------------------------------------------------------------------------

_ADDED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions", "<skill>")
"""How texts begin that Codex adds to a conversation in the user's name."""

_SHAPES: Mapping[str, Callable[[Mapping[str, Any]], Event | None]] = {
    "message": lambda item: _codex_message(item),
    "function_call": lambda item: _used("agent.tool_use", item.get("name"), item.get("arguments"), item.get("call_id")),
    "custom_tool_call": lambda item: _used("agent.tool_use", item.get("name"), item.get("input"), item.get("call_id")),
    "local_shell_call": lambda item: _used("agent.tool_use", "shell", item.get("action"), item.get("call_id")),
    "web_search_call": lambda item: _used("agent.tool_use", "web_search", item.get("action"), item.get("id")),
    "function_call_output": lambda item: _answered(item.get("call_id"), _codex_output(item), False),
    "custom_tool_call_output": lambda item: _answered(item.get("call_id"), _codex_output(item), False),
}


_CODEX_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", "reasoning"})
"""The types of its lines that are no items with events."""


def _is_codexs(line: Mapping[str, Any]) -> bool:
    """Tell whether Codex writes such a line."""
    kind = line.get("type")
    return isinstance(kind, str) and (kind in _CODEX_TYPES or kind in _SHAPES)


def _of_codex(name: str, line: Mapping[str, Any], met: Counter[str]) -> Iterator[Event]:
    """Yield the event of a line; early releases wrote the item itself, later ones the item as a payload.

    A line is named by what it says and, as early ones have no time, by how often the file has `met` its like before.
    """
    item = line.get("payload") if line.get("type") == "response_item" else line
    shape = _SHAPES.get(str(_mapping(item).get("type")))
    made = None if shape is None else shape(_mapping(item))
    if made is not None:
        digest = hashlib.sha256(f"{name}\n{json.dumps(line, sort_keys=True)}".encode()).hexdigest()
        met[digest] += 1
        if met[digest] > 1:
            digest = hashlib.sha256(f"{digest}/{met[digest]}".encode()).hexdigest()
        yield {**made, "client_event_id": digest[:32], **_at(line)}


def _codex_message(item: Mapping[str, Any]) -> Event | None:
    if item.get("role") not in ("user", "assistant"):
        return None
    blocks = item.get("content")
    texts = [str(_mapping(block).get("text", "")) for block in (blocks if isinstance(blocks, list) else [])]
    texts = [text for text in texts if not text.lstrip().startswith(_ADDED)]
    return _said("user.message" if item["role"] == "user" else "agent.message", "\n".join(filter(None, texts)))


def _codex_output(item: Mapping[str, Any]) -> Any:
    output = item.get("output")
    return output.get("content", output) if isinstance(output, Mapping) else output


# ---- events --------------------------------------------------------------------------------------------------------


def _said(type: str, text: object) -> Event | None:
    return {"type": type, "content": _text(text)} if isinstance(text, str) and text.strip() else None


def _used(type: str, name: object, given: object, id: object) -> Event:
    """Make the event of a tool's use; Codex has its input as the text of JSON. What is too large stays as cut text."""
    fields = _parsed(given) if isinstance(given, str) else given
    if not isinstance(fields, Mapping) or not _is_taken(fields):
        fields = {"text": _clipped(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))}
    return {"type": type, "name": str(name or "unknown")[:200], "input": fields, "tool_use_id": str(id or "")[:200]}


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _answered(id: object, content: object, is_error: bool) -> Event:
    blocks = content if isinstance(content, list) else [content]
    texts = [one if isinstance(one, str) else _mapping(one).get("text") for one in blocks]
    text = "\n".join(one for one in texts if isinstance(one, str))
    event = {"type": "agent.tool_result", "tool_use_id": str(id or "")[:200], "content": _text(text) if text else []}
    return {**event, "is_error": True} if is_error else event


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": _clipped(text)}]


def _clipped(text: str) -> str:
    most = TEXT_MAX_CHARS
    if len(json.dumps(text[:most])) > TEXT_MAX_BYTES:
        most = TEXT_MAX_BYTES // _CHAR_MAX_BYTES
    left = len(text) - most
    return text if left <= 0 else f"{text[:most]}\n[{left} characters more are left out]"


def _is_taken(fields: Mapping[str, Any]) -> bool:
    """Tell whether the API takes a tool's input as it is."""
    encoded = json.dumps(fields).encode()
    if len(encoded) > INPUT_MAX_BYTES or not _fits(fields):
        return False
    try:
        strict_json.decode(encoded, TRANSCRIPT_OBJECTS_MAX // 2)
    except InvalidRequest:  # such as NaN, which programs write and JSON has not
        return False
    return True


def _fits(value: Any, depth: int = 0) -> bool:
    """Tell whether JSON has the form that one event may have, and no text in it is too long."""
    if isinstance(value, Mapping):
        few = len(value) <= FIELDS_MAX and depth < DEPTH_MAX
        return few and all(_fits(one, depth + 1) for one in value.values())
    if isinstance(value, list):
        return len(value) <= TEXT_MAX_CHARS // 100 and depth < DEPTH_MAX and all(_fits(one, depth + 1) for one in value)
    return not isinstance(value, str) or len(value) <= TEXT_MAX_CHARS


def _objects(value: Any) -> int:
    """Return how many JSON objects there are in it."""
    if isinstance(value, Mapping):
        return 1 + sum(map(_objects, value.values()))
    return sum(map(_objects, value)) if isinstance(value, list) else 0


def _at(line: Mapping[str, Any]) -> Event:
    at = line.get("timestamp")
    return {"at": at} if isinstance(at, str) else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
