"""The scanner's patterns are compiled once for a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from memolith.adapters.local import compiled_scanner


@pytest.mark.slow
@pytest.mark.parametrize("there", [None, b"of another release"])
def test_the_scanners_patterns_are_compiled_where_a_folder_has_none_that_fit_and_only_once(
    scanner_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bytes | None
) -> None:
    """Compiling takes seconds, so what it makes was made before; that it makes it, every run of the tests shows."""
    made: list[Path] = []

    def build(path: Path) -> None:
        made.append(path)
        shutil.copy(scanner_database, path)

    monkeypatch.setattr(compiled_scanner, "build_database", build)
    said: list[str] = []
    if there is not None:
        (tmp_path / "scanner.hsdb").write_bytes(there)
    loaded = [compiled_scanner.load_scanner(tmp_path, lambda: said.append("compiling")) for _ in range(2)]
    assert [scanner.status.prebuilt for scanner in loaded] == [True, True]
    assert len(made) == 1
    assert said == ["compiling"]
    assert [path.name for path in tmp_path.iterdir()] == ["scanner.hsdb"]
