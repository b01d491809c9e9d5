"""Calls of peers and operators, which IAM alone lets in: ``{"call": …}`` to JSON. One table for each function.

A table names the use case that answers a call, with what decodes the payload and encodes the answer. Payloads travel
between regions that may run different releases: a field may be added, but none renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memolith.app.kernel.peer_messages import NotHome, encode_error, encode_placed, encode_settled
from memolith.app.kernel.results import Memory, MemoryPrefix, Page, RequestContext, Version, VersionFilter
from memolith.core.commands import from_payload
from memolith.core.errors import MemolithError
from memolith.core.objects.api_key_record import ApiKeyRecord
from memolith.core.store_records import to_record

if TYPE_CHECKING:
    from memolith.app.api.service import Memolith
    from memolith.app.erasure.service import Erasures
    from memolith.app.homes.service import Homes
    from memolith.app.indexer.indexer import Indexer
    from memolith.app.search.packer import Packer

Fields = dict[str, Any]
"""What a payload says beside the name of the call."""

Table = Mapping[str, Callable[[Fields], Mapping[str, Any]]]
Rpc = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def writer_calls(memolith: Memolith) -> Rpc:
    """Return what answers the writer's callers: errors under ``error``, a newer home's record under ``elsewhere``.

    It raises KeyError, TypeError and ValueError for a payload that no version of Memolith made.
    """
    table = _writes(memolith) | _peer_requests(memolith) | _keys(memolith)

    def answer(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return _answer(table, payload)
        except NotHome as elsewhere:
            return {"elsewhere": encode_placed(elsewhere.placed)}
        except MemolithError as error:
            return {"error": encode_error(error)}

    return answer


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

    return {
        "write": write,
        "store": change_store,
        "redact": lambda fields: redacted(memolith.redactions.redact_at_home(own(fields["store_id"]), fields)),
        "import": lambda fields: memolith.imports.import_at_home(own(fields["store_id"]), fields),
        "release": release,
        "dismiss": dismiss,
    }


def _peer_requests(memolith: Memolith) -> dict[str, Callable[[Fields], dict[str, Any]]]:
    """Return the calls by which an indexer or another region's writer tells the home what it has met."""
    requests = memolith.peer_requests
    return {
        "help": lambda fields: {"settled": encode_settled(requests.help(fields["key"]))},
        "seal": lambda fields: {"sealed": requests.seal(fields["key"])},
        "adopt": lambda fields: {"adopted": requests.adopt(fields["key"])},
        "adopt_records": lambda fields: {"adopted": requests.adopt_records(fields["store_id"])},
    }


def _keys(memolith: Memolith) -> dict[str, Callable[[Fields], dict[str, Any]]]:
    """Return an operator's calls about API keys. Only the answer of ``keys.create`` contains a secret."""
    keys = memolith.api_keys

    def listed(fields: Fields) -> dict[str, Any]:
        rows = [asdict(row) for row in keys.of_workspace(fields["workspace_id"])]
        return {"keys": [{name: value for name, value in row.items() if name != "secret_sha256"} for row in rows]}

    return {
        "keys.create": lambda fields: asdict(keys.create(fields["workspace_id"], fields["name"], fields["scope"])),
        "keys.revoke": lambda fields: {"record": asdict(keys.revoke(fields["workspace_id"], fields["key_id"]))},
        "keys.list": listed,
    }


def reader_calls(memolith: Memolith) -> Rpc:
    """Return what answers other regions' reads of stores whose home this is (`memolith.app.api.forwarded_reads`).

    It raises KeyError and TypeError for a payload that no version of Memolith made.
    """
    from memolith.app.api import forwarded_reads

    operations = _reads(memolith)

    def answer(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        read = operations[payload["operation"]]
        try:
            found = read(forwarded_reads.delegated(payload), **payload["arguments"])
            return {"answer": forwarded_reads.encode(found)}
        except MemolithError as error:
            return {"error": encode_error(error)}

    return answer


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

    def list_versions(call: RequestContext, *, filter: Mapping[str, Any], **arguments: Any) -> Page[Version]:
        return memolith.versions.page(call, filter=VersionFilter(**filter), **arguments)

    return {
        "retrieve_store": memolith.stores.retrieve,
        "retrieve_memory": retrieve_memory,
        "list_memories": list_memories,
        "search_memories": lambda call, **arguments: memolith.search.search(call, **arguments),
        "load_memories": lambda call, **arguments: memolith.bulk_read.page(call, **arguments),
        "list_versions": list_versions,
        "retrieve_version": memolith.versions.retrieve,
    }


def indexer_calls(indexer: Indexer) -> Rpc:
    """Return what answers the indexer's callers. It raises ValueError: no such call; and what the use case raises."""

    def arrived(fields: Fields) -> dict[str, Any]:
        """Project an object that a read has met in the log before its event comes."""
        indexer.object_arrived(fields["key"])
        return {"folded": fields["key"]}

    def judge(fields: Fields) -> dict[str, Any]:
        indexer.judge(fields["store_id"], fields["memory_id"])
        return {"judged": fields["memory_id"]}

    def fold_key(fields: Fields) -> dict[str, Any]:
        """Confirm a key's revocation here."""
        return {"region": indexer.fold_key(ApiKeyRecord(**fields["record"])), "confirmed": True}

    return _raising({"arrived": arrived, "judge": judge, "fold_key": fold_key})


def homes_calls(homes: Homes) -> Rpc:
    """Return what answers ``{"call": "homes.…"}`` of a peer or an operator; errors under ``error``.

    It raises KeyError, TypeError and ValueError for a payload that no version of Memolith made.
    """
    return _telling(
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


def eraser_calls(erasures: Erasures) -> Rpc:
    """Return what answers the eraser's callers, its schedule among them. It raises ValueError: no such call.

    Memolith's own calls raise what the use cases do; an operator's, ``erasure.…``, answer errors under ``error``.
    """
    own = _raising(
        {
            "erase": lambda fields: {"erased": erasures.erase(fields["key"])},
            "erase_store": lambda fields: {"done": erasures.erase_store(fields["store_id"])},
            "erase_packs": lambda fields: {"removed": erasures.erase_packs(fields["store_id"])},
            "sweep": lambda fields: erasures.sweep(),
        }
    )
    operators = _telling(
        {
            "erasure.status": lambda fields: erasures.status(fields["store_id"], fields["id"]),
            "erasure.search": lambda fields: erasures.search(fields),
        }
    )
    return lambda payload: operators(payload) if str(payload.get("call")).startswith("erasure.") else own(payload)


def packer_calls(packer: Packer) -> Rpc:
    """Return what answers ``{"call": "pack", "store_id": …}`` of a reader or an operator, with ``anew`` from nothing.

    The answer has the number of the pack that counts, or null for a store that has none; errors under ``error``. It
    raises ValueError: no such call.
    """
    return _telling({"pack": lambda fields: {"number": packer.pack(fields["store_id"], anew=bool(fields.get("anew")))}})


def _telling(table: Table) -> Rpc:
    """Answer by a table, with the errors of its use cases under ``error``."""
    raising = _raising(table)

    def answer(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return raising(payload)
        except MemolithError as error:
            return {"error": encode_error(error)}

    return answer


def _raising(table: Table) -> Rpc:
    def answer(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        if payload.get("call") not in table:
            raise ValueError("no such call")
        return _answer(table, payload)

    return answer


def _answer(table: Table, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = dict(payload)
    return table[fields.pop("call")](fields)
