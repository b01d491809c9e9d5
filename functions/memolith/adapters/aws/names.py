"""What everything of a deployment is called. All of it follows from a few facts, so nothing has to be looked up."""

from __future__ import annotations

from dataclasses import dataclass

from memolith.core.tables import BY_NAME

QUEUES = ("index", "rebuild", "scan", "pack")
"""Short names of a region's queues; each has a dead-letter queue."""
DREAM_QUEUE = "dream"
"""The queue of what does dreams; there is one where they are on, with a dead-letter queue too."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One deployment, as seen from one region.

    Attributes:
        stage: ``dev``, ``prod``; part of every name.
        account: the AWS account's twelve digits; bucket names are global and need them.
        regions: every region of the deployment, this one included.
        region: the one that this process runs in.
        index_generation: which generation of tables the stack deployed.
        former: regions that were removed; their names are what keys that they wrote begin with.
        alias: of every function, which names the version that serves; None where functions have no versions.
    """

    stage: str
    account: str
    regions: tuple[str, ...]
    region: str
    index_generation: int = 1
    alias: str | None = None
    former: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.region not in self.regions:
            raise ValueError(f"{self.region} is not one of the deployment's regions")
        if set(self.former) & set(self.regions):
            raise ValueError("a former region is no region of the deployment any more")
        if self.index_generation < 1:
            raise ValueError("index generations count from 1")

    @property
    def prefix(self) -> str:
        """What every name begins with: ``memolith-dev``."""
        return f"memolith-{self.stage}"

    def bucket(self, region: str | None = None) -> str:
        """Return the bucket of a region (default: this one). Raises ValueError for a region outside the deployment."""
        chosen = region or self.region
        if chosen not in self.regions:
            raise ValueError(f"{chosen} is not one of the deployment's regions")
        return f"{self.prefix}-{self.account}-{chosen}"

    def table(self, name: str, generation: int | None = None) -> str:
        """Return the DynamoDB table behind a short name, in the deployed generation or another."""
        return BY_NAME[name].physical_name(self.prefix, generation or self.index_generation)

    @property
    def signing_secret(self) -> str:
        """The secret, of the same name in every region, with the private keys that sign the tokens of sessions."""
        return f"{self.prefix}-signing"

    @property
    def verification_secret(self) -> str:
        """The secret, of the same name in every region, with the public keys that verify the tokens of sessions."""
        return f"{self.prefix}-verification"

    @property
    def seal_alias(self) -> str:
        """The alias, of the same name in every region, of the KMS key that signs the region's checkpoints."""
        return f"alias/{self.prefix}-seal"

    @property
    def models_secret(self) -> str:
        """The secret with the API key of the models' service, in one that has keys; an operator makes it."""
        return f"{self.prefix}-models"

    @property
    def gateway_secret(self) -> str:
        """The secret with what gateways' targets may touch; there is none until an operator sets up a gateway."""
        return f"{self.prefix}-gateway"

    def function(self, name: str) -> str:
        """Return by what name the Lambda function behind a short name is invoked; the same in every region."""
        return f"{self.prefix}-{name}" + (f":{self.alias}" if self.alias else "")

    def queue(self, name: str) -> str:
        """Return the SQS queue behind a short name."""
        return f"{self.prefix}-{name}"

    def dead_letter_queue(self, name: str) -> str:
        """Return the queue that receives what a queue could not get handled."""
        return f"{self.prefix}-{name}-dlq"
