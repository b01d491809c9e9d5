"""``memolith keys rotate-signing`` and ``retire-signing``, over Secrets Manager in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters import jwk
from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.signing import SecretsManagerKeys, SigningSecrets
from memolith.adapters.memory import ManualClock
from memolith.app.auth.session_tokens import SessionTokens
from memolith.clients.cli import keys, main
from memolith.clients.cli.deployment_target import Target
from memolith.clients.cli.failures import Exit
from memolith.core.errors import Unauthenticated, Unavailable
from memolith.core.objects.session_record import SessionRecord
from tests.contract.moto_world import DEPLOYMENT, FAR, HOME, locked_moto

RECORD = SessionRecord("wrkspc_x", "sesn_x", None, {}, (), 1, "api_key:apikey_x")
REPLICAS = [{"Region": FAR}]
FIRST = {"k9": jwk.made(b"9" * 32)}


class World:
    """A deployment's secrets, a function that reads them, and somebody at a command line."""

    def __init__(self, clients: Clients, capsys: pytest.CaptureFixture[str]) -> None:
        self.clients, self._capsys = clients, capsys
        self.clock = ManualClock(int(datetime.now(UTC).timestamp() * 1_000_000))
        secrets = clients.secrets(HOME)
        for name, kept in ((DEPLOYMENT.signing_secret, FIRST), (DEPLOYMENT.verification_secret, jwk.public_of(FIRST))):
            secrets.create_secret(Name=name, SecretString=jwk.written(kept), AddReplicaRegions=REPLICAS)  # type: ignore[arg-type]  # boto3 has types of its own

    def tokens(self) -> SessionTokens:
        """As a function has them that starts now."""
        return SessionTokens(SecretsManagerKeys(self.clients, DEPLOYMENT, self.clock), self.clock)

    def signing(self) -> list[str]:
        """The names of the keys in the secret that signs."""
        text = self.clients.secrets(HOME).get_secret_value(SecretId=DEPLOYMENT.signing_secret)["SecretString"]
        return list(jwk.read_private(text))

    def run(self, *words: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main.run(["keys", *words])
        out, err = self._capsys.readouterr()
        return int(ended.value.code or 0), out, err

    def json(self, *words: str) -> Any:
        code, out, err = self.run(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[World]:
    with locked_moto() as clients:
        made = World(clients, capsys)
        target = Target(clients, DEPLOYMENT.stage, DEPLOYMENT.account, (HOME, FAR))
        monkeypatch.setattr(keys, "find_target", lambda _: target)
        monkeypatch.setattr(keys, "SystemClock", lambda: made.clock)
        yield made


def row(name: str, *, signs: bool, accepted: bool = True) -> dict[str, object]:
    return {"key": name, "signs": signs, "accepted": accepted}


def test_a_new_key_signs_and_the_earlier_keys_tokens_stay_true(world: World) -> None:
    earlier, _ = world.tokens().issue(RECORD, 600)
    assert world.json("rotate-signing") == [row("k10", signs=True), row("k9", signs=False)]
    tokens = world.tokens()
    later, _ = tokens.issue(RECORD, 600)
    assert [tokens.verify(token).session_id for token in (earlier, later)] == ["sesn_x", "sesn_x"]


def test_a_function_that_started_before_a_rotation_verifies_the_new_keys_tokens(world: World) -> None:
    running = world.tokens()
    running.verify(running.issue(RECORD, 600)[0])
    world.run("rotate-signing")
    world.clock.advance(11)
    assert running.verify(world.tokens().issue(RECORD, 600)[0]).session_id == "sesn_x"


def test_an_earlier_key_is_dropped_only_after_its_last_token(world: World) -> None:
    world.run("rotate-signing")
    code, out, err = world.run("retire-signing")
    assert (code, out) == (Exit.USAGE, "") and "rotate-signing --now" in err
    world.clock.advance(12 * 3_600 + 700)
    assert world.json("retire-signing") == [row("k10", signs=True)]
    assert world.json("retire-signing") == [row("k10", signs=True)], "and again"


def test_after_a_leak_no_earlier_token_is_accepted_and_the_leaked_key_signs_nothing(world: World) -> None:
    running = world.tokens()
    earlier, _ = running.issue(RECORD, 600)
    assert world.json("rotate-signing", "--now") == [row("k10", signs=True)]
    with pytest.raises(Unauthenticated):
        world.tokens().verify(earlier)
    world.clock.advance(301)
    assert world.tokens().verify(running.issue(RECORD, 600)[0]).session_id == "sesn_x"


@pytest.fixture
def lagging(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replica in `FAR` keeps what it has, whatever is put."""
    replicas: Callable[..., Any] = type(world.clients).secrets
    stale = jwk.written(jwk.public_of(FIRST))

    class Stale:
        def get_secret_value(self, SecretId: str) -> dict[str, str]:
            return {"SecretString": stale}

    monkeypatch.setattr(
        type(world.clients), "secrets", lambda self, region: Stale() if region == FAR else replicas(self, region)
    )


@pytest.mark.usefixtures("lagging")
def test_a_key_signs_nothing_until_every_region_accepts_it(world: World) -> None:
    code, _, err = world.run("rotate-signing")
    assert code == Exit.IN_PART and f"{FAR} does not accept" in err
    assert "Nothing was changed" not in err, "it is accepted in the first region"
    assert world.signing() == ["k9"]


@pytest.mark.usefixtures("lagging")
def test_after_a_leak_the_new_key_signs_though_a_region_does_not_have_it_and_that_region_is_named(
    world: World,
) -> None:
    code, _, err = world.run("rotate-signing", "--now")
    assert code == Exit.IN_PART
    assert f"{FAR} does not accept the new key k10" in err and "earlier tokens are accepted there" in err
    assert "Nothing was changed" not in err
    assert world.signing() == ["k10"]
    tokens = world.tokens()
    assert tokens.verify(tokens.issue(RECORD, 600)[0]).session_id == "sesn_x"


def test_after_a_leak_a_region_that_cannot_be_asked_is_named_with_the_reason(world: World) -> None:
    world.clients.secrets(HOME).remove_regions_from_replication(
        SecretId=DEPLOYMENT.verification_secret, RemoveReplicaRegions=[FAR]
    )
    code, _, err = world.run("rotate-signing", "--now")
    assert code == Exit.IN_PART
    assert f"{FAR} does not accept the new key k10 yet (there is no secret" in err
    assert world.signing() == ["k10"]


def test_a_new_key_that_cannot_sign_after_a_leak_is_not_told_as_if_nothing_was_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise Unavailable("the secret cannot be written")

    with monkeypatch.context() as refusing:
        refusing.setattr(SigningSecrets, "sign_with", refused)
        code, _, err = world.run("rotate-signing", "--now")
    assert code == Exit.IN_PART
    assert "What was done stays" in err and "Nothing was changed" not in err
    assert world.json("rotate-signing", "--now") == [row("k11", signs=True)]


@pytest.mark.parametrize(
    "text",
    ["", "random", "[]", '{"k1": "' + "1" * 64 + '"}', '{"keys": []}', jwk.written(FIRST).replace("Ed25519", "X25519")],
)
def test_a_secret_that_holds_no_keys_is_named_and_never_quoted(world: World, text: str) -> None:
    world.clients.secrets(HOME).put_secret_value(SecretId=DEPLOYMENT.signing_secret, SecretString=text or " ")
    code, _, err = world.run("rotate-signing")
    assert code != 0 and "JWK set" in err
    assert not text or text not in err


def test_a_set_of_public_keys_with_a_private_half_in_it_is_refused(world: World) -> None:
    world.clients.secrets(HOME).put_secret_value(
        SecretId=DEPLOYMENT.verification_secret, SecretString=jwk.written(FIRST)
    )
    code, _, err = world.run("rotate-signing")
    assert code != 0 and "nothing else" in err
    assert FIRST["k9"]["d"] not in err
