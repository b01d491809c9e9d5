"""The app, synthesised once for each record that a test asks about, and read back as CloudFormation would."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.deployment import FUNCTIONS, OPTIONAL_FUNCTIONS, Deployment, parse

ACCOUNT = "111122223333"
HERE = "us-east-1"
THERE = "eu-west-1"
FAR = "ap-southeast-2"
ALWAYS = tuple(name for name in FUNCTIONS if name not in OPTIONAL_FUNCTIONS)
"""The functions that every deployment has."""

ROOT = Path(__file__).resolve().parents[2]


def record(*regions: str, **fields: Any) -> dict[str, Any]:
    """A record as it would stand in cdk.json."""
    return {"stage": "test", "regions": list(regions), "account": ACCOUNT, **fields}


@dataclass(frozen=True, slots=True)
class App:
    """A synthesised app: its record, and the folder that CDK wrote."""

    deployment: Deployment
    folder: Path

    def base(self, region: str) -> Template:
        """The region's base stack."""
        return self._template(f"{self.deployment.prefix}-base-{region}")

    def mesh(self, region: str) -> Template:
        """The region's mesh stack."""
        return self._template(f"{self.deployment.prefix}-mesh-{region}")

    def templates(self) -> Iterator[Template]:
        """Every stack."""
        for region in self.deployment.regions:
            yield self.base(region)
            yield self.mesh(region)

    def dependencies(self, stack: str) -> set[str]:
        """The stacks that are deployed before `stack`."""
        manifest = json.loads((self.folder / "manifest.json").read_text())["artifacts"]
        return {name for name in manifest[stack]["dependencies"] if not name.endswith(".assets")}

    def _template(self, stack: str) -> Template:
        return Template(json.loads((self.folder / f"{stack}.template.json").read_text()))


@dataclass(frozen=True, slots=True)
class Template:
    """One stack's template."""

    body: Mapping[str, Any]

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """The resources of one type, by logical id."""
        return {name: body for name, body in self.body["Resources"].items() if body["Type"] == kind}

    def properties(self, kind: str) -> list[dict[str, Any]]:
        """The properties of every resource of one type, with references to names in the same stack resolved."""
        return [self._resolved(body.get("Properties", {})) for body in self.resources(kind).values()]

    def named(self, kind: str, field: str, name: str) -> dict[str, Any]:
        """The properties of the one resource of that type whose `field` is `name`."""
        (found,) = [properties for properties in self.properties(kind) if properties.get(field) == name]
        return found

    def _resolved(self, value: Any) -> Any:
        """References replaced by names, as far as a test needs them: joined texts, and ARNs of named things."""
        if isinstance(value, list):
            return [self._resolved(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"Fn::Join"}:
            separator, parts = value["Fn::Join"]
            return separator.join(str(self._resolved(part)) for part in parts)
        if set(value) == {"Fn::Select"} and set(value["Fn::Select"][1]) == {"Fn::Split"}:
            number, (separator, whole) = value["Fn::Select"][0], value["Fn::Select"][1]["Fn::Split"]
            parts = str(self._resolved(whole)).split(separator)
            return parts[int(number)] if int(number) < len(parts) else value
        if set(value) == {"Ref"}:
            return self._name(value["Ref"])
        if set(value) == {"Fn::GetAtt"}:
            return self._arn(*value["Fn::GetAtt"])
        return {key: self._resolved(inner) for key, inner in value.items()}

    def _name(self, logical_id: str) -> str:
        resource = self.body["Resources"].get(logical_id, {})
        properties = resource.get("Properties", {})
        if resource.get("Type") == "AWS::Lambda::Alias":
            return f"{self._resolved({'Fn::GetAtt': [properties['FunctionName']['Ref'], 'Arn']})}:{properties['Name']}"
        names = ("BucketName", "TableName", "FunctionName", "QueueName", "RoleName", "TopicName", "LayerName")
        return next((properties[field] for field in names if field in properties), f"<{logical_id}>")

    def _arn(self, logical_id: str, attribute: str) -> str:
        name = self._name(logical_id)
        if attribute == "QueueName":
            return name
        if attribute != "Arn":
            return f"<{logical_id}.{attribute}>"
        kind = self.body["Resources"][logical_id]["Type"]
        return {
            "AWS::S3::Bucket": f"arn:aws:s3:::{name}",
            "AWS::IAM::Role": f"arn:aws:iam::{ACCOUNT}:role/{name}",
            "AWS::SQS::Queue": f"arn:aws:sqs:<region>:{ACCOUNT}:{name}",
            "AWS::Lambda::Function": f"arn:aws:lambda:<region>:{ACCOUNT}:function:{name}",
        }.get(kind, f"<{logical_id}.Arn>")


def synthesize(values: Mapping[str, Any], cache: Path) -> App:
    """Synthesise the record's app as ``infra.app`` does, unless this run has already done so.

    Args:
        values: The record.
        cache: A folder that all processes of this test run share.
    """
    from aws_cdk import App as CdkApp

    from infra.app import compose

    deployment = parse(values)
    key = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
    folder = cache / key
    with (cache / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            context = json.loads((ROOT / "cdk.json").read_text())["context"]
            app = CdkApp(outdir=str(folder), context={k: v for k, v in context.items() if k != "memolith"})
            compose(app, deployment)
            app.synth()
            (folder / "done").touch()
    return App(deployment, folder)


def without_credentials() -> dict[str, str]:
    """An environment with no AWS credentials, in which every way out of this machine is closed."""
    nowhere = "http://127.0.0.1:9"
    closed = {"HTTP_PROXY": nowhere, "HTTPS_PROXY": nowhere, "http_proxy": nowhere, "https_proxy": nowhere}
    no_aws = {"AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_CONFIG_FILE": os.devnull}
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
    return {**kept, **closed, **no_aws, "AWS_EC2_METADATA_DISABLED": "true", "PIP_NO_INDEX": "1"}
