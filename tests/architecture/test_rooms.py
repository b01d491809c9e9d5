"""Every room of `app` and `clients` has a place in the order of imports, and says what it is for."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.architecture.source_tree import APP, LIBRARY, ROOT, parsed

ROOM_TEXT_LINES_MAX = 20
ROOMS_OF_APP = 16

_READ_FIRST = re.compile(r"Read first: `(\w+)`")


def rooms_of(package: Path) -> list[Path]:
    """Return the package's folders that have modules."""
    return sorted(path.parent for path in package.glob("*/__init__.py"))


def test_app_has_sixteen_rooms_and_no_module_outside_them() -> None:
    assert [path.name for path in APP.glob("*.py")] == ["__init__.py"]
    assert len(rooms_of(APP)) == ROOMS_OF_APP


@pytest.mark.parametrize("package", ["app", "clients"])
def test_one_import_contract_orders_every_room_of_the_package(package: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in contracts if one.get("containers") == [f"memolith.{package}"]]
    ordered = {room.strip() for layer in contract["layers"] for room in layer.split("|")}
    assert contract["type"] == "layers"
    assert contract["exhaustive"] is True
    assert ordered == {room.name for room in rooms_of(LIBRARY / package)}


@pytest.mark.parametrize(
    "room", [*rooms_of(APP), *rooms_of(LIBRARY / "clients")], ids=lambda room: f"{room.parent.name}-{room.name}"
)
def test_a_room_says_what_it_promises_and_which_module_to_read_first(room: Path) -> None:
    text = ast.get_docstring(parsed(room / "__init__.py")) or ""
    assert 1 < len(text.splitlines()) <= ROOM_TEXT_LINES_MAX
    first = _READ_FIRST.search(text)
    assert first is not None, "the room's text has no line «Read first: `module`»"
    assert (room / f"{first[1]}.py").is_file()
