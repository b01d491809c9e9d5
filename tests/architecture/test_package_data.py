"""What is installed is whole: every file of the package that is no module is in the wheel."""

from __future__ import annotations

from pathlib import Path

import pytest
from setuptools import Distribution
from setuptools.command.build_py import build_py
from setuptools.config.pyprojecttoml import apply_configuration

from tests.architecture.source_tree import LIBRARY, ROOT


def test_every_file_of_the_package_that_is_no_module_is_in_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Setuptools itself is asked, which reads pyproject.toml as a build does; nothing is built or written."""
    monkeypatch.chdir(ROOT)
    distribution = apply_configuration(Distribution(), ROOT / "pyproject.toml")
    distribution.include_package_data = False  # else a manifest is written to find what version control has
    build = build_py(distribution)
    build.finalize_options()
    shipped = {Path(source, name) for _, source, _, names in build.data_files for name in names}
    files = {
        path.relative_to(ROOT) for path in LIBRARY.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert len(files) > 5
    missing = sorted(str(path) for path in files - shipped)
    assert not missing, f"add them to package-data in pyproject.toml: {missing}"
