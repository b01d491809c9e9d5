"""Files and functions stay short enough to be read in one go."""

from __future__ import annotations

from tests.architecture.source_tree import PRODUCT, body_lines, functions, python_files, relative

FILE_LINES_MAX = 400
BODY_LINES_MAX = 50


def test_no_python_file_is_longer_than_400_lines() -> None:
    lengths = {relative(path): len(path.read_text().splitlines()) for path in python_files(*PRODUCT, "tests")}
    assert {path.split("/")[0] for path in lengths} == {*PRODUCT, "tests"}
    assert {path: lines for path, lines in lengths.items() if lines > FILE_LINES_MAX} == {}


def test_no_product_function_has_a_body_longer_than_50_lines() -> None:
    bodies = {
        f"{relative(path)}:{function.lineno} {function.name}": body_lines(function)
        for path in python_files(*PRODUCT)
        for function in functions(path)
    }
    assert bodies, "no product function was found"
    assert {name: lines for name, lines in bodies.items() if lines > BODY_LINES_MAX} == {}
