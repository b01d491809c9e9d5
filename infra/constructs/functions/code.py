"""Bundles as CDK sees them: a fingerprint and a command, so that synth builds nothing (see `infra.bundling`).

Where the record asks for a portable assembly, synth builds them all, and they lie in the assembly.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from aws_cdk import FileAssetPackaging, Stack, Stage
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.bundling import ROOT, Bundle
from infra.deployment import Deployment

_NO_OBJECT_VERSION = "Annotation::@aws-cdk/aws-lambda:codeFromBucketObjectVersionNotSpecified"


def code_of(
    scope: Construct, deployment: Deployment, kind: str, name: str | None = None, inside: Sequence[str] = ()
) -> lambda_.Code:
    """Return the bundle of `kind`, with `inside` kinds of layers in it, as a Lambda's or a layer's code.

    Its zip is made on publication, and only if it is new; for a portable assembly it is made now.
    """
    bundle = Bundle(
        kind,
        name or kind,
        deployment.architecture,
        deployment.python_version,
        deployment.bundling == "host",
        ROOT / deployment.functions_path,
        tuple(inside),
    )
    location = Stack.of(scope).synthesizer.add_file_asset(
        source_hash=bundle.fingerprint(),
        display_name=f"bundle of {bundle.name}",
        deploy_time=True,
        **(_built(scope, bundle) if deployment.portable_assembly else {"executable": bundle.command()}),
    )
    published = s3.Bucket.from_bucket_name(scope, f"Published{bundle.kind}{bundle.name}", location.bucket_name)
    acknowledge(published, {_NO_OBJECT_VERSION: "The key is the fingerprint of what stands under it."})
    return lambda_.Code.from_bucket(published, location.object_key)


def _built(scope: Construct, bundle: Bundle) -> dict[str, Any]:
    """Build the bundle into the assembly; return how the asset names it there, without a path of this machine.

    Source: AWS CDK API reference, ``FileAssetSource``: `file_name` is relative to the assembly, `executable` is run.
    """
    stage = cast(Stage, Stage.of(scope))
    name = f"bundle.{bundle.name}-{bundle.fingerprint()[:32]}.zip"
    shutil.copyfile(bundle.build(), Path(stage.outdir) / name)
    return {"file_name": name, "packaging": FileAssetPackaging.FILE}


class Carries(Protocol):
    """What a function carries beside its own code."""

    @property
    def scans(self) -> bool: ...
    @property
    def speaks_mcp(self) -> bool: ...
    @property
    def searches(self) -> bool: ...
    @property
    def asks(self) -> bool: ...


class Layers(Construct):
    """The dependencies of the functions: layers of the stack they stand in, or part of each one's own bundle."""

    def __init__(self, scope: Construct, deployment: Deployment) -> None:
        """Declare the layers, if the deployment has any."""
        super().__init__(scope, "Layers")
        self._deployment = deployment
        dreams = deployment.dreams
        self._model = ["model"] if deployment.has_search_model else []
        self._service = [dreams.service] if dreams is not None and dreams.has_key else []
        kinds = ["dependencies", "scanner", "mcp", *self._model, *self._service]
        self._made = {kind: self._layer(kind) for kind in kinds if deployment.layers}

    def carry(
        self, scope: Construct, kind: str, name: str | None = None, shape: Carries | None = None
    ) -> tuple[lambda_.Code, list[lambda_.ILayerVersion]]:
        """Return a function's code and its layers. A package that is in two of them has one version, by the lock.

        Without a `shape` it carries the dependencies alone.
        """
        carried = ["dependencies"]
        if shape is not None:
            further = [(["scanner"], shape.scans), (["mcp"], shape.speaks_mcp)]
            further += [(self._model, shape.searches), (self._service, shape.asks)]
            carried += [layer for layers, carries in further if carries for layer in layers]
        inside = [] if self._deployment.layers else carried
        made = [self._made[layer] for layer in carried if self._deployment.layers]
        return code_of(scope, self._deployment, kind, name, inside), [*made]

    def _layer(self, kind: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            kind.title(),
            layer_version_name=f"{self._deployment.prefix}-{kind}",
            code=code_of(self, self._deployment, kind),
            compatible_runtimes=[runtime_of(self._deployment)],
            compatible_architectures=[architecture_of(self._deployment)],
        )


def runtime_of(deployment: Deployment) -> lambda_.Runtime:
    """Return the functions' runtime."""
    return lambda_.Runtime(f"python{deployment.python_version}", lambda_.RuntimeFamily.PYTHON)


def architecture_of(deployment: Deployment) -> lambda_.Architecture:
    """Return the functions' processor."""
    return lambda_.Architecture.ARM_64 if deployment.architecture == "arm64" else lambda_.Architecture.X86_64
