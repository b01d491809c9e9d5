"""Reads that are the home's to answer: passed on to its reader, and answered there for another region.

The region where the call landed has let the caller in, and says so; the home then carries out the same use case as if
it had been asked itself. A read changes nothing, so that any caller may repeat it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from memolith.app.auth.authorizer import AskHome
from memolith.app.commit.forwarding import Forwarding
from memolith.app.kernel.activity_results import Activity, decode_activity
from memolith.app.kernel.conflict_results import Conflicts, decode_conflicts
from memolith.app.kernel.graph_results import Dispute, GraphAnswer, GraphContext, decode_answer, decode_context
from memolith.app.kernel.region import View
from memolith.app.kernel.results import (
    DelegatedCredentials,
    Hit,
    Memory,
    MemoryPrefix,
    Page,
    ReadConsistency,
    RequestContext,
    ScanPolicy,
    Store,
    Version,
    VersionFilter,
    Withheld,
)
from memolith.app.kernel.search_filter import SearchFilter
from memolith.core.log_position import LogKey, Slot
from memolith.core.retention import Retention
from memolith.core.rows.content import MemoryRow

T = TypeVar("T")
P = ParamSpec("P")

_KINDS: dict[str, type[Hit | Memory | MemoryPrefix | Store | Version]] = {
    kind.__name__: kind for kind in (Hit, Memory, MemoryPrefix, Store, Version)
}

_PARTS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "Activity": decode_activity,
    "Conflicts": decode_conflicts,
    "GraphAnswer": decode_answer,
    "GraphContext": decode_context,
}

_RECORDS: dict[str, type[Memory | Retention | ScanPolicy | Withheld]] = {
    "memory": Memory,
    "retention": Retention,
    "scan_policy": ScanPolicy,
    "withheld": Withheld,
}


class ForwardedReads:
    """Asks the home's peerreader what this region cannot answer."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding

    def ask(self, call: RequestContext, operation: str, arguments: Mapping[str, Any], ask: AskHome) -> object:
        """Return the answer of the home's peerreader. One invocation.

        Raises:
            whatever the home raises; Unavailable: the home does not answer.
        """
        found = self._forwarding.ask(ask.home, _question(call, operation, arguments, ask.view))
        return decode(found["answer"])


class ReadUseCase(Protocol):
    """A use case with reads that are `forwarded`."""

    _forwarded: ForwardedReads


S = TypeVar("S", bound=ReadUseCase)


def forwarded(
    operation: str, **fixed: Any
) -> Callable[[Callable[Concatenate[S, RequestContext, P], T]], Callable[Concatenate[S, RequestContext, P], T]]:
    """Mark a read that the home's peerreader answers, as `operation`, where it ends in `AskHome` here.

    The home is asked with the arguments of the read by their names, and with `fixed`: what `operation` takes and this
    read does not. The other names of an operation are in `memolith.wire.rpc`.
    """

    def decorate(
        read: Callable[Concatenate[S, RequestContext, P], T],
    ) -> Callable[Concatenate[S, RequestContext, P], T]:
        def answer(self: S, call: RequestContext, /, *args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return read(self, call, *args, **kwargs)
            except AskHome as ask:
                arguments = _by_name(read, self, call, *args, **kwargs) | fixed
                return cast(T, self._forwarded.ask(call, operation, arguments, ask))

        update_wrapper(answer, read)
        return answer

    return decorate


def _by_name(read: Callable[..., object], *args: object, **kwargs: object) -> dict[str, Any]:
    """Return what a use case was called with, but for itself and the call, as JSON takes it.

    What has its default is left out: a home of an earlier release may not know it.
    """
    signature = inspect.signature(read)
    given = list(signature.bind(*args, **kwargs).arguments.items())[2:]
    said = [(name, value) for name, value in given if value != signature.parameters[name].default]
    return {name: asdict(value) if isinstance(value, VersionFilter | SearchFilter) else value for name, value in said}


def _question(call: RequestContext, operation: str, arguments: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Make the question to the home; its answer is always as its logs have it."""
    return {
        "call": "read",
        "operation": operation,
        "workspace_id": call.credentials.workspace_id,
        "actor": call.credentials.actor,
        "scope": call.scope,
        "demand": asdict(replace(call.demand, home=True)),
        "shows_withheld": call.shows_withheld,
        "known": _known(view, arguments),
        "arguments": dict(arguments),
    }


def _known(view: View, arguments: Mapping[str, Any]) -> str | None:
    """Return the key of an object of the memory that is asked for, also in a filter; None if it is not indexed here."""
    memory_id = arguments.get("memory_id") or (arguments.get("filter") or {}).get("memory_id") or ""
    key = MemoryRow.key(arguments["store_id"], memory_id)
    if key not in view.rows:
        return None
    row = MemoryRow.from_attributes(view.rows[key])
    return str(LogKey(row.store_id, row.path_hash, Slot.parse(row.slot)))


def delegated(payload: Mapping[str, Any]) -> RequestContext:
    """Parse the call in a question: a caller that another region has authorised. Raises KeyError, TypeError.

    A region of an earlier release does not say whether withheld texts are to be shown: then they are not.
    """
    credentials = DelegatedCredentials(payload["workspace_id"], payload["actor"], payload["scope"])
    return RequestContext(
        credentials,
        ReadConsistency(**payload["demand"]),
        known=payload["known"],
        shows_withheld=payload.get("shows_withheld") is True,
    )


def encode(answer: object) -> dict[str, Any]:
    """Write a use case's result as JSON. Raises TypeError for what is none."""
    if isinstance(answer, Page):
        return {"type": "Page", "items": [encode(item) for item in answer.items], "next_after": answer.next_after}
    if isinstance(answer, Hit | Memory | MemoryPrefix | Store | Version):
        return {"type": type(answer).__name__, "fields": asdict(answer)}
    if isinstance(answer, GraphAnswer | GraphContext | Activity | Conflicts):
        return {"type": type(answer).__name__, "fields": asdict(answer)}
    raise TypeError(type(answer).__name__)


def decode(payload: Mapping[str, Any]) -> object:
    """Parse what `encode` made. Raises KeyError, TypeError."""
    if payload["type"] == "Page":
        return Page(tuple(decode(item) for item in payload["items"]), payload["next_after"])
    if payload["type"] in _PARTS:
        return _PARTS[payload["type"]](payload["fields"])
    fields: dict[str, Any] = {name: _field(name, value) for name, value in payload["fields"].items()}
    return _KINDS[payload["type"]](**fields)


def _field(name: str, value: Any) -> Any:
    if name in _RECORDS and value is not None:
        return _RECORDS[name](**{part: _field(part, inner) for part, inner in value.items()})
    if name == "disputed":
        return tuple(Dispute(*one) for one in value)
    return tuple(value) if isinstance(value, list) else value
