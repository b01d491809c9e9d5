"""A memory that another client has renamed, of which this mount has not heard, is moved for no file at its old path."""

from __future__ import annotations

import errno

import pytest

from memolith.clients.working_copy.store_client import Head
from tests.mount.conftest import Desk
from tests.mount.test_conflicts import refused


@pytest.mark.parametrize("text", ["one", "theirs"])
def test_a_memory_that_another_client_has_renamed_is_not_moved_for_the_file_at_its_old_path(
    desk: Desk, text: str
) -> None:
    desk.save("/a.md", "one")
    if text != "one":
        desk.others_write("/a.md", text)
    desk.others_rename("/a.md", "/theirs/a.md")
    told: list[str] = []
    desk.copy.state.changed = told.extend
    assert refused(lambda: desk.copy.rename("/a.md", "/b.md")) == errno.ENOENT
    assert desk.stored() == {"/theirs/a.md": text}
    assert (desk.names(), desk.names("/theirs"), told) == (["theirs"], ["a.md"], ["/a.md", "/theirs/a.md"])
    desk.copy.rename("/theirs/a.md", "/b.md")
    assert desk.stored() == {"/b.md": text}


def test_a_file_is_renamed_to_where_another_client_has_renamed_its_memory_already(desk: Desk) -> None:
    desk.save("/a.md", "one")
    desk.others_rename("/a.md", "/b.md")
    desk.copy.rename("/a.md", "/b.md")
    assert (desk.stored(), desk.names()) == ({"/b.md": "one"}, ["b.md"])


def test_a_rename_asks_where_the_memory_is_and_moves_it(desk: Desk) -> None:
    desk.save("/a.md", "one")
    before = len(desk.requests())
    desk.copy.rename("/a.md", "/b.md")
    assert [one.split()[0] for one in desk.requests()[before:]] == ["GET", "POST"]


@pytest.mark.parametrize("text", ["one", "one, edited"])
@pytest.mark.parametrize("others", ["renamed", "deleted"])
def test_a_backup_of_a_memory_that_another_client_has_taken_away_becomes_a_memory_of_its_own_where_it_is_moved_to(
    desk: Desk, others: str, text: str
) -> None:
    desk.save("/a.md", "one")
    desk.copy.rename("/a.md", "/a.md.tmp")
    if text != "one":
        desk.save("/a.md.tmp", text)
    if others == "renamed":
        desk.others_rename("/a.md", "/theirs.md")
    else:
        desk.others_delete("/a.md")
    desk.copy.rename("/a.md.tmp", "/b.md")
    theirs = {"/theirs.md": "one"} if others == "renamed" else {}
    assert desk.stored() == {"/b.md": text, **theirs}
    assert desk.names() == [path[1:] for path in sorted(desk.stored())]


def test_a_memory_that_was_moved_to_a_name_that_was_meant_is_not_taken_from_where_another_client_has_it(
    desk: Desk,
) -> None:
    desk.save("/a.md", "one")
    desk.copy.rename("/a.md", "/a.md.tmp")
    desk.others_rename("/a.md", "/theirs.md")
    desk.backend.clock.advance(31)
    desk.copy.refresh()
    desk.backend.clock.advance(31)
    desk.copy.commit_waiting()
    assert desk.stored() == {"/a.md.tmp": "one", "/theirs.md": "one"}


def test_the_rename_of_a_folder_leaves_where_it_is_what_another_client_has_taken_out_of_it(desk: Desk) -> None:
    for name in "abc":
        desk.save(f"/d/{name}.md", name)
    desk.others_rename("/d/a.md", "/theirs/a.md")
    desk.others_delete("/d/b.md")
    desk.copy.rename("/d", "/e")
    assert desk.stored() == {"/e/c.md": "c", "/theirs/a.md": "a"}
    assert (desk.names(), desk.names("/e")) == (["e", "theirs"], ["c.md"])


def test_the_rename_of_a_folder_takes_along_what_another_client_has_renamed_within_it(desk: Desk) -> None:
    for name in "abc":
        desk.save(f"/d/{name}.md", name)
    desk.others_rename("/d/a.md", "/d/deep/a.md")
    desk.others_delete("/d/b.md")
    desk.others_rename("/d/c.md", "/d/b.md")
    desk.copy.rename("/d", "/e")
    assert desk.stored() == {"/e/b.md": "c", "/e/deep/a.md": "a"}
    assert (desk.names(), desk.names("/e"), desk.names("/e/deep")) == (["e"], ["b.md", "deep"], ["a.md"])


def test_the_rename_of_a_folder_ends_though_another_client_keeps_renaming_within_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.save("/d/0.md", "one")
    head, renamed = desk.copy.state.client.head, iter(range(100))

    def late(memory_id: str) -> Head:
        number = next(renamed)
        desk.others_rename(f"/d/{number}.md", f"/d/{number + 1}.md")
        return head(memory_id)

    monkeypatch.setattr(desk.copy.state.client, "head", late)
    desk.copy.rename("/d", "/e")
    assert (desk.stored(), desk.names("/d"), next(renamed)) == ({"/d/3.md": "one"}, ["3.md"], 3)
