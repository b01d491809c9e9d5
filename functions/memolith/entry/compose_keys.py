"""The keys function: API keys, for an admin's HTTP requests and for operators' calls. No function may invoke it."""

from __future__ import annotations

from memolith.app.api.service import Memolith
from memolith.app.auth.session_tokens import NO_SIGNING_KEYS
from memolith.app.kernel.results import SessionCredentials
from memolith.app.safety.write_gate import Unscanning
from memolith.core.errors import PermissionDenied
from memolith.entry.dispatching import calls_or_http
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.wire.http import HttpApi
from memolith.wire.routes.table import KEY_ROUTES
from memolith.wire.rpc import keys_calls


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    region = running.region
    running.clients.s3(region.name, attempts=1)
    memolith = Memolith(region, Unscanning(), NO_SIGNING_KEYS)
    api = HttpApi(memolith, region.clock, region.randomness, running.metrics, KEY_ROUTES, refuse_token)
    return running.handler(calls_or_http(api, keys_calls(memolith.api_keys)))


def refuse_token(token: str) -> SessionCredentials:
    """Refuse every session's token, unread: none manages keys, and this function cannot read the keys that verify them.

    Raises:
        PermissionDenied.
    """
    raise PermissionDenied("a session's token manages no keys; use an API key of scope admin")
