"""Writes land anywhere and run at home: passing a call on, and carrying what came of it back.

A call is passed on once, never again by itself: a repetition could undo somebody's acknowledged write. The ids of the
new version were made where the call landed; every outcome, refusals too, brings back the entries it was decided
against, and the region where the call landed folds them, so that the caller reads its own write there at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from cairn.app.folding import Settled
from cairn.app.records import Placed, Records
from cairn.app.region import Region, View
from cairn.app.writing import Outcome
from cairn.core import errors
from cairn.core.errors import Unavailable
from cairn.core.records import Entry, StoreRecord
from cairn.core.rows import MemoryRow, StoreRow
from cairn.core.slots import LogKey, Slot, parse_key
from cairn.ports import errors as port_errors

HOPS = 3
"""How often a call follows a home that has moved before it gives up."""


class Elsewhere(Exception):
    """A call that was passed on to a region which is not the store's home: nothing was done; here is its record."""

    def __init__(self, placed: Placed) -> None:
        super().__init__(placed.record.home)
        self.placed = placed


class Passing:
    """Invokes another region's writer, or its reader."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._records = Records(region)

    def reach(
        self, view: View, store: StoreRow, payload: Mapping[str, Any]
    ) -> tuple[StoreRow, Mapping[str, Any] | None]:
        """The home's answer; None where the home turns out to be this region: then it is the caller's to do.

        A region that is not the home any more does nothing and answers with the record that says so, which is folded
        here and followed. The store's record, as known in the end, comes first.

        Raises:
            as `call`; Unavailable: the home could not be found.
        """
        for _ in range(HOPS):
            if store.home == self._region.name:
                return self._records.at_home(view, store), None
            try:
                return store, self.call(store.home, payload)
            except Elsewhere as elsewhere:
                newer = self._records.fold(view, elsewhere.placed)
                if Slot.parse(newer.slot).rank <= Slot.parse(store.slot).rank:
                    raise Unavailable("the store's home is changing; try again") from elsewhere
                store = newer
        raise Unavailable("the store's home is changing; try again")

    def call(self, home: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The home's answer.

        Raises:
            whatever the home raised; Unavailable: it did not run; OutcomeUnknown: it may have.
        """
        try:
            answer = self._region.peers.call(home, "writer", payload)
        except port_errors.Unavailable as error:
            raise errors.Unavailable(f"the store's home, {home}, cannot be reached; nothing was done") from error
        except port_errors.OutcomeUnknown as error:
            raise errors.OutcomeUnknown(
                f"the store's home, {home}, did not answer; read before trying again"
            ) from error
        if "error" in answer:
            raise decode_error(answer["error"])
        if "elsewhere" in answer:
            raise Elsewhere(decode_placed(answer["elsewhere"]))
        return answer

    def ask(self, home: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer of the home's reader. Raises what the home raised; Unavailable: it did not answer."""
        try:
            answer = self._region.peers.call(home, "reader", payload)
        except port_errors.PortError as error:
            raise errors.Unavailable(f"the store's home, {home}, does not answer; try again") from error
        if "error" in answer:
            raise decode_error(answer["error"])
        return answer


def encode_placed(placed: Placed) -> dict[str, str]:
    """A record as JSON, with its slot."""
    return {"slot": str(placed.slot), "record": placed.record.to_json().decode()}


def decode_placed(payload: Mapping[str, str]) -> Placed:
    """The inverse of `encode_placed`. Raises ValueError."""
    return Placed(Slot.parse(payload["slot"]), StoreRecord.from_json(payload["record"].encode()))


def encode_settled(settled: Iterable[Settled]) -> list[dict[str, Any]]:
    """Entries as JSON: key, metadata, and whether void."""
    return [{"key": str(one.entry.key), "metadata": one.entry.to_metadata(), "void": one.void} for one in settled]


def decode_settled(payload: Iterable[Mapping[str, Any]]) -> list[Settled]:
    """The inverse of `encode_settled`. Raises ValueError."""
    settled = []
    for one in payload:
        key = parse_key(one["key"])
        if not isinstance(key, LogKey):
            raise ValueError(f"not a key of a log: {one['key']!r}")
        settled.append(Settled(Entry.from_metadata(key, one["metadata"]), one["void"]))
    return settled


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON."""
    return {
        "memory": None if outcome.memory is None else asdict(outcome.memory),
        "refusal": None if outcome.error is None else encode_error(outcome.error),
        "settled": encode_settled(outcome.settled),
    }


def decode_outcome(payload: Mapping[str, Any]) -> Outcome:
    """The inverse of `encode_outcome`."""
    memory, refusal = payload["memory"], payload["refusal"]
    return Outcome(
        memory=None if memory is None else MemoryRow.from_attributes(memory),
        error=None if refusal is None else decode_error(refusal),
        settled=decode_settled(payload["settled"]),
    )


def encode_error(error: errors.CairnError) -> dict[str, Any]:
    """An error as JSON: its class and its own fields."""
    fields = {name: value for name, value in vars(error).items() if name not in ("message",)}
    return {"type": type(error).__name__, "message": error.message, "fields": fields}


def decode_error(payload: Mapping[str, Any]) -> errors.CairnError:
    """The inverse of `encode_error`."""
    kind = getattr(errors, payload["type"])
    error: errors.CairnError = kind.__new__(kind)
    errors.CairnError.__init__(error, payload["message"])
    for name, value in payload["fields"].items():
        setattr(error, name, value)
    return error
