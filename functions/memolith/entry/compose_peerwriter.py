"""The peerwriter: what is done at a store's home for other regions' writers, for the indexer and for reconcilers.

It takes no HTTP request: who calls vouches for who is behind the call, so that only those may invoke it.
"""

from __future__ import annotations

from memolith.app.api.service import Memolith
from memolith.entry.dispatching import calls_alone
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.scanner_loader import start_scanner
from memolith.entry.settings import Settings
from memolith.wire.rpc import peerwriter_calls


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    running.clients.s3(running.region.name, attempts=1)
    return running.handler(calls_alone(peerwriter_calls(Memolith(running.region, start_scanner(running)))))
