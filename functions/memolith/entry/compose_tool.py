"""The memory tool for agent platforms that invoke a function. It asks its own region's reader and writer."""

from __future__ import annotations

from memolith.adapters.aws.targets import SecretsManagerTargets
from memolith.entry.lambda_runtime import Handler, LambdaRuntime
from memolith.entry.settings import Settings
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.ports.peers import Peers
from memolith.ports.targets import Targets
from memolith.wire.memory_tool.forms import Forms
from memolith.wire.memory_tool.invoked import InvokedApi
from memolith.wire.memory_tool.tool import MemoryTool
from memolith.wire.memory_tool.tree import Tree


def compose(settings: Settings) -> Handler:
    """Compose the function, ready to be called."""
    running = LambdaRuntime.start(settings)
    running.clients.functions(settings.deployment.region)
    region = running.region
    targets = SecretsManagerTargets(running.clients, settings.deployment, region.clock)
    return running.handler(forms_on(region.peers, region.name, region.clock, region.randomness, targets).answer)


def forms_on(peers: Peers, region: str, clock: Clock, randomness: Randomness, targets: Targets) -> Forms:
    """Make every form of a call, over the functions of a region."""

    def open_tool(store_id: str, token: str) -> MemoryTool:
        caller = InvokedApi(peers, region, token, clock)
        return MemoryTool(Tree(caller, store_id), clock, randomness)

    return Forms(open_tool, targets)
