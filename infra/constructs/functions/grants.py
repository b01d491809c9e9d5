"""The vocabulary in which each function's row of permissions is written.

A method is one thing that a function may do; the functions' files compose them and nothing else adds to a role. Every
resource is named by what the record derives, in this account; a wildcard stands only where the name has a part that
cannot be known: an index generation, or the objects of a bucket.
"""

from __future__ import annotations

from collections.abc import Iterable

from aws_cdk import aws_iam as iam

from infra.deployment import Deployment, partition_of
from infra.dreaming import profile_model
from memolith.core.objects.dream_step import PREFIX as STEPS
from memolith.core.objects.search_pack import PREFIX as PACKS
from memolith.core.tables import TABLES

READ = ("BatchGetItem", "GetItem", "Query")
WRITE = ("ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem")
"""A transaction is authorised by what stands in it. Source: DynamoDB Developer Guide, "IAM with transactions"."""


class Grants:
    """What a function of one region may do."""

    def __init__(self, deployment: Deployment, region: str) -> None:
        """Make grants for a function in `region`."""
        self._deployment = deployment
        self._region = region

    def read_index(self) -> iam.PolicyStatement:
        """Read the index in every generation, and the journal."""
        return self._allow("ReadIndex", [f"dynamodb:{verb}" for verb in READ], self._index_tables(with_indexes=True))

    def write_index(self, *tables: str) -> iam.PolicyStatement:
        """Write the index in every generation, and the journal; each write may be a part of a transaction.

        Args:
            *tables: Of them, these alone; none named, all.
        """
        return self._allow("WriteIndex", [f"dynamodb:{verb}" for verb in WRITE], self._index_tables(tables))

    def read_control(self) -> iam.PolicyStatement:
        """Read which generation serves."""
        return self._allow("ReadControl", [f"dynamodb:{verb}" for verb in READ], [self._table("control")])

    def write_control(self) -> iam.PolicyStatement:
        """Switch the generation that serves."""
        return self._allow("WriteControl", [f"dynamodb:{verb}" for verb in WRITE], [self._table("control")])

    def note_rebuilt_batches(self) -> iam.PolicyStatement:
        """Note in the control table which batches of a rebuild are done, and nothing else there."""
        return iam.PolicyStatement(
            sid="NoteRebuiltBatches",
            actions=["dynamodb:PutItem"],
            resources=[self._table("control")],
            conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["rebuild#*"]}},
        )

    def note_erasures(self) -> iam.PolicyStatement:
        """Note in the control table how far erasures are, and nothing else there."""
        return iam.PolicyStatement(
            sid="NoteErasures",
            actions=[f"dynamodb:{verb}" for verb in WRITE],
            resources=[self._table("control")],
            conditions={"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["erasure#*"]}},
        )

    def erase_rows(self) -> iam.PolicyStatement:
        """Take rows of `paths` away, and the text out of those of `memories` and `versions`; make none."""
        tables = [self._table(f"{name}-g*") for name in ("memories", "paths", "versions")]
        return self._allow("EraseRows", [f"dynamodb:{verb}" for verb in ("DeleteItem", "UpdateItem")], tables)

    def read_objects(self) -> list[iam.PolicyStatement]:
        """Read and list the buckets of all regions; without the list, a missing key answers 403, not 404."""
        buckets = [self._bucket(region) for region in self._deployment.regions]
        return [
            self._allow("ReadObjects", ["s3:GetObject"], [f"{bucket}/*" for bucket in buckets]),
            self._allow("ListObjects", ["s3:ListBucket"], buckets),
        ]

    def read_copies(self) -> list[iam.PolicyStatement]:
        """Read and list the other regions' buckets, for a whole copy of what is damaged here."""
        buckets = [self._bucket(peer) for peer in self._deployment.peers(self._region)]
        if not buckets:
            return []
        return [
            self._allow("ReadCopies", ["s3:GetObject"], [f"{bucket}/*" for bucket in buckets]),
            self._allow("ListCopies", ["s3:ListBucket"], buckets),
        ]

    def put_own_objects(self, kinds: Iterable[str]) -> iam.PolicyStatement:
        """Put objects of these kinds under the region's own prefix of its own bucket."""
        own = f"{self._bucket(self._region)}/{self._region}"
        return self._allow("PutObjects", ["s3:PutObject"], [f"{own}/{kind}/*" for kind in kinds])

    def put_beyond(self, kinds: Iterable[str]) -> list[iam.PolicyStatement]:
        """Put copies of this region's objects of these kinds into the other regions' buckets, whichever home made them.

        There each bucket's policy asks for the condition, and denies the bucket's own region's prefix, which alone is
        replicated onward (`infra.constructs.bucket`).
        """
        peers = self._deployment.peers(self._region)
        resources = [f"{self._bucket(peer)}/*/{kind}/*" for peer in peers for kind in kinds]
        return [self._allow("PutBeyond", ["s3:PutObject"], resources)] if resources else []

    def put_dream_steps(self) -> iam.PolicyStatement:
        """Put what dreams keep while they are under way, under the prefix that is replicated nowhere."""
        return self._allow("PutDreamSteps", ["s3:PutObject"], [f"{self._bucket(self._region)}/{STEPS}*"])

    def put_packs(self) -> iam.PolicyStatement:
        """Put packs into the region's own bucket, under the prefix that is replicated nowhere."""
        return self._allow("PutPacks", ["s3:PutObject"], [f"{self._bucket(self._region)}/{PACKS}*"])

    def put_copies(self) -> iam.PolicyStatement:
        """Put objects under any prefix of the region's own bucket; the bucket's policy asks for the condition."""
        return self._allow("PutCopies", ["s3:PutObject"], [f"{self._bucket(self._region)}/*"])

    def erase_objects(self) -> list[iam.PolicyStatement]:
        """Read, blank and remove every version of an object of the region's own bucket."""
        bucket = self._bucket(self._region)
        actions = ["s3:DeleteObjectVersion", "s3:GetObject", "s3:GetObjectVersion", "s3:PutObject"]
        return [
            self._allow("EraseObjects", actions, [f"{bucket}/*"]),
            self._allow("ListObjects", ["s3:ListBucket", "s3:ListBucketVersions"], [bucket]),
        ]

    def invoke(self, sid: str, *targets: tuple[str, Iterable[str]]) -> list[iam.PolicyStatement]:
        """Invoke functions by their alias: each target is a name and the regions in which it may be invoked."""
        arns = [
            self._deployment.arn("lambda", region, f"function:{self._deployment.invoked(name)}")
            for name, regions in targets
            for region in regions
        ]
        return [self._allow(sid, ["lambda:InvokeFunction"], arns)] if arns else []

    def consume(self, *queues: str) -> iam.PolicyStatement:
        """Be woken by these queues. Source: AWS Lambda Developer Guide, "Using Lambda with Amazon SQS"."""
        actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
        return self._allow("ConsumeQueues", actions, [self._queue(queue) for queue in queues])

    def bring_back(self, *queues: str) -> iam.PolicyStatement:
        """Allow a failed message of these queues to come back sooner than the queue's time-out says."""
        return self._allow(
            "BringBackMessages", ["sqs:ChangeMessageVisibility"], [self._queue(queue) for queue in queues]
        )

    def send(self, *queues: str) -> iam.PolicyStatement:
        """Send to these queues."""
        return self._allow("SendToQueues", ["sqs:SendMessage"], [self._queue(queue) for queue in queues])

    def ask_guardrail(self, identifier: str) -> iam.PolicyStatement:
        """Ask one guardrail of the function's own region for its opinion on a text."""
        arn = self._deployment.arn("bedrock", self._region, f"guardrail/{identifier}")
        return self._allow("AskGuardrail", ["bedrock:ApplyGuardrail"], [arn])

    def rerank(self, model_arn: str) -> list[iam.PolicyStatement]:
        """Have one model order texts. Bedrock's Rerank knows no resources; which model is its second right."""
        return [
            self._allow("Rerank", ["bedrock:Rerank"], ["*"]),
            self._allow("AskRerankModel", ["bedrock:InvokeModel"], [model_arn]),
        ]

    def ask_models(self, ids: Iterable[str]) -> iam.PolicyStatement:
        """Ask these models of Bedrock, or inference profiles, which name the regions that they send a question to.

        Source: Amazon Bedrock User Guide, "Prerequisites for inference profiles".
        """
        arns = []
        for own in ids:
            model = profile_model(own)
            if model is None:
                arns.append(self._model(self._region, own))
            else:
                arns.append(self._deployment.arn("bedrock", self._region, f"inference-profile/{own}"))
                arns.append(self._model("*", model))
        return self._allow("AskModels", ["bedrock:CountTokens", "bedrock:InvokeModel"], arns)

    def _model(self, region: str, own: str) -> str:
        return f"arn:{partition_of(self._region)}:bedrock:{region}::foundation-model/{own}"

    def read_models_key(self) -> iam.PolicyStatement:
        """Read the API key of the models' service: a secret that an operator makes."""
        return self._read_secret("ReadModelsKey", "models")

    def read_signing_keys(self) -> iam.PolicyStatement:
        """Read the private keys that sign tokens: who may, can make a token for any session of any workspace."""
        return self._read_secret("ReadSigningKeys", "signing")

    def read_verification_keys(self) -> iam.PolicyStatement:
        """Read the public keys that verify tokens; nothing can be signed with them."""
        return self._read_secret("ReadVerificationKeys", "verification")

    def seal(self) -> iam.PolicyStatement:
        """Sign with the key of the region's own checkpoints."""
        return self._use_seal_keys("SealCheckpoints", "kms:Sign", [self._region])

    def read_seal_keys(self) -> iam.PolicyStatement:
        """Read the public halves of the keys that sign the checkpoints of every region."""
        return self._use_seal_keys("ReadSealKeys", "kms:GetPublicKey", self._deployment.regions)

    def _use_seal_keys(self, sid: str, action: str, regions: Iterable[str]) -> iam.PolicyStatement:
        """Use the key behind the alias: the id of a key cannot be known, and no other key has the alias."""
        statement = self._allow(sid, [action], [self._deployment.arn("kms", region, "key/*") for region in regions])
        statement.add_condition(
            "ForAnyValue:StringEquals", {"kms:ResourceAliases": f"alias/{self._deployment.prefix}-seal"}
        )
        return statement

    def read_targets(self) -> iam.PolicyStatement:
        """Read what gateways' targets may touch: a secret that an operator makes, and without one there are none."""
        return self._read_secret("ReadTargets", "gateway")

    def _read_secret(self, sid: str, name: str) -> iam.PolicyStatement:
        """Read one secret. Six characters of the name are Secrets Manager's own to choose."""
        secret = f"secret:{self._deployment.prefix}-{name}-??????"
        arn = self._deployment.arn("secretsmanager", self._region, secret)
        return self._allow(sid, ["secretsmanager:GetSecretValue"], [arn])

    def _index_tables(self, only: tuple[str, ...] = (), *, with_indexes: bool = False) -> list[str]:
        arns = []
        for table in TABLES:
            if table.name == "control" or (only and table.name not in only):
                continue
            arn = self._table(f"{table.name}-g*" if table.generational else table.name)
            arns.append(arn)
            arns.extend(f"{arn}/index/{index.name}" for index in table.indexes if with_indexes)
        return arns

    def _table(self, name: str) -> str:
        return self._deployment.arn("dynamodb", self._region, f"table/{self._deployment.prefix}-{name}")

    def _queue(self, name: str) -> str:
        return self._deployment.arn("sqs", self._region, f"{self._deployment.prefix}-{name}")

    def _bucket(self, region: str) -> str:
        return self._deployment.arn("s3", "", self._deployment.bucket(region))

    @staticmethod
    def _allow(sid: str, actions: list[str], resources: list[str]) -> iam.PolicyStatement:
        return iam.PolicyStatement(sid=sid, actions=actions, resources=resources)
