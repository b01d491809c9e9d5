"""The indexer's requests to its own region's `peerwriter`, which alone puts entries."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from memolith.app.kernel.port_calls import repeatable
from memolith.app.kernel.region import Region
from memolith.core.errors import NotFound, Unavailable
from memolith.core.log_position import LogKey


class WriterClient:
    """Invokes the writer. Every request may be repeated; a failure is `Unavailable`, and the event comes again."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def replay(self, straggler: LogKey) -> None:
        """Ask whether to replay a straggler in the present epoch; the writer decides."""
        self._replay({"call": "adopt", "key": str(straggler)})

    def replay_records(self, store_id: str) -> None:
        """Ask whether to replay what a closed epoch's home did to the store's own record; the writer decides."""
        self._replay({"call": "adopt_records", "store_id": store_id})

    def _replay(self, payload: Mapping[str, str]) -> None:
        answer = self._call(payload)
        if "error" in answer and not _is_gone(answer):
            raise Unavailable("a straggler was not replayed yet; try again")

    def vacate(self, erased: LogKey) -> None:
        """Have the memory whose head this blank is taken from its path, or that finished where it was begun."""
        answer = self._call({"call": "vacate", "key": str(erased)})
        if "elsewhere" in answer or ("error" in answer and not _is_gone(answer)):
            raise Unavailable("a memory whose text is to be erased was not taken from its path yet; try again")

    def fence(self, moved_in: LogKey) -> None:
        """Have an abort entry end half a rename of a closed epoch."""
        if "error" in self._call({"call": "seal", "key": str(moved_in)}):
            raise Unavailable("a rename of a closed epoch was not ended yet; try again")

    def erase_due_proposal(self, store_id: str, proposal_id: str) -> None:
        """Have the texts of a proposal erased which its row says are due, if this is its store's home.

        What fails here is done later: the row stays due, and the reconciler of the home goes by that.
        """
        with suppress(Unavailable):
            self._call({"call": "proposal_due", "store_id": store_id, "proposal_id": proposal_id})

    def complete_rename(self, moved_in: LogKey) -> bool:
        """Have a half-done rename completed; return False if its store is deleted.

        A writer that is the home no more did not look at the rename. Whether it is void by now is for its event to
        find, which comes again: where the new home began with it, nothing else leads back to it.
        """
        answer = self._call({"call": "help", "key": str(moved_in)})
        if "elsewhere" in answer:
            raise Unavailable("the store has another home by now, and a rename was not finished; try again")
        return not _is_gone(answer)

    def _call(self, payload: Mapping[str, str]) -> Mapping[str, Any]:
        with repeatable():
            return self._region.peers.call(self._region.name, "peerwriter", payload)


def _is_gone(answer: Mapping[str, Any]) -> bool:
    """Tell whether the writer answered that the store, or what it was asked about, does not exist any more."""
    return "error" in answer and bool(answer["error"]["type"] == NotFound.__name__)
