"""One store as a server of the protocol, for any transport.

The use cases are synchronous; each call runs in a thread, so that one that waits holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from anyio.to_thread import run_sync
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from pydantic import BaseModel, ValidationError

from memolith.ports.clock import Clock
from memolith.wire.mcp import schemas, texts
from memolith.wire.mcp.notes import Notes
from memolith.wire.memory_tool.places import ROOT, note_place
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import File, Gone, Tree

NAME = "memolith"
SCHEME = "memolith://"
GUIDE = "memory_guide"
PROJECT = ROOT[1:]
"""What agents that know Basic Memory call the project of their memories."""

ARGUMENTS_MAX = 64
"""Of one call. No tool has more, and each that is not known would be told of."""

Context = ServerRequestContext[Any]


@dataclass(frozen=True, slots=True)
class OpenStore:
    """A store with the rights of the caller: what the tools act on."""

    store_id: str
    tree: Tree
    tool: MemoryTool
    clock: Clock

    @property
    def notes(self) -> Notes:
        """What the tools beside `memory` act on."""
        return Notes(self.tree, self.clock)

    def check_project(self, project: str | None) -> None:
        """Return if `project` is this store, by id or name, or `memories`. One read for a name. Raises ToolFailure."""
        if project in (None, "", PROJECT, self.store_id):
            return
        try:
            name = self.tree.store_name()
        except Gone:
            raise ToolFailure(texts.NO_STORE.format(id=self.store_id)) from None
        if project != name:
            raise ToolFailure(texts.NO_SUCH_PROJECT.format(name=name, id=self.store_id))


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool: how it is told, and what it does with arguments that were checked."""

    arguments: type[schemas.Arguments]
    gives: type[BaseModel]
    description: str
    annotations: ToolAnnotations
    run: Callable[[OpenStore, Any], BaseModel]


def server_on(store: OpenStore) -> Server[Any]:
    """Make a server on one store. It keeps nothing between calls."""
    handlers = _Handlers(store)
    return Server(
        NAME,
        title="Memolith memory",
        instructions=texts.INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


def _annotated(*, reads: bool = False, destroys: bool = False, repeatable: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=reads, destructive_hint=destroys, idempotent_hint=reads or repeatable, open_world_hint=False
    )


def _memory(store: OpenStore, given: schemas.MemoryArguments) -> BaseModel:
    return schemas.Said(text=store.tool.run(given.model_dump(exclude_unset=True)))


def _edit(store: OpenStore, given: schemas.EditArguments) -> BaseModel:
    path = f"{ROOT}{note_place(given.path)}"
    return schemas.Said(
        text=store.tool.run({"command": "str_replace", **given.model_dump(exclude={"project"}), "path": path})
    )


TOOLS: dict[str, Offered] = {
    "memory": Offered(schemas.MemoryArguments, schemas.Said, texts.MEMORY, _annotated(destroys=True), _memory),
    "search_notes": Offered(
        schemas.SearchArguments,
        schemas.Hits,
        texts.SEARCH_NOTES,
        _annotated(reads=True),
        lambda store, given: store.notes.search(given.query, given.directory, given.limit),
    ),
    "read_note": Offered(
        schemas.ReadArguments,
        schemas.Note,
        texts.READ_NOTE,
        _annotated(reads=True),
        lambda store, given: store.notes.read(given.path),
    ),
    "write_note": Offered(
        schemas.WriteArguments,
        schemas.Written,
        texts.WRITE_NOTE,
        _annotated(destroys=True, repeatable=True),
        lambda store, given: store.notes.write(given.path, given.content, given.expected_content_sha256),
    ),
    "edit_note": Offered(schemas.EditArguments, schemas.Said, texts.EDIT_NOTE, _annotated(destroys=True), _edit),
    "recent_activity": Offered(
        schemas.ActivityArguments,
        schemas.Versions,
        texts.RECENT_ACTIVITY,
        _annotated(reads=True),
        lambda store, given: store.notes.activity(given.limit, given.page, given.timeframe),
    ),
    "build_context": Offered(
        schemas.ContextArguments,
        schemas.Context,
        texts.BUILD_CONTEXT,
        _annotated(reads=True),
        lambda store, given: store.notes.context(given),
    ),
    "recall": Offered(
        schemas.RecallArguments,
        schemas.Recall,
        texts.RECALL,
        _annotated(reads=True),
        lambda store, given: store.notes.recall(given.query, given.recent_tools, given.loaded),
    ),
    "backlinks": Offered(
        schemas.BacklinksArguments,
        schemas.Backlinks,
        texts.BACKLINKS,
        _annotated(reads=True),
        lambda store, given: store.notes.backlinks(given.path, given.limit),
    ),
    "list_directory": Offered(
        schemas.DirectoryArguments,
        schemas.Directory,
        texts.LIST_DIRECTORY,
        _annotated(reads=True),
        lambda store, given: store.notes.directory(given.path),
    ),
    "memory_versions": Offered(
        schemas.VersionsArguments,
        schemas.Versions,
        texts.MEMORY_VERSIONS,
        _annotated(reads=True),
        lambda store, given: store.notes.versions(given.path, given.limit),
    ),
}


class _Handlers:
    """What the protocol's requests do."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    async def list_tools(self, _: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(
                    name=name,
                    description=offered.description,
                    input_schema=offered.arguments.model_json_schema(),
                    output_schema=offered.gives.model_json_schema(),
                    annotations=offered.annotations,
                )
                for name, offered in TOOLS.items()
            ]
        )

    async def call_tool(self, _: Context, params: CallToolRequestParams) -> CallToolResult:
        """Call a tool. A tool that fails is a result too, in words for the model."""
        try:
            offered = TOOLS[params.name]
        except KeyError:
            raise MCPError(
                INVALID_PARAMS, texts.NO_SUCH_TOOL.format(name=params.name, names=", ".join(TOOLS))
            ) from None
        if len(params.arguments or {}) > ARGUMENTS_MAX:
            return _told(texts.TOO_MANY_ARGUMENTS.format(most=ARGUMENTS_MAX))
        try:
            given = offered.arguments.model_validate(params.arguments or {})
            answer = await run_sync(self._run, offered, given)
        except ToolFailure as failure:
            return _told(str(failure))
        except ValidationError as wrong:
            return _told("\n".join(_arguments_in_words(wrong)))
        text = answer.text if isinstance(answer, schemas.Said) else answer.model_dump_json()
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer.model_dump(mode="json"))

    def _run(self, offered: Offered, given: schemas.Arguments) -> BaseModel:
        if isinstance(given, schemas.NoteArguments):
            self._store.check_project(given.project)
        return offered.run(self._store, given)

    async def list_resources(self, _: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Return a page of the store's memories, in order of path."""
        cursor = params.cursor if params else None
        try:
            files, following = await run_sync(self._store.tree.page, cursor)
        except ToolFailure as failure:
            raise MCPError(INVALID_PARAMS, str(failure)) from None
        return ListResourcesResult(resources=[self._resource(file) for file in files], next_cursor=following)

    async def list_templates(self, _: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        template = ResourceTemplate(
            name="memory", uri_template=f"{SCHEME}{self._store.store_id}/{{+path}}", description=texts.READ_NOTE
        )
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return a memory's content. Another store's URI is as unknown as one of nothing."""
        path = self._path_of(params.uri)
        try:
            note = await run_sync(self._store.notes.read, f"{ROOT}{path}")
        except ToolFailure as failure:
            raise MCPError(INVALID_PARAMS, str(failure)) from None
        contents = TextResourceContents(uri=params.uri, mime_type=_mime_type(path), text=note.content or "")
        return ReadResourceResult(contents=[contents])

    async def list_prompts(self, _: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[Prompt(name=GUIDE, description=texts.GUIDE_DESCRIPTION)])

    async def get_prompt(self, _: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != GUIDE:
            raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name!r}; there is {GUIDE}.")
        message = PromptMessage(role="user", content=TextContent(text=texts.GUIDE))
        return GetPromptResult(description=texts.GUIDE_DESCRIPTION, messages=[message])

    def _resource(self, file: File) -> Resource:
        uri = f"{SCHEME}{self._store.store_id}{quote(file.path)}"
        return Resource(name=file.path, uri=uri, mime_type=_mime_type(file.path), size=file.size_bytes)

    def _path_of(self, uri: str) -> str:
        prefix = f"{SCHEME}{self._store.store_id}"
        if not uri.startswith(f"{prefix}/"):
            raise MCPError(INVALID_PARAMS, f"There is no resource {uri}; resources begin with {prefix}/")
        return unquote(uri.removeprefix(prefix))


def _told(failure: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=failure)], is_error=True)


def _arguments_in_words(wrong: ValidationError) -> list[str]:
    """Name each wrong argument and why; the message does not repeat its value."""
    return [
        texts.BAD_ARGUMENT.format(name=".".join(map(str, one["loc"])) or "object", reason=one["msg"])
        for one in wrong.errors(include_url=False, include_input=False)
    ]


def _mime_type(path: str) -> str:
    return "text/markdown" if path.endswith(".md") else "text/plain"
