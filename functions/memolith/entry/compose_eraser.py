"""The eraser: blanks what is to be erased, and looks whether it is, in its own region."""

from __future__ import annotations

from memolith.adapters.aws.erasing import S3ErasableObjects
from memolith.adapters.layered.translated import translated_erasable
from memolith.adapters.sqlite import SqlitePacks
from memolith.app.erasure.service import make_erasures
from memolith.entry.dispatching import calls_alone
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.wire.rpc import eraser_calls


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    deployment = settings.deployment
    erasable = translated_erasable(S3ErasableObjects(running.clients, deployment), deployment.region)
    return running.handler(calls_alone(eraser_calls(make_erasures(running.region, erasable, SqlitePacks()))))
