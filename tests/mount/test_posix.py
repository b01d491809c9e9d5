"""What POSIX says of files and folders, case by case, on a real mount: whatever fails is named here, with the reason.

Each case runs in a folder of the machine's own, too, so that none of them asks for what no file system does.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memolith.entry.compose_laptop import Machine, open_site, owner_key
from memolith.scanner import Scanner
from tests.api.laptop import running
from tests.mount import posix_calls  # noqa: F401 - its cases stand in CASES
from tests.mount.mounted import WITHIN_S, Laptop, Mounted, fuse_is_missing, mounted
from tests.mount.posix_cases import CASES, case, number_of
from tests.support.folders import quick_folder

WHY_NOT = fuse_is_missing()

MAPPED = """
import mmap, sys
with open(sys.argv[1], "r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
    assert mapped[:] == b"text"
    mapped[0:1] = b"n"
    mapped.flush()
"""
"""In a process of its own: a fault in a mapping waits for the mount, whose store may be in this process."""

FAILS_ON_A_MOUNT = {
    "fstat_of_an_unlinked_open_file": "libfuse knows no name of it any more (docs/mount-semantics.md)",
    "read_of_an_unlinked_open_file": "the same",
    "write_to_an_unlinked_open_file": "the same",
    "link_makes_a_second_name": "a memory has one path",
    "symlink_is_read_back": "a memory is text",
    "mkfifo_makes_a_fifo": "a memory is text",
    "chmod_changes_the_mode": "a memory has no mode",
    "create_takes_the_mode": "a memory has no mode",
    "access_time_is_set": "a memory has one time",
    "name_of_256_bytes_is_enametoolong": "a memory may have a longer name, and the mount shows it",
    "file_keeps_bytes_that_are_no_text": "a memory is UTF-8 text",
}


def later() -> None:
    """Lets the time of a file go on by more than any clock's tick."""
    time.sleep(0.03)


def changes(folder: Path, call: Callable[[], object]) -> bool:
    """Whether a call changes the folder's time."""
    before = folder.stat().st_mtime_ns
    later()
    call()
    return folder.stat().st_mtime_ns > before


@case
def create_changes_the_time_of_its_folder(root: Path) -> None:
    assert changes(root, lambda: (root / "a").write_text("x"))


@case
def unlink_changes_the_time_of_its_folder(root: Path) -> None:
    (root / "a").write_text("x")
    assert changes(root, (root / "a").unlink)


@case
def mkdir_and_rmdir_change_the_time_of_the_folder_above(root: Path) -> None:
    assert changes(root, (root / "d").mkdir)
    assert changes(root, (root / "d").rmdir)


@case
def rename_changes_the_times_of_both_folders(root: Path) -> None:
    (root / "d").mkdir()
    (root / "e").mkdir()
    (root / "d/a").write_text("x")
    before = (root / "e").stat().st_mtime_ns
    assert changes(root / "d", lambda: (root / "d/a").rename(root / "e/a"))
    assert (root / "e").stat().st_mtime_ns > before


@case
def folder_keeps_its_time_in_a_rename(root: Path) -> None:
    (root / "d").mkdir()
    os.utime(root / "d", ns=(10**18, 10**18))
    (root / "d").rename(root / "e")
    assert (root / "e").stat().st_mtime_ns == 10**18


@case
def folder_has_the_time_of_its_making(root: Path) -> None:
    (root / "d").mkdir()
    assert abs((root / "d").stat().st_mtime - time.time()) < 60


@case
def utime_sets_the_time_of_a_folder_and_of_a_file(root: Path) -> None:
    (root / "d").mkdir()
    (root / "a").write_text("x")
    for name in ("d", "a"):
        os.utime(root / name, ns=(10**18, 10**18))
        assert (root / name).stat().st_mtime_ns == 10**18


@case
def utime_without_times_is_now(root: Path) -> None:
    (root / "a").write_text("x")
    os.utime(root / "a", ns=(10**18, 10**18))
    os.utime(root / "a")
    assert abs((root / "a").stat().st_mtime - time.time()) < 60


@case
def write_changes_the_time_of_its_file(root: Path) -> None:
    (root / "a").write_text("x")
    assert changes(root / "a", lambda: (root / "a").write_text("y"))


@case
def access_time_is_set(root: Path) -> None:
    (root / "a").write_text("x")
    os.utime(root / "a", ns=(10**18, 2 * 10**18))
    assert (root / "a").stat().st_atime_ns == 10**18


@case
def nlink_of_a_folder_counts_the_folders_in_it(root: Path) -> None:
    assert root.stat().st_nlink == 2
    (root / "d").mkdir()
    (root / "e").mkdir()
    (root / "e/a").write_text("x")
    assert root.stat().st_nlink == 4
    (root / "d").rmdir()
    assert root.stat().st_nlink == 3


@case
def nlink_of_a_file_is_one(root: Path) -> None:
    (root / "a").write_text("x")
    assert (root / "a").stat().st_nlink == 1


def opened_and_unlinked(root: Path, text: str) -> int:
    (root / "a").write_text(text)
    opened = os.open(root / "a", os.O_RDWR)
    (root / "a").unlink()
    return opened


@case
def fstat_of_an_unlinked_open_file(root: Path) -> None:
    opened = opened_and_unlinked(root, "text")
    try:
        assert (os.fstat(opened).st_size, os.fstat(opened).st_nlink) == (4, 0)
    finally:
        os.close(opened)


@case
def read_of_an_unlinked_open_file(root: Path) -> None:
    opened = opened_and_unlinked(root, "text")
    try:
        assert os.pread(opened, 10, 0) == b"text"
    finally:
        os.close(opened)


@case
def write_to_an_unlinked_open_file(root: Path) -> None:
    opened = opened_and_unlinked(root, "text")
    try:
        assert os.pwrite(opened, b"more", 4) == 4
        assert os.pread(opened, 10, 0) == b"textmore"
    finally:
        os.close(opened)


@case
def open_of_nothing_is_enoent_and_exclusive_of_something_eexist(root: Path) -> None:
    assert number_of(lambda: os.open(root / "a", os.O_RDONLY)) == errno.ENOENT
    (root / "a").write_text("x")
    assert number_of(lambda: os.open(root / "a", os.O_CREAT | os.O_EXCL)) == errno.EEXIST


@case
def file_is_no_folder(root: Path) -> None:
    (root / "a").write_text("x")
    assert number_of(lambda: list((root / "a").iterdir())) == errno.ENOTDIR
    assert number_of(lambda: (root / "a/b").write_text("x")) == errno.ENOTDIR
    assert number_of(lambda: (root / "a/b").mkdir()) == errno.ENOTDIR
    assert number_of(lambda: (root / "a").rmdir()) == errno.ENOTDIR


@case
def folder_is_no_file(root: Path) -> None:
    (root / "d").mkdir()
    assert number_of(lambda: os.open(root / "d", os.O_WRONLY)) == errno.EISDIR
    assert number_of(lambda: (root / "d").unlink()) == errno.EISDIR


@case
def mkdir_of_something_is_eexist(root: Path) -> None:
    (root / "d").mkdir()
    (root / "a").write_text("x")
    assert number_of((root / "d").mkdir) == number_of((root / "a").mkdir) == errno.EEXIST


@case
def rmdir_of_a_full_folder_is_enotempty(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/a").write_text("x")
    assert number_of((root / "d").rmdir) == errno.ENOTEMPTY
    (root / "d/a").unlink()
    (root / "d").rmdir()
    assert not (root / "d").exists()


@case
def rename_replaces_a_file_and_an_empty_folder(root: Path) -> None:
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    (root / "a").rename(root / "b")
    assert (list(root.iterdir()), (root / "b").read_text()) == ([root / "b"], "a")
    (root / "d").mkdir()
    (root / "e").mkdir()
    (root / "d/x").write_text("x")
    (root / "d").rename(root / "e")
    assert (root / "e/x").read_text() == "x"


@case
def rename_refuses_what_makes_no_sense(root: Path) -> None:
    (root / "a").write_text("a")
    (root / "d/in").mkdir(parents=True)
    assert number_of(lambda: (root / "a").rename(root / "d")) == errno.EISDIR
    assert number_of(lambda: (root / "d").rename(root / "a")) == errno.ENOTDIR
    assert number_of(lambda: (root / "d").rename(root / "d/in/x")) == errno.EINVAL
    assert number_of(lambda: (root / "no").rename(root / "b")) == errno.ENOENT
    (root / "e").mkdir()
    assert number_of(lambda: (root / "e").rename(root / "d")) == errno.ENOTEMPTY


@case
def rename_keeps_an_open_file_open(root: Path) -> None:
    (root / "a").write_text("text")
    with (root / "a").open() as opened:
        (root / "a").rename(root / "b")
        assert opened.read() == "text"


@case
def name_of_256_bytes_is_enametoolong(root: Path) -> None:
    assert number_of(lambda: (root / ("n" * 256)).write_text("x")) == errno.ENAMETOOLONG
    assert number_of(lambda: (root / ("n" * 256)).mkdir()) == errno.ENAMETOOLONG


@case
def truncate_cuts_and_fills(root: Path) -> None:
    (root / "a").write_text("12345")
    os.truncate(root / "a", 2)
    assert (root / "a").read_bytes() == b"12"
    os.truncate(root / "a", 4)
    assert (root / "a").read_bytes() == b"12\0\0"
    assert number_of(lambda: os.truncate(root / "no", 1)) == errno.ENOENT


@case
def append_goes_to_the_end_wherever_the_file_is_read(root: Path) -> None:
    (root / "a").write_text("one\n")
    with (root / "a").open("a+") as opened:
        opened.seek(0)
        assert opened.read() == "one\n"
        opened.write("two\n")
    assert (root / "a").read_text() == "one\ntwo\n"


@case
def hole_reads_as_nul(root: Path) -> None:
    opened = os.open(root / "a", os.O_RDWR | os.O_CREAT)
    try:
        os.pwrite(opened, b"x", 3)
        assert os.pread(opened, 10, 0) == b"\0\0\0x"
    finally:
        os.close(opened)


@case
def mapping_shows_what_is_written(root: Path) -> None:
    (root / "a").write_text("text")
    done = subprocess.run([sys.executable, "-c", MAPPED, str(root / "a")], timeout=WITHIN_S, check=False)
    assert (done.returncode, (root / "a").read_text()) == (0, "next")


@case
def two_descriptors_see_one_text(root: Path) -> None:
    with (root / "a").open("w+b", buffering=0) as one, (root / "a").open("rb", buffering=0) as two:
        one.write(b"text")
        assert two.read() == b"text"


@case
def link_makes_a_second_name(root: Path) -> None:
    (root / "a").write_text("x")
    os.link(root / "a", root / "b")
    assert (root / "b").read_text() == "x"


@case
def symlink_is_read_back(root: Path) -> None:
    (root / "s").symlink_to("a")
    assert (root / "s").readlink() == Path("a")


@case
def mkfifo_makes_a_fifo(root: Path) -> None:
    os.mkfifo(root / "f")
    assert stat.S_ISFIFO((root / "f").stat().st_mode)


@case
def chmod_changes_the_mode(root: Path) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(0o600)
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o600


@case
def create_takes_the_mode(root: Path) -> None:
    os.close(os.open(root / "a", os.O_CREAT | os.O_WRONLY, 0o600))
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o600


@case
def file_keeps_bytes_that_are_no_text(root: Path) -> None:
    (root / "a").write_bytes(b"\xff\xfe")
    assert (root / "a").read_bytes() == b"\xff\xfe"


@pytest.fixture(scope="module")
def here(scanner_database: Path) -> Iterator[Mounted]:
    with quick_folder() as folder:
        site = open_site(folder / "root", Scanner.load(scanner_database), Machine.real())
        api_key = owner_key(folder / "root", site.region)
        with running(site) as port:
            laptop = Laptop(f"http://127.0.0.1:{port}", api_key, folder)
            with mounted(laptop.url, api_key, laptop.store(), folder / "desk") as here:
                yield here


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_posix_holds_in_a_folder_of_this_machine(name: str, tmp_path: Path) -> None:
    CASES[name](tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY_NOT), reason=f"NOTHING IS MOUNTED IN THESE TESTS: {WHY_NOT}")
@pytest.mark.parametrize("name", CASES)
def test_a_case_of_posix_holds_in_a_mount_unless_it_is_a_known_failure(name: str, here: Mounted) -> None:
    root = here.folder / name
    root.mkdir()
    failed = ""
    try:
        CASES[name](root)
    except (OSError, AssertionError) as error:
        failed = f"{type(error).__name__}: {error}"
    if name in FAILS_ON_A_MOUNT:
        assert failed, f"{name} holds now: take it from the list, and from docs/mount-semantics.md"
    else:
        assert not failed, failed


@pytest.mark.slow
def test_every_known_failure_is_a_case() -> None:
    assert set(FAILS_ON_A_MOUNT) <= set(CASES)
