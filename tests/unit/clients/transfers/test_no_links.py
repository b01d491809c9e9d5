"""A disk without hard links, such as a FAT stick or a FUSE mount: an export and a backup name files there, too."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memolith.adapters.backup_folder import BackupFolder
from memolith.clients.transfer.exporting import Folder, whole
from memolith.clients.transfer.report import Row
from memolith.core.errors import InvalidRequest
from memolith.ports.errors import ObjectExists
from tests.unit.clients.transfers.reports import texts


@pytest.fixture(params=["the system's call", "no such call", "a disk that does not know it"])
def refuse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has every link be refused, once something was done; a rename that replaces nothing is there, or is not."""

    def refuse(refusal: int, meanwhile: Callable[[Path], object] = lambda _: None) -> None:
        def refused(_: Path, path: Path) -> None:
            meanwhile(path)
            raise OSError(refusal, os.strerror(refusal))

        monkeypatch.setattr(os, "link", refused)

    if request.param == "no such call":
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
    elif request.param == "a disk that does not know it":
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: Unknown())
    return refuse


class Unknown:
    """A C library whose calls find a disk that has no such rename."""

    def renameat2(self, *_: Any) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1

    renamex_np = renameat2


@pytest.mark.parametrize("refusal", [errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EMLINK])
def test_a_disk_without_hard_links_takes_new_files_of_an_export(
    tmp_path: Path, refuse: Callable[..., None], refusal: int
) -> None:
    """ENOSYS is what Linux before 6.15 passes on of a mount that has no links, such as Memolith's own."""
    refuse(refusal)
    assert Folder(tmp_path).write("a", b"x", 0) == Row("a", "written")
    with whole(tmp_path / "b", replace=False) as beside:
        beside.write_bytes(b"y")
    assert texts(tmp_path) == {"a": b"x", "b": b"y"}


def test_a_file_that_is_made_meanwhile_is_kept(tmp_path: Path, refuse: Callable[..., None]) -> None:
    refuse(errno.EPERM, lambda path: path.write_bytes(b"theirs"))
    assert Folder(tmp_path).write("a", b"x", 0) == Row("a", "kept", "somebody made a file there meanwhile")
    with pytest.raises(InvalidRequest, match="is there already"), whole(tmp_path / "b", replace=False) as beside:
        beside.write_bytes(b"y")
    place, draft = BackupFolder(tmp_path), tmp_path / "draft"
    draft.write_bytes(b"z")
    with pytest.raises(ObjectExists):
        place.put_if_absent("c", draft, "")
    draft.unlink()
    assert texts(tmp_path) == dict.fromkeys("abc", b"theirs")


def test_a_file_that_cannot_be_named_leaves_nothing_at_its_name(
    tmp_path: Path, refuse: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was an empty file in a backup, to which nothing can be put again."""
    refuse(errno.EPERM)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    draft = tmp_path / "draft"
    draft.write_bytes(b"z")
    try:
        BackupFolder(tmp_path).put_if_absent("c", draft, "")
    except OSError as error:
        assert (error.errno, texts(tmp_path)) == (errno.ENOSPC, {"draft": b"z"})
    else:
        assert texts(tmp_path) == {"c": b"z"}
