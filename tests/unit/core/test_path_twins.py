"""Paths that are taken for one another, as `memolith lint` tells them."""

from __future__ import annotations

import pytest

from memolith.core.path_twins import skeleton, twins


@pytest.mark.parametrize(
    "other",
    ["/Notes.md", "/NOTES.MD", "/ｎｏｔｅｓ.md", "/no\u3164tes.md", "/notes\ufe0f.md", "/notes.md.", "/notes.md\u00a0"],
)
def test_paths_that_differ_by_case_width_invisible_letters_or_an_end_are_twins(other: str) -> None:
    assert skeleton(other) == "/notes.md"
    [remark] = twins({"/notes.md", other, "/other.md"})
    second = max("/notes.md", other)
    assert (remark.path, remark.line, remark.rule, remark.is_warning) == (second, 1, "path-twin", False)


def test_an_invisible_letter_is_in_order() -> None:
    [remark] = twins(["/notes.md", "/notes.md\u3164"])
    assert remark.message == "/notes.md\\u{3164} is easily taken for /notes.md"


@pytest.mark.parametrize(
    "paths",
    [
        ["/a.md", "/b.md", "/a/b.md", "/a/a.md"],
        ["/é.md", "/e.md"],
        ["/а.md", "/a.md"],  # the first is Cyrillic
        ["/..a", "/a"],
    ],
)
def test_paths_that_differ_otherwise_are_not_told(paths: list[str]) -> None:
    assert list(twins(paths)) == []


def test_folders_are_told_once_and_each_memory_that_meets_another_in_them() -> None:
    remarks = list(twins(["/Notes/a/1.md", "/Notes/a/2.md", "/notes/a/1.md", "/notes/a/3.md"]))
    assert [(one.path, one.message) for one in remarks] == [
        ("/notes/a/1.md", "/notes is easily taken for /Notes"),
        ("/notes/a/1.md", "/notes/a/1.md is easily taken for /Notes/a/1.md"),
    ]


def test_a_memory_is_told_that_is_easily_taken_for_a_folder() -> None:
    [remark] = twins(["/notes", "/Notes/a.md"])
    assert remark.message == "/notes is easily taken for /Notes"
