"""The keys that sign checkpoints, in each adapter: what one signs, everybody who has its public half can check."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from moto import mock_aws

from memolith.adapters.aws import sealing as sealing_on_kms
from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.names import Deployment
from memolith.adapters.aws.sealing import KmsSealing
from memolith.adapters.local import LocalSealing, LocalSealMemory
from memolith.adapters.memory import MemorySealing, MemorySealMemory
from memolith.adapters.signatures import is_signature, key_id
from memolith.core.objects.checkpoint import Seal
from memolith.core.sealing import LastSealed, SealRecord
from memolith.ports.errors import Unavailable
from memolith.ports.sealing import Sealing, SealMemory
from tests.contract.moto_world import DEPLOYMENT, HOME

STATEMENT = b'{"period":1}'


def with_key(clients: Clients, region: str) -> None:
    """What the stack makes."""
    kms = clients.kms(region)
    key = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
    if any(one["AliasName"] == DEPLOYMENT.seal_alias for one in kms.list_aliases()["Aliases"]):
        kms.update_alias(AliasName=DEPLOYMENT.seal_alias, TargetKeyId=key)
    else:
        kms.create_alias(AliasName=DEPLOYMENT.seal_alias, TargetKeyId=key)


@pytest.fixture(params=["memory", "local", "kms"])
def sealing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sealing]:
    if request.param == "memory":
        yield MemorySealing(MemorySealing.keys_of((HOME,)), HOME)
    elif request.param == "local":
        yield LocalSealing(tmp_path / "config")
    else:
        with mock_aws():
            clients = Clients()
            with_key(clients, HOME)
            yield KmsSealing(clients, DEPLOYMENT)


def test_a_signature_holds_for_its_statement_and_for_no_other(sealing: Sealing) -> None:
    seal = sealing.sign(STATEMENT)
    assert sealing.is_signed(HOME, STATEMENT, seal)
    assert not sealing.is_signed(HOME, STATEMENT + b" ", seal)
    assert not sealing.is_signed(HOME, STATEMENT, Seal(seal.key_id, seal.signature[:-4] + "AAAA"))
    assert sealing.is_signed(HOME, STATEMENT, Seal(seal.key_id, "no base64!")) is False


def test_nothing_is_known_of_a_signature_by_a_key_that_is_not_known(sealing: Sealing) -> None:
    assert sealing.is_signed(HOME, STATEMENT, Seal("another-key", sealing.sign(STATEMENT).signature)) is None


def test_the_public_half_is_enough_to_check_and_has_no_private_part(sealing: Sealing) -> None:
    seal = sealing.sign(STATEMENT)
    public = sealing.public(HOME)[seal.key_id]
    assert is_signature(public, STATEMENT, seal.signature)
    assert "d" not in public
    assert key_id(public) == seal.key_id


def test_a_region_without_a_key_is_unavailable_and_says_which_key(tmp_path: Path) -> None:
    with mock_aws(), pytest.raises(Unavailable, match=r"alias/memolith-.*-seal.*NotFoundException"):
        KmsSealing(Clients(), DEPLOYMENT).sign(STATEMENT)


def test_nothing_is_known_of_the_keys_of_a_removed_region_and_they_are_not_asked_for() -> None:
    with mock_aws():
        clients = Clients()
        with_key(clients, HOME)
        seal = KmsSealing(clients, DEPLOYMENT).sign(STATEMENT)
        left = Deployment("test", "123456789012", (HOME,), HOME, former=("sa-east-1",))
        sealing = KmsSealing(clients, left)
        assert sealing.public("sa-east-1") == {}
        assert sealing.is_signed("sa-east-1", STATEMENT, seal) is None


def test_a_key_that_replaced_another_is_asked_for_when_a_signature_names_it() -> None:
    with mock_aws():
        clients = Clients()
        with_key(clients, HOME)
        verifying = KmsSealing(clients, DEPLOYMENT)
        earlier = KmsSealing(clients, DEPLOYMENT).sign(STATEMENT)
        assert verifying.is_signed(HOME, STATEMENT, earlier)
        with_key(clients, HOME)
        assert verifying.is_signed(HOME, STATEMENT, KmsSealing(clients, DEPLOYMENT).sign(STATEMENT))
        assert verifying.is_signed(HOME, STATEMENT, earlier), "a process keeps what it has seen"


def test_a_process_that_outlives_its_key_names_the_new_one_in_what_that_signs() -> None:
    """A wrong name would be a signature that a known key did not make: the other regions stop at such a checkpoint."""
    with mock_aws():
        clients = Clients()
        with_key(clients, HOME)
        signing = KmsSealing(clients, DEPLOYMENT)
        earlier = signing.sign(STATEMENT)
        with_key(clients, HOME)
        seal = signing.sign(STATEMENT)
        assert seal.key_id != earlier.key_id
        assert KmsSealing(clients, DEPLOYMENT).is_signed(HOME, STATEMENT, seal)
        assert signing.is_signed(HOME, STATEMENT, seal)
        assert signing.is_signed(HOME, STATEMENT, earlier), "a process keeps what it has seen"


def test_a_signature_by_a_key_that_the_alias_does_not_show_yet_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """KMS says where an alias points at different times to different calls, for some seconds."""
    with mock_aws():
        clients = Clients()
        with_key(clients, HOME)
        kms, signing = clients.kms(HOME), KmsSealing(clients, DEPLOYMENT)
        before = kms.get_public_key(KeyId=DEPLOYMENT.seal_alias)
        with_key(clients, HOME)
        with monkeypatch.context() as patched, pytest.raises(Unavailable, match="try again"):
            patched.setattr(kms, "get_public_key", lambda **_: before)
            signing.sign(STATEMENT)
        assert signing.is_signed(HOME, STATEMENT, signing.sign(STATEMENT))


def test_a_signature_is_one_call_and_the_key_is_read_once_a_process() -> None:
    with mock_aws():
        clients, called = Clients(), list[str]()
        with_key(clients, HOME)
        clients.kms(HOME).meta.events.register("before-call.kms", lambda model, **_: called.append(model.name))
        signing = KmsSealing(clients, DEPLOYMENT)
        for _ in range(3):
            signing.sign(STATEMENT)
    assert called == ["Sign", "GetPublicKey", "Sign", "Sign"]


def test_a_key_that_the_alias_does_not_show_is_asked_for_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A history that a replaced key signed is long: each of its checkpoints names the key."""
    now_s = [0.0]
    monkeypatch.setattr(sealing_on_kms, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    with mock_aws():
        clients = Clients()
        with_key(clients, HOME)
        earlier = KmsSealing(clients, DEPLOYMENT).sign(STATEMENT)
        with_key(clients, HOME)
        verifying, asked = KmsSealing(clients, DEPLOYMENT), list[float]()
        verifying.public(HOME)
        events = clients.kms(HOME).meta.events
        events.register("before-call.kms.GetPublicKey", lambda **_: asked.append(now_s[0]))
        for now_s[0] in (1_000.0, 1_001.0, 1_059.0, 1_061.0, 1_062.0):
            assert verifying.is_signed(HOME, STATEMENT, earlier) is None
    assert asked == [1_000.0, 1_061.0]


def test_a_key_of_another_kind_verifies_nothing() -> None:
    sealing = MemorySealing(MemorySealing.keys_of((HOME,)), HOME)
    public = dict(sealing.public(HOME)[sealing.sign(STATEMENT).key_id]) | {"crv": "Ed448"}
    assert not is_signature(public, STATEMENT, sealing.sign(STATEMENT).signature)


def test_a_laptops_key_is_readable_by_its_owner_alone_and_stays_the_same(tmp_path: Path) -> None:
    first, again = LocalSealing(tmp_path), LocalSealing(tmp_path)
    seal = first.sign(STATEMENT)
    assert again.is_signed("laptop", STATEMENT, seal)
    assert stat.S_IMODE((tmp_path / "seal.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["no key", "[" * 100_000], ids=["no JSON", "nested too deeply"])
def test_a_broken_key_file_is_named_and_not_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / "seal.json").write_text(text)
    with pytest.raises(Unavailable, match=r"seal\.json.*remove it"):
        LocalSealing(tmp_path).sign(STATEMENT)
    assert (tmp_path / "seal.json").read_text() == text


@pytest.fixture(params=["memory", "local"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> SealMemory:
    return MemorySealMemory() if request.param == "memory" else LocalSealMemory(tmp_path / "config", tmp_path / "root")


def test_the_last_sealed_checkpoint_is_remembered_and_never_an_earlier_one(memory: SealMemory) -> None:
    assert memory.record() is None
    memory.remember(LastSealed(7, "a"))
    memory.remember(LastSealed(3, "b"))
    memory.remember(LastSealed(7, "a"))
    memory.remember(LastSealed(8, "d", "a"))
    memory.remember(LastSealed(12, "e", "x"))
    assert memory.record() == SealRecord(LastSealed(12, "e", "x"))


def test_a_history_that_goes_on_without_the_last_checkpoint_is_remembered_as_lost(memory: SealMemory) -> None:
    memory.remember(LastSealed(7, "a"))
    memory.remember(LastSealed(7, "another"))
    memory.remember(LastSealed(8, "d", "of another"))
    memory.remember(LastSealed(9, "e", "d"))
    assert memory.record() == SealRecord(LastSealed(9, "e", "d"), (LastSealed(7, "a"), LastSealed(7, "another")))


def test_each_folder_has_a_memory_of_its_own(tmp_path: Path) -> None:
    LocalSealMemory(tmp_path, Path("/one")).remember(LastSealed(1, "a"))
    assert LocalSealMemory(tmp_path, Path("/two")).record() is None
    assert LocalSealMemory(tmp_path, Path("/one")).record() == SealRecord(LastSealed(1, "a"))


def test_a_copy_of_a_folder_takes_what_is_remembered_of_it_only_where_the_folder_is_gone(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    LocalSealMemory(tmp_path, tmp_path / "one", lambda: "first").remember(LastSealed(1, "a"))
    copy = LocalSealMemory(tmp_path, tmp_path / "two", lambda: "first")
    assert copy.record() is None
    (tmp_path / "one").rmdir()
    assert copy.record() == SealRecord(LastSealed(1, "a"))
    assert LocalSealMemory(tmp_path, tmp_path / "three", lambda: "another first").record() is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no record", id="no JSON"),
        pytest.param("[" * 100_000, id="nested too deeply"),
        pytest.param('{"last": {"period": "1", "sha256": "a"}, "lost": []}', id="a period that is a text"),
        pytest.param('{"last": {"period": 1e400, "sha256": "a"}, "lost": []}', id="an infinite period"),
        pytest.param('{"last": {"period": 1, "sha256": "a"}, "lost": [{"period": null, "sha256": "b"}]}', id="none"),
    ],
)
def test_a_broken_record_of_the_last_sealed_checkpoint_is_named(tmp_path: Path, text: str) -> None:
    memory = LocalSealMemory(tmp_path, Path("/one"))
    memory.path.parent.mkdir(parents=True)
    memory.path.write_text(text)
    with pytest.raises(Unavailable, match=rf"{memory.path.name}.*remove the file"):
        memory.record()


def test_what_a_newer_release_adds_to_the_record_of_the_last_sealed_checkpoint_is_passed_over(tmp_path: Path) -> None:
    memory = LocalSealMemory(tmp_path, Path("/one"))
    memory.remember(LastSealed(1, "a"))
    memory.path.write_text(memory.path.read_text().replace('"period"', '"newer": 1, "period"'))
    assert memory.record() == SealRecord(LastSealed(1, "a"))
