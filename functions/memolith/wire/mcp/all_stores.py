"""Every store that a caller has, behind one server: a tool's `project` says which of them is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from memolith.core import ids
from memolith.core.limits import SESSION_STORES_MAX
from memolith.ports.clock import Clock
from memolith.wire.mcp import answers, schemas, texts
from memolith.wire.mcp.notes import found, search_query
from memolith.wire.mcp.server import PROJECT, SCHEME, OpenStore
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tree import Caller, File, Gone, accepted

STORES_MAX = 500
"""So many stores are looked at for a name; one of a larger workspace is named by its id."""

NAMED_MAX = 20
"""So many names stand in an error."""

PAGE = 100


class AllStores:
    """Several stores (see `memolith.wire.mcp.server.Stores`). Nothing is kept: a store that is made later is there.

    Args:
        caller: asks the API, with the caller's rights.
        open_store: a store's id to what the tools act on.
        clock: tells a note's age.
        only: returns the ids of the stores to serve; None: all that the API lists for this caller.
    """

    def __init__(
        self,
        caller: Caller,
        open_store: Callable[[str], OpenStore],
        clock: Clock,
        only: Callable[[], Sequence[str]] | None = None,
    ) -> None:
        self._clock = clock
        self._caller = caller
        self._open = open_store
        self._only = only

    @property
    def template(self) -> str:
        """The template of the URIs of memories, of any store."""
        return f"{SCHEME}{{memory_store_id}}/{{+path}}"

    def choose(self, project: str | None) -> OpenStore:
        """Return the store that `project` names; without one, the only store. No call for an id, else a listing.

        Raises:
            ToolFailure: there is none such, or it takes a name to say which.
        """
        if project is not None and ids.STORE.fullmatch(project) and self._has(project):
            return self._open(project)
        if project in (None, "", PROJECT) and self._only is not None and len(only := self._only()) == 1:
            return self._open(only[0])
        there = self.projects()
        wanted = [one for one in there if project in (None, "", PROJECT, one.name)]
        if len(wanted) != 1:
            raise ToolFailure(_which(project, wanted, there))
        return self._open(wanted[0].id)

    def search(self, asked: schemas.SearchArguments) -> answers.Hits:
        """Search the store that is named; without a name all of them at once, each hit with its store's name.

        Raises:
            ToolFailure: there is none such, or there are more stores than one search takes.
        """
        if asked.project not in (None, "", PROJECT):
            return self.choose(asked.project).notes.search(asked)
        there = self.projects()
        if len(there) == 1:
            return self._open(there[0].id).notes.search(asked)
        if asked.as_of is not None:
            raise ToolFailure(_which(None, there, there))
        if len(there) > SESSION_STORES_MAX:
            raise ToolFailure(texts.TOO_MANY_PROJECTS.format(most=SESSION_STORES_MAX, names=_names(there)))
        if not there:
            raise ToolFailure(texts.NO_PROJECT)
        named = Counter(one.name for one in there)
        names = {one.id: one.name if named[one.name] == 1 else one.id for one in there}
        query = {"memory_store_ids": ",".join(names), **search_query(asked, self._clock.now_us())}
        rows = accepted(self._caller.call("GET", "/v1/search", query))["data"]
        hits = [found(row, self._clock.now_us(), names[row["memory"]["memory_store_id"]]) for row in rows]
        return answers.Hits(hits=hits)

    def projects(self) -> list[answers.Project]:
        """List the stores, at most `STORES_MAX`. A call for each hundred, or one for each that was named.

        A store that was named and is deleted is left out: it must not take the others with it.
        """
        if self._only is not None:
            named = [self._there(store_id) for store_id in self._only()]
            return [one for one in named if one is not None]
        listed: list[answers.Project] = []
        query = {"limit": str(PAGE)}
        while len(listed) < STORES_MAX:
            body = accepted(self._caller.call("GET", "/v1/memory_stores", query))
            listed += map(answers.Project.of, body["data"])
            if not body["next_page"]:
                break
            query["page"] = str(body["next_page"])
        return listed

    def page(self, cursor: str | None) -> tuple[list[tuple[str, File]], str | None]:
        """Return a page of one store's memories; the cursor is the store's id and its own cursor.

        Raises:
            ToolFailure: the cursor is none of this server's, or its store is not there any more.
        """
        there = [one.id for one in self.projects()]
        named = there if self._only is None else list(self._only())
        store_id, _, inner = (cursor or "").partition(" ")
        if cursor and store_id not in named:
            raise ToolFailure(texts.NO_CURSOR.format(cursor=cursor))
        left = [one for one in named[named.index(store_id) if store_id else 0 :] if one in there]
        if not left:
            return [], None
        files, following = self._open(left[0]).page(inner if inner and left[0] == store_id else None)
        if following:
            return files, f"{left[0]} {following}"
        return files, left[1] if len(left) > 1 else None

    def opened(self, store_id: str) -> OpenStore | None:
        """Return a store; the API says whether the caller may use it."""
        return self._open(store_id) if ids.STORE.fullmatch(store_id) and self._has(store_id) else None

    def _there(self, store_id: str) -> answers.Project | None:
        """Return what a store says of itself; None where it is deleted. One read. Raises ToolFailure."""
        try:
            return answers.Project.of(self._open(store_id).tree.store())
        except Gone:
            return None

    def _has(self, store_id: str) -> bool:
        return self._only is None or store_id in self._only()


def _which(project: str | None, wanted: Sequence[answers.Project], there: Sequence[answers.Project]) -> str:
    """Say which stores there are, where `project` names none of them, or several."""
    if not there:
        return texts.NO_PROJECT
    if project in (None, "", PROJECT):
        return texts.WHICH_PROJECT.format(names=_names(there))
    if wanted:
        ids_of_them = ", ".join(one.id for one in wanted[:NAMED_MAX])
        return texts.SEVERAL_CALLED.format(count=len(wanted), name=project, ids=ids_of_them)
    return texts.NONE_CALLED.format(name=project, names=_names(there))


def _names(there: Sequence[answers.Project]) -> str:
    more = f" and {len(there) - NAMED_MAX} more" if len(there) > NAMED_MAX else ""
    return ", ".join(repr(one.name) for one in there[:NAMED_MAX]) + more
