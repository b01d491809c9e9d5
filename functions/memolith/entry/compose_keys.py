"""The keys function: operators create, list and revoke API keys. No function may invoke it, and no HTTP reaches it."""

from __future__ import annotations

from memolith.app.auth.api_keys import ApiKeys
from memolith.app.auth.key_searches import KeySearches
from memolith.entry.dispatching import calls_alone
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.wire.rpc import keys_calls


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    running.clients.s3(running.region.name, attempts=1)
    return running.handler(calls_alone(keys_calls(ApiKeys(running.region, KeySearches(running.region.clock)))))
