"""Up, status, down."""

from __future__ import annotations

import json
import shutil
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scripts.local_cloud import custom_resources, devfile, emulator, faults, localstack
from scripts.local_cloud.aws import Clients
from scripts.local_cloud.deployment import Cdk, Plan, is_bootstrapped, missing_tools
from scripts.local_cloud.drift.compare import Comparison, compare
from scripts.local_cloud.environment import credentials, ensure_folders
from scripts.local_cloud.layout import PROJECT_ROOT, Layout
from scripts.local_cloud.processes import ProcessFiles

REPLICATOR = "replicator"
FRONT_DOOR = "front-door"
_READY_WITHIN_S = 60.0


class LocalCloudError(Exception):
    """Something that the caller can put right; the message says how."""


@dataclass(frozen=True, slots=True)
class Choices:
    """How a cloud is started. What is chosen at the first ``up`` stays until ``down``.

    Attributes:
        endpoint: of an emulator that runs already; None starts our own.
        enforce_iam: of our own.
        port: of our own; None takes a free one.
    """

    regions: tuple[str, ...]
    stage: str = "dev"
    enforce_iam: bool = False
    endpoint: str | None = None
    port: int | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """What ``up`` has to show: ``dev.json``'s content, and what is not as asked for."""

    dev: Mapping[str, Any]
    comparison: Comparison
    missing_patches: Mapping[str, str]
    seconds: float
    redeployed: bool


class Watcher:
    """Told of the steps of ``up``; two may run at a time, so calls come from two threads. This one does nothing."""

    def begin(self, step: str, what: str) -> None:
        """Note that a step begins; ``what`` says in words what it does."""

    def line(self, step: str, text: str) -> None:
        """Note a line that a command of the step has printed."""

    def end(self, step: str, seconds: float) -> None:
        """Note that a step has succeeded."""


@dataclass(slots=True)
class LocalCloud:
    """The local cloud of one checkout."""

    layout: Layout = field(default_factory=Layout)
    watcher: Watcher = field(default_factory=lambda: Watcher())

    @property
    def processes(self) -> ProcessFiles:
        """The records of everything that was started."""
        return ProcessFiles(self.layout.processes, str(self.layout.home))

    def up(self, choices: Choices) -> Report:
        """Start what does not run, deploy, replicate, write ``dev.json``. On a running cloud: deploy again.

        Raises:
            LocalCloudError: a tool is missing, the running cloud was started with other choices, an emulator that runs
                already was to be started in a certain way, or what was deployed does not answer.
            DeploymentFailed: a CDK command failed. The emulator stays, so that ``up`` can be repeated.
            KeyNotMade: everything is deployed, but the writer made no API key.
            EmulatorFailed: the emulator did not start.
        """
        began = time.monotonic()
        if missing := missing_tools():
            raise LocalCloudError(missing)
        running = self._running(choices)
        missing_patches: Mapping[str, str] = {}
        if running is None:
            if choices.endpoint is not None and (choices.enforce_iam or choices.port is not None):
                raise LocalCloudError(
                    "--port and --enforce-iam are of an emulator that `memolith dev up` starts itself, and --endpoint, "
                    f"AWS_ENDPOINT_URL or LOCALSTACK_HOST names one that runs, {choices.endpoint}: "
                    "leave one or the other out"
                )
            self.down()
            endpoint, missing_patches = self._start(choices)
        else:
            endpoint = running
        services = localstack.services_of(endpoint)
        needs = {} if services is None else localstack.record_for(services)
        plan = Plan(endpoint, choices.stage, choices.regions, dict(choices.overrides), needs)
        clients = Clients(endpoint)
        self._deploy(plan, clients)
        if services is not None:
            with self._step("custom", "what the stacks' custom resources do"):
                custom_resources.carry_out(clients, self.layout.assembly)
        with self._step("replication", "between the regions' buckets"):
            control_url = self._replicate(plan, choices)
        with self._step("compare", "the templates with the live APIs"):
            comparison = compare(clients, self.layout.assembly)
        with self._step("describe", "an API key, and .memolith/dev.json"):
            dev = self._describe(clients, plan, control_url)
            devfile.write(self.layout.dev_file, dev)
        with self._step("answers", "every region's API, reading and writing"):
            check_answers({region: resources["api_url"] for region, resources in dev["regions"].items()})
        return Report(dev, comparison, missing_patches, time.monotonic() - began, running is not None)

    def down(self) -> list[str]:
        """End everything that was started, in reverse order, and remove its state. Returns what had to be ended."""
        first = [REPLICATOR]
        others = [name for name in self.processes.recorded() if name not in {REPLICATOR, emulator.NAME}]
        ended = [name for name in (*first, *others) if self.processes.stop(name, grace_s=2)]
        if emulator.stop(self.layout, self.processes):
            ended.append(emulator.NAME)
        for folder in (
            self.layout.replication,
            self.layout.front_door,
            self.layout.assembly,
            self.layout.temporary,
            self.layout.processes,
        ):
            shutil.rmtree(folder, ignore_errors=True)
        for path in (self.layout.dev_file, self.layout.cloud_file):
            path.unlink(missing_ok=True)
        return ended

    def status(self) -> dict[str, Any] | None:
        """Describe what runs: the choices, the processes, ``dev.json`` and the replicator's status; None if nothing."""
        started = devfile.read(self.layout.cloud_file)
        if started is None:
            return None
        dev = devfile.read(self.layout.dev_file)
        return {
            **started,
            "answers": emulator.answers(started["endpoint"]),
            "processes": {name: self._process(name) for name in self.processes.recorded()},
            "dev": dev,
            "replication": None if dev is None else self._ask_replicator(dev),
        }

    def _process(self, name: str) -> dict[str, Any]:
        """Return its id, None if it has ended, and how many processes it has started that still run."""
        running = self.processes.find(name)
        pid = None if running is None else running.pid
        return {"pid": pid, "children": len([member for member in self.processes.members(name) if member != pid])}

    def replication(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Change the settings of the running replicator; with none, ask for its status.

        Raises:
            LocalCloudError: no replicator runs, or it refuses the settings.
        """
        dev = devfile.read(self.layout.dev_file)
        answer = None if dev is None else self._ask_replicator(dev, settings)
        if answer is None:
            raise LocalCloudError("no replicator runs here: start the local cloud with `memolith dev up`")
        return answer

    def faults(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Have these faults strike the emulator from now on; with none, ask which do. See `scripts.local_cloud.faults`.

        Raises:
            LocalCloudError: nothing runs, it is not our emulator, or it refuses the faults.
        """
        dev = devfile.read(self.layout.dev_file)
        if dev is None:
            raise LocalCloudError("no local cloud runs here: start it with `memolith dev up`")
        apis = {
            region["api_url"].split("/_aws/execute-api/")[-1].split("/")[0]: name
            for name, region in dev["regions"].items()
        }
        body = json.dumps({**wanted, "apis": apis}).encode() if wanted else None
        request = urllib.request.Request(f"{dev['endpoint']}{faults.PATH}", data=body)  # noqa: S310  our own address
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - our own address
                answer: dict[str, Any] = json.load(response)
        except urllib.error.HTTPError as error:
            raise LocalCloudError(f"the emulator takes no such faults: {error.read().decode()[:500]}") from error
        except (OSError, ValueError) as error:
            raise LocalCloudError(f"{dev['endpoint']} takes no faults: {error}") from error
        return answer

    def _running(self, choices: Choices) -> str | None:
        """Return the endpoint of a cloud that runs with these choices; None if none runs."""
        started = devfile.read(self.layout.cloud_file)
        if started is None or not self._alive(started):
            return None
        wanted = _comparable(choices)
        if choices.endpoint is not None:
            wanted["endpoint"] = choices.endpoint.rstrip("/")
        if choices.port is not None:
            wanted["port"] = choices.port
        runs = {**started, "port": urlsplit(started["endpoint"]).port}
        different = [f"{name} {runs[name]!r}, not {value!r}" for name, value in wanted.items() if runs[name] != value]
        if different:
            raise LocalCloudError(
                f"a local cloud runs already, with {'; with '.join(different)}: end it with `memolith dev down` first, "
                "or ask for what runs (AWS_ENDPOINT_URL and LOCALSTACK_HOST name an endpoint, too)"
            )
        endpoint: str = started["endpoint"]
        return endpoint

    def _alive(self, started: Mapping[str, Any]) -> bool:
        ours = started["own_emulator"]
        return emulator.answers(started["endpoint"]) and (not ours or self.processes.find(emulator.NAME) is not None)

    def _start(self, choices: Choices) -> tuple[str, Mapping[str, str]]:
        ensure_folders(self.layout.home, self.layout.logs)
        missing_patches: Mapping[str, str] = {}
        if choices.endpoint is None:
            with self._step("emulator", "MiniStack on 127.0.0.1"):
                own = emulator.start(self.layout, self.processes, port=choices.port, enforce_iam=choices.enforce_iam)
            endpoint, missing_patches = own.endpoint, own.missing_patches
        else:
            endpoint = choices.endpoint.rstrip("/")
            if not emulator.answers(endpoint):
                raise LocalCloudError(f"nothing answers at {endpoint}")
        self._note(**_comparable(choices), endpoint=endpoint, own_emulator=choices.endpoint is None)
        return endpoint, missing_patches

    def _note(self, **facts: Any) -> None:
        """Add to what is written down of the running cloud, for later commands."""
        devfile.write(self.layout.cloud_file, {**(devfile.read(self.layout.cloud_file) or {}), **facts})

    @contextmanager
    def _step(self, name: str, what: str) -> Iterator[None]:
        began = time.monotonic()
        self.watcher.begin(name, what)
        yield
        self.watcher.end(name, time.monotonic() - began)

    def _deploy(self, plan: Plan, clients: Clients) -> None:
        cdk = Cdk(self.layout, self.processes, plan, self.watcher.line)

        def synthesize() -> None:
            with self._step("synth", "the CDK app's templates"):
                cdk.synthesize()

        with ThreadPoolExecutor(max_workers=1) as background:
            synthesis = background.submit(synthesize)
            # The endpoint is asked, and not a file of ours: another emulator may answer there by now.
            if not all(is_bootstrapped(clients, region) for region in plan.regions):
                with self._step("bootstrap", f"cdk bootstrap of {', '.join(plan.regions)}"):
                    cdk.bootstrap()
            synthesis.result()
        with self._step("deploy", "cdk deploy --all"):
            cdk.deploy()

    def _replicate(self, plan: Plan, choices: Choices) -> str:
        """Start the replicator, or change the settings of the one that runs; return its control address.

        It watches the buckets when this returns.
        """
        folder = self.layout.replication
        runs = self.processes.find(REPLICATOR) is not None
        if not runs:
            ensure_folders(folder)
            config = {
                "endpoint": plan.endpoint,
                "buckets": devfile.buckets(plan),
                "settings": dict(choices.settings),
                "remove_hooks": (devfile.read(self.layout.cloud_file) or {}).get("own_emulator") is False,
            }
            devfile.write(folder / "config.json", config)
        content = self._run_apart(REPLICATOR, "scripts.local_cloud.replication", folder, plan)
        if runs and choices.settings and self._ask_replicator({"replication": content}, choices.settings) is None:
            raise LocalCloudError(
                f"the replicator does not answer at {content['control_url']}, and may not have taken its settings: "
                "try again, or start afresh with `memolith dev down` and `memolith dev up`"
            )
        return str(content["control_url"])

    def _open_front_door(self, plan: Plan, clients: Clients) -> str | None:
        """Start what sends requests to the functions' own URLs, if they have any; return where it answers.

        One that runs is ended first: the URLs may be others since.
        """
        urls = devfile.function_urls(clients, plan)
        self.processes.stop(FRONT_DOOR, grace_s=2)
        if not urls:
            return None
        folder = self.layout.front_door
        ensure_folders(folder)
        devfile.write(folder / "config.json", {"endpoint": plan.endpoint, "urls": urls})
        return str(self._run_apart(FRONT_DOOR, "scripts.local_cloud.front_door", folder, plan)["url"])

    def _run_apart(self, name: str, module: str, folder: Path, plan: Plan) -> dict[str, Any]:
        """Start one of our processes with `folder` and wait until it has written ``ready.json`` there; its content."""
        ready = folder / "ready.json"
        log = self.layout.logs / f"{name}.log"
        if self.processes.find(name) is None:
            ready.unlink(missing_ok=True)
            self.processes.start(
                name,
                [sys.executable, "-m", module, str(folder)],
                environment={"PATH": "", "LANG": "C.UTF-8", **credentials(plan.regions[0])},
                cwd=PROJECT_ROOT,
                log=log,
            )
        deadline = time.monotonic() + _READY_WITHIN_S
        while (content := devfile.read(ready)) is None:
            if self.processes.find(name) is None or time.monotonic() > deadline:
                raise LocalCloudError(f"the {name} did not start; see {log}")
            time.sleep(0.05)
        return content

    def _describe(self, clients: Clients, plan: Plan, control_url: str) -> dict[str, Any]:
        """Write the content of ``dev.json``; the API key is made once and stays until ``down``."""
        before = devfile.read(self.layout.dev_file) or {}
        by_path = emulator.is_ministack(plan.endpoint)
        door = self._open_front_door(plan, clients)
        return {
            "endpoint": plan.endpoint,
            "regions": devfile.describe(clients, plan, by_path=by_path, front_door=door),
            "api_key": before.get("api_key") or devfile.make_key(clients, plan),
            "replication": {"control_url": control_url},
        }

    @staticmethod
    def _ask_replicator(dev: Mapping[str, Any], settings: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Ask the replicator; None if it does not run."""
        body = json.dumps(settings).encode() if settings else None
        request = urllib.request.Request(f"{dev['replication']['control_url']}/replication", data=body)  # noqa: S310 - our own address
        try:
            with urllib.request.urlopen(request, timeout=70) as response:  # noqa: S310  an address of our own
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            raise LocalCloudError(json.load(error)["error"]) from error
        except OSError:
            return None


def check_answers(api_urls: Mapping[str, str]) -> None:
    """Call each region's API once for reading and once for writing, without a key; being refused is an answer.

    It starts both functions, so that the first real call does not wait for them.

    Raises:
        LocalCloudError: an API cannot be reached, or a function behind it fails.
    """
    with ThreadPoolExecutor() as pool:
        calls = [
            pool.submit(_call, region, method, f"{url}/v1/memory_stores")
            for region, url in api_urls.items()
            for method in ("GET", "POST")
        ]
        for call in calls:
            call.result()


def _call(region: str, method: str, url: str) -> None:
    body = b"{}" if method == "POST" else None
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310  our own address
    try:
        with urllib.request.urlopen(request, timeout=60):  # noqa: S310 - our own address
            return
    except urllib.error.HTTPError as error:
        if error.code >= 500:
            said = error.read().decode(errors="replace")[:500]
            raise LocalCloudError(f"{method} {url} in {region} is answered {error.code}: {said}") from error
    except OSError as error:
        raise LocalCloudError(f"{method} {url} in {region} is not answered: {error}") from error


def _comparable(choices: Choices) -> dict[str, Any]:
    """Return the choices that cannot change while a cloud runs, as JSON has them."""
    wanted = asdict(choices)
    return {name: json.loads(json.dumps(wanted[name])) for name in ("regions", "stage", "enforce_iam")}
