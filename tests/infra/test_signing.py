"""The secret that signs tokens: one, in the first region, with a replica in each other."""

from __future__ import annotations

from tests.infra.synthesized import FAR, HERE, THERE, App


def test_the_first_region_makes_the_secret_and_the_others_have_replicas_of_it(three_regions: App) -> None:
    secret = three_regions.base(HERE).named("AWS::SecretsManager::Secret", "Name", "memolith-test-signing")
    assert {replica["Region"] for replica in secret["ReplicaRegions"]} == {THERE, FAR}
    made = secret["GenerateSecretString"]
    assert (made["SecretStringTemplate"], made["GenerateStringKey"]) == ("{}", "k1")
    assert made["PasswordLength"] >= 32
    for other in (THERE, FAR):
        assert three_regions.base(other).resources("AWS::SecretsManager::Secret") == {}
