"""What an admin decides while a planned move copies the last of a store: at the next home, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from memolith.adapters.layered import Call
from memolith.core.errors import OutcomeUnknown, Unavailable
from tests.unit.app.failing import diverged
from tests.unit.app.homes.late_versions import THIRD
from tests.unit.app.homes.test_transfer import at_the_cut, move
from tests.unit.app.scene import AWAY, HOME, Scene

T = TypeVar("T")


@pytest.mark.parametrize("landed", [HOME, AWAY])
def test_a_text_is_not_released_once_a_planned_move_has_copied_the_verdicts(landed: str) -> None:
    """The new home would go on withholding it, until the event of the release came there."""
    scene = Scene()
    memory, reader = scene.create("/a", "the text"), scene.cloud.key("read")
    scene.judge(memory)
    scene.deliver()

    def release(at: str) -> object:
        return scene.at(at).quarantine.release(scene.call(), scene.store, memory.version_id, reason="a false alarm")

    def refused() -> None:
        with pytest.raises(Unavailable, match="being moved"):
            release(landed)

    at_the_cut(scene, refused)
    assert scene.read(memory, at=AWAY, key=reader).content is None
    release(AWAY)
    assert scene.read(memory, at=AWAY, key=reader).content == "the text"


@pytest.mark.parametrize("landed", [HOME, AWAY, THIRD])
def test_a_divergent_version_is_not_dismissed_once_a_planned_move_has_copied_the_orders(landed: str) -> None:
    """The new home would go on listing it, until the event of the order came there."""
    scene = Scene(regions=(HOME, AWAY, THIRD))
    _, lost = diverged(scene)

    def dismiss(at: str) -> object:
        return scene.at(at).divergent.dismiss(scene.call(), scene.store, lost.version_id)

    def refused() -> None:
        with pytest.raises(Unavailable, match="being moved"):
            dismiss(landed)

    at_the_cut(scene, refused, to=THIRD)
    dismiss(THIRD)
    assert scene.at(THIRD).divergent.page(scene.call(), scene.store, limit=9, after=None).items == ()


def test_an_order_to_redact_that_stalls_while_the_store_moves_is_not_acknowledged() -> None:
    scene = Scene()
    memory = scene.create("/a", "one")
    scene.update(memory, "two")
    scene.deliver()
    moved = False

    def moving(call: Call, act: Callable[[], T]) -> T:
        nonlocal moved
        if not moved and call.name == "objects.put_if_absent" and "/redaction/" in call.subjects[0]:
            moved = True
            move(scene)
        return act()

    with scene.intercepted_by(moving), pytest.raises(OutcomeUnknown, match="may stand"):
        scene.redact(memory.version_id)
    assert moved
