"""Bundles: what goes in, that a change is noticed and nothing else is, and what is said when it cannot be made."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aws_cdk import App, Stack

from infra import bundling
from infra.bundling import ROOT, Bundle, BundleError, main
from infra.constructs.functions.code import Layers
from infra.deployment import parse
from tests.infra.synthesized import HERE, record

OTHER_PYTHON = "3.99"
OF_OPERATORS = {"cloudformation", "route53"}
"""Services that only commands call: all of botocore is installed where those run."""


@pytest.fixture
def functions(tmp_path: Path) -> Path:
    """A folder of functions: one handler, and a library with clients and caches in it."""
    files = {
        "reader/handler.py": "handler = print\n",
        "reader/__pycache__/handler.cpython-311.pyc": "x",
        "memolith/__init__.py": "",
        "memolith/core/ids.py": "ID = 1\n",
        "memolith/scanner/rules/secrets.toml": "a = 1\n",
        "memolith/clients/cli/main.py": "import typer\n",
    }
    for name, text in files.items():
        path = tmp_path / "functions" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "functions"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Zips are kept in a folder of the test's own."""
    monkeypatch.setattr(bundling, "KEPT", tmp_path / "bundles")
    return tmp_path / "bundles"


def reader(functions: Path, **fields: Any) -> Bundle:
    return Bundle("function", "reader", python_version=OTHER_PYTHON, functions=functions, **fields)


def names(archive: Path) -> set[str]:
    with zipfile.ZipFile(archive) as opened:
        return set(opened.namelist())


def test_a_function_is_its_handler_and_the_library_without_its_clients(functions: Path, kept: Path) -> None:
    assert names(reader(functions).build()) == {
        "handler.py",
        "memolith/__init__.py",
        "memolith/core/ids.py",
        "memolith/scanner/rules/secrets.toml",
    }


def test_a_missing_handler_is_named(functions: Path, kept: Path) -> None:
    bundle = Bundle("function", "writer", functions=functions)
    assert bundle.fingerprint()
    with pytest.raises(BundleError, match=r"writer/handler\.py does not exist, so 'writer' cannot be deployed"):
        bundle.build()
    assert list(kept.iterdir()) == []


def test_a_build_that_was_made_is_not_made_again(functions: Path, kept: Path) -> None:
    first = reader(functions).build()
    before = first.stat().st_mtime_ns
    assert reader(functions).build() == first
    assert first.stat().st_mtime_ns == before


def test_the_same_sources_make_the_same_bytes(functions: Path, kept: Path) -> None:
    first = reader(functions).build().read_bytes()
    shutil.rmtree(kept)
    os.utime(functions / "reader" / "handler.py", (0, 0))
    assert reader(functions).build().read_bytes() == first


@pytest.mark.parametrize(
    "changed", ["reader/handler.py", "memolith/core/ids.py", "memolith/scanner/rules/secrets.toml"]
)
def test_a_changed_source_changes_the_fingerprint(functions: Path, changed: str) -> None:
    before = reader(functions).fingerprint()
    (functions / changed).write_text("other = 2\n")
    assert reader(functions).fingerprint() != before


@pytest.mark.parametrize("untouched", ["memolith/clients/cli/main.py", "writer/handler.py", "reader/__pycache__/x.pyc"])
def test_what_is_not_in_it_does_not(functions: Path, untouched: str) -> None:
    before = reader(functions).fingerprint()
    (functions / untouched).parent.mkdir(exist_ok=True)
    (functions / untouched).write_text("other = 2\n")
    assert reader(functions).fingerprint() == before


def test_text_moved_from_one_file_to_the_next_changes_it(functions: Path) -> None:
    (functions / "memolith/core/a.py").write_text("x=1")
    (functions / "memolith/core/b.py").write_text("")
    before = reader(functions).fingerprint()
    (functions / "memolith/core/a.py").write_text("")
    (functions / "memolith/core/b.py").write_text("x=1")
    assert reader(functions).fingerprint() != before


@pytest.mark.parametrize("fields", [{"architecture": "arm64"}, {"host": True}])
def test_another_target_is_another_bundle(functions: Path, fields: dict[str, Any]) -> None:
    assert reader(functions, **fields).fingerprint() != reader(functions).fingerprint()


@pytest.mark.parametrize(("name", "is_another"), [("writer", True), ("reader", False)])
def test_compiled_rules_of_another_processor_or_hyperscan_are_another_bundle(
    functions: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_another: bool
) -> None:
    """Hyperscan refuses them, and the function would compile the rules at each cold start."""
    bundle = Bundle("function", name, functions=functions)
    before = bundle.fingerprint()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "uname", lambda: SimpleNamespace(machine="sparc64"))
        assert (bundle.fingerprint() != before) == is_another
    with monkeypatch.context() as upgraded:
        upgraded.setattr(bundling, "version", lambda package: f"{package} 9")
        assert (bundle.fingerprint() != before) == is_another
    assert bundle.fingerprint() == before


def test_rules_are_not_compiled_by_another_hyperscan_than_the_functions_have(
    functions: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Path] = []
    (functions / "writer").mkdir()
    (functions / "writer" / "handler.py").write_text("handler = print\n")
    monkeypatch.setattr(Bundle, "_prebuild_scanner", lambda self, tree: compiled.append(tree))
    monkeypatch.setattr(bundling, "version", lambda package: "0.7.0")
    with pytest.raises(BundleError, match=r"hyperscan 0\.7\.0 is installed.*requirements\.lock.*make setup"):
        Bundle("function", "writer", functions=functions).build()
    reader(functions).build()
    monkeypatch.setattr(bundling, "version", version)
    Bundle("function", "writer", functions=functions).build()
    assert len(compiled) == 1


def test_byte_code_goes_along_only_if_this_python_is_the_targets(functions: Path, kept: Path) -> None:
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    bundle = Bundle("function", "reader", python_version=own, functions=functions)
    assert any(name.endswith(".pyc") for name in names(bundle.build()))
    assert not any(name.endswith(".pyc") for name in names(reader(functions).build()))


def test_sources_that_changed_after_synth_are_not_deployed(functions: Path, kept: Path) -> None:
    command = reader(functions).command()
    (functions / "reader" / "handler.py").write_text("handler = repr\n")
    with pytest.raises(BundleError, match="changed after synth"):
        main(command[2:])


def test_the_command_prints_the_path_of_the_zip_and_nothing_else(functions: Path) -> None:
    bundle = reader(functions)
    done = subprocess.run(bundle.command(), capture_output=True, text=True, check=True)
    made = Path(done.stdout.strip())
    assert zipfile.is_zipfile(made)
    made.unlink()


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What pip was asked for; instead of it, a small tree appears."""
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        target = Path(command[command.index("--target") + 1])
        for name in (
            "botocore/data/s3/2006-03-01/service-2.json.gz",
            "botocore/data/ec2/2016-11-15/service-2.json.gz",
            "botocore/data/endpoints.json",
            "boto3/data/ec2/2016-11-15/resources-1.json",
            "boto3/examples/cloudfront.rst",
            "bin/jp.py",
            "betterleaks/bin/betterleaks",
            "betterleaks/libbetterleaks.so",
            "pydantic/__init__.py",
        ):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_text("x = 1\n")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_a_layer_holds_the_packages_where_lambda_looks_for_them(kept: Path, installed: list[list[str]]) -> None:
    assert names(Bundle("dependencies", "dependencies", python_version=OTHER_PYTHON).build()) == {
        "python/botocore/data/s3/2006-03-01/service-2.json.gz",
        "python/botocore/data/endpoints.json",
        "python/betterleaks/libbetterleaks.so",
        "python/pydantic/__init__.py",
    }


def test_a_layer_describes_every_service_that_a_function_calls() -> None:
    """Without a description botocore raises UnknownServiceError, and only where the function is deployed."""
    adapters, deployed = bundling.ROOT / "functions/memolith/adapters/aws", bundling.ROOT / "infra/custom_resources"
    code = "".join(path.read_text() for folder in (adapters, deployed) for path in sorted(folder.glob("*.py")))
    called = set(re.findall(r'client\("([a-z0-9-]+)"', code))
    assert called - OF_OPERATORS == set(bundling.AWS_SERVICES)


@pytest.mark.parametrize(("kind", "pin"), [("dependencies", "pydantic=="), ("scanner", "hyperscan==")])
def test_its_pins_are_the_projects_and_its_hashes_the_locks(
    kept: Path, installed: list[list[str]], kind: str, pin: str
) -> None:
    Bundle(kind, kind).build()
    (command,) = installed
    assert [word for word in command if word.startswith(pin)]
    assert command[command.index("--constraint") + 1].endswith("requirements.lock")
    assert "--only-binary=:all:" in command


@pytest.mark.parametrize(("architecture", "machine"), [("x86_64", "x86_64"), ("arm64", "aarch64")])
def test_wheels_are_lambdas_whatever_this_machine_is(
    kept: Path, installed: list[list[str]], architecture: str, machine: str
) -> None:
    Bundle("dependencies", "dependencies", architecture, "3.13").build()
    (command,) = installed
    asked = [command[i + 1] for i, word in enumerate(command) if word == "--platform"]
    assert {f"manylinux_2_34_{machine}", f"manylinux_2_17_{machine}", f"manylinux2014_{machine}"} <= set(asked)
    assert all(tag.endswith(machine) for tag in asked)
    assert command[command.index("--python-version") + 1] == "3.13"


def test_for_the_local_cloud_they_are_this_machines(kept: Path, installed: list[list[str]]) -> None:
    Bundle("dependencies", "dependencies", host=True).build()
    (command,) = installed
    assert command[0] == sys.executable
    assert "--platform" not in command
    assert "--python-version" not in command


def test_pips_own_words_are_passed_on(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(BundleError, match=r"extra 'lambda'.*\n.*DO NOT MATCH THE HASHES"):
        Bundle("dependencies", "dependencies").build()


def test_every_service_that_the_adapters_call_is_kept() -> None:
    adapters = bundling.ROOT / "functions" / "memolith"
    called = {
        service
        for path in adapters.rglob("*.py")
        if "clients" not in path.relative_to(adapters).parts
        for service in re.findall(r"""\bclient\(\s*["']([a-z0-9-]+)["']""", path.read_text())
    }
    assert called <= set(bundling.AWS_SERVICES)


def test_a_portable_assembly_has_its_bundles_in_it_and_no_path_of_this_machine(
    tmp_path: Path, functions: Path, kept: Path, installed: list[list[str]]
) -> None:
    deployment = parse(record(HERE, functions_path=str(functions), portable_assembly=True))
    app = App(outdir=str(tmp_path / "out"))
    layers = Layers(Stack(app, "moved"), deployment)
    layers.carry(layers, "function", "reader")
    app.synth()
    moved = (tmp_path / "out").rename(tmp_path / "elsewhere")
    for written in moved.glob("*.json"):
        assert str(ROOT) not in written.read_text() and str(tmp_path) not in written.read_text()
    files = json.loads((moved / "moved.assets.json").read_text())["files"].values()
    bundles = {one["source"]["path"].split("-")[0]: one["source"] for one in files}
    assert {"bundle.reader", "bundle.dependencies", "bundle.scanner", "bundle.mcp"} < set(bundles)
    assert all(one["packaging"] == "file" and (moved / one["path"]).is_file() for one in bundles.values())
    assert "handler.py" in names(moved / bundles["bundle.reader"]["path"])
