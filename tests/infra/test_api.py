"""The HTTP API: which function answers, and what its log may not say."""

from __future__ import annotations

import json

from infra.constructs.api import KEY_PATHS, LOGGED
from memolith.wire.routes.table import KEY_ROUTES
from tests.infra.synthesized import HERE, App

PROXIED = ("/{proxy+}", "/mcp", "/mcp/{memory_store_id}")


def test_keys_go_to_keys_mcp_to_mcp_and_of_all_else_get_to_the_reader_and_the_rest_to_the_writer(
    one_region: App,
) -> None:
    template = one_region.base(HERE)
    names = template.resources("AWS::ApiGatewayV2::Integration")
    targets = {
        f"integrations/<{name}>": one["IntegrationUri"].partition(":function:")[2]
        for name, one in zip(names, template.properties("AWS::ApiGatewayV2::Integration"), strict=True)
    }
    routes = {route["RouteKey"]: targets[route["Target"]] for route in template.properties("AWS::ApiGatewayV2::Route")}
    assert routes == {
        "GET /{proxy+}": "memolith-test-reader:live",
        "POST /{proxy+}": "memolith-test-writer:live",
        "DELETE /{proxy+}": "memolith-test-writer:live",
        "ANY /mcp": "memolith-test-mcp:live",
        "ANY /mcp/{memory_store_id}": "memolith-test-mcp:live",
        "GET /v1/api_keys": "memolith-test-keys:live",
        "POST /v1/api_keys": "memolith-test-keys:live",
        "POST /v1/api_keys/{api_key_id}/revoke": "memolith-test-keys:live",
    }


def test_the_routes_to_keys_are_those_that_the_function_answers() -> None:
    answered = {(method, len(route.path), route.path[:2]) for route in KEY_ROUTES for method in route.methods}
    led = {
        (method, path.count("/"), tuple(path.split("/")[1:3]))
        for path, methods in KEY_PATHS.items()
        for method in methods
    }
    assert led == answered


def test_events_have_the_second_payload_format(one_region: App) -> None:
    integrations = one_region.base(HERE).properties("AWS::ApiGatewayV2::Integration")
    assert {integration["PayloadFormatVersion"] for integration in integrations} == {"2.0"}


def test_only_this_api_may_invoke_and_only_for_its_routes(one_region: App) -> None:
    permissions = one_region.base(HERE).properties("AWS::Lambda::Permission")
    for permission in [one for one in permissions if one["Principal"] != "events.amazonaws.com"]:
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert "ApiHttp" in permission["SourceArn"]
        ends = tuple(KEY_PATHS) if "memolith-test-keys" in permission["FunctionName"] else PROXIED
        assert permission["SourceArn"].endswith(ends), permission["FunctionName"]


def test_the_log_has_neither_path_nor_query_nor_address(one_region: App) -> None:
    (stage,) = one_region.base(HERE).properties("AWS::ApiGatewayV2::Stage")
    assert json.loads(stage["AccessLogSettings"]["Format"]) == LOGGED
    personal = ("path", "query", "sourceip", "useragent", "caller", "user", "authorizer", "domain")
    said = " ".join(LOGGED.values()).lower()
    assert [word for word in personal if word in said] == []


def test_the_rate_is_the_records(one_region: App) -> None:
    (stage,) = one_region.base(HERE).properties("AWS::ApiGatewayV2::Stage")
    assert stage["StageName"] == "$default"
    assert stage["DefaultRouteSettings"]["ThrottlingRateLimit"] == one_region.deployment.limits.requests_per_second
    assert stage["DefaultRouteSettings"]["ThrottlingBurstLimit"] == one_region.deployment.limits.requests_burst
