"""Proofs over HTTP: checked by the script that has nothing of Memolith; of erased and withheld versions too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from memolith.adapters.memory import MemoryErasableObjects
from memolith.adapters.memory.sealing import MemorySealing
from memolith.app.operations import proofs
from memolith.app.operations.audit import make_audit
from memolith.app.operations.proofs import SEARCHED_MAX, make_proofs
from memolith.core.audit import Flaw
from memolith.core.commands import ImportedVersion
from memolith.core.objects.checkpoint import Checkpoint
from memolith.core.objects.verdict_record import VerdictOutcome
from memolith.core.rows.base import RowKey
from memolith.ports.errors import Unavailable
from memolith.ports.index import Change
from scripts.verify_proof import NotProvenError, check
from tests.api.harness import Backend, Reply
from tests.unit.app.scene import AWAY, HOME, Scene

MINUTE_S = 60.0


class Sealed:
    """Two regions, a store with a memory of two versions, and what is sealed of it."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.first = self.scene.create("/a", "first")
        self.second = self.scene.update(self.first, "second")
        self.seal()

    def seal(self) -> None:
        self.scene.deliver()
        self.scene.clock.pause(MINUTE_S)
        self.scene.cloud.sites[HOME].reconciling.tick()
        self.scene.deliver()

    def ask(self, path: str, region: str = HOME, key: str | None = None) -> Reply:
        backend = Backend(self.scene.at(region), self.scene.clock, lambda name, scope: self.scene.cloud.key(scope))
        return backend.raw("GET", path, headers={"authorization": f"Bearer {key or self.scene.api_key}"})

    def proof(self, version_id: str, region: str = HOME, key: str | None = None) -> Reply:
        return self.ask(f"/v1/memory_stores/{self.scene.store}/memory_versions/{version_id}/proof", region, key)

    @contextmanager
    def no_key(self) -> Iterator[None]:
        """The home's key signs nothing meanwhile."""
        with mock.patch.object(MemorySealing, "sign", side_effect=Unavailable("the key does not answer")):
            yield

    @property
    def keys(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.ask("/v1/integrity/keys").body["keys"]
        return found


@pytest.fixture
def sealed() -> Sealed:
    return Sealed()


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_whoever_may_read_a_store_gets_proofs_that_the_script_verifies_in_each_region(
    sealed: Sealed, region: str
) -> None:
    key = sealed.scene.cloud.key("read")
    for version, text in ((sealed.first, b"first"), (sealed.second, b"second")):
        reply = sealed.proof(version.version_id, region, key)
        assert reply.status == 200, reply.body
        assert check(reply.body, sealed.keys, text).startswith(f"proven: version {version.version_id}, ")
        with pytest.raises(NotProvenError, match="the text is not that of the version"):
            check(reply.body, sealed.keys, text + b".")


def test_the_public_keys_are_those_of_each_region_without_a_private_half(sealed: Sealed) -> None:
    assert [key["region"] for key in sealed.keys] == [HOME, AWAY]
    assert not any("d" in key for key in sealed.keys)
    assert sealed.ask("/v1/integrity/keys", key="sk-memolith-no-such-key-at-all").status == 401


def test_a_version_of_before_a_regions_first_tick_is_named_and_not_proven(sealed: Sealed) -> None:
    """As where a deployment is written to within its first minute: its acknowledgement log has not been begun yet."""
    index = sealed.scene.cloud.sites[HOME].region.index
    for pk, sk in sealed.scene.cloud.rows(HOME, "journal"):
        index.commit([Change(RowKey("journal", pk, sk), None, None, unconditional=True)])
    early = sealed.scene.update(sealed.first, "early")
    for _ in range(2):
        sealed.seal()
    later = sealed.scene.update(sealed.first, "later")
    sealed.seal()
    reply = sealed.proof(early.version_id)
    assert (reply.status, "what it was is not sealed" in reply.body["error"]["message"]) == (404, True)
    assert sealed.proof(later.version_id).status == 200


def test_a_version_that_is_not_sealed_yet_is_told_as_that(sealed: Sealed) -> None:
    later = sealed.scene.update(sealed.first, "third")
    reply = sealed.proof(later.version_id)
    assert (reply.status, "not sealed yet; try again in a minute" in reply.error["message"]) == (404, True)
    sealed.seal()
    assert sealed.proof(later.version_id).status == 200


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_redacted_version_proves_that_it_was_there_and_which_order_erased_it(sealed: Sealed, region: str) -> None:
    sealed.scene.redact(sealed.first.version_id)
    assert sealed.proof(sealed.first.version_id).status == 404, "the order is not sealed yet"
    sealed.seal()
    proof = sealed.proof(sealed.first.version_id, region).body
    told = check(proof, sealed.keys, None)
    order = f"{HOME}/redaction/{sealed.scene.store}/{sealed.first.version_id}"
    assert told.startswith(f"proven: version {sealed.first.version_id}, acknowledged in period 1 of {HOME}, ")
    assert f"erased by order {order} of api_key:" in told
    assert "first" not in json.dumps(proof)
    assert "/a" not in proof["version"]["name"]


def test_an_order_for_another_version_or_with_another_author_proves_no_erasure(sealed: Sealed) -> None:
    sealed.scene.update(sealed.first, "third")
    for version in (sealed.first, sealed.second):
        sealed.scene.redact(version.version_id)
    sealed.seal()
    one, other = (sealed.proof(version.version_id).body for version in (sealed.first, sealed.second))
    with pytest.raises(NotProvenError, match="one to erase another version"):
        check({**one, "order": other["order"]}, sealed.keys, None)
    forged = {**one["order"], "body": one["order"]["body"].replace("api_key:", "session:")}
    with pytest.raises(NotProvenError, match="the order is not what was sealed"):
        check({**one, "order": forged}, sealed.keys, None)


def test_a_proof_of_a_withheld_version_has_no_text_and_none_of_what_was_found_in_it(sealed: Sealed) -> None:
    sealed.scene.judge(sealed.second, VerdictOutcome.WITHHOLD)
    sealed.seal()
    proof = sealed.proof(sealed.second.version_id)
    assert proof.status == 200
    shown = json.dumps(proof.body)
    assert not any(text in shown for text in ("second", "deep-rule", "what stands there"))


def test_another_workspace_a_stranger_and_an_unknown_version_get_no_proof(sealed: Sealed) -> None:
    version = sealed.first.version_id
    assert sealed.proof(version, key=sealed.scene.cloud.key("admin", "wrkspc_other")).status == 404
    assert sealed.proof(version, key="sk-memolith-no-such-key-at-all").status == 401
    assert sealed.proof("memver_01m80gqgrfyn8361t51thggc0z").status == 404
    assert sealed.proof("memver_x").status == 404


def test_what_was_changed_in_the_bucket_is_damaged_and_not_proven(sealed: Sealed) -> None:
    objects = sealed.scene.cloud.sites[HOME].region.objects
    keys = [key for key in objects.list(f"{HOME}/log/").keys if objects.head(key).metadata["op"] == "modified"]
    stored = objects.get(keys[0])
    changed = {**stored.metadata, "tr": "u"}
    MemoryErasableObjects(sealed.scene.cloud.buckets, HOME).erase(keys[0], stored.body, changed)
    sealed.scene.drop_events()
    reply: Any = sealed.proof(sealed.second.version_id)
    assert reply.status == 503
    assert "not what was sealed" in reply.error["message"]


def test_the_search_for_an_imported_version_ends_and_says_what_searches_on(sealed: Sealed) -> None:
    for _ in range(SEARCHED_MAX):
        sealed.seal()
    told = ImportedVersion(
        "mem_01m80gqgrfyn8361t51thggc0e",
        "memver_01m80gqgrfyn8361t51thggc1e",
        "created",
        "user:user_1",
        sealed.first.created_at,
        "/told",
        "told",
    )
    sealed.scene.at(HOME).imports.import_versions(sealed.scene.call(), sealed.scene.store, [told])
    sealed.seal()
    reply = sealed.proof(told.version_id)
    assert (reply.status, "memolith audit prove searches all" in reply.error["message"]) == (404, True)
    region = sealed.scene.cloud.sites[HOME].region
    whole = make_proofs(region, sealed.scene.cloud.sealing_of(HOME)).of_version(sealed.scene.store, told.version_id)
    assert check(whole, sealed.keys, b"told").startswith(f"proven: version {told.version_id}")


@pytest.mark.parametrize("region", [HOME, AWAY])
def test_a_minute_without_the_key_costs_no_version_its_proof_once_the_next_checkpoint_is_signed(
    sealed: Sealed, region: str
) -> None:
    with sealed.no_key():
        third = sealed.scene.update(sealed.first, "third")
        sealed.seal()
        reply = sealed.proof(third.version_id, region)
        assert (reply.status, "not sealed yet; try again in a minute" in reply.error["message"]) == (404, True)
    sealed.seal()
    proof = sealed.proof(third.version_id, region).body
    assert (proof["memolith_proof"], len(proof["chain"])) == (2, 1)
    assert check(proof, sealed.keys, b"third").startswith(f"proven: version {third.version_id}, ")
    assert sealed.proof(sealed.second.version_id, region).body["memolith_proof"] == 1


def test_an_hour_without_the_key_is_covered_by_the_first_signature_after_it(
    sealed: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    with sealed.no_key():
        for number in range(4):
            written.append((sealed.scene.update(sealed.first, f"n{number}").version_id, f"n{number}".encode()))
            sealed.seal()
        sealed.seal()
    sealed.seal()
    for links, (version_id, text) in zip((5, 4, 3, 2), written, strict=True):
        proof = sealed.proof(version_id).body
        assert len(proof["chain"]) == links
        assert check(proof, sealed.keys, text).startswith(f"proven: version {version_id}, ")
    monkeypatch.setattr(proofs, "CHAIN_MAX", 4)
    assert sealed.proof(written[1][0]).status == 200
    reply = sealed.proof(written[0][0])
    assert (reply.status, "memolith audit prove reads on" in reply.error["message"]) == (404, True)
    region = sealed.scene.cloud.sites[HOME].region
    whole = make_proofs(region, sealed.scene.cloud.sealing_of(HOME)).of_version(sealed.scene.store, written[0][0])
    assert check(whole, sealed.keys, b"n0").startswith(f"proven: version {written[0][0]}")


def test_a_chain_of_which_a_statement_is_left_out_or_changed_proves_nothing(sealed: Sealed) -> None:
    with sealed.no_key():
        third = sealed.scene.update(sealed.first, "third")
        sealed.seal()
        sealed.scene.update(sealed.first, "fourth")
        sealed.seal()
    sealed.seal()
    proof = sealed.proof(third.version_id).body
    first, second = proof["chain"]
    for chain in ([second], [second, first], [first.replace('"count":1', '"count":2'), second]):
        with pytest.raises(NotProvenError, match="does not state the one before"):
            check({**proof, "chain": chain}, sealed.keys, None)
    for chain in ([first], []):
        with pytest.raises(NotProvenError, match="the signature does not hold"):
            check({**proof, "chain": chain}, sealed.keys, None)
    forged = proof["statement"].replace('"count":1', '"count":2')
    with pytest.raises(NotProvenError, match="does not state the one before"):
        check({**proof, "statement": forged}, sealed.keys, None)
    with pytest.raises(NotProvenError, match="a format that this script does not know"):
        check({**proof, "memolith_proof": 3}, sealed.keys, None)


def test_a_proof_with_a_chain_tells_nothing_of_what_others_wrote_in_those_minutes(sealed: Sealed) -> None:
    with sealed.no_key():
        third = sealed.scene.update(sealed.first, "third")
        other = sealed.scene.create("/other", "other")
        sealed.seal()
    sealed.seal()
    proof = sealed.proof(third.version_id).body
    assert other.version_id not in json.dumps(proof)
    assert sealed.proof(other.version_id).body["statement"] == proof["statement"]


def test_an_erasure_is_proven_whose_order_was_sealed_in_a_minute_without_the_key(sealed: Sealed) -> None:
    with sealed.no_key():
        sealed.scene.redact(sealed.first.version_id)
        sealed.seal()
        assert sealed.proof(sealed.first.version_id).status == 404
    sealed.seal()
    proof = sealed.proof(sealed.first.version_id).body
    assert (proof["memolith_proof"], "chain" in proof["version"], len(proof["order"]["chain"])) == (2, False, 1)
    assert "and erased by order" in check(proof, sealed.keys, None)


def test_an_unsigned_checkpoint_that_an_earlier_release_wrote_after_covers_no_proof(
    sealed: Sealed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(Checkpoint, "needs_cover", False)
        with sealed.no_key():
            third = sealed.scene.update(sealed.first, "third")
            sealed.seal()
        sealed.scene.update(sealed.first, "fourth")
        sealed.seal()
    reply = sealed.proof(third.version_id)
    assert (reply.status, "does not state it" in reply.error["message"]) == (404, True)


def test_the_audit_objects_where_a_checkpoint_states_another_than_the_one_before_it(sealed: Sealed) -> None:
    with sealed.no_key():
        sealed.scene.update(sealed.first, "third")
        sealed.seal()
    sealed.seal()
    region, sealing = sealed.scene.cloud.sites[HOME].region, sealed.scene.cloud.sealing_of(HOME)
    audit = make_audit(region, sealing)
    assert audit.run(HOME).is_intact
    key = region.objects.list(f"{HOME}/checkpoint/").keys[-1]
    last = Checkpoint.from_json(region.objects.get(key).body)
    assert last.previous_statement is not None
    other = replace(last, previous_statement="0" * 64)
    signed = replace(other, seal=sealing.sign(other.statement))
    MemoryErasableObjects(sealed.scene.cloud.buckets, HOME).erase(key, signed.to_json(), {})
    (finding,) = [one for one in audit.run(HOME).findings if one.flaw is Flaw.CHECKPOINT_ALTERED]
    assert "the statement of the checkpoint before it" in finding.detail
