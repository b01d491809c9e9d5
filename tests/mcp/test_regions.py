"""`write_note` in a region that lags: it tells nothing as unchanged that the store's home does not have so."""

from __future__ import annotations

import hashlib

import pytest

from memolith.clients.sdk.memory_tool import SdkCaller
from memolith.wire.mcp.answers import Written
from memolith.wire.mcp.notes import Notes
from memolith.wire.memory_tool.texts import ToolFailure
from memolith.wire.memory_tool.tree import Tree
from tests.api.harness import Backend
from tests.support.two_regions import TwoRegions, two_regions

A = "/memories/a.md"


class Notebook:
    """A note that both regions have, and what its home does to it next."""

    def __init__(self) -> None:
        self.regions: TwoRegions = two_regions()
        self.memories = self.regions.home.client().beta.memory_stores.memories
        self.id = self.memories.create(self.regions.store_id, path="/a.md", content="old").id
        self.regions.deliver()

    def update(self, content: str) -> None:
        self.memories.update(self.id, memory_store_id=self.regions.store_id, content=content)

    def rename(self, path: str) -> None:
        self.memories.update(self.id, memory_store_id=self.regions.store_id, path=path)

    def delete(self) -> None:
        self.memories.delete(self.id, memory_store_id=self.regions.store_id)

    def write(self, content: str, on: str | None = None, at: Backend | None = None) -> Written:
        backend = at or self.regions.away
        notes = Notes(Tree(SdkCaller(backend.client()), self.regions.store_id), backend.clock)
        return notes.write(A, content, None if on is None else hashlib.sha256(on.encode()).hexdigest())


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


def test_a_note_that_was_deleted_at_home_is_written_anew(notebook: Notebook) -> None:
    notebook.delete()
    assert notebook.write("old").outcome == "created"
    assert notebook.regions.contents() == {"/a.md": "old"}


def test_a_note_that_was_renamed_at_home_is_written_anew(notebook: Notebook) -> None:
    notebook.rename("/b.md")
    assert notebook.write("old").outcome == "created"
    assert notebook.regions.contents() == {"/a.md": "old", "/b.md": "old"}


def test_a_note_that_was_changed_at_home_is_not_told_as_unchanged(notebook: Notebook) -> None:
    notebook.update("new")
    with pytest.raises(ToolFailure, match="is there already"):
        notebook.write("old")
    assert notebook.regions.contents() == {"/a.md": "new"}


def test_a_note_that_is_the_same_at_home_is_unchanged(notebook: Notebook) -> None:
    assert notebook.write("old").outcome == "unchanged"


def test_a_note_that_the_region_does_not_have_yet_is_unchanged_or_there_already(notebook: Notebook) -> None:
    notebook.delete()
    notebook.regions.deliver()
    made = notebook.write("same", at=notebook.regions.home)
    again = notebook.write("same")
    assert (made.outcome, again.outcome) == ("created", "unchanged")
    with pytest.raises(ToolFailure, match="is there already"):
        notebook.write("other")


def test_a_replacement_is_sent_to_the_home_though_the_region_has_its_text(notebook: Notebook) -> None:
    notebook.update("between")
    assert notebook.write("old", on="between").outcome == "replaced"
    assert notebook.regions.contents() == {"/a.md": "old"}


def test_a_replacement_of_what_the_home_has_no_more_is_refused(notebook: Notebook) -> None:
    notebook.update("new")
    with pytest.raises(ToolFailure, match="no longer what you read"):
        notebook.write("mine", on="old")
    with pytest.raises(ToolFailure, match="no longer what you read"):
        notebook.write("old", on="old earlier")
    assert notebook.regions.contents() == {"/a.md": "new"}
