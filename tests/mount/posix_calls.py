"""Cases of POSIX about one system call each: with those of `test_posix`, some for each group of pjdfstest."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import subprocess
import time
from pathlib import Path

from tests.mount.mounted import WITHIN_S
from tests.mount.posix_cases import case, number_of


@case
def chown_to_its_owner_is_done(root: Path) -> None:
    (root / "a").write_text("x")
    os.chown(root / "a", os.getuid(), os.getgid())
    assert ((root / "a").stat().st_uid, (root / "a").stat().st_gid) == (os.getuid(), os.getgid())


@case
def mknod_makes_a_plain_file(root: Path) -> None:
    os.mknod(root / "a", stat.S_IFREG | 0o644)
    assert stat.S_ISREG((root / "a").stat().st_mode)


@case
def ftruncate_cuts_and_fills_through_a_descriptor(root: Path) -> None:
    opened = os.open(root / "a", os.O_RDWR | os.O_CREAT)
    try:
        os.write(opened, b"12345")
        os.ftruncate(opened, 2)
        os.ftruncate(opened, 4)
        assert (os.pread(opened, 10, 0), os.fstat(opened).st_size) == (b"12\0\0", 4)
    finally:
        os.close(opened)


@case
def truncate_to_less_than_nothing_is_einval(root: Path) -> None:
    (root / "a").write_text("x")
    assert number_of(lambda: os.truncate(root / "a", -1)) == errno.EINVAL


@case
def fallocate_makes_a_file_as_long_as_asked(root: Path) -> None:
    opened = os.open(root / "a", os.O_RDWR | os.O_CREAT)
    try:
        os.posix_fallocate(opened, 0, 10)
        assert os.fstat(opened).st_size == 10
    finally:
        os.close(opened)


@case
def utime_of_nothing_is_enoent(root: Path) -> None:
    assert number_of(lambda: os.utime(root / "no")) == errno.ENOENT


@case
def touch_keeps_the_time_that_it_is_not_asked_to_set(root: Path) -> None:
    (root / "a").write_text("x")
    os.utime(root / "a", ns=(10**18, 10**18))
    subprocess.run(["touch", "-a", str(root / "a")], check=True, timeout=WITHIN_S)  # UTIME_OMIT for the other
    assert (root / "a").stat().st_mtime_ns == 10**18
    subprocess.run(["touch", "-m", str(root / "a")], check=True, timeout=WITHIN_S)
    assert abs((root / "a").stat().st_mtime - time.time()) < 60


@case
def open_with_truncation_empties_and_keeps_the_file(root: Path) -> None:
    (root / "a").write_text("text")
    inode = (root / "a").stat().st_ino
    os.close(os.open(root / "a", os.O_WRONLY | os.O_TRUNC))
    assert ((root / "a").stat().st_size, (root / "a").stat().st_ino) == (0, inode)


@case
def open_of_a_file_as_a_folder_is_enotdir(root: Path) -> None:
    (root / "a").write_text("x")
    assert number_of(lambda: os.open(root / "a", os.O_RDONLY | os.O_DIRECTORY)) == errno.ENOTDIR


@case
def what_is_below_a_folder_that_is_not_there_is_enoent(root: Path) -> None:
    assert number_of(lambda: os.open(root / "no/a", os.O_WRONLY | os.O_CREAT)) == errno.ENOENT
    assert number_of((root / "no/d").mkdir) == errno.ENOENT
    assert number_of((root / "no").rmdir) == number_of((root / "no").unlink) == errno.ENOENT


@case
def path_of_4096_bytes_is_enametoolong(root: Path) -> None:
    assert number_of(lambda: (root / "/".join(["n" * 99] * 42)).stat()) == errno.ENAMETOOLONG


@case
def rmdir_of_the_folder_itself_is_einval(root: Path) -> None:
    (root / "d").mkdir()
    assert number_of(lambda: os.rmdir(f"{root}/d/.")) == errno.EINVAL  # noqa: PTH106 - a Path drops the dot


@case
def rename_to_itself_changes_nothing(root: Path) -> None:
    (root / "a").write_text("text")
    inode = (root / "a").stat().st_ino
    (root / "a").rename(root / "a")
    assert ((root / "a").read_text(), (root / "a").stat().st_ino) == ("text", inode)


@case
def rename_keeps_the_inode(root: Path) -> None:
    (root / "a").write_text("text")
    inode = (root / "a").stat().st_ino
    (root / "a").rename(root / "b")
    assert (root / "b").stat().st_ino == inode


def exchange(one: Path, other: Path) -> None:
    """Does `renameat2` with RENAME_EXCHANGE, which Python does not offer. Source: renameat2(2), linux/fs.h."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-1, bytes(one), -1, bytes(other), 2):
        raise OSError(ctypes.get_errno(), "renameat2")


@case
def exchange_of_two_files_is_done_or_einval(root: Path) -> None:
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    texts = {0: ("b", "a"), errno.EINVAL: ("a", "b")}[number_of(lambda: exchange(root / "a", root / "b"))]
    assert ((root / "a").read_text(), (root / "b").read_text()) == texts


@case
def exchange_of_two_folders_is_done_or_einval(root: Path) -> None:
    (root / "d/.git").mkdir(parents=True)
    (root / "d/a").write_text("a")
    (root / "e").mkdir()
    names = {0: ([], [".git", "a"]), errno.EINVAL: ([".git", "a"], [])}[
        number_of(lambda: exchange(root / "d", root / "e"))
    ]
    assert tuple(sorted(one.name for one in (root / folder).iterdir()) for folder in ("d", "e")) == names


@case
def unlinked_name_can_be_made_again_and_is_another_file(root: Path) -> None:
    (root / "a").write_text("old")
    (root / "a").unlink()
    assert not (root / "a").exists()
    (root / "a").write_text("new")
    assert (root / "a").read_text() == "new"


@case
def listing_shows_each_name_once_with_its_kind(root: Path) -> None:
    (root / "a").write_text("x")
    (root / "d").mkdir()
    with os.scandir(root) as found:
        assert sorted((one.name, one.is_dir()) for one in found) == [("a", False), ("d", True)]


@case
def statvfs_tells_block_size_and_longest_name(root: Path) -> None:
    told = os.statvfs(root)
    assert told.f_bsize > 0 and told.f_namemax >= 255


@case
def copy_within_a_folder_keeps_the_text(root: Path) -> None:
    (root / "a").write_text("text" * 1_000)
    with (root / "a").open("rb") as source, (root / "b").open("wb") as target:
        while os.copy_file_range(source.fileno(), target.fileno(), 100_000):
            pass
    assert (root / "b").read_text() == "text" * 1_000
