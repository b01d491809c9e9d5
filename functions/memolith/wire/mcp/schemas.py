"""What each tool takes. The JSON schemas that a client sees are made from these."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from memolith.core.graph.urls import URL_MAX_CHARS
from memolith.core.limits import (
    CONTENT_MAX_BYTES,
    CONTEXT_PAGE_MAX,
    CONTEXT_RELATED_MAX,
    GRAPH_DEPTH_MAX,
    PATH_MAX_BYTES,
    RECALL_LOADED_MAX,
    RECALL_TOOLS_MAX,
    REMARK_MAX_CHARS,
    SEARCH_FILTER_MAX_CHARS,
    SEARCH_LIMIT_DEFAULT,
    SEARCH_LIMIT_MAX,
    SEARCH_QUERY_MAX_CHARS,
    SEARCH_TAGS_ASKED_MAX,
    STORE_NAME_MAX_CHARS,
    TIMEFRAME_MAX_CHARS,
)
from memolith.wire.mcp import texts
from memolith.wire.memory_tool.places import ROOT
from memolith.wire.memory_tool.tool import COMMANDS
from memolith.wire.requests import ID_MAX_CHARS

ROWS_DEFAULT, ROWS_MAX = 20, 100
PAGES_MAX = 50

PATH_MAX_CHARS = len(ROOT) + PATH_MAX_BYTES
TEXT_MAX_CHARS = 2 * CONTENT_MAX_BYTES
"""More than a memory holds: what is somewhat too long is refused in the API's words."""

RANGE_MAX_NUMBERS = 8
"""More than a range has: one that is not of two numbers is ignored, as the memory tool of the SDK does."""

COMMAND_MAX_CHARS = 100
SHA256_MAX_CHARS = 128
LINE_MAX = 10_000_000
"""More than a content of the greatest size has, by far."""

Path = Annotated[
    str, Field(max_length=PATH_MAX_CHARS, description="A path under /memories, such as /memories/notes/todo.md")
]
PathText = Annotated[str, Field(max_length=PATH_MAX_CHARS)]
Text = Annotated[str, Field(max_length=TEXT_MAX_CHARS)]
Sha256 = Annotated[str, Field(max_length=SHA256_MAX_CHARS)]
Line = Annotated[int, Field(ge=-LINE_MAX, le=LINE_MAX)]
Range = Annotated[list[Line], Field(max_length=RANGE_MAX_NUMBERS, fail_fast=True)]
Limit = Annotated[int, Field(ge=1, le=ROWS_MAX, description="How many at most, newest first")]
PageNumber = Annotated[int, Field(ge=1, le=PAGES_MAX, description="Which page of that many, from 1")]
Timeframe = Annotated[
    str | None,
    Field(max_length=TIMEFRAME_MAX_CHARS, description="How far back: 7d, 24h, 2 weeks, yesterday, 2026-05, …"),
]
AsOf = Annotated[
    str | None,
    Field(
        max_length=TIMEFRAME_MAX_CHARS,
        description="As one project was at this instant: 2026-05-01, 2026-05-01T12:00:00Z, yesterday, 7d",
    ),
]
ProjectName = Annotated[
    str | None,
    Field(max_length=STORE_NAME_MAX_CHARS, description="A project's name or id; leave out where there is one alone"),
]


class Arguments(BaseModel):
    """Arguments of a tool; one that is not known is refused, so that a slip in a name is not lost.

    Every text and list has its limit here, so that checking one stops there (`tests/unit/wire/test_request_bodies.py`).
    """

    model_config = ConfigDict(extra="forbid", strict=True)


class MemoryArguments(Arguments):
    """Of `memory`. What a command needs, the memory tool checks itself, in its own words."""

    command: Annotated[str, Field(max_length=COMMAND_MAX_CHARS, json_schema_extra={"enum": list(COMMANDS)})]
    path: Annotated[PathText | None, Field(description="For every command but rename: a path under /memories")] = None
    view_range: Annotated[Range | None, Field(description="view: first and last line, -1 for the end")] = None
    file_text: Annotated[Text | None, Field(description="create: the content")] = None
    old_str: Annotated[Text | None, Field(description="str_replace: a text that is there once")] = None
    new_str: Annotated[Text | None, Field(description="str_replace: what to put there; left out, it is deleted")] = None
    insert_line: Annotated[Line | None, Field(description="insert: after which line; 0 is the top")] = None
    insert_text: Annotated[Text | None, Field(description="insert: the text")] = None
    old_path: Annotated[PathText | None, Field(description="rename: from")] = None
    new_path: Annotated[PathText | None, Field(description="rename: to")] = None
    project: ProjectName = None


class ProjectsArguments(Arguments):
    """Of `list_memory_projects`, which takes none."""


class NoteArguments(Arguments):
    """Of every tool on notes: Basic Memory's `project`, the name or id of one of the server's stores."""

    project: ProjectName = None


class ReadArguments(NoteArguments):
    """Of `read_note`."""

    path: Path


class WriteArguments(NoteArguments):
    """Of `write_note`."""

    path: Path
    content: Annotated[str, Field(max_length=TEXT_MAX_CHARS, description="The whole content")]
    expected_content_sha256: Annotated[
        Sha256 | None, Field(description="To replace a note: the content_sha256 of what you read. Left out: a new note")
    ] = None


class RememberArguments(NoteArguments):
    """Of `remember`."""

    text: Annotated[
        str, Field(min_length=1, max_length=REMARK_MAX_CHARS, description="What is worth keeping, with its reason")
    ]


class EditArguments(NoteArguments):
    """Of `edit_note`."""

    path: Path
    old_str: Annotated[str, Field(max_length=TEXT_MAX_CHARS, description="A text that is in the note once")]
    new_str: Annotated[str, Field(max_length=TEXT_MAX_CHARS, description="What to put there")]


class ActivityArguments(NoteArguments):
    """Of `recent_activity`."""

    timeframe: Timeframe = None
    limit: Annotated[Limit, Field(validation_alias=AliasChoices("limit", "page_size"))] = ROWS_DEFAULT
    page: PageNumber = 1
    type: Annotated[Literal["", "entity"] | None, Field(description="What to list: entity, the notes that changed")] = (
        None
    )
    depth: Annotated[int, Field(ge=1, le=3, description="Taken for Basic Memory's callers; nothing follows links")] = 1


class DirectoryArguments(NoteArguments):
    """Of `list_directory`."""

    path: Annotated[str, Field(max_length=PATH_MAX_CHARS, description="A directory under /memories")] = "/memories"


class VersionsArguments(NoteArguments):
    """Of `memory_versions`."""

    path: Path
    limit: Limit = ROWS_DEFAULT


class SearchArguments(NoteArguments):
    """Of `search_notes`."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=SEARCH_QUERY_MAX_CHARS,
            description="What to find, in words that the note may have: a question, names, a date such as May 2026",
        ),
    ]
    directory: Annotated[str, Field(max_length=PATH_MAX_CHARS, description="Only below this directory")] = "/memories"
    limit: Annotated[int, Field(ge=1, le=SEARCH_LIMIT_MAX, description="How many at most, the best first")] = (
        SEARCH_LIMIT_DEFAULT
    )
    type: Annotated[
        str | None, Field(min_length=1, max_length=SEARCH_FILTER_MAX_CHARS, description="Only notes of this type")
    ] = None
    tags: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=SEARCH_FILTER_MAX_CHARS, pattern="^[^,]+$")]],
        Field(max_length=SEARCH_TAGS_ASKED_MAX, fail_fast=True, description="Only notes that have all of these tags"),
    ] = []
    after_date: Annotated[Timeframe, Field(description="Only notes that changed since: 2026-05-01, 7d, yesterday")] = (
        None
    )
    as_of: AsOf = None


class ContextArguments(NoteArguments):
    """Of `build_context`."""

    url: Annotated[
        str,
        Field(
            max_length=URL_MAX_CHARS,
            description="memory://folder/note, folder/*, a title or a path",
            validation_alias=AliasChoices("url", "uri", "memory_url"),
        ),
    ]
    depth: Annotated[int, Field(ge=1, le=GRAPH_DEPTH_MAX, description="How many links away")] = 1
    timeframe: Timeframe = None
    page: PageNumber = 1
    page_size: Annotated[int, Field(ge=1, le=CONTEXT_PAGE_MAX, description="Notes of a folder on a page")] = 10
    max_related: Annotated[int, Field(ge=0, le=CONTEXT_RELATED_MAX, description="Related notes in all")] = 10
    as_of: AsOf = None


class RecallArguments(NoteArguments):
    """Of `recall`."""

    query: Annotated[str, Field(max_length=SEARCH_QUERY_MAX_CHARS, description="What you are about to do, in words")]
    recent_tools: Annotated[
        list[Annotated[str, Field(max_length=ID_MAX_CHARS)]],
        Field(max_length=RECALL_TOOLS_MAX, fail_fast=True, description="Tools that you are using"),
    ] = []
    loaded: Annotated[
        list[Annotated[str, Field(max_length=ID_MAX_CHARS)]],
        Field(max_length=RECALL_LOADED_MAX, fail_fast=True, description="memory_id of what you have read already"),
    ] = []


class ConflictsArguments(NoteArguments):
    """Of `conflicts`."""

    status: Annotated[
        Literal["open", "superseded", "resolved"],
        Field(description="resolved: a person has decided; superseded: a note says that it supersedes the other"),
    ] = "open"
    directory: Annotated[str, Field(max_length=PATH_MAX_CHARS, description="Only below this directory")] = "/memories"
    limit: Limit = ROWS_DEFAULT


class ConversationsArguments(NoteArguments):
    """Of `search_sessions`."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=SEARCH_QUERY_MAX_CHARS,
            description="Words that were said: an error message, a file's path, a function's name",
        ),
    ]
    since: Timeframe = None
    until: Annotated[Timeframe, Field(description="Nothing that was said later: 2026-05-01, yesterday")] = None
    limit: Annotated[int, Field(ge=1, le=SEARCH_LIMIT_MAX, description="How many at most, the best first")] = (
        SEARCH_LIMIT_DEFAULT
    )


class BacklinksArguments(NoteArguments):
    """Of `backlinks`."""

    path: Path
    limit: Limit = ROWS_DEFAULT
    as_of: AsOf = None


def arguments_in_words(wrong: ValidationError) -> list[str]:
    """Name each wrong argument and why; the message does not repeat its value."""
    return [
        texts.BAD_ARGUMENT.format(name=".".join(map(str, one["loc"])) or "object", reason=one["msg"])
        for one in wrong.errors(include_url=False, include_input=False)
    ]
