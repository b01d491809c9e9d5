"""Has each region's stack refuse another first region.

Only what would be lost waits for the answer: the secrets that sign session tokens. CloudFormation deletes what a
template lacks at the end of an update, when this has failed already, and what is new waits for `FirstRegion.checked`.
Other resources may be updated before the answer, for which the order of regions has no meaning; CloudFormation takes
that back. If they waited too, the first deployment of each region would be a minute longer.
"""

from __future__ import annotations

from constructs import Construct

from infra.constructs.once import DeployTimeFunction
from infra.deployment import Deployment


class FirstRegion(Construct):
    """Remembers which region was first when the stack was made."""

    def __init__(self, scope: Construct, deployment: Deployment, region: str) -> None:
        """Compare on each deployment; `checked` is what has to be waited for by what depends on the answer."""
        super().__init__(scope, "FirstRegion")
        compares = DeployTimeFunction(
            self,
            deployment,
            region,
            name="first-region",
            handler="infra.custom_resources.first_region.handler",
            statements=[],
        )
        self.checked = compares.resource(self, "Kept", "Custom::MemolithFirstRegion", {"First": deployment.regions[0]})
