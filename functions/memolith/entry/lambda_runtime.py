"""What every function does around its own work: one region put together at the start, a clean end of each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.logging import Logger

from memolith.adapters.aws.clients import Clients
from memolith.adapters.aws.compose import region_on_aws
from memolith.app.kernel.region import Region
from memolith.entry.settings import Settings
from memolith.entry.telemetry import EmfMetrics, start_logging
from memolith.wire.errors import trace

Event = Mapping[str, Any]
Answer = Callable[[Event, Any], Mapping[str, Any]]
Handler = Callable[[dict[str, Any], Any], Mapping[str, Any]]


class FunctionFailed(Exception):
    """The call ended in an error that no caller is meant to handle.

    It names the error's type alone: what Lambda prints and hands to the caller must not quote content.
    """


@dataclass(frozen=True, slots=True)
class LambdaRuntime:
    """A function that has started: its region over AWS, made once and used by every call."""

    settings: Settings
    clients: Clients
    region: Region
    metrics: EmfMetrics
    logger: Logger

    @classmethod
    def start(cls, settings: Settings) -> LambdaRuntime:
        """Put the ports together. No call is made to AWS.

        It makes the client that every function needs: a start has a whole processor, the first call a share of one.
        """
        logger = start_logging(settings)
        metrics = EmfMetrics(settings.service, settings.deployment.stage, settings.deployment.region, settings.metrics)
        clients = Clients(settings.endpoint_url)
        clients.s3(settings.deployment.region)
        region = region_on_aws(
            clients, settings.deployment, metrics, settings.memories_per_store, settings.erase_delay_days
        )
        return cls(settings, clients, region, metrics, logger)

    def handler(self, answer: Answer) -> Handler:
        """Wrap `answer` for Lambda: metrics go out after every call, and no error's own words leave the function."""

        def handle(event: dict[str, Any], context: Any) -> Mapping[str, Any]:
            self.logger.append_keys(invocation_id=getattr(context, "aws_request_id", None))
            try:
                return answer(event, context)
            except Exception as error:  # noqa: BLE001 the last one to see it: logged without its words, told by its type
                self.logger.error("call failed", extra={"trace": trace(error)})
                raise FunctionFailed(type(error).__qualname__) from None
            finally:
                self.metrics.flush()

        return handle
