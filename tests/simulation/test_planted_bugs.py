"""Each checker is shown to fire: a defect is planted, and has to be caught, by a checker that is meant for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from pkgutil import iter_modules

import pytest

from tests.simulation import bugs
from tests.simulation.bugs import BUGS, Bug, hunt
from tests.simulation.shrinking import case_of, run, shrink

DOCUMENT = Path(__file__).parents[2] / "docs" / "consistency.md"
ROWS = re.findall(r"^\| ([^|]+) \| (\d+) \| ([^|]+) \|$", DOCUMENT.read_text(), re.MULTILINE)
"""Defect, seed and checkers, as ``make sim BUGS=1`` said at the document's writing."""

SEEDS = 1_000
"""How many worlds a defect may hide in. A change of the product moves the seed at which it is found, not the fact."""


FEW = 20
"""Operations of a world of which shrinking may have nothing to take."""


def worlds(bug: Bug) -> list[int]:
    """All of them; first the one that the document names, which is most likely to give the defect away still."""
    named = [int(seed) for name, seed, _ in ROWS if name == bug.name]
    return [*named, *(seed for seed in range(SEEDS) if seed not in named)]


@pytest.mark.guards
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name.replace(" ", "_"))
def test_a_planted_defect_is_caught(bug: Bug, record_property: Callable[[str, object], None]) -> None:
    caught = hunt(bug, worlds(bug))
    assert caught is not None, f"{bug.name}: none of {bug.caught_by} fired in {SEEDS} worlds"
    seed, checkers = caught
    record_property("planted", bug.name)
    record_property("seed", seed)
    record_property("caught_by", ", ".join(sorted(checkers)))
    failure = run(case_of(seed, bug.options(seed)))
    assert failure is None, f"seed {seed} fails without the defect: {failure}"


def test_the_table_of_planted_defects_in_the_documents_is_this_one() -> None:
    """Every defect, and checkers that are to catch it."""
    assert [name for name, _, _ in ROWS] == [bug.name for bug in BUGS]
    for bug, (_, seed, checkers) in zip(BUGS, ROWS, strict=True):
        assert int(seed) < SEEDS
        assert set(re.findall(r"`(\w+)`", checkers)) <= set(bug.caught_by), bug.name


def test_a_planted_class_overrides_only_methods_that_the_product_has() -> None:
    """A method that the product has renamed would be planted beside it, and change nothing."""
    modules = [import_module(f"{bugs.__name__}.{one.name}") for one in iter_modules(bugs.__path__)]
    planted = [one for module in modules for one in vars(module).values() if _is_planted(one, module.__name__)]
    assert len(planted) > 30
    strange = [f"{one.__name__}.{name}" for one in planted for name in vars(one) if _is_strange(one, name)]
    assert not strange, f"no class of the product has {strange}: name what is planted as the product does"


def _is_planted(value: object, module: str) -> bool:
    return isclass(value) and value.__module__ == module and bool(_originals(value))


def _originals(planted: type) -> list[type]:
    return [base for base in planted.__mro__[1:] if base.__module__.startswith("memolith.")]


def _is_strange(planted: type, name: str) -> bool:
    ours = isfunction(vars(planted)[name]) or isinstance(vars(planted)[name], staticmethod | classmethod | property)
    return ours and not any(hasattr(base, name) for base in _originals(planted))


@pytest.mark.guards
def test_a_failure_shrinks_to_what_it_takes() -> None:
    bug = next(bug for bug in BUGS if bug.name.startswith("rows of the listing are joined"))
    caught = hunt(bug, [seed for seed in worlds(bug) if bug.options(seed).operations > FEW])
    assert caught is not None
    with bug.plant():
        failure = run(case_of(caught[0], bug.options(caught[0])))
        assert failure is not None
        small = shrink(failure, tries=120)
    assert small.checkers & failure.checkers
    assert small.case.operations < failure.case.operations
