"""What the tests of dreams begin with."""

from __future__ import annotations

import pytest

from tests.api.dreams.stage import Stage


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.fill()
    return stage
