"""Calls of peers and operators, which IAM alone lets in: ``{"call": …}`` to JSON. One table for each function.

No function that takes HTTP requests answers any of them (`memolith.entry.dispatching`). A table names the use case that
answers a call, with what decodes the payload and encodes the answer. Payloads travel between regions that may run
different releases: a field may be added, but none renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from memolith.app.kernel.peer_messages import NotHome, encode_error, encode_placed, encode_resolved
from memolith.app.kernel.results import (
    Hit,
    Memory,
    MemoryPrefix,
    Page,
    RequestContext,
    Version,
    VersionFilter,
)
from memolith.app.kernel.search_filter import SearchFilter
from memolith.core.commands import from_payload
from memolith.core.errors import MemolithError, Unavailable
from memolith.core.store_records import to_record

if TYPE_CHECKING:
    from memolith.app.api.service import Memolith
    from memolith.app.auth.api_keys import ApiKeys
    from memolith.app.erasure.service import Erasures
    from memolith.app.homes.service import Homes
    from memolith.app.indexer.indexer import Indexer
    from memolith.core.objects.resolution_record import ResolutionRecord
    from memolith.core.objects.run_record import RunRecord

Fields = dict[str, Any]
"""What a payload says beside the name of the call."""

Table = Mapping[str, Callable[[Fields], Mapping[str, Any]]]
Rpc = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Calls:
    """What a function answers by ``{"call": …}``.

    Attributes:
        names: the calls that it knows. It raises ValueError for every other.
    """

    def __init__(self, telling: Table, raising: Table | None = None) -> None:
        """Answer by two tables; of the first, errors are answered under ``error``, of the second they are raised.

        A home that is elsewhere is told too, under ``elsewhere``, with the record that says so.
        """
        self._telling, self._raising = dict(telling), dict(raising or {})
        self.names = frozenset(self._telling) | frozenset(self._raising)

    def __call__(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one call. It raises KeyError, TypeError, ValueError for a payload that no version of Memolith made."""
        fields = dict(payload)
        name = fields.pop("call", None)
        if name in self._raising:
            return self._raising[name](fields)
        if name not in self._telling:
            raise ValueError("no such call")
        try:
            return self._telling[name](fields)
        except NotHome as elsewhere:
            return {"elsewhere": encode_placed(elsewhere.placed)}
        except MemolithError as error:
            return {"error": encode_error(error)}


def refusal(rule: str) -> dict[str, Any]:
    """Return the answer to an event of a kind that a function does not take: what is at fault is its ``call``.

    It is Unavailable, and so a 503 to the caller of a region that runs an earlier release and asks another function.
    """
    return {"error": encode_error(Unavailable(f"call: {rule}"))}


def peerwriter_calls(memolith: Memolith) -> Calls:
    """Return what answers the peerwriter's callers, who vouch for who is behind a call.

    They are other regions' writers, this region's indexer, and the reconcilers.
    """
    return Calls(_writes(memolith) | _peer_requests(memolith))


def _writes(memolith: Memolith) -> dict[str, Callable[[Fields], dict[str, Any]]]:
    """Return the calls that landed in another region and are carried out at the store's home."""
    from memolith.app.api.redaction import answer as redacted  # here, so that no other function's start pays for them
    from memolith.app.commit.attempt import encode_outcome

    own = memolith.peer_requests.own_store

    def write(fields: Fields) -> dict[str, Any]:
        workspace_id = fields.pop("workspace_id")
        return encode_outcome(memolith.memories.write_at_home(workspace_id, from_payload(fields)))

    def change_store(fields: Fields) -> dict[str, Any]:
        restoring = fields["change"] == "restore"
        row = own(fields["store_id"], ended_by=fields["version_id"], restoring=restoring)
        row = memolith.stores.change_at_home(row, fields)
        return {"slot": row.slot, "record": to_record(row, fields["actor"]).to_json().decode()}

    def release(fields: Fields) -> dict[str, Any]:
        verdicts = memolith.quarantine.release_at_home(own(fields["store_id"]), fields)
        return {"verdicts": [verdict.to_json().decode() for verdict in verdicts]}

    def dismiss(fields: Fields) -> dict[str, Any]:
        order = memolith.divergent.dismiss_at_home(own(fields["store_id"]), fields)
        return {"order": order.to_json().decode()}

    def proposal(fields: Fields) -> dict[str, Any]:
        records, resolved = memolith.proposal_decisions.change_at_home(own(fields["store_id"]), fields)
        return {
            "records": [record.to_json().decode() for record in records],
            "settled": encode_resolved(resolved),
        }

    def resolve_conflict(fields: Fields) -> dict[str, Any]:
        return _record(memolith.conflict_resolutions.resolve_at_home(own(fields["store_id"]), fields))

    def due(fields: Fields) -> dict[str, Any]:
        return {"done": memolith.proposal_decisions.resume(own(fields["store_id"]), fields["proposal_id"])}

    return {
        "write": write,
        "store": change_store,
        "redact": lambda fields: redacted(*memolith.redactions.redact_at_home(own(fields["store_id"]), fields)),
        "import": lambda fields: memolith.imports.import_at_home(own(fields["store_id"]), fields),
        "release": release,
        "dismiss": dismiss,
        "proposal": proposal,
        "dream": lambda fields: _record(memolith.dreams.change_at_home(own(fields["store_id"]), fields)),
        "resolve_conflict": resolve_conflict,
        "proposal_due": due,
    }


def _record(record: ResolutionRecord | RunRecord) -> dict[str, Any]:
    return {"record": record.to_json().decode()}


def _peer_requests(memolith: Memolith) -> dict[str, Callable[[Fields], dict[str, Any]]]:
    """Return the calls by which an indexer or another region's writer tells the home what it has met."""
    requests = memolith.peer_requests
    return {
        "help": lambda fields: {"settled": encode_resolved(requests.help(fields["key"]))},
        "vacate": lambda fields: {"vacated": requests.vacate(fields["key"])},
        "seal": lambda fields: {"sealed": requests.seal(fields["key"])},
        "adopt": lambda fields: {"adopted": requests.adopt(fields["key"])},
        "adopt_records": lambda fields: {"adopted": requests.adopt_records(fields["store_id"])},
    }


def keys_calls(keys: ApiKeys) -> Calls:
    """Return what answers an operator's calls about API keys. Only the answer of ``keys.create`` contains a secret."""

    def listed(fields: Fields) -> dict[str, Any]:
        rows = [asdict(row) for row in keys.of_workspace(fields["workspace_id"])]
        return {"keys": [{name: value for name, value in row.items() if name != "secret_sha256"} for row in rows]}

    def revoked(fields: Fields) -> dict[str, Any]:
        """Leave out what is None: a region of an earlier release refuses a field that it does not know."""
        record, key = keys.revoke(fields["workspace_id"], fields["key_id"])
        facts = {name: value for name, value in asdict(record).items() if value is not None}
        return {"record": facts, "key": str(key)}

    return Calls(
        {
            "keys.create": lambda fields: asdict(keys.create(**fields)),
            "keys.revoke": revoked,
            "keys.list": listed,
        }
    )


def peerreader_calls(memolith: Memolith) -> Calls:
    """Return what answers other regions' reads of stores whose home this is (`memolith.app.api.forwarded_reads`).

    The asking region has let the caller in, and vouches for it.
    """
    from memolith.app.api import forwarded_reads

    operations = _reads(memolith)

    def read(fields: Fields) -> dict[str, Any]:
        use_case = operations[fields["operation"]]
        return {"answer": forwarded_reads.encode(use_case(forwarded_reads.delegated(fields), **fields["arguments"]))}

    return Calls({"read": read})


def _reads(memolith: Memolith) -> dict[str, Callable[..., object]]:
    """Each operation by its name between regions. One of them may be of the present or of an instant."""

    def retrieve_memory(call: RequestContext, *, as_of: int | None = None, **arguments: Any) -> Memory:
        if as_of is None:
            return memolith.memories.retrieve(call, **arguments)
        return memolith.snapshots.retrieve(call, as_of=as_of, **arguments)

    def list_memories(
        call: RequestContext, *, depth: int, as_of: int | None = None, **arguments: Any
    ) -> Page[Memory | MemoryPrefix]:
        if as_of is None:
            return memolith.memories.page(call, depth=depth, **arguments)
        return memolith.snapshots.page(call, as_of=as_of, **arguments)

    def search_memories(
        call: RequestContext, *, filter: Mapping[str, Any] | None = None, **arguments: Any
    ) -> Page[Hit]:
        asked = {**(filter or {}), "tags": tuple((filter or {}).get("tags", ()))}
        return memolith.search.search(call, filter=SearchFilter(**asked), **arguments)

    def list_versions(call: RequestContext, *, filter: Mapping[str, Any], **arguments: Any) -> Page[Version]:
        return memolith.versions.page(call, filter=VersionFilter(**filter), **arguments)

    return {
        "retrieve_store": memolith.stores.retrieve,
        "retrieve_memory": retrieve_memory,
        "list_memories": list_memories,
        "search_memories": search_memories,
        "graph": lambda call, **arguments: memolith.graph.reach(call, **arguments),
        "context": lambda call, **arguments: memolith.graph.context(call, **arguments),
        "activity": lambda call, **arguments: memolith.activity.page(call, **arguments),
        "conflicts": lambda call, **arguments: memolith.conflicts.page(call, **arguments),
        "recall": lambda call, **arguments: memolith.recall.recall(call, **arguments),
        "observations": lambda call, **arguments: memolith.graph.observations(call, **arguments),
        "load_memories": lambda call, **arguments: memolith.bulk_read.page(call, **arguments),
        "list_versions": list_versions,
        "retrieve_version": memolith.versions.retrieve,
    }


def indexer_calls(indexer: Indexer) -> Calls:
    """Return what answers the indexer's callers. No payload says what is so: each names what is to be looked at.

    The calls of Memolith's own functions raise what the use case raises; an operator's, ``fold_key``, tells errors.
    """

    def arrived(fields: Fields) -> dict[str, Any]:
        """Project an object that a read has met in the log before its event comes."""
        indexer.object_arrived(fields["key"])
        return {"folded": fields["key"]}

    def judge(fields: Fields) -> dict[str, Any]:
        indexer.repair(fields["store_id"], fields["memory_id"])
        return {"judged": fields["memory_id"]}

    def fold_key(fields: Fields) -> dict[str, Any]:
        """Confirm here what an object says of an API key: that it is revoked."""
        return {"region": indexer.fold_key(fields["key"]), "confirmed": True}

    def session_shown(fields: Fields) -> dict[str, Any]:
        """Lower a session's trust class, which is all that this call can do to it."""
        indexer.lower_session_trust(fields["workspace_id"], fields["session_id"], fields["trust"])
        return {"session_id": fields["session_id"]}

    raising = {"arrived": arrived, "judge": judge, "session_shown": session_shown}
    return Calls({"fold_key": fold_key}, raising=raising)


def homes_calls(homes: Homes) -> Calls:
    """Return what answers ``{"call": "homes.…"}`` of a peer or an operator; errors under ``error``."""
    return Calls(
        {
            "homes.list": lambda fields: homes.page(**fields),
            "homes.move": lambda fields: asdict(homes.move(**fields)),
            "homes.fail_over": lambda fields: asdict(homes.fail_over(**fields)),
            "homes.is_held": lambda fields: homes.is_held(**fields),
            "homes.begin": lambda fields: homes.handoff.begin(**fields),
            "homes.commit": lambda fields: homes.handoff.commit(**fields),
            "homes.give_up": lambda fields: homes.handoff.give_up(**fields),
        }
    )


def eraser_calls(erasures: Erasures) -> Calls:
    """Return what answers the eraser's callers, its schedule among them.

    Memolith's own calls raise what the use cases do; an operator's, ``erasure.…`` and ``repair.page``, answer errors
    under ``error``.
    """
    return Calls(
        {
            "erasure.status": lambda fields: erasures.status(fields["store_id"], fields["id"]),
            "erasure.search": lambda fields: erasures.search(fields),
            "repair.page": lambda fields: erasures.repair(fields),
        },
        raising={
            "erase": lambda fields: {"erased": erasures.erase(fields["key"])},
            "erase_proposal": lambda fields: {"erased": erasures.erase_proposal(fields["key"])},
            "erase_store": lambda fields: {"done": erasures.erase_store(fields["store_id"])},
            "erase_transcript": lambda fields: {
                "erased": erasures.erase_transcript(fields["workspace_id"], fields["session_id"])
            },
            "clear_transcript_part": lambda fields: {"erased": erasures.clear_transcript_part(fields["key"])},
            "erase_dream_steps": lambda fields: {
                "removed": erasures.erase_dream_steps(fields["store_id"], fields["run_id"])
            },
            "erase_packs": lambda fields: {"removed": erasures.erase_packs(fields["store_id"])},
            "sweep": lambda fields: erasures.sweep(),
        },
    )


class Packing(Protocol):
    """What makes packs: `memolith.app.search.packer.Packer`, or what stands before it."""

    def pack(self, store_id: str, since: int | None = None, from_scratch: bool = False) -> int | None:
        """See `Packer.pack`."""
        ...


def packer_calls(packer: Packing) -> Calls:
    """Return what answers ``{"call": "pack", "store_id": …}`` of a reader or an operator, with ``anew`` from nothing.

    The answer has the number of the pack that counts, or null for a store that has none; errors under ``error``.
    """
    return Calls(
        {"pack": lambda fields: {"number": packer.pack(fields["store_id"], from_scratch=bool(fields.get("anew")))}}
    )
