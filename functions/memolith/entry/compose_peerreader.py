"""The peerreader: what other regions' readers ask of this one, as the home of a store. It reads.

It takes no HTTP request: the asking region vouches for the caller, so that only readers may invoke it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

from memolith.adapters.encoders import encoder_of
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.api.service import Memolith
from memolith.app.auth.session_tokens import NO_SIGNING_KEYS
from memolith.app.safety.write_gate import Unscanning
from memolith.entry.dispatching import calls_alone
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.rerankers import reranker_of
from memolith.entry.settings import Settings
from memolith.wire.rpc import peerreader_calls


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    packs = SqlitePacks(encoder_of(settings.search_model), Path(gettempdir()))
    memolith = Memolith(running.region, Unscanning(), NO_SIGNING_KEYS, packs, reranker=reranker_of(running))
    return running.handler(calls_alone(peerreader_calls(memolith)))
