"""A mount's life: what the dead left is taken over, the folder shows the store, others' writes come, and it ends.

It ends when the folder is unmounted, or with SIGTERM, SIGINT or SIGHUP. What was not committed by then is on disk,
and offered at the next start; so it is after `kill -9`.
"""

from __future__ import annotations

import ctypes.util
import errno
import logging
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path

from memolith.adapters.local.files import locked, make_folder
from memolith.adapters.system import SystemClock, SystemRandomness
from memolith.clients.mount.ignored_files import IgnoredFiles, owning
from memolith.clients.working_copy.content_cache import ContentCache
from memolith.clients.working_copy.history_view import HistoryView
from memolith.clients.working_copy.store_client import StoreClient, StoreClientError
from memolith.clients.working_copy.unsaved_texts import STARTING, UnsavedTexts, move_left
from memolith.clients.working_copy.working_copy import WorkingCopy
from memolith.core.errors import InvalidRequest

THREADS = 32
ENDED_BY_SIGNAL = "8"
"""What libfuse's main answers after a signal has ended its loop. Source: libfuse lib/helper.c."""

INSTALL = (
    "FUSE is not here: install it (Debian, Ubuntu: apt install fuse3) and pip install '.[mount]'; "
    "`memolith sync` does without"
)

CONTENTS, LOCAL = "contents", "local"
EARLIER = "-" + "[0-9a-f]" * 12
"""How the name of a store's place ended in releases that had one for each address of the API."""

log = logging.getLogger("memolith.mount")


def check_fuse() -> None:
    """Raise InvalidRequest unless this machine has FUSE. Chooses libfuse 3 where it is installed."""
    if "FUSE_LIBRARY_NAME" not in os.environ and ctypes.util.find_library("fuse3"):
        os.environ["FUSE_LIBRARY_NAME"] = "fuse3"
    try:
        import mfusepy  # noqa: F401 - it looks for libfuse when it is imported
    except (ImportError, OSError) as error:
        raise InvalidRequest("", INSTALL) from error
    if os.uname().sysname == "Linux" and not Path("/dev/fuse").exists():
        raise InvalidRequest("", f"/dev/fuse is missing. {INSTALL}")


def check_folder(folder: Path) -> None:
    """Make the folder if it is missing, and release a mount whose process is dead.

    Raises:
        InvalidRequest: it cannot be mounted on.
    """
    try:
        try:
            empty = _made_and_empty(folder)
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise
            let_go(folder)
            empty = _made_and_empty(folder)
    except OSError as error:
        raise InvalidRequest("DIR", f"{folder} cannot be used: {error.strerror}") from error
    if os.path.ismount(folder):
        raise InvalidRequest("DIR", f"{folder} is mounted already")
    if not empty:
        raise InvalidRequest("DIR", f"{folder} is not empty, and a mount would hide what is in it")


def _made_and_empty(folder: Path) -> bool:
    """Make a folder and tell whether it is empty. Raises OSError: ENOTCONN: a dead mount is there."""
    folder.mkdir(parents=True, exist_ok=True)
    return not any(folder.iterdir())


def open_copy(client: StoreClient, place: Path, *, read_only: bool) -> WorkingCopy:
    """Open a working copy of a store, with what its dead mounts left. Raises StoreClientError: it cannot be read.

    A read-only copy leaves what waits to the next one that writes.
    """
    _take_over(place)
    contents, unsaved = ContentCache(place / CONTENTS), UnsavedTexts(place / LOCAL, take_over=not read_only)
    copy = WorkingCopy(client, contents, unsaved, SystemClock(), SystemRandomness(), read_only)
    copy.start()
    return copy


def place_of(desk: Path, store_id: str) -> Path:
    """Return where a store's texts are kept, by whichever address it is mounted: no two stores have one id."""
    return desk.expanduser() / store_id


def ignored_of(place: Path) -> Path:
    """Return where the ignored files of a store's mounts are kept, in the store's place (`place_of`)."""
    return place / "ignored"


def _take_over(place: Path) -> None:
    """Move what dead mounts of earlier releases left to the store's place; what a living one has stays until later."""
    for earlier in sorted(place.parent.glob(place.name + EARLIER)):
        try:
            make_folder(place / LOCAL)
            with locked(place / LOCAL / STARTING), locked(earlier / LOCAL / STARTING):
                if move_left(earlier / LOCAL, place / LOCAL):
                    _move_rest(earlier, place)
        except OSError as error:
            log.warning("%s cannot be taken over (%s); what is in it is left there", earlier, error.strerror)


def _move_rest(earlier: Path, place: Path) -> None:
    """Move ignored files, and the cache if there is none yet. What is ignored here too at the same path stays there."""
    make_folder(ignored_of(place))
    for kept in sorted(ignored_of(earlier).glob("*")):
        try:
            kept.rename(ignored_of(place) / kept.name)
        except OSError as error:
            log.warning("%s cannot be taken over (%s); what is in it is left there", kept, error.strerror)
    with suppress(OSError):
        (earlier / CONTENTS).rename(place / CONTENTS)
    shutil.rmtree(earlier / CONTENTS, ignore_errors=True)


def mount(copy: WorkingCopy, folder: Path, kept: Path, interval_s: float, mounted: Callable[[], None]) -> None:
    """Show a working copy in a folder until it is unmounted. Call it in the main thread.

    Args:
        kept: where ignored files are kept (`ignored_of`).
        interval_s: how often others' writes are asked for.
        mounted: called once the folder shows the store.

    Raises:
        OSError: it cannot be mounted.
    """
    with nullcontext(True) if copy.read_only else owning(kept) as owned:
        _show(copy, folder, IgnoredFiles(kept, copy.state, owned=owned), interval_s, mounted)


def _show(
    copy: WorkingCopy, folder: Path, ignored: IgnoredFiles, interval_s: float, mounted: Callable[[], None]
) -> None:
    from memolith.clients.mount.filesystem import TIMEOUT_S, Fuse, Invalidating
    from memolith.clients.mount.mounted_folder import MountedFolder

    invalidating = Invalidating()
    copy.state.changed = invalidating.add
    freshness = Freshness(copy, interval_s, invalidating.add)
    files = MountedFolder(copy, HistoryView(copy.state), ignored, invalidating, mounted)
    freshness.start()
    try:
        Fuse(
            files,
            str(folder),
            raw_fi=True,
            foreground=True,
            ro=copy.read_only,
            fsname="memolith",
            subtype="memolith",
            hard_remove=True,
            attr_timeout=TIMEOUT_S,
            entry_timeout=TIMEOUT_S,
            **loop_options(),
        )
    except RuntimeError as error:
        if str(error) != ENDED_BY_SIGNAL or not files.shown:
            raise OSError(errno.EIO, f"{folder} cannot be mounted (libfuse says {error})") from error
    finally:
        freshness.stop()
        invalidating.stop()
        copy.close()


def loop_options() -> dict[str, int]:
    """Return the options that limit the threads of this machine's libfuse."""
    from memolith.clients.mount.filesystem import BOUNDED, TOLD

    if BOUNDED:
        return {"max_threads": THREADS, "max_idle_threads": THREADS}
    return {"max_idle_threads": THREADS} if TOLD else {"big_writes": True}


class Freshness:
    """Asks for others' writes and commits what waits, every so often, in a thread of its own."""

    def __init__(self, copy: WorkingCopy, interval_s: float, changed: Callable[[Iterable[str]], None]) -> None:
        self._copy, self._interval_s, self._changed = copy, interval_s, changed
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memolith-freshness", daemon=True)
        self._silent = False

    def start(self) -> None:
        """Begin; the first question comes after one interval."""
        self._thread.start()

    def stop(self) -> None:
        """Return when what is under way is done."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._interval_s):
            try:
                self._changed(self._copy.refresh())
                self._tell(None)
            except Exception as error:  # noqa: BLE001 - nothing else would refresh this mount, or commit what waits
                self._tell(error)
            try:
                self._copy.commit_waiting()
            except Exception:
                log.exception("not all that waits was committed; it is tried again")

    def _tell(self, error: Exception | None) -> None:
        """Log once when the store falls silent, and once when it answers again."""
        if error is not None and not self._silent:
            why, unforeseen = (error.message, None) if isinstance(error, StoreClientError) else (repr(error), error)
            said = "the store cannot be asked: %s. What is here is shown; edits wait."
            log.warning(said, why, exc_info=unforeseen)
        if error is None and self._silent:
            log.warning("the store answers again")
        self._silent = error is not None


def let_go(folder: Path) -> None:
    """Unmount what a dead process left mounted. Repeatable."""
    tool = next(filter(None, map(shutil.which, ("fusermount3", "fusermount"))), None)
    words = ["umount", "-f", str(folder)] if tool is None else [tool, "-u", "-z", str(folder)]
    subprocess.run(words, check=False, capture_output=True)
