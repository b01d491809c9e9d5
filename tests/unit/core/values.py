"""Values of the core's kinds, any that the product could make."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from memolith.core import decide
from memolith.core.drafts import Draft
from memolith.core.ids import ulid
from memolith.core.limits import CONTENT_MAX_BYTES
from memolith.core.log_position import Epoch, LogKey, LogRef, Slot
from memolith.core.objects.entry import Actor, Entry, Operation, kept_flags
from memolith.core.objects.verdict_record import VerdictOutcome, VerdictRecord
from memolith.core.rows.content import MemoryRow

REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2", "us-isob-east-1", "local")

hashes = st.binary(min_size=32, max_size=32).map(bytes.hex)
ulids = st.builds(ulid, st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
store_ids = st.builds(lambda region, id: f"memstore_{region.replace('-', '')}_{id}", st.sampled_from(REGIONS), ulids)
memory_ids = ulids.map(lambda id: f"mem_{id}")
version_ids = ulids.map(lambda id: f"memver_{id}")
instants_us = st.integers(0, 253_402_300_799_999_999)
"""Up to the end of the year 9999."""

epoch_numbers = st.integers(1, 9_999) | st.sampled_from([9_999, 10_000, 99_999, 100_000]) | st.integers(1, 10**9)
epochs = st.builds(Epoch, epoch_numbers, st.sampled_from(REGIONS), st.integers(0, 99))
slots = st.builds(Slot, epochs, st.integers(1, 9_999_999_999))
log_keys = st.builds(LogKey, store_ids, hashes, slots)
actors = st.builds(Actor, st.sampled_from(["api_key", "session", "user", "service_account"]), version_ids)

_characters = st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs"], exclude_characters="/\u2028\u2029")
segments = st.text(_characters, min_size=1, max_size=12).filter(lambda text: text not in (".", ".."))
paths = st.lists(segments, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts))
"""As a writer may meet them; a few are not in normal form, which nothing behind the door minds."""

contents = st.text(st.characters(codec="utf-8"), max_size=60)
flags = st.lists(st.from_regex(r"[a-z]{1,9}\.[a-z0-9-]{1,20}", fullmatch=True), max_size=12).map(kept_flags)


@st.composite
def heads(draw: st.DrawFn, memory_id: str | None = None) -> MemoryRow:
    """The row of a memory: live, blanked, or gone."""
    state = draw(st.sampled_from(["live", "live", "live", "blank", "gone"]))
    live = state == "live"
    content = draw(contents)
    created_at = draw(instants_us)
    return MemoryRow(
        store_id=draw(store_ids),
        memory_id=memory_id or draw(memory_ids),
        generation=draw(st.integers(1, 10_000)),
        version_id=draw(version_ids),
        path_hash=draw(hashes),
        slot=str(draw(slots)),
        arrived=str(draw(slots)),
        updated_at=created_at + draw(st.integers(0, 10**12)),
        created_at=created_at,
        path=draw(paths) if live else None,
        content_sha256=decide.sha256_hex(content) if live else None,
        content_size_bytes=len(content.encode()) if live else None,
        gone=state == "gone",
    )


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """An entry of any operation, as its maker makes it, blanked or not."""
    key, instant = draw(log_keys), draw(instants_us)
    draft = Draft(draw(version_ids), draw(memory_ids), draw(actors), instant)
    operation = draw(st.sampled_from(Operation))
    if operation is Operation.VOID:
        return decide.void(key, draft.version_id, instant)
    if operation is Operation.CREATED:
        entry = decide.created(draft, key, draw(paths), draw(contents))
    else:
        head = draw(heads())
        kind = Operation.MOVED_IN if operation is Operation.MOVED_OUT else operation
        content = None if kind is Operation.DELETED else draw(contents)
        source = draw(slots) if kind is Operation.MOVED_IN else None
        entry = decide.follows(draft, head, key, decide.Commit(kind, draw(paths), content), source)
    if operation is Operation.MOVED_OUT:
        return decide.moved_out(entry)
    entry = replace(entry, flags=draw(flags))
    return entry.blanked() if draw(st.booleans()) else entry


refs = st.builds(LogRef, hashes, slots)
LARGEST_CONTENT = "x" * CONTENT_MAX_BYTES


rules = st.from_regex(r"[a-z]{1,9}-[a-z0-9-]{1,20}", fullmatch=True)
findings = st.lists(
    st.fixed_dictionaries({"rule": rules, "family": st.just("injection"), "line": st.integers(0, 999)}), max_size=3
).map(tuple)


@st.composite
def verdicts(draw: st.DrawFn) -> VerdictRecord:
    """A verdict on any version of any store."""
    return VerdictRecord(
        store_id=draw(store_ids),
        version_id=draw(version_ids),
        position=str(draw(refs)),
        content_hmac=draw(hashes),
        outcome=draw(st.sampled_from(VerdictOutcome)),
        decided_at=draw(instants_us),
        decided_by=draw(st.sampled_from(["scanner"]) | actors.map(str)),
        reason=draw(st.text(st.characters(codec="utf-8"), max_size=40)),
        findings=draw(findings),
        region=draw(st.sampled_from(REGIONS)),
        sequence=draw(st.integers(1, 9_999_999_999)),
    )
