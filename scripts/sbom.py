"""Write what Memolith is made of, and check the licenses (``make sbom``): a CycloneDX bill for Python and one for Node.

Both are made from what is installed here, which has to be what the locks name, and ask no network. Made twice, they are
the same byte for byte: neither a time nor a random number is in them. Whether a version has a known hole is not in
them either: that takes a database (docs/security.md says how to ask one).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOL = ROOT / "tests" / "interop" / "sbom" / ".venv" / "bin" / "cyclonedx-py"
TARGET = ROOT / "build" / "sbom"

ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0"),
        *("PSF-2.0", "Python-2.0", "Unlicense", "Zlib", "ZPL-2.1"),
    }
)
"""Licenses, by SPDX's names, under which a package may be used beside and bundled with one under Apache-2.0."""

CLASSIFIERS = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Zope Public License": "ZPL-2.1",
}
"""What packages say that name no license of SPDX. "OSI Approved" alone names none."""

Component = Mapping[str, Any]


def wrong_licenses(components: Iterable[Component]) -> Iterator[str]:
    """Name each component that no allowed license covers, with what it says of itself.

    Of several statements one is enough; of "A AND B" every part must be allowed, of "A OR B" one.
    """
    for one in components:
        stated = [_stated(license) for license in one.get("licenses", [])]
        if not any(_allowed(CLASSIFIERS.get(name, name)) for name in stated):
            yield f"{one['name']} {one.get('version', '')}: {'; '.join(stated) or 'no license'}"


def _stated(license: Mapping[str, Any]) -> str:
    inner = license.get("license", {})
    return str(license.get("expression") or inner.get("id") or inner.get("name") or "")


def _allowed(expression: str) -> bool:
    """Tell whether every license of an expression is allowed, or one where it only offers a choice."""
    names = re.findall(r"[^\s()]+", expression)
    licenses = [name in ALLOWED for name in names if name not in ("AND", "OR")]
    return bool(licenses) and (all(licenses) or ("AND" not in names and "OR" in names and any(licenses)))


def not_as_locked(components: Iterable[Component], lock: str) -> list[str]:
    """Name what the lock has and the environment has not, or has in another version, and the other way round."""
    found = {f"{_plain(one['name'])}=={one['version']}" for one in components}
    locked = {f"{_plain(name)}=={version}" for name, version in re.findall(r"^([\w.\-]+)==(\S+)", lock, re.MULTILINE)}
    return sorted(f"{name} is locked and not installed" for name in locked - found) + sorted(
        f"{name} is installed and not locked" for name in found - locked
    )


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def python_bill() -> dict[str, Any]:
    """Return the bill of the virtual environment, with the checkout as what it is for."""
    command = [TOOL, "environment", ROOT / ".venv" / "bin" / "python", "--pyproject", ROOT / "pyproject.toml"]
    return without_itself(_made([*command, "--output-reproducible", "--of", "JSON", "-o", "-"]))


def without_itself(bill: dict[str, Any]) -> dict[str, Any]:
    """Return the bill without what it is for among its parts: the checkout may be installed, and is in no lock."""
    own = bill["metadata"]["component"]["name"]
    return {**bill, "components": [one for one in bill["components"] if _plain(one["name"]) != _plain(own)]}


def node_bill() -> dict[str, Any]:
    """Return the bill of the CDK command line, from its lock, without its number and its time."""
    bill = _made(["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"])
    bill.pop("serialNumber", None)
    bill["metadata"].pop("timestamp", None)
    return bill


def _made(command: list[Any]) -> dict[str, Any]:
    made = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    bill: dict[str, Any] = json.loads(made.stdout)
    return bill


def main() -> int:
    """Write both bills into ``build/sbom``. Return the exit code 1 where a license or a version is not as it must."""
    TARGET.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    for name, bill in (("python", python_bill()), ("node", node_bill())):
        path = TARGET / f"{name}.cdx.json"
        path.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")
        components = bill["components"]
        wrong += wrong_licenses(components)
        if name == "python":
            wrong += not_as_locked(components, (ROOT / "requirements.lock").read_text())
        print(f"wrote {path.relative_to(ROOT)}: {len(components)} components")
    for one in wrong:
        print(one, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
