"""Files and functions stay short enough to be read in one go."""

from __future__ import annotations

from tests.architecture.source_tree import PRODUCT, body_lines, functions, python_files, relative

FILE_LINES_MAX = 400
BODY_LINES_MAX = 50

LONGER = {
    "functions/memolith/app/api/memories.py": 430,
    "functions/memolith/app/epochs/epoch_repair.py": 401,
    "functions/memolith/app/index/projector.py": 475,
    "functions/memolith/app/indexer/indexer.py": 455,
    "functions/memolith/clients/working_copy/working_copy.py": 470,
    "scripts/drill/steps.py": 410,
}
"""Files that are longer still, and how long each may be: a number here only ever falls, and a file that fits goes."""


def test_no_product_file_is_longer_than_400_lines_or_than_its_own_bound() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in python_files(*PRODUCT)}
    assert lengths, "no product file was found"
    assert {path: lines for path, lines in lengths.items() if lines > LONGER.get(path, FILE_LINES_MAX)} == {}


def test_a_file_with_a_bound_of_its_own_still_needs_it() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in python_files(*PRODUCT)}
    assert {path for path in LONGER if lengths.get(path, 0) <= FILE_LINES_MAX} == set()


def test_no_product_function_has_a_body_longer_than_50_lines() -> None:
    bodies = {
        f"{relative(path)}:{function.lineno} {function.name}": body_lines(function)
        for path in python_files(*PRODUCT)
        for function in functions(path)
    }
    assert bodies, "no product function was found"
    assert {name: lines for name, lines in bodies.items() if lines > BODY_LINES_MAX} == {}
