"""The CDK app: every region's base stack, then every region's mesh stack, that of the first region last.

Run by the CDK command line (``cdk.json``). Asks nothing of AWS, needs no credentials and no Docker; the account, where
the record does not name one, is the one whose credentials the command line uses.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace

from aws_cdk import App, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from infra.deployment import OVERRIDES_KEY, Deployment, merged, parse
from infra.record_checks import CONTEXT_KEY, InvalidDeployment
from infra.stacks.base import BaseStack
from infra.stacks.mesh import MeshStack


def compose(app: App, deployment: Deployment) -> None:
    """Add the deployment's stacks to `app`, mesh stacks last, and of them that of the first region."""
    bases = [BaseStack(app, deployment, region) for region in deployment.regions]
    first, *others = [MeshStack(app, deployment, region) for region in deployment.regions]
    for mesh in (first, *others):
        for base in bases:
            mesh.add_stack_dependency(base, "S3 replicates only to buckets that exist")
    for other in others:
        first.add_stack_dependency(other, "its control rows let callers write, which every region's rules have to copy")
    Tags.of(app).add("memolith:stage", deployment.stage)
    if not deployment.emulated:
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def deployment_of(app: App) -> Deployment:
    """Parse the record in the app's context, with the overrides over it.

    Raises:
        InvalidDeployment: The record or the overrides break a rule.
    """
    record = app.node.try_get_context(CONTEXT_KEY)
    if not isinstance(record, dict):
        raise InvalidDeployment("", record, "must be an object")
    deployment = parse(merged(record, _overrides(app.node.try_get_context(OVERRIDES_KEY))))
    account = deployment.account or os.environ.get("CDK_DEFAULT_ACCOUNT")
    return replace(deployment, account=account)


def _overrides(given: object) -> dict[str, object]:
    try:
        overrides = json.loads(given) if isinstance(given, str) else given or {}
    except json.JSONDecodeError:
        overrides = None
    if not isinstance(overrides, dict):
        raise InvalidDeployment(OVERRIDES_KEY, given, "must be a JSON object")
    return overrides


def main() -> None:
    """Synthesise."""
    app = App()
    try:
        compose(app, deployment_of(app))
    except InvalidDeployment as error:
        raise SystemExit(str(error)) from None
    app.synth()


if __name__ == "__main__":
    main()
