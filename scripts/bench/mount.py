"""How long ``grep -r`` takes on a mount beside a local folder: ``python -m scripts.bench.mount`` (``make bench``).

The same files in a local folder, on a mount that is read-only, on one that can be written, and on a file system that
answers every open in libfuse, in C: no mount that is asked about opens can be quicker than that. All are warm, and
taken in turn, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import random
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from memolith.clients.mount.mounting import check_fuse, loop_options, mount, open_copy
from memolith.core.errors import InvalidRequest
from tests.mount.store_of_files import StoreOfFiles

FILES, FOLDERS, WORDS = 2_000, 20, 370
WARM_UP = 2
NEVER_S = 3_600.0
LOCAL, READ_ONLY, WRITABLE, BARE = "a local folder", "a read-only mount", "a mount that can be written", "libfuse alone"


def fill(folder: Path) -> None:
    """Write 2,000 files of about 2 KB in 20 folders."""
    chance = random.Random(1)  # noqa: S311 - made-up texts, the same each time
    for number in range(FILES):
        place = folder / f"d{number % FOLDERS:02}" / f"f{number:04}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(" ".join(chance.choices(["alpha", "beta", "gamma", "delta\n"], k=WORDS)))


def show_bare(source: Path, folder: Path) -> None:
    """Show the files of a folder through libfuse, which answers opens and closes by itself."""
    import mfusepy

    texts = {"/" + str(place.relative_to(source)): place.read_bytes() for place in source.rglob("*.md")}

    class Bare(mfusepy.Operations):  # type: ignore[misc]  # mfusepy has no types
        use_ns = True

        def init_with_config(self, connection: Any, config: Any) -> None:
            config.kernel_cache = config.no_rofd_flush = 1
            config.entry_timeout = config.attr_timeout = NEVER_S
            print("shown", flush=True)

        def getattr(self, path: str, fh: Any = None) -> dict[str, int]:
            if path in texts:
                return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": len(texts[path])}
            if (source / path[1:]).is_dir():
                return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
            raise FileNotFoundError(2, "there is no such file")

        def readdir(self, path: str, fh: int) -> list[str]:
            return [".", "..", *(place.name for place in (source / path[1:]).iterdir())]

        def read(self, path: str, size: int, offset: int, fi: Any) -> bytes:
            return texts[path][offset : offset + size]

    with suppress(RuntimeError):  # so it says that a signal has ended it
        mfusepy.FUSE(Bare(), str(folder), raw_fi=True, foreground=True, fsname="bare", **loop_options())


def show(what: str, source: Path, folder: Path) -> None:
    """Show the files of a folder in another one until it is unmounted; print ``shown`` once it does."""
    check_fuse()
    if what == BARE:
        show_bare(source, folder)
        return
    with TemporaryDirectory() as desk:
        copy = open_copy(StoreOfFiles(source), Path(desk), read_only=what == READ_ONLY)
        mount(copy, folder, Path(desk) / "ignored", NEVER_S, lambda: print("shown", flush=True))


@contextmanager
def shown(what: str, source: Path) -> Iterator[Path]:
    """Mount in a process of its own while the block runs; yield the folder that shows the files."""
    with TemporaryDirectory(prefix="memolith-bench-") as name:
        words = [sys.executable, "-m", "scripts.bench.mount", "--show", what, str(source), name]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            try:
                if process.stdout is None or process.stdout.readline() != "shown\n":
                    raise InvalidRequest("", f"{what} cannot be mounted here")
                yield Path(name)
            finally:
                process.terminate()
                process.wait()


def grep_ms(folder: Path) -> float:
    """Time one ``grep -r`` that finds nothing."""
    began = time.perf_counter()
    subprocess.run(["grep", "-r", "nothing", str(folder)], check=False)
    return (time.perf_counter() - began) * 1_000


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each round, by what was read."""
    with TemporaryDirectory() as source, ExitStack() as held:
        fill(Path(source))
        places = {LOCAL: Path(source)}
        for what in (READ_ONLY, WRITABLE, BARE):
            places[what] = held.enter_context(shown(what, Path(source)))
        for _ in range(WARM_UP):
            for place in places.values():
                grep_ms(place)
        taken: dict[str, list[float]] = {what: [] for what in places}
        for _ in range(rounds):
            for what, place in places.items():
                taken[what].append(grep_ms(place))
        return taken


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=21, help="how often each folder is read")
    parser.add_argument("--show", nargs=3, metavar=("WHAT", "SOURCE", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.show:
        show(asked.show[0], Path(asked.show[1]), Path(asked.show[2]))
        return 0
    try:
        check_fuse()
        taken = measure(asked.rounds)
    except InvalidRequest as error:
        print(f"mount: not measured: {error.message}")
        return 0
    local = median(taken[LOCAL])
    print(f"grep -r over {FILES:,} files of 2 KB in {FOLDERS} folders, warm, the median (the least) of {asked.rounds}:")
    for what, times in taken.items():
        print(
            f"  {what:28} {median(times):7.1f} ({min(times):5.1f}) ms {median(times) / local:5.2f} times a local folder"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
