"""pjdfstest on a real mount: ``python -m scripts.pjdfstest CHECKOUT`` (``make pjdfstest PJDFSTEST=CHECKOUT``).

A checkout of https://github.com/pjd/pjdfstest with its program compiled in it, as root, where FUSE is. The files that
`BASELINE` names are run in a mount of a store that `memolith serve` serves; what fails there and is not in the list is
a fault, and so is what is in the list and does not fail, unless its line begins with a question mark, for it depends on
how soon a commit is done. Both end with exit code 1. Each file is first run in a folder
of the machine's own: a file with a failure there says nothing about a mount, and is refused.

``--record FILE ...`` writes the list anew, of the files named (``rename/00``): look at each line before it is kept.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.bench.laptop import serving
from tests.mount.mounted import fuse_is_missing, mounted
from tests.support.folders import quick_folder
from tests.support.sdk import client_of

BASELINE = Path(__file__).resolve().parents[1] / "tests" / "mount" / "pjdfstest.txt"
WITHIN_S = 900
MAYBE = "? "
_NAME = re.compile(r"pjdfstest_[0-9a-f]+")
_INODE = re.compile(r"^(\w+),[^,]*")
_PLAN = re.compile(r"1\.\.(\d+)")
_CASE = re.compile(r"(not )?ok (\d+)(?: - tried '(.*)', expected (.*), got .*)?")


def baseline() -> dict[str, list[str]]:
    """Return what is known to fail, by file; a file may have no failure."""
    found: dict[str, list[str]] = {}
    for line in BASELINE.read_text().splitlines():
        if line.startswith("== "):
            found[line.removeprefix("== ")] = []
        elif line and not line.startswith("#"):
            found[list(found)[-1]].append(line)
    return found


def failures(checkout: Path, file: str, folder: Path) -> list[str]:
    """Run a file in a folder; return its cases that failed, each by its number and what it tried.

    Raises:
        SystemExit: it did not come to its end.
    """
    words = ["sh", str(checkout / "tests" / f"{file}.t")]
    said = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=WITHIN_S, check=False).stdout
    plan = _PLAN.search(said)
    cases = list(_CASE.finditer(said))
    if plan is None or len(cases) != int(plan[1]):
        raise SystemExit(f"{file}: {len(cases)} of {plan and plan[1]} cases came to an end")
    return [_named(case) for case in cases if case[1]]


def _named(case: re.Match[str]) -> str:
    if case[3] is None:
        return f"{case[2]}: a comparison of what was shown before"
    tried, expected = _NAME.sub("NAME", case[3]), case[4]
    if "inode" in tried:
        expected = _INODE.sub(r"\1,INODE", expected)
    return f"{case[2]}: {tried} -> {expected}"


@contextmanager
def mount() -> Iterator[Path]:
    """Mount a new store of a server of its own."""
    with quick_folder() as folder, serving(folder / "root") as server:
        url = f"http://127.0.0.1:{server.port}"
        store = client_of(url, server.key).beta.memory_stores.create(name="pjdfstest").id
        with mounted(url, server.key, store, folder / "desk") as here:
            yield here.folder


def run(checkout: Path, files: Sequence[str]) -> dict[str, list[str]]:
    """Run the files, each in a folder of its own; return their failures."""
    found = {}
    with quick_folder() as plain, mount() as here:
        for number, file in enumerate(files):
            if broken := failures(checkout, file, plain):
                raise SystemExit(f"{file} fails in a folder of this machine, too: {broken}")
            place = here / f"f{number}"
            place.mkdir()
            found[file] = failures(checkout, file, place)
            print(f"{file}: {len(found[file])} failed", flush=True)
    return found


def main(words: Sequence[str]) -> int:
    """Compare, or record; return 1 for anything that is not as the list has it."""
    if why := fuse_is_missing():
        raise SystemExit(why)
    checkout, *rest = words
    if rest[:1] == ["--record"]:
        comments = [line for line in BASELINE.read_text().splitlines() if line.startswith("#")]
        parts = [
            f"== {file}\n" + "".join(f"{one}\n" for one in failed)
            for file, failed in run(Path(checkout), rest[1:]).items()
        ]
        BASELINE.write_text("\n".join(["\n".join(comments) + "\n", *parts]))
        return 0
    known, wrong = baseline(), 0
    for file, failed in run(Path(checkout), list(known)).items():
        listed = {line.removeprefix(MAYBE) for line in known[file]}
        always = {line for line in known[file] if not line.startswith(MAYBE)}
        for told, some in (("fails now", set(failed) - listed), ("fails no more", always - set(failed))):
            wrong += len(some)
            print("".join(f"{told}: {file} {one}\n" for one in sorted(some)), end="")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
