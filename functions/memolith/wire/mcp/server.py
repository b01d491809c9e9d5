"""One store, or all that a caller has, as a server of the protocol, for any transport.

The use cases are synchronous; each call runs in a thread, so that one that waits holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
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

from memolith import __version__
from memolith.ports.clock import Clock
from memolith.wire.mcp import answers, proposals, schemas, texts
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

URI_SHOWN = 200
"""So many characters of a URI are repeated where it is none of ours."""

TRUST_META = "memolith/trust"
"""Where a resource's `_meta` has the trust class of its text: its content is the text alone, byte for byte."""

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

    @property
    def template(self) -> str:
        """The template of the URIs of its memories."""
        return f"{SCHEME}{self.store_id}/{{+path}}"

    def project(self) -> answers.Project:
        """Return what the store says of itself. One read. Raises ToolFailure."""
        try:
            return answers.Project.of(self.tree.store())
        except Gone:
            raise ToolFailure(texts.NO_STORE.format(id=self.store_id)) from None

    def choose(self, project: str | None) -> OpenStore:
        """Return this store if `project` is it: its id, its name (one read) or `memories`. Raises ToolFailure."""
        if project not in (None, "", PROJECT, self.store_id):
            name = self.project().name
            if project != name:
                raise ToolFailure(texts.NO_SUCH_PROJECT.format(name=name, id=self.store_id))
        return self

    def search(self, asked: schemas.SearchArguments) -> answers.Hits:
        """Search this store. Raises ToolFailure."""
        return self.choose(asked.project).notes.search(asked)

    def projects(self) -> list[answers.Project]:
        """List the one store. One read. Raises ToolFailure."""
        return [self.project()]

    def page(self, cursor: str | None) -> tuple[list[tuple[str, File]], str | None]:
        """Return some of the store's memories with its id, and the cursor of the next ones. Raises ToolFailure."""
        files, following = self.tree.page(cursor)
        return [(self.store_id, file) for file in files], following

    def opened(self, store_id: str) -> OpenStore | None:
        """Return this store if it has this id; None for any other."""
        return self if store_id == self.store_id else None


class Stores(Protocol):
    """The stores of one server, with the rights of its caller. `OpenStore` is one alone, `AllStores` several."""

    @property
    def template(self) -> str:
        """The template of the URIs of memories."""

    def choose(self, project: str | None) -> OpenStore:
        """Return the store that a tool's `project` names, or the only one. Raises ToolFailure."""

    def search(self, asked: schemas.SearchArguments) -> answers.Hits:
        """Search the store that is named, or all of them. Raises ToolFailure."""

    def projects(self) -> list[answers.Project]:
        """List the stores. Raises ToolFailure."""

    def page(self, cursor: str | None) -> tuple[list[tuple[str, File]], str | None]:
        """Return some memories, each with its store's id, and the cursor of the next ones. Raises ToolFailure."""

    def opened(self, store_id: str) -> OpenStore | None:
        """Return the store with this id; None where this server has none such."""


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool: how it is told, and what it does with arguments that were checked."""

    arguments: type[schemas.Arguments]
    gives: type[BaseModel]
    description: str
    annotations: ToolAnnotations
    run: Callable[[Stores, Any], BaseModel]


def server_on(stores: Stores) -> Server[Any]:
    """Make a server on one store, or on several. It keeps nothing between calls."""
    handlers = _Handlers(stores)
    return Server(
        NAME,
        version=__version__,
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


def _in_project(run: Callable[[OpenStore, Any], BaseModel]) -> Callable[[Stores, Any], BaseModel]:
    """Make a tool that acts on the store that its argument `project` names."""
    return lambda stores, given: run(stores.choose(given.project), given)


def _reading(
    arguments: type[schemas.Arguments],
    gives: type[BaseModel],
    description: str,
    run: Callable[[OpenStore, Any], BaseModel],
) -> Offered:
    """Offer a tool that reads one store."""
    return Offered(arguments, gives, description, _annotated(reads=True), _in_project(run))


def _memory(store: OpenStore, given: schemas.MemoryArguments) -> BaseModel:
    return answers.Said(text=store.tool.run(given.model_dump(exclude_unset=True, exclude={"project"})))


def _edit(store: OpenStore, given: schemas.EditArguments) -> BaseModel:
    path = f"{ROOT}{note_place(given.path)}"
    return answers.Said(
        text=store.tool.run({"command": "str_replace", **given.model_dump(exclude={"project"}), "path": path})
    )


TOOLS: dict[str, Offered] = {
    "memory": Offered(
        schemas.MemoryArguments, answers.Said, texts.MEMORY, _annotated(destroys=True), _in_project(_memory)
    ),
    "search_notes": Offered(
        schemas.SearchArguments,
        answers.Hits,
        texts.SEARCH_NOTES,
        _annotated(reads=True),
        lambda stores, given: stores.search(given),
    ),
    "read_note": _reading(
        schemas.ReadArguments, answers.Note, texts.READ_NOTE, lambda store, given: store.notes.read(given.path)
    ),
    "write_note": Offered(
        schemas.WriteArguments,
        answers.Written,
        texts.WRITE_NOTE,
        _annotated(destroys=True, repeatable=True),
        _in_project(lambda store, given: store.notes.write(given.path, given.content, given.expected_content_sha256)),
    ),
    "remember": Offered(
        schemas.RememberArguments,
        answers.Remarked,
        texts.REMEMBER,
        _annotated(repeatable=True),
        _in_project(lambda store, given: store.notes.remember(given.text)),
    ),
    "edit_note": Offered(
        schemas.EditArguments, answers.Said, texts.EDIT_NOTE, _annotated(destroys=True), _in_project(_edit)
    ),
    "recent_activity": _reading(
        schemas.ActivityArguments,
        answers.Activity,
        texts.RECENT_ACTIVITY,
        lambda store, given: store.notes.activity(given.limit, given.page, given.timeframe),
    ),
    "build_context": _reading(
        schemas.ContextArguments, answers.Context, texts.BUILD_CONTEXT, lambda store, given: store.notes.context(given)
    ),
    "recall": _reading(
        schemas.RecallArguments,
        answers.Recall,
        texts.RECALL,
        lambda store, given: store.notes.recall(given.query, given.recent_tools, given.loaded),
    ),
    "conflicts": _reading(
        schemas.ConflictsArguments,
        answers.Conflicts,
        texts.CONFLICTS,
        lambda store, given: store.notes.conflicts(given),
    ),
    "backlinks": _reading(
        schemas.BacklinksArguments,
        answers.Backlinks,
        texts.BACKLINKS,
        lambda store, given: store.notes.backlinks(given.path, given.limit, given.as_of),
    ),
    "search_sessions": _reading(
        schemas.ConversationsArguments,
        answers.Conversations,
        texts.SEARCH_SESSIONS,
        lambda store, given: store.notes.conversations(given),
    ),
    "list_directory": _reading(
        schemas.DirectoryArguments,
        answers.Directory,
        texts.LIST_DIRECTORY,
        lambda store, given: store.notes.directory(given.path),
    ),
    "memory_versions": _reading(
        schemas.VersionsArguments,
        answers.Versions,
        texts.MEMORY_VERSIONS,
        lambda store, given: store.notes.versions(given.path, given.limit),
    ),
    "list_proposals": _reading(
        proposals.ProposalsArguments,
        proposals.Proposals,
        texts.LIST_PROPOSALS,
        lambda store, given: proposals.listed(store.tree, given),
    ),
    "read_proposal": _reading(
        proposals.ProposalArguments,
        proposals.Proposal,
        texts.READ_PROPOSAL,
        lambda store, given: proposals.read(store.tree, given.proposal_id),
    ),
    "propose_edits": Offered(
        proposals.ProposeArguments,
        proposals.Proposal,
        texts.PROPOSE_EDITS,
        _annotated(),
        _in_project(lambda store, given: proposals.propose(store.tree, given)),
    ),
    "list_memory_projects": Offered(
        schemas.ProjectsArguments,
        answers.Projects,
        texts.LIST_MEMORY_PROJECTS,
        _annotated(reads=True),
        lambda stores, _: answers.Projects(projects=stores.projects()),
    ),
}


class _Handlers:
    """What the protocol's requests do."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

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
        offered = TOOLS.get(params.name)
        if offered is None:
            raise MCPError(INVALID_PARAMS, texts.NO_SUCH_TOOL.format(name=params.name, names=", ".join(TOOLS)))
        if len(params.arguments or {}) > ARGUMENTS_MAX:
            return _told(texts.TOO_MANY_ARGUMENTS.format(most=ARGUMENTS_MAX))
        try:
            given = offered.arguments.model_validate(params.arguments or {})
            answer = await run_sync(offered.run, self._stores, given)
        except ToolFailure as failure:
            return _told(str(failure))
        except ValidationError as wrong:
            return _told("\n".join(schemas.arguments_in_words(wrong)))
        text = answer.text if isinstance(answer, answers.Said) else answer.model_dump_json()
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer.model_dump(mode="json"))

    async def list_resources(self, _: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Return a page of the memories, in order of store and path."""
        cursor = params.cursor if params else None
        try:
            files, following = await run_sync(self._stores.page, cursor)
        except ToolFailure as failure:
            raise MCPError(INVALID_PARAMS, str(failure)) from None
        return ListResourcesResult(resources=[_resource(*file) for file in files], next_cursor=following)

    async def list_templates(self, _: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        template = ResourceTemplate(name="memory", uri_template=self._stores.template, description=texts.READ_NOTE)
        return ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return a memory's content and trust class. Another store's URI is as unknown as one of nothing."""
        store, path = self._place_of(params.uri)
        try:
            note = await run_sync(store.notes.read, f"{ROOT}{path}")
        except ToolFailure as failure:
            raise MCPError(INVALID_PARAMS, str(failure)) from None
        kind, text, meta = _mime_type(path), note.content or "", {TRUST_META: note.trust}
        return ReadResourceResult(
            contents=[TextResourceContents(uri=params.uri, mime_type=kind, text=text, _meta=meta)]
        )

    async def list_prompts(self, _: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=[Prompt(name=GUIDE, description=texts.GUIDE_DESCRIPTION)])

    async def get_prompt(self, _: Context, params: GetPromptRequestParams) -> GetPromptResult:
        if params.name != GUIDE:
            raise MCPError(INVALID_PARAMS, f"There is no prompt {params.name!r}; there is {GUIDE}.")
        message = PromptMessage(role="user", content=TextContent(text=texts.GUIDE))
        return GetPromptResult(description=texts.GUIDE_DESCRIPTION, messages=[message])

    def _place_of(self, uri: str) -> tuple[OpenStore, str]:
        """Return the store and the path in it that a resource's URI names. Raises MCPError."""
        store_id, slash, path = uri.removeprefix(SCHEME).partition("/")
        store = self._stores.opened(store_id) if slash and uri.startswith(SCHEME) else None
        if store is None:
            raise MCPError(INVALID_PARAMS, texts.NO_SUCH_RESOURCE.format(uri=uri[:URI_SHOWN], scheme=SCHEME))
        return store, "/" + unquote(path)


def _resource(store_id: str, file: File) -> Resource:
    uri = f"{SCHEME}{store_id}{quote(file.path)}"
    meta = {TRUST_META: file.trust}
    return Resource(name=file.path, uri=uri, mime_type=_mime_type(file.path), size=file.size_bytes, _meta=meta)


def _told(failure: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=failure)], is_error=True)


def _mime_type(path: str) -> str:
    return "text/markdown" if path.endswith(".md") else "text/plain"
