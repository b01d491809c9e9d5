"""A working copy beside references that know nothing of it.

Alone, it does what a folder of this machine does, errors included. With somebody writing behind its back, no text is
lost: what was acknowledged is in the log, what was refused is beside its file, and nothing that was not shown is
replaced.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.api.harness import memolith_backend
from tests.mount.conftest import Desk, desk_over
from tests.support.folders import quick_folder

EXAMPLES = int(os.environ.get("MEMOLITH_REFERENCE_EXAMPLES", "3"))
"""More of them find more; `make test` has little time."""

PATHS = ("/a.md", "/d/b.md")
NAMES = st.sampled_from(["/x", "/y", "/x/x", "/x/y", "/x/x/x", "/y/x"])
TEXTS = st.text(alphabet="ab\n", max_size=12)


class Alone(RuleBasedStateMachine):
    """The same calls on a working copy and on a folder of this machine."""

    def __init__(self) -> None:
        super().__init__()
        self.held = ExitStack()
        self.desk: Desk = self.held.enter_context(desk_over(memolith_backend()))
        self.folder = self.held.enter_context(quick_folder())

    def teardown(self) -> None:
        self.held.close()

    def place(self, path: str) -> Path:
        return self.folder / path[1:]

    def both(self, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
        """Both succeed, or both fail with the same errno."""
        assert number_of(ours) == number_of(theirs)

    @rule(path=NAMES, text=TEXTS)
    def write(self, path: str, text: str) -> None:
        if self.place(path).parent.is_dir():
            self.both(lambda: self.desk.save(path, text), lambda: self.place(path).write_text(text))

    @rule(path=NAMES, text=TEXTS)
    def append(self, path: str, text: str) -> None:
        def theirs() -> None:
            with self.place(path).open("a") as file:
                file.write(text)

        if self.place(path).parent.is_dir():
            self.both(lambda: self.desk.append(path, text), theirs)

    @rule(path=NAMES, offset=st.integers(0, 9), text=TEXTS)
    def write_within(self, path: str, offset: int, text: str) -> None:
        def ours() -> None:
            writing = self.desk.copy.files.open_to_write(path)
            try:
                self.desk.copy.files.write(path, writing, offset, text.encode())
                self.desk.copy.files.flush(path, writing)
            finally:
                self.desk.copy.files.release(path, writing)

        def theirs() -> None:
            with self.place(path).open("r+b") as file:
                file.seek(offset)
                file.write(text.encode())

        if text and self.place(path).parent.is_dir():
            self.both(ours, theirs)

    @rule(path=NAMES, size=st.integers(0, 9))
    def truncate(self, path: str, size: int) -> None:
        def ours() -> None:
            if self.desk.copy.stat(path).folder:
                raise OSError(errno.EISDIR, "as the kernel says")
            self.desk.copy.files.truncate(path, size)

        if self.place(path).parent.is_dir():
            self.both(ours, lambda: os.truncate(self.place(path), size))

    @rule(path=NAMES)
    def unlink(self, path: str) -> None:
        if self.place(path).parent.is_dir():
            self.both(lambda: self.desk.copy.unlink(path), lambda: self.place(path).unlink())

    @rule(path=NAMES)
    def mkdir(self, path: str) -> None:
        if self.place(path).parent.is_dir():
            self.both(lambda: self.desk.copy.mkdir(path), lambda: self.place(path).mkdir())

    @rule(path=NAMES)
    def rmdir(self, path: str) -> None:
        if self.place(path).parent.is_dir():
            self.both(lambda: self.desk.copy.rmdir(path), lambda: self.place(path).rmdir())

    @rule(old=NAMES, new=NAMES)
    def rename(self, old: str, new: str) -> None:
        known = self.place(old).exists() and self.place(new).parent.is_dir()
        if known and not old.startswith(new + "/"):  # the kernel answers these by itself
            self.both(lambda: self.desk.copy.rename(old, new), lambda: self.place(old).rename(self.place(new)))

    @rule()
    def settle(self) -> None:
        self.desk.copy.commit_waiting(all=True)
        self.desk.copy.refresh()

    @invariant()
    def shows_the_same_tree(self) -> None:
        assert dict(shown(self.desk, "/")) == {
            "/" + str(place.relative_to(self.folder)): None if place.is_dir() else place.read_text()
            for place in self.folder.rglob("*")
        }


class WithOthers(RuleBasedStateMachine):
    """Edits in a working copy while somebody else edits the store, and the machine dies now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.held = ExitStack()
        self.desk: Desk = self.held.enter_context(desk_over(memolith_backend()))
        self.count = 0
        self.acknowledged: set[str] = set()
        self.refused: set[str] = set()
        self.may_replace: set[str] = set()

    def teardown(self) -> None:
        try:
            self.desk.copy.commit_waiting(all=True)
            self.desk.copy.refresh()
            files = {path: text for path, text in shown(self.desk, "/") if text is not None and path in PATHS}
            assert files == self.desk.stored()
        finally:
            self.held.close()

    def text(self, who: str) -> str:
        self.count += 1
        return f"{who} {self.count}\n"

    def shows(self, path: str) -> bool:
        return self.desk.copy.state.find(path) is not None

    def shown_at(self, path: str) -> str:
        """The text that an append here goes on after; empty where there is no file, or none any more."""
        try:
            return self.desk.copy.read(path, 0, 10_000).decode()
        except OSError:
            return ""

    def attempt(self, text: str, write: Callable[[], object], replaces: str) -> None:
        """A write of ours: done, and then in the log over something that was shown; or refused, and nothing changed."""
        before = self.desk.stored()
        if number_of(write) == 0:
            self.acknowledged.add(text)
            replaced = {old for path, old in before.items() if self.desk.stored().get(path) != old}
            assert replaced <= self.may_replace, f"{replaces}: replaced what was not shown"
        else:
            self.refused.add(text)
            assert self.desk.stored() == before
        now = self.desk.stored().get(replaces)
        self.may_replace |= {text, *([now] if now is not None else [])}

    @rule(path=st.sampled_from(PATHS))
    def save(self, path: str) -> None:
        text = self.text("saved")
        self.attempt(text, lambda: self.desk.save(path, text), path)

    @rule(path=st.sampled_from(PATHS))
    def save_by_rename(self, path: str) -> None:
        text = self.text("renamed")
        self.desk.save(path + ".tmp", text)
        self.attempt(text, lambda: self.desk.copy.rename(path + ".tmp", path), path)

    @rule(path=st.sampled_from(PATHS))
    def append(self, path: str) -> None:
        line = self.text("appended")
        before, goes_on_after = self.desk.stored(), self.shown_at(path)
        if number_of(lambda: self.desk.append(path, line)) == 0:
            changed = {now for at, now in self.desk.stored().items() if before.get(at) != now}
            assert [now for now in changed if now is not None and now.endswith(line)]
            self.acknowledged.add(line)
            if goes_on_after in {"", *self.may_replace}:
                self.may_replace |= {now for now in changed if now == goes_on_after + line}
        else:
            self.refused.add(line)

    @rule(path=st.sampled_from(PATHS))
    def unlink(self, path: str) -> None:
        if self.shows(path):
            before = self.desk.stored()
            if number_of(lambda: self.desk.copy.unlink(path)) == 0:
                gone = {text for at, text in before.items() if at not in self.desk.stored()}
                assert gone <= self.may_replace
            else:
                assert self.desk.stored() == before
                self.may_replace |= {text for text in before.values() if text is not None}

    @rule(old=st.sampled_from(PATHS), new=st.sampled_from(PATHS))
    def rename(self, old: str, new: str) -> None:
        if self.shows(old) and not self.shows(new):
            before = sorted(text or "" for text in self.desk.stored().values())
            number_of(lambda: self.desk.copy.rename(old, new))
            assert sorted(text or "" for text in self.desk.stored().values()) == before

    @rule(path=st.sampled_from(PATHS))
    def read(self, path: str) -> None:
        if self.shows(path):
            self.may_replace.add(self.desk.read(path))

    @rule()
    def learn(self) -> None:
        self.refresh()

    def refresh(self) -> None:
        self.desk.copy.refresh()
        never_read = {path for path in PATHS if path not in self.desk.copy.state.seen}
        self.may_replace |= {text or "" for path, text in self.desk.stored().items() if path in never_read}

    @rule(path=st.sampled_from(PATHS), learned=st.booleans())
    def others_write(self, path: str, learned: bool) -> None:
        self.desk.others_write(path, self.text("others"))
        if learned:
            self.refresh()

    @rule(path=st.sampled_from(PATHS))
    @precondition(lambda self: self.desk.stored())
    def others_delete(self, path: str) -> None:
        if path in self.desk.stored():
            self.desk.others_delete(path)

    @rule(old=st.sampled_from(PATHS), new=st.sampled_from(PATHS))
    def others_rename(self, old: str, new: str) -> None:
        stored = self.desk.stored()
        if old in stored and new not in stored:
            self.desk.others_rename(old, new)

    @rule()
    def an_answer_gets_lost(self) -> None:
        self.desk.network.lost = 1

    @rule()
    def die_and_start(self) -> None:
        self.desk.die()
        self.desk.network.lost = 0
        self.desk.start()
        self.may_replace |= {text or "" for text in self.desk.stored().values()}

    @invariant()
    def nothing_is_lost(self) -> None:
        """What was acknowledged is in the log, what was refused beside its file, and no temporary name in the log."""
        log = self.desk.log()
        assert {path for _, path, _ in log} <= {*PATHS, None}
        logged = "".join(text or "" for _, _, text in log)
        assert all(text in logged for text in self.acknowledged)
        kept = "".join(text or "" for path, text in shown(self.desk, "/") if path not in PATHS)
        assert all(text in kept and text not in logged for text in self.refused)


def number_of(act: Callable[[], object]) -> int:
    """The errno of a call; 0 where it succeeds."""
    try:
        act()
    except OSError as error:
        assert error.errno is not None
        return error.errno
    return 0


def shown(desk: Desk, folder: str) -> list[tuple[str, str | None]]:
    """Every path that a working copy shows, with its text; None for a folder."""
    found: list[tuple[str, str | None]] = []
    for name, is_folder in desk.copy.names(folder):
        path = f"{folder.rstrip('/')}/{name}"
        found.append((path, None if is_folder else desk.copy.read(path, 0, 10_000).decode()))
        if is_folder:
            found += shown(desk, path)
    return found


@pytest.mark.slow
def test_alone_it_does_what_a_folder_of_this_machine_does() -> None:
    run_state_machine_as_test(Alone, settings=settings(max_examples=4 * EXAMPLES, stateful_step_count=25))


@pytest.mark.slow
def test_with_others_writing_behind_its_back_no_text_is_lost() -> None:
    run_state_machine_as_test(WithOthers, settings=settings(max_examples=EXAMPLES, stateful_step_count=50))
