"""What tests of the use cases begin with."""

from __future__ import annotations

import pytest

from tests.unit.app.scene import Scene


@pytest.fixture
def scene() -> Scene:
    return Scene()
