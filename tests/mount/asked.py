"""A mount that says what is asked of it, and what it asks: ``python -m tests.mount.asked SOURCE FOLDER [--read-only]``.

It shows in a folder what is in another one, says ``shown``, and answers each line of its input with what the kernel,
and it itself of the store, has asked since the last one, as JSON. It ends with its input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memolith.clients.mount import mounting
from tests.mount.store_of_files import StoreOfFiles

mounting.check_fuse()

from memolith.clients.mount import filesystem  # noqa: E402 - libfuse is chosen before it is loaded

asked: Counter[str] = Counter()
counting = threading.Lock()
"""Held while `asked` is changed: libfuse calls in many threads, and a sum may not lose one of them."""


class Counting(filesystem.Fuse):
    """Counts what the kernel asks."""

    def _wrapper(self, func: Callable[..., Any], *args: Any) -> int:
        with counting:
            asked[func.__name__.partition("_fuse_")[0]] += 1
        return super()._wrapper(func, *args)


def say(what: object) -> None:
    """To whoever started it."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def answer(store: StoreOfFiles) -> None:
    """Answers the input, and unmounts when it ends."""
    for _ in sys.stdin:
        with counting:  # what comes while this is said belongs to the next answer
            told = {"kernel": dict(asked), "store": dict(store.asked)}
            asked.clear()
            store.asked.clear()
        say(told)
    os.kill(os.getpid(), signal.SIGTERM)


def main(source: str, folder: str, *read_only: str) -> None:
    """Shows the source until the input ends."""
    filesystem.Fuse = Counting  # type: ignore[misc]  # the test's own takes its place
    store = StoreOfFiles(Path(source))
    with TemporaryDirectory() as desk:
        copy = mounting.open_copy(store, Path(desk), read_only=bool(read_only))
        threading.Thread(target=answer, args=(store,), daemon=True).start()
        mounting.mount(copy, Path(folder), Path(desk) / "ignored", 3600, lambda: say("shown"))


if __name__ == "__main__":
    main(*sys.argv[1:])
