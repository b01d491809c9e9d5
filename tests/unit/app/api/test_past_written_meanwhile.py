"""A reading of the past has a memory also where it is written while the reading runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memolith.app.api.past_search import FormerTexts
from memolith.core.errors import Unavailable
from tests.unit.app.api.test_past_graph import contents, linked, stated
from tests.unit.app.api.test_past_search import past, settle
from tests.unit.app.searched import Searched

TEXT = "# Ada\n\n- [role] writes programs\n- knows [[Babbage]]\n"

READINGS: dict[str, Callable[[Searched, int], object]] = {
    "search": lambda scene, then: list(past(scene, "programs", then)),
    "observations": lambda scene, then: stated(scene, then),
    "context": lambda scene, then: contents(scene, "ada.md", then),
    "graph": lambda scene, then: linked(scene, "Ada", then),
}
FOUND: dict[str, object] = {
    "search": ["/ada.md"],
    "observations": ["writes programs"],
    "context": {"/ada.md": TEXT},
    "graph": {("/ada.md", "knows", None)},
}


def written_meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object], *, times: int) -> list[int]:
    """Change something each time that the former texts were read, so many times; return the readings of them."""
    of = FormerTexts.of
    readings: list[int] = []

    def late(texts: FormerTexts, *given: Any) -> Any:
        found = of(texts, *given)
        readings.append(len(found))
        if len(readings) <= times:
            change()
        return found

    monkeypatch.setattr(FormerTexts, "of", late)
    return readings


@pytest.mark.parametrize("change", ["update", "rename", "delete"])
@pytest.mark.parametrize("reading", READINGS)
def test_a_memory_that_is_written_while_the_past_is_read_is_there_as_it_was(
    monkeypatch: pytest.MonkeyPatch, reading: str, change: str
) -> None:
    scene = Searched()
    ada = scene.create("/ada.md", TEXT)
    then = settle(scene)
    changes: dict[str, Callable[[], object]] = {
        "update": lambda: scene.update(ada, "Nothing."),
        "rename": lambda: scene.update(ada, path="/lovelace.md"),
        "delete": lambda: scene.delete(ada),
    }
    readings = written_meanwhile(monkeypatch, changes[change], times=1)
    assert READINGS[reading](scene, then) == FOUND[reading]
    assert readings == [0, 1]


@pytest.mark.parametrize("reading", ["search", "observations"])
def test_a_past_that_is_written_to_each_time_that_it_is_read_is_refused_with_try_again(
    monkeypatch: pytest.MonkeyPatch, reading: str
) -> None:
    scene = Searched()
    memories = [scene.create(f"/{name}.md", TEXT.replace("Ada", name)) for name in ("ada", "other")]
    then = settle(scene)
    left = iter(memories)
    readings = written_meanwhile(monkeypatch, lambda: scene.update(next(left), "Nothing."), times=2)
    with pytest.raises(Unavailable, match="try again"):
        READINGS[reading](scene, then)
    assert readings == [0, 1]


def test_a_withheld_memory_does_not_make_the_past_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Searched()
    ada = scene.create("/ada.md", TEXT)
    then = settle(scene)
    scene.judge(ada)
    readings = written_meanwhile(monkeypatch, lambda: None, times=0)
    assert stated(scene, then) == []
    assert past(scene, "programs", then) == {}
    assert readings == [0, 0]
