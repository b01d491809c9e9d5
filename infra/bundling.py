"""What is uploaded for the functions: built when it is published, never at synth.

The app declares each bundle by the fingerprint of its sources and by the command that builds it (this file). The CDK
command line runs that command only if the fingerprint is not in the region's asset bucket yet; so synth needs neither
network nor Docker, and an unchanged bundle is neither built nor uploaded again. Zips are kept in ``.bundle/``.

There are these kinds:

``function``          ``functions/<name>/handler.py`` and the library without its clients; a few hundred kilobytes. One
                      that scans also has the scanner's rules, compiled: change a rule, and only this is built anew.
                      They fit the processor and the hyperscan that compiled them, so the fingerprint has both.
``dependencies``      a layer, the extra ``lambda`` of ``pyproject.toml``; every function has it.
``scanner``           a layer, the extra ``scanner``; large, so only the functions that scan have it.
``model``             a layer, the extra ``model``; where searches have a model, for the functions that search.
``anthropic``,
``openai``            a layer, the extra ``sdk`` or ``openai``; where dreams ask that service, for the dreamer.
``custom-resources``  what the mesh stacks run while they deploy; standard library and the runtime's own boto3.

The pins come from ``pyproject.toml``; everything they need comes from ``requirements.lock``, by hash, for the target's
processor and Python whatever this machine is. Layers, because a change of the code then uploads the code alone.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".bundle"
EXTRAS = {"dependencies": "lambda", "mcp": "mcp", "model": "model", "scanner": "scanner"} | {
    "anthropic": "sdk",
    "openai": "openai",
}
KINDS = ("function", *EXTRAS, "custom-resources")
AWS_SERVICES = (
    "bedrock-agent-runtime",
    "bedrock-runtime",
    "dynamodb",
    "kms",
    "lambda",
    "s3",
    "secretsmanager",
    "sqs",
    "sts",
)
"""Whose API descriptions botocore keeps. All of them are 24 MB, of which a function reads one or two."""

SCANNING = ("dreamer", "peerwriter", "scanner", "writer")
"""Functions that scan: their bundle carries the rules, compiled."""
SCANNER_DATABASE = "scanner.hsdb"

_GLIBC_MINORS = range(34, 4, -1)
"""Amazon Linux 2023 has glibc 2.34, and so takes wheels made for it or for any older one."""
_ZIP_TIME = (2020, 1, 1, 0, 0, 0)


_COMPILE_RULES = """
import pathlib, shutil, sys
from memolith.adapters.local.compiled_scanner import keep_database
from memolith.adapters.local.files import locked

kept, target = map(pathlib.Path, sys.argv[1:])
kept.mkdir(parents=True, exist_ok=True)
with locked(kept / "lock"):
    shutil.copyfile(keep_database(kept, lambda: None), target)
"""


class BundleError(Exception):
    """A bundle cannot be built. The message says what is missing and what to do."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """One zip: what kind, of which function, for which processor and Python.

    Attributes:
        kind: One of `KINDS`.
        name: The function's name, for ``function``; otherwise the kind.
        architecture: ``x86_64`` or ``arm64``.
        python_version: For example ``3.13``.
        host: Built for the Python that runs this, whatever the two fields above say.
        functions: The folder of the functions' code.
        inside: Kinds of layers whose packages lie in this bundle itself, for an emulator that has no layers.
    """

    kind: str
    name: str
    architecture: str = "x86_64"
    python_version: str = "3.13"
    host: bool = False
    functions: Path = ROOT / "functions"
    inside: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return 64 hex digits that change whenever the zip would. Reads the sources, builds nothing."""
        digest = hashlib.sha256()
        native = (sys.version, sys.platform, os.uname().machine) if self.host else (self.architecture,)
        # Hyperscan refuses patterns that another version of it compiled, or that were compiled on another processor.
        scanning = (os.uname().machine, version("hyperscan")) if self._scans() else ()
        compiled = self._compiled()
        inside = [self._layer(kind).fingerprint() for kind in self.inside]
        for word in (
            self.kind,
            self.name,
            self.python_version,
            *inside,
            *native,
            *scanning,
            str(compiled),
            Path(__file__).read_text(),
        ):
            digest.update(f"{len(word)}:{word}".encode())
        for path, arcname in self._sources():
            body = path.read_bytes()
            digest.update(f"{arcname}:{len(body)}:".encode() + body)
        return digest.hexdigest()

    def command(self) -> list[str]:
        """Return the command that builds this bundle and prints the path of its zip."""
        words = [self.kind, "--name", self.name, "--architecture", self.architecture]
        words += [
            "--python-version",
            self.python_version,
            "--expect",
            self.fingerprint(),
            "--functions",
            str(self.functions),
            *(["--inside", *self.inside] if self.inside else []),
        ]
        return [sys.executable, str(Path(__file__).resolve()), *words, *(["--host"] if self.host else [])]

    def build(self) -> Path:
        """Build the zip unless it is in ``.bundle/`` already. Atomic: an interrupted build leaves nothing.

        Raises:
            BundleError: A handler is missing, the dependencies cannot be fetched, or the rules would be compiled by
                another hyperscan than the functions have.
        """
        if self._scans():
            _check_hyperscan()
        target = KEPT / f"{self.name}-{self.fingerprint()[:32]}.zip"
        if target.exists():
            return target
        KEPT.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT, prefix=f"{self.name}-") as scratch:
            tree = Path(scratch) / "tree"
            self._fill(tree)
            if self._compiled():
                _compile(tree)
            made = Path(scratch) / "bundle.zip"
            _zip(tree, made)
            made.replace(target)
        return target

    def _fill(self, tree: Path) -> None:
        if self.kind in EXTRAS:
            self._install(tree / "python")
            return
        handler = self.functions / self.name / "handler.py"
        if self.kind == "function" and not handler.is_file():
            raise BundleError(f"{handler} does not exist, so '{self.name}' cannot be deployed.")
        for path, arcname in self._sources():
            place = tree / arcname
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        for kind in self.inside:
            self._unpack(self._layer(kind).build(), tree)
        if self._scans():
            self._prebuild_scanner(tree)

    def _scans(self) -> bool:
        return self.kind == "function" and self.name in SCANNING and (self.functions / "memolith" / "scanner").is_dir()

    def _prebuild_scanner(self, tree: Path) -> None:
        """Compile the scanner's rules for this kind of processor, so that no cold start compiles them.

        Once for all functions: those that are bundled at the same time wait for the first.
        """
        done = subprocess.run(
            [sys.executable, "-c", _COMPILE_RULES, str(KEPT / "scanner"), str(tree / SCANNER_DATABASE)],
            env={**os.environ, "PYTHONPATH": str(self.functions)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BundleError(f"the scanner's rules could not be compiled:\n{done.stderr.strip()}")

    def _sources(self) -> Iterator[tuple[Path, str]]:
        """Yield every file that decides what the bundle holds, with its place in it, in a fixed order."""
        if self.kind in EXTRAS:
            for name in ("pyproject.toml", "requirements.lock"):
                yield ROOT / name, name
        elif self.kind == "custom-resources":
            yield ROOT / "infra" / "__init__.py", "infra/__init__.py"
            yield from _python_files(ROOT / "infra" / "custom_resources", "infra/custom_resources/")
        else:
            yield from _python_files(self.functions / self.name, "")
            yield from _python_files(self.functions / "memolith", "memolith/", without="clients")

    def _layer(self, kind: str) -> Bundle:
        return replace(self, kind=kind, name=kind, inside=())

    @staticmethod
    def _unpack(layer: Path, tree: Path) -> None:
        """Put a layer's packages beside the code, where an import finds them as it would in the layer."""
        with zipfile.ZipFile(layer) as archive, tempfile.TemporaryDirectory(dir=KEPT) as scratch:
            archive.extractall(scratch)
            shutil.copytree(Path(scratch) / "python", tree, dirs_exist_ok=True)

    def _install(self, target: Path) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        pins: list[str] = project["project"]["optional-dependencies"][EXTRAS[self.kind]]
        options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary=:all:"]
        options += ["--constraint", str(ROOT / "requirements.lock"), "--target", str(target), *self._platform()]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", *options, *pins], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise BundleError(f"pip could not fetch the extra '{EXTRAS[self.kind]}':\n{done.stderr.strip()}")
        _prune(target)

    def _platform(self) -> list[str]:
        """Choose the wheels that fit. Source: PEP 600 and PEP 599, platform tags."""
        if self.host:
            return []
        machine = {"x86_64": "x86_64", "arm64": "aarch64"}[self.architecture]
        tags = [f"manylinux_2_{minor}_{machine}" for minor in _GLIBC_MINORS] + [f"manylinux2014_{machine}"]
        return ["--python-version", self.python_version, *(word for tag in tags for word in ("--platform", tag))]

    def _compiled(self) -> bool:
        """Tell whether to include byte code, which makes imports fast: only the target's own Python can make it."""
        return self.host or self.python_version == f"{sys.version_info.major}.{sys.version_info.minor}"


def _check_hyperscan() -> None:
    """Refuse to compile rules by another hyperscan than the layer has: it would refuse what this one compiled."""
    pinned = re.search(r"^hyperscan==(\S+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    installed = version("hyperscan")
    if pinned is None or pinned[1] != installed:
        raise BundleError(
            f"hyperscan {installed} is installed here, and requirements.lock pins {pinned and pinned[1]} for the "
            "functions, which would refuse the rules that this one compiles, and compile them at each cold start. "
            "Run `make setup`, then deploy again."
        )


def _python_files(folder: Path, prefix: str, without: str | None = None) -> Iterator[tuple[Path, str]]:
    """Yield the files below a folder, in a fixed order, but for the folder `without` in it, and for compiled code."""
    for at, folders, names in os.walk(folder):
        place, left_out = Path(at), {"__pycache__", without if at == str(folder) else None}
        folders[:] = sorted(name for name in folders if name not in left_out)
        inside = place.relative_to(folder).as_posix()
        for name in sorted(names):
            yield place / name, f"{prefix}{name}" if inside == "." else f"{prefix}{inside}/{name}"


def _prune(packages: Path) -> None:
    """Drop what no function reads: other services' API descriptions, scripts, examples.

    betterleaks is a library of 24 MB; its wheel has the same as a program of 33 MB.
    """
    for data in (packages / "botocore" / "data", packages / "boto3" / "data"):
        for entry in sorted(data.glob("*/")):
            if entry.name not in AWS_SERVICES:
                shutil.rmtree(entry)
    for folder in (packages / "bin", packages / "boto3" / "examples", packages / "betterleaks" / "bin"):
        shutil.rmtree(folder, ignore_errors=True)


def _compile(tree: Path) -> None:
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(tree, quiet=2, invalidation_mode=mode, stripdir=str(tree))


def _zip(tree: Path, target: Path) -> None:
    """Make the same bytes for the same tree: fixed order, times and modes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(tree).as_posix(), _ZIP_TIME)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o755 << 16
                archive.writestr(entry, path.read_bytes())


def main(words: list[str]) -> str:
    """Build one bundle; the answer is the path of its zip.

    Raises:
        BundleError: As `Bundle.build`; or the sources changed since the app declared the bundle.
    """
    parser = argparse.ArgumentParser(description="Builds one bundle and prints the path of its zip.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--name", required=True)
    parser.add_argument("--architecture", default="x86_64")
    parser.add_argument("--python-version", default="3.13")
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--expect", default="")
    parser.add_argument("--functions", type=Path, default=ROOT / "functions")
    parser.add_argument("--inside", nargs="*", choices=tuple(EXTRAS), default=())
    given = parser.parse_args(words)
    target = (given.architecture, given.python_version, given.host)
    bundle = Bundle(given.kind, given.name, *target, given.functions, tuple(given.inside))
    if given.expect and given.expect != bundle.fingerprint():
        raise BundleError(f"The sources of '{given.name}' changed after synth. Deploy again.")
    return str(bundle.build())


if __name__ == "__main__":
    try:
        sys.stdout.write(main(sys.argv[1:]) + "\n")
    except BundleError as error:
        sys.exit(str(error))
