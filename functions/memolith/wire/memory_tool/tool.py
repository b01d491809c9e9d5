"""The six commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memolith.core.times import parse_rfc3339
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness
from memolith.wire.memory_tool import edits, texts
from memolith.wire.memory_tool.places import ROOT, is_within, place
from memolith.wire.memory_tool.texts import Staged, ToolFailure, text, whole_number
from memolith.wire.memory_tool.tree import Changed, File, Folder, Gone, Occupied, Tree

EDIT_ATTEMPTS = 60
"""Each lost race means that another client's edit was committed, so that a crowd of this size gets through."""

PAUSE_FIRST_S, PAUSE_MAX_S = 0.03, 0.8
"""Before an edit is tried again: at most so long, and twice as long each time, until a crowd has spread out."""

LISTED_LEVELS = 2


@dataclass(frozen=True, slots=True)
class Result:
    """What a command answers: a text for the model, and whether it is an error."""

    text: str
    is_error: bool = False


class MemoryTool:
    """The memory tool on one store. Every file's change is one conditional commit.

    Args:
        tree: the store.
        clock: tells a file's age, and waits a moment before an edit is tried again.
        randomness: for how long.
    """

    def __init__(self, tree: Tree, clock: Clock, randomness: Randomness) -> None:
        self._tree = tree
        self._clock = clock
        self._randomness = randomness
        self._commands: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    def call(self, command: Mapping[str, Any]) -> Result:
        """Run `{"command": …}`. A command that fails is a result too, in words for the model."""
        try:
            return Result(self.run(command))
        except ToolFailure as failure:
            return Result(str(failure), is_error=True)

    def run(self, command: Mapping[str, Any]) -> str:
        """Run a command as `call` does, for callers that report errors in their own way.

        Raises:
            ToolFailure: with the text for the model.
        """
        name = command.get("command")
        name = None if name is None else text(name, "command")
        if name is None or name not in self._commands:
            raise ToolFailure(texts.UNKNOWN_COMMAND.format(command=name, commands=", ".join(self._commands)))
        for parameter in _NEEDED[name]:
            if command.get(parameter) is None:
                raise ToolFailure(texts.NO_PARAMETER.format(command=name, name=parameter))
        try:
            return self._commands[name](command)
        except Staged as staged:
            return str(staged)

    # ---- reading ----------------------------------------------------------------------------------------------

    def _view(self, command: Mapping[str, Any]) -> str:
        path = command["path"]
        found = self._tree.find(place(path))
        if found is None:
            raise ToolFailure(texts.VIEW_MISSING.format(path=path))
        if isinstance(found, Folder):
            return texts.directory_view(path, self._rows(found.path, "", 1))
        file = self._read(found, path)
        shown = texts.file_view(path, file.content or "", command.get("view_range"))
        age = texts.age_remark(self._clock.now_us() - parse_rfc3339(file.updated_at))
        return shown + texts.trust_remark(file.trust) + age

    def _rows(self, folder: str, relative: str, level: int) -> Iterator[tuple[str, str]]:
        """Yield rows depth first, each folder by name; skip what begins with a dot, with all that is in it."""
        for item in sorted(self._tree.children(folder), key=lambda item: item.path):
            name = item.path.rpartition("/")[2]
            if name.startswith("."):
                continue
            if isinstance(item, File):
                yield texts.size_text(item.size_bytes), f"{relative}{name}"
                continue
            yield texts.DIRECTORY_SIZE, f"{relative}{name}/"
            if level < LISTED_LEVELS:
                yield from self._rows(item.path, f"{relative}{name}/", level + 1)

    def _read(self, file: File, path: str) -> File:
        try:
            return self._tree.read(file.id)
        except Gone as gone:
            raise ToolFailure(texts.VANISHED.format(path=path)) from gone

    # ---- writing ----------------------------------------------------------------------------------------------

    def _create(self, command: Mapping[str, Any]) -> str:
        path, content = command["path"], text(command["file_text"], "file_text")
        target = place(path)
        if target == "":
            raise ToolFailure(texts.EXISTS.format(path=path))
        try:
            made = self._tree.create(target, content)
        except Occupied as occupied:
            if is_within(target, occupied.path):
                raise ToolFailure(texts.FILE_IN_THE_WAY.format(path=path, holder=f"{ROOT}{occupied.path}")) from None
            raise ToolFailure(texts.EXISTS.format(path=path)) from None
        return texts.CREATED.format(path=path) + texts.redaction_remark(made.redacted)

    def _str_replace(self, command: Mapping[str, Any]) -> str:
        path, old = command["path"], text(command["old_str"], "old_str")
        given = command.get("new_str")
        new = "" if given is None else text(given, "new_str")

        def edit(read: str, now: str) -> str:
            if read is not now and now.count(old) != 1:
                raise ToolFailure(texts.CHANGED_MEANWHILE.format(path=path))
            return edits.replaced(path, now, old, new)

        before, after, done = self._edit(path, edit)
        remark = texts.redaction_remark(done.redacted)
        if done.redacted:
            try:
                after = self._read(done, path).content or ""
            except ToolFailure:  # what keeps the snippet from being shown makes the edit no failure
                return texts.INSERTED.format(path=path) + remark
        return f"{texts.REPLACED}\n{edits.snippet(before, old, after)}" + remark

    def _insert(self, command: Mapping[str, Any]) -> str:
        path, addition = command["path"], text(command["insert_text"], "insert_text")
        line = whole_number(command["insert_line"], "insert_line")

        def edit(read: str, now: str) -> str:
            target = line if read is now else edits.moved_line(read, line, now)
            if target is None:
                raise ToolFailure(texts.CHANGED_MEANWHILE.format(path=path))
            return edits.inserted(now, target, addition)

        _, _, done = self._edit(path, edit)
        return texts.INSERTED.format(path=path) + texts.redaction_remark(done.redacted)

    def _edit(self, path: str, edit: Callable[[str, str], str]) -> tuple[str, str, File]:
        """Edit a file; return the content before and after, and the file as the write left it.

        Commits on exactly what was read, and retries on changes. A secret may be stored as what stands for it.

        `edit` gets what was read first, and what is there now.
        """
        found = self._file(path)
        file = self._read(found, path)
        read = file.content or ""
        for attempt in range(EDIT_ATTEMPTS):
            now = read if attempt == 0 else file.content or ""
            edited = edit(read, now)
            try:
                done = self._tree.update(file, edited)
            except Gone:
                raise ToolFailure(texts.VANISHED.format(path=path)) from None
            except Changed:
                longest_s = min(PAUSE_MAX_S, PAUSE_FIRST_S * 2**attempt)
                self._clock.pause(self._randomness.fraction() * longest_s)
                file = self._read(file, path)
            else:
                return now, edited, done
        raise ToolFailure(texts.STILL_CONTENDED.format(path=path))

    def _file(self, path: str) -> File:
        found = self._tree.find(place(path))
        if found is None:
            raise ToolFailure(texts.VIEW_MISSING.format(path=path))
        if isinstance(found, Folder):
            raise ToolFailure(texts.NOT_A_FILE.format(path=path))
        return found

    def clear(self) -> str:
        """Delete every memory of the store. Raises ToolFailure, saying which part was done."""
        try:
            self._delete_all("", ROOT)
        except Staged as staged:
            return str(staged)
        return texts.CLEARED

    # ---- removing and moving ----------------------------------------------------------------------------------

    def _delete(self, command: Mapping[str, Any]) -> str:
        path = command["path"]
        target = place(path)
        if target == "":
            raise ToolFailure(texts.DELETE_ROOT)
        found = self._tree.find(target)
        if found is None:
            raise ToolFailure(texts.MISSING.format(path=path))
        if isinstance(found, File):
            self._tree.delete(found)
            return texts.DELETED.format(path=path)
        self._delete_all(target, path)
        return texts.DELETED.format(path=path)

    def _delete_all(self, folder: str, path: str) -> None:
        def delete(file: File) -> None:
            self._tree.delete(file, anywhere=folder == "")

        _each(self._tree.under(folder), delete, partial(texts.PART_DELETED.format, path=path))

    def _rename(self, command: Mapping[str, Any]) -> str:
        old_path, new_path = command["old_path"], command["new_path"]
        old, new = place(old_path), place(new_path)
        if old == "":
            raise ToolFailure(texts.RENAME_ROOT)
        source, standing = self._tree.find(old), self._tree.find(new)
        if standing is not None and not self._is_half_moved(source, standing):
            raise ToolFailure(texts.DESTINATION_EXISTS.format(path=new_path))
        if source is None:
            raise ToolFailure(texts.MISSING.format(path=old_path))
        if is_within(new, old):
            raise ToolFailure(texts.INTO_ITSELF.format(old=old_path, new=new_path))
        if isinstance(source, File):
            self._move(source, new, new_path)
        else:
            self._move_all(self._tree.under(old), old, new, command)
        return texts.RENAMED.format(old=old_path, new=new_path)

    def _is_half_moved(self, source: File | Folder | None, standing: File | Folder) -> bool:
        """Tell whether a move of one folder to the other is unfinished.

        Everything in `standing` came from `source`, under the same names, and something was left behind: it has been
        in `source` since before the last of them left. What came later is no part of that move.
        """
        if not isinstance(source, Folder) or not isinstance(standing, Folder) or standing.path == "":
            return False
        if source.path == standing.path:
            return False
        moved_us = 0
        for file in self._tree.under(standing.path):
            stays = list(self._tree.stays_of(file))
            if source.path + file.path[len(standing.path) :] not in (path for path, _ in stays):
                return False
            moved_us = max(moved_us, stays[0][1])
        return any(self._since_us(file) <= moved_us for file in self._tree.under(source.path))

    def _since_us(self, file: File) -> int:
        """Return since when a memory is where it is; what has no version that says so is there from now on."""
        return next((since_us for _, since_us in self._tree.stays_of(file)), self._clock.now_us())

    def _move_all(self, files: list[File], old: str, new: str, command: Mapping[str, Any]) -> None:
        def move(file: File) -> None:
            target = new + file.path[len(old) :]
            self._move(file, target, f"{ROOT}{target}")

        _each(files, move, partial(texts.PART_RENAMED.format, old=command["old_path"], new=command["new_path"]))

    def _move(self, file: File, target: str, target_path: str) -> None:
        try:
            self._tree.rename(file, target)
        except Gone:
            raise ToolFailure(texts.MISSING.format(path=f"{ROOT}{file.path}")) from None
        except Occupied as occupied:
            if is_within(target, occupied.path):
                holder = f"{ROOT}{occupied.path}"
                raise ToolFailure(texts.FILE_IN_THE_WAY.format(path=target_path, holder=holder)) from None
            raise ToolFailure(texts.DESTINATION_EXISTS.format(path=target_path)) from None


def _each(files: Sequence[File], change: Callable[[File], None], part: Callable[..., str]) -> None:
    """Change every file; `part` says how many of them are `done`.

    Raises:
        Staged: some or all of them wait for a person. ToolFailure: the first that failed; the rest is as it was.
    """
    staged = list[str]()
    for number, file in enumerate(files):
        try:
            change(file)
        except Staged as one:
            staged += one.ids
        except ToolFailure as failure:
            told = _told(number - len(staged), files, staged, part)
            raise ToolFailure(told + texts.PART_FAILED.format(at=f"{ROOT}{file.path}", reason=failure)) from failure
    if staged:
        done = len(files) - len(staged)
        raise Staged(*staged, told=f"{_told(done, files, staged, part)}." if done else "")


def _told(done: int, files: Sequence[File], staged: Sequence[str], part: Callable[..., str]) -> str:
    """Say what became of a part of the files."""
    waits = texts.PART_STAGED.format(count=len(staged), id=", ".join(staged)) if staged else ""
    return part(done=done, total=len(files)) + waits


_NEEDED: Mapping[str, tuple[str, ...]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str"),
    "insert": ("path", "insert_line", "insert_text"),
    "delete": ("path",),
    "rename": ("old_path", "new_path"),
}

COMMANDS = tuple(_NEEDED)
