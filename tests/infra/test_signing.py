"""The secrets that hold the keys of tokens: made in the first region, with a replica in each other."""

from __future__ import annotations

import json
from typing import Any

import boto3
import jwt
import pytest
from botocore.stub import Stubber

from infra.custom_resources import signing_keys
from memolith.adapters import jwk
from tests.infra.synthesized import FAR, HERE, THERE, App

FAKE = boto3.Session(region_name=HERE, aws_access_key_id="x", aws_secret_access_key="x")
PROPERTIES = {"Private": "private", "Public": "public"}
SEED = b"1" * 32
RANDOM = "what CloudFormation made"


@pytest.mark.parametrize("name", ["signing", "verification"])
def test_the_first_region_makes_a_secret_and_the_others_have_replicas_of_it(three_regions: App, name: str) -> None:
    secret = three_regions.base(HERE).named("AWS::SecretsManager::Secret", "Name", f"memolith-test-{name}")
    assert {replica["Region"] for replica in secret["ReplicaRegions"]} == {THERE, FAR}
    for other in (THERE, FAR):
        assert three_regions.base(other).resources("AWS::SecretsManager::Secret") == {}


def test_the_first_region_makes_the_first_key_with_the_functions_dependencies(three_regions: App) -> None:
    base = three_regions.base(HERE)
    (first,) = base.properties("Custom::MemolithFirstSigningKey")
    assert (first["Private"], first["Public"]) == ("memolith-test-signing", "memolith-test-verification")
    function = base.named("AWS::Lambda::Function", "FunctionName", f"memolith-test-first-signing-key-{HERE}")
    assert len(function["Layers"]) == 1
    assert function["Handler"] == "infra.custom_resources.signing_keys.handler"
    for other in (THERE, FAR):
        assert three_regions.base(other).resources("Custom::MemolithFirstSigningKey") == {}


def applied(request: str, private: str, public: str = RANDOM) -> dict[str, str]:
    """What is put into which secret, in this order, where they hold these texts."""
    put: dict[str, str] = {}

    class Secrets:
        def get_secret_value(self, SecretId: str) -> dict[str, str]:
            return {"SecretString": {"private": private, "public": public}[SecretId]}

        def put_secret_value(self, SecretId: str, SecretString: str) -> None:
            put[SecretId] = SecretString

    signing_keys.apply(Secrets(), lambda: jwk.made(SEED), request, PROPERTIES)
    return put


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_the_first_key_is_put_as_the_functions_read_it_and_verifies_before_it_signs(request_type: str) -> None:
    put = applied(request_type, RANDOM)
    assert list(put) == ["public", "private"]
    private, public = jwk.read_private(put["private"]), jwk.read_public(put["public"])
    assert list(private) == ["k1"]
    assert jwk.public_of(private) == public
    token = jwt.encode({"a": 1}, jwt.PyJWK.from_dict(dict(private["k1"]), "EdDSA"), algorithm="EdDSA")
    assert jwt.decode(token, jwt.PyJWK.from_dict(dict(public["k1"]), "EdDSA"), algorithms=["EdDSA"]) == {"a": 1}


@pytest.mark.parametrize("request_type", ["Create", "Update"])
def test_a_key_that_is_there_stays(request_type: str) -> None:
    assert applied(request_type, jwk.written({"k7": jwk.made(SEED)})) == {}


def test_deleting_the_stack_puts_no_key() -> None:
    assert applied("Delete", RANDOM) == {}


def test_a_key_whose_private_half_was_never_put_is_replaced_under_another_name() -> None:
    orphan = jwk.written(jwk.public_of({"k9": jwk.made(b"2" * 32)}))
    assert list(jwk.read_public(applied("Create", RANDOM, orphan)["public"])) == ["k10"]


def test_a_secret_of_an_earlier_release_is_replaced() -> None:
    assert list(applied("Update", json.dumps({"k1": "1" * 64}))) == ["public", "private"]


def test_a_first_key_is_random_and_a_whole_private_key() -> None:
    one, other = signing_keys.generate(), signing_keys.generate()
    assert one["d"] != other["d"]
    assert set(one) == {"kty", "crv", "x", "d"}


def test_the_custom_resource_makes_calls_in_the_shape_that_aws_takes() -> None:
    secrets = FAKE.client("secretsmanager")
    private = {**jwk.made(SEED), "kid": "k1", "use": "sig", "alg": "EdDSA"}
    halves: list[tuple[str, dict[str, Any]]] = [
        ("public", {name: value for name, value in private.items() if name != "d"}),
        ("private", private),
    ]
    with Stubber(secrets) as stub:
        for name in ("private", "public"):
            stub.add_response("get_secret_value", {"SecretString": RANDOM}, {"SecretId": name})
        for name, key in halves:
            stub.add_response("put_secret_value", {}, {"SecretId": name, "SecretString": json.dumps({"keys": [key]})})
        signing_keys.apply(secrets, lambda: jwk.made(SEED), "Create", PROPERTIES)
        stub.assert_no_pending_responses()
