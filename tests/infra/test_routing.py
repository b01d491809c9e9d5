"""One name for all regions: off unless a zone is given; then each region's own, and nobody else's."""

from __future__ import annotations

import pytest

from infra.constructs.routing import HEALTH_PATH
from memolith.wire.http import HEALTH
from tests.infra.conftest import DOMAIN, ROUTING
from tests.infra.synthesized import HERE, THERE, App, Template

KINDS = (
    "AWS::Route53::RecordSet",
    "AWS::Route53::HealthCheck",
    "AWS::CertificateManager::Certificate",
    "AWS::ApiGatewayV2::DomainName",
    "AWS::ApiGatewayV2::ApiMapping",
)


@pytest.fixture
def routed(furnished: App) -> App:
    return furnished


def test_without_a_zone_there_is_nothing_of_it(two_regions: App) -> None:
    assert [kind for template in two_regions.templates() for kind in KINDS if template.resources(kind)] == []


@pytest.mark.parametrize("region", [HERE, THERE])
def test_the_name_is_answered_with_the_nearest_region_that_is_well(routed: App, region: str) -> None:
    template = routed.base(region)
    (found,) = template.properties("AWS::Route53::RecordSet")
    assert (found["Name"].rstrip("."), found["Type"], found["HostedZoneId"]) == (DOMAIN, "A", ROUTING["zone_id"])
    assert (found["Region"], found["SetIdentifier"]) == (region, region)
    (check,) = template.resources("AWS::Route53::HealthCheck")
    assert check in str(found["HealthCheckId"])
    (domain,) = template.resources("AWS::ApiGatewayV2::DomainName")
    assert domain in str(found["AliasTarget"]["DNSName"])


def test_health_is_asked_at_the_regions_own_address_over_tls_where_the_api_answers_it(routed: App) -> None:
    (check,) = routed.base(HERE).properties("AWS::Route53::HealthCheck")
    config = check["HealthCheckConfig"]
    assert (config["Type"], config["Port"], config["EnableSNI"]) == ("HTTPS", 443, True)
    assert config["ResourcePath"] == HEALTH_PATH == "/" + "/".join(HEALTH)
    assert "ApiEndpoint" in str(config["FullyQualifiedDomainName"])
    assert DOMAIN not in str(config), "the name itself could be answered by another region"


def test_each_region_has_a_certificate_of_its_own_for_the_name(routed: App) -> None:
    template: Template = routed.base(THERE)
    (certificate,) = template.properties("AWS::CertificateManager::Certificate")
    assert (certificate["DomainName"], certificate["ValidationMethod"]) == (DOMAIN, "DNS")
    assert certificate["DomainValidationOptions"] == [{"DomainName": DOMAIN, "HostedZoneId": ROUTING["zone_id"]}]
    (domain,) = template.properties("AWS::ApiGatewayV2::DomainName")
    (configuration,) = domain["DomainNameConfigurations"]
    assert (configuration["EndpointType"], configuration["SecurityPolicy"]) == ("REGIONAL", "TLS_1_2")


def test_the_name_leads_to_the_whole_api(routed: App) -> None:
    (mapping,) = routed.base(HERE).properties("AWS::ApiGatewayV2::ApiMapping")
    (api,) = routed.base(HERE).resources("AWS::ApiGatewayV2::Api")
    assert mapping["ApiId"] == f"<{api}>"
    assert "ApiMappingKey" not in mapping
