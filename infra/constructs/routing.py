"""One name for all regions: Route 53 answers it with the nearest region whose health check passes.

Every region has a certificate of its own for the name, since an API's own domain is regional; a latency record that
points at it; and a health check that asks the region's API at the address that no record can move. Where no region
passes, Route 53 answers as if all did. Source: Amazon Route 53 Developer Guide, "Latency-based routing" and "How
Amazon Route 53 chooses records when health checking is configured".
"""

from __future__ import annotations

from aws_cdk import Fn
from aws_cdk import aws_apigatewayv2 as api
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_route53 as route53
from constructs import Construct

from infra.constructs.api import RegionApi
from infra.deployment import Routing

HEALTH_PATH = "/healthz"
INTERVAL_S = 30
FAILURES = 3


class RegionRouting(Construct):
    """A region's share in the name: its certificate, its domain, its health check and its record.

    The certificate is validated through the zone, so that the deployment waits for it, some minutes the first time.
    """

    def __init__(self, scope: Construct, routing: Routing, region: str, *, api: RegionApi) -> None:
        """Point the name at `api` in `region`."""
        super().__init__(scope, "Routing")
        domain = self._domain(routing, api)
        check = route53.CfnHealthCheck(
            self,
            "Health",
            health_check_config=route53.CfnHealthCheck.HealthCheckConfigProperty(
                type="HTTPS",
                fully_qualified_domain_name=Fn.select(2, Fn.split("/", api.url)),
                port=443,
                resource_path=HEALTH_PATH,
                enable_sni=True,
                request_interval=INTERVAL_S,
                failure_threshold=FAILURES,
            ),
        )
        route53.CfnRecordSet(
            self,
            "Record",
            hosted_zone_id=routing.zone_id,
            name=routing.domain,
            type="A",
            region=region,
            set_identifier=region,
            health_check_id=check.attr_health_check_id,
            alias_target=route53.CfnRecordSet.AliasTargetProperty(
                dns_name=domain.regional_domain_name,
                hosted_zone_id=domain.regional_hosted_zone_id,
                evaluate_target_health=False,
            ),
        )

    def _domain(self, routing: Routing, region_api: RegionApi) -> api.DomainName:
        zone = route53.HostedZone.from_hosted_zone_attributes(
            self, "Zone", hosted_zone_id=routing.zone_id, zone_name=routing.zone_name
        )
        certificate = acm.Certificate(
            self,
            "Certificate",
            domain_name=routing.domain,
            validation=acm.CertificateValidation.from_dns(zone),
        )
        domain = api.DomainName(
            self,
            "Domain",
            domain_name=routing.domain,
            certificate=certificate,
            security_policy=api.SecurityPolicy.TLS_1_2,
        )
        api.CfnApiMapping(self, "Mapping", api_id=region_api.id, domain_name=domain.name, stage=region_api.stage.ref)
        return domain
