"""Sixty questions whose answer is two links away: a context has it, a search alone has not."""

from __future__ import annotations

import pytest

from tests.unit.app.api.planted_questions import context_share, planted_store, search_share
from tests.unit.app.searched import Searched


@pytest.fixture(scope="module")
def scene() -> Searched:
    return planted_store()


@pytest.mark.slow
def test_a_context_two_links_deep_has_the_answer_to_ninety_five_in_a_hundred(scene: Searched) -> None:
    assert context_share(scene) >= 0.95


@pytest.mark.slow
def test_a_search_alone_has_the_answer_to_at_most_sixty_in_a_hundred(scene: Searched) -> None:
    assert search_share(scene) <= 0.6
