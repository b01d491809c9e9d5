"""One pass: look at both sides, decide each path, carry it out.

Every write to the store is conditional on what the pass saw there, and every change of a file on the file being what
the pass saw: a change of either side meanwhile is met by the next pass. A pass that stops leaves what it has done,
and the next one goes on, because equal texts agree, for whatever reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from memolith.clients.sync.decide import Step, step
from memolith.clients.sync.folder import Here, Look, SyncFolder
from memolith.clients.transfer.discovery import VERSION_CONTROL, text_of
from memolith.clients.transfer.report import Row, Tell, told
from memolith.clients.working_copy.conditional_commit import ConditionalCommit, Edit
from memolith.clients.working_copy.store_client import (
    Damaged,
    Denied,
    Gone,
    Head,
    NoAnswer,
    Overtaken,
    Refused,
    Staged,
    StoreClient,
    StoreClientError,
)
from memolith.clients.working_copy.temporary_names import why_local
from memolith.core.paths import ancestors
from memolith.ports.clock import Clock
from memolith.ports.ids import Randomness

DELETIONS_MIN = 8
DELETIONS_SHARE = 0.25
"""How many files may be missing before a pass deletes their memories unasked: so many, or that part of them all."""

SAVED_WITHIN_S = 0.1
"""Within this an editor that renames a file to a backup has written it anew."""

DELETION_OF = "deletion of "
"""Before a hash that is remembered as refused: what was refused is the deletion of that text."""

TEXTS_AT_ONCE_MIN = 20
"""From so many texts on they are fetched with the whole store's, twenty a request."""


@dataclass(slots=True)
class _Pass:
    """What one pass saw, and tells."""

    here: Mapping[str, Here]
    there: Mapping[str, Head]
    tell: Tell


class Syncing:
    """Keeps one folder and one store in step.

    Args:
        many_deletions: whether a pass may delete more memories than usual for files that are gone.
    """

    def __init__(
        self,
        client: StoreClient,
        folder: SyncFolder,
        clock: Clock,
        randomness: Randomness,
        *,
        many_deletions: bool = False,
    ) -> None:
        self._client, self._folder, self._clock = client, folder, clock
        self._committing = ConditionalCommit(client, clock, randomness)
        self._many_deletions = many_deletions

    def run(self, tell: Tell) -> None:
        """Run one pass; report every path at which something was done, or could not be.

        A listing, and a request for each text that is sent or fetched, twenty texts a request for many; two for each
        memory that is deleted or moved.

        Raises:
            NoAnswer, Denied, Gone: the store does not answer, or not to this key. InvalidRequest: another sync runs.
        """
        with self._folder.alone():
            try:
                self._run(tell)
            finally:
                self._folder.save()

    def _run(self, tell: Tell) -> None:
        there = {head.path: head for head in self._client.heads().heads}
        look = self._folder.look(there, self._clock.now_us())
        for row in [*told(look.left_out), *(Row(path, "local", why_local(path)) for path in look.staying)]:
            tell(row)
        here, one = look.here, _Pass(look.here, there, tell)
        common = self._folder.memory.common
        steps: dict[Step, list[str]] = {kind: [] for kind in Step}
        for path in sorted({*here, *one.there, *common}):
            base = common[path].sha256 if path in common else None
            steps[step(_sha(here.get(path)), _there(one.there.get(path)), base)].append(path)
        steps[Step.DELETE_THERE] = self._gone(steps[Step.DELETE_THERE], look)
        for path in steps[Step.AGREE]:
            self._agree(path, one)
        moved = self._move(steps, one)
        self._delete_there([path for path in steps[Step.DELETE_THERE] if path not in moved], one)
        for path in steps[Step.DELETE_HERE]:
            self._delete_here(path, one)
        self._send_all(
            [path for path in steps[Step.SEND] if path not in moved],
            {path for path in steps[Step.DELETE_THERE] if path in common},
            one,
        )
        for path in steps[Step.CONFLICT]:
            self._conflict(path, one, one.there.get(path))
        self._fetch(steps[Step.FETCH], one)

    def _gone(self, paths: list[str], look: Look) -> list[str]:
        """Return the paths whose files are gone for good: nothing hides them, and no editor is rewriting them."""
        if paths:
            self._clock.pause(SAVED_WITHIN_S)
        return [path for path in paths if not look.hides(path) and not self._folder.has(path)]

    def _agree(self, path: str, one: _Pass) -> None:
        head = one.there.get(path)
        if head is None:
            self._folder.forget(path)
        else:
            self._folder.agree(path, head.memory_id, head.content_sha256, one.here[path].proof)

    # ---- to the store -------------------------------------------------------------------------------------------

    def _move(self, steps: Mapping[Step, list[str]], one: _Pass) -> set[str]:
        """Move the memory of a file that is gone and whose text is at a new path, so that it keeps its history.

        One that another client has renamed meanwhile stays where it is. A path is no precondition: the home is asked.
        """
        new = {one.here[path].sha256: path for path in steps[Step.SEND] if path not in one.there}
        done: set[str] = set()
        for path in steps[Step.DELETE_THERE]:
            head = one.there[path]
            target = new.pop(head.content_sha256, None)
            if target is None:
                continue
            if self._was_refused(path, DELETION_OF + head.content_sha256, one):
                done.add(path)
                if self._was_refused(target, head.content_sha256, one):
                    done.add(target)
                continue
            try:
                text_of(one.here[target].file)
                if self._client.head(head.memory_id).path not in (path, target):
                    continue
                now = self._client.update(head.memory_id, expected_sha256=head.content_sha256, path=target)
            except NoAnswer:
                raise
            except Staged as error:
                self._folder.memory.refused[path] = DELETION_OF + head.content_sha256
                self._folder.memory.refused[target] = head.content_sha256
                one.tell(Row(target, "staged", f"from {path}: {error.message}"))
                done |= {path, target}
                continue
            except (StoreClientError, ValueError):
                continue
            self._folder.forget(path)
            self._folder.agree(target, now.memory_id, now.content_sha256, one.here[target].proof)
            one.tell(Row(target, "moved", f"from {path}"))
            done |= {path, target}
        return done

    def _delete_there(self, paths: list[str], one: _Pass) -> None:
        """Delete the memories of files that are gone, unless somebody else has changed or renamed them meanwhile.

        A deletion's precondition is the text alone, so each memory is read at the home first: it may have another path.
        """
        usual = max(DELETIONS_MIN, DELETIONS_SHARE * len(self._folder.memory.common))
        if len(paths) > usual and not self._many_deletions:
            reason = (
                f"{len(paths)} files are gone here: --delete deletes their memories too; "
                "to have the files again, delete .memolith in the folder"
            )
            for path in paths:
                one.tell(Row(path, "kept", reason))
            return
        for path in paths:
            head = one.there[path]
            deletion = DELETION_OF + head.content_sha256
            if self._was_refused(path, deletion, one):
                continue
            try:
                if self._client.head(head.memory_id).path != path:
                    one.tell(Row(path, "kept", "somebody else renamed it meanwhile"))
                    continue
                self._client.delete(head.memory_id, expected_sha256=head.content_sha256)
            except Gone:
                pass
            except Overtaken:
                one.tell(Row(path, "kept", "somebody else changed it meanwhile"))
                continue
            except Denied as error:
                one.tell(Row(path, "refused", error.message))
                continue
            except Staged as error:
                self._folder.memory.refused[path] = deletion
                one.tell(Row(path, "staged", f"its deletion: {error.message}"))
                continue
            self._folder.forget(path)
            one.tell(Row(path, "deleted"))

    def _send_all(self, paths: list[str], left: Set[str], one: _Pass) -> None:
        """Send texts. One waits if a memory in its way is still there (`left`) although its file is gone.

        A file that became a folder, or a folder that became a file, is no conflict: nobody else has written there.
        """
        below = {above: path for path in left for above in ancestors(path)}
        for path in paths:
            in_the_way = below.get(path) or next((above for above in ancestors(path) if above in left), None)
            if in_the_way is None:
                self._send(path, one)
            else:
                one.tell(Row(path, "kept", f"{in_the_way} is in its way until that memory is deleted"))

    def _send(self, path: str, one: _Pass) -> None:
        seen = one.here[path]
        if self._was_refused(path, seen.sha256, one):
            return
        try:
            text = text_of(seen.file)
        except ValueError as error:
            one.tell(Row(path, "left out", str(error)))
            return
        head = one.there.get(path)
        try:
            done = self._committing.commit(Edit(path, head, text))
        except Overtaken as error:
            self._conflict(path, one, error.now)
        except NoAnswer:
            raise
        except StoreClientError as error:
            if isinstance(error, Refused):  # another key may be allowed what this one is denied
                self._folder.memory.refused[path] = seen.sha256
            one.tell(Row(path, "staged" if isinstance(error, Staged) else "refused", error.message))
        else:
            if done.text != text:
                one.tell(Row(path, "sent", "the store took secrets out of it, and the file has its text now"))
                self._take(path, done.head, done.text.encode(), seen, one)
                return
            self._folder.agree(path, done.head.memory_id, done.head.content_sha256, seen.proof)
            one.tell(Row(path, "sent"))

    def _was_refused(self, path: str, what: str, one: _Pass) -> bool:
        """Tell whether an earlier pass was refused the same; report it then. It is not asked for again."""
        if self._folder.memory.refused.get(path) != what:
            return False
        one.tell(Row(path, "refused", "as before: it is offered again once it has changed"))
        return True

    # ---- to the folder ------------------------------------------------------------------------------------------

    def _delete_here(self, path: str, one: _Pass) -> None:
        """Delete the file once the store's home confirms; a region may not have heard yet of a recent write."""
        if self._client.at(path) is not None:
            return
        try:
            self._folder.delete(path, one.here[path])
        except OSError as error:
            one.tell(Row(path, "kept", error.strerror))
            return
        self._folder.forget(path)
        one.tell(Row(path, "removed"))

    def _conflict(self, path: str, one: _Pass, head: Head | None) -> None:
        """Put the folder's text beside the file, and take what the store has."""
        try:
            kept = self._folder.set_beside(path, self._clock.now_us())
        except OSError as error:
            one.tell(Row(path, "kept", error.strerror))
            return
        one.tell(Row(path, "conflict", f"both have changed: the text of this folder is kept in {kept}"))
        self._folder.forget(path)
        if head is not None and head.path == path:
            self._take(path, head, None, None, one)

    def _fetch(self, paths: list[str], one: _Pass) -> None:
        for path, head, text in self._texts(paths, one):
            self._take(path, head, text, one.here.get(path), one)

    def _texts(self, paths: list[str], one: _Pass) -> Iterator[tuple[str, Head, bytes | None]]:
        wanted = set(paths)
        if len(wanted) >= TEXTS_AT_ONCE_MIN:
            for head, text in self._client.texts("/", deep=True):
                if head.path in wanted:
                    wanted.discard(head.path)
                    yield head.path, head, text
        for path in sorted(wanted):
            yield path, one.there[path], None

    def _take(self, path: str, head: Head, text: bytes | None, was: Here | None, one: _Pass) -> None:
        if VERSION_CONTROL.intersection(part.lower() for part in path.split("/")) or path.startswith("/.memolith/"):
            one.tell(Row(path, "left out", "its folder would be one of version control, or of Memolith"))
            return
        try:
            if text is None:
                head, text = self._client.text(head.memory_id)
            if head.path != path:
                return
            stamp = self._folder.put(path, text, was, head.changed_at_us)
        except Gone:
            return
        except Denied as error:
            one.tell(Row(path, "withheld", error.message))
        except Damaged as error:
            one.tell(Row(path, "damaged", error.message))
        except OSError as error:
            one.tell(Row(path, "kept", f"cannot be written here: {error.strerror}"))
        else:
            self._folder.agree(path, head.memory_id, head.content_sha256, stamp)
            one.tell(Row(path, "fetched"))


def _sha(here: Here | None) -> str | None:
    return None if here is None else here.sha256


def _there(head: Head | None) -> str | None:
    return None if head is None else head.content_sha256
