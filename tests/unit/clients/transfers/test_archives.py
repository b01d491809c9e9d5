"""``memolith import`` and ``memolith export`` of archives: tar and zip, damaged and hostile ones."""

from __future__ import annotations

import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from memolith.clients.cli.export import _opened
from memolith.clients.cli.failures import Exit
from memolith.clients.transfer.archives import archive
from memolith.core.errors import InvalidRequest
from tests.unit.clients.desk import Desk
from tests.unit.clients.transfers.reports import fill, moved, reasons


def test_a_tar_goes_in_and_comes_out_whether_compressed_or_not(desk: Desk, tmp_path: Path) -> None:
    folder = fill(tmp_path / "f", {"a": "1", "b/c": "2"})
    desk.ok("import", str(folder), "--store", desk.store)
    for name in ("out.tar", "out.tar.gz"):
        assert moved(desk, "export", desk.store, name)["results"] == {"written": 2}
        assert moved(desk, "import", name)["results"] == {"created": 2}
    assert "out.tar is there already" in desk.fails(Exit.USAGE, "export", desk.store, "out.tar")


@pytest.mark.parametrize("name", ["out.tar", "out.tar.gz", "out.tgz", "out.tar.bz2", "out.tar.xz"])
def test_of_two_exports_to_one_tar_at_once_each_is_whole_and_the_last_one_stays(tmp_path: Path, name: str) -> None:
    with _opened(tmp_path / name, True) as first:
        first.write("first/a", b"1" * 100_000, 0)
        with _opened(tmp_path / name, True) as second:
            second.write("second/a", b"2" * 100_000, 0)
            first.write("first/b", b"1" * 100_000, 0)
        with tarfile.open(tmp_path / name) as opened:
            assert opened.getnames() == ["second/a"]
    with tarfile.open(tmp_path / name) as opened:
        assert opened.getnames() == ["first/a", "first/b"]
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_tar_that_another_export_made_meanwhile_is_not_replaced_unasked(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidRequest, match="is there already"),
        _opened(tmp_path / "out.tar", False) as first,
    ):
        first.write("first", b"1", 0)
        with _opened(tmp_path / "out.tar", False) as second:
            second.write("second", b"2", 0)
    with tarfile.open(tmp_path / "out.tar") as opened:
        assert opened.getnames() == ["second"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.tar"]


def test_a_zip_goes_in_and_a_hostile_one_leads_nowhere(desk: Desk) -> None:
    with zipfile.ZipFile("notes.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("a.md", "1")
        zipped.writestr("n/", "")
        zipped.writestr("n/résumé.md", "2")
        zipped.writestr("../../up", "3")
        zipped.writestr(".git/config", "4")
        zipped.writestr("n/.DS_Store", "5")
        zipped.writestr("bomb", b"0" * 50_000_000)
        link = zipfile.ZipInfo("passwd")
        link.external_attr = 0o120777 << 16
        zipped.writestr(link, "/etc/passwd")
    report = moved(desk, "import", "notes.zip", "--store", desk.store, code=Exit.IN_PART)
    assert desk.ok("ls", desk.store, "-r").split() == ["/a.md", "/n/résumé.md"]
    told = reasons(report)
    assert told["/passwd"] == "a link" and told["/bomb"].startswith("larger than")
    assert set(told) == {"/../../up", "/.git/config", "/n/.DS_Store", "/bomb", "/passwd"}


def a_zip(name: str, content: bytes) -> bytes:
    with BytesIO() as made:
        with zipfile.ZipFile(made, "w") as zipped:
            zipped.writestr(name, content)
        return made.getvalue()


def a_tar(**contents: bytes) -> bytes:
    with BytesIO() as made:
        with tarfile.open(fileobj=made, mode="w") as opened:
            for name, content in contents.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                opened.addfile(member, BytesIO(content))
        return made.getvalue()


def test_a_tar_whose_last_member_is_a_zip_is_a_tar(tmp_path: Path) -> None:
    notes = tmp_path / "notes.tar"
    notes.write_bytes(a_tar(note=b"1", attached=a_zip("inner.md", b"2")))
    with archive(notes) as found:
        assert [file.path for file in found.files] == ["/attached", "/note"]


def test_a_zip_whose_first_member_is_a_tar_is_a_zip(tmp_path: Path) -> None:
    notes = tmp_path / "notes.zip"
    notes.write_bytes(a_zip("packed.tar", a_tar(inner=b"1")))
    with archive(notes) as found:
        assert [file.path for file in found.files] == ["/packed.tar"]


def test_a_damaged_zip_is_named(desk: Desk) -> None:
    with zipfile.ZipFile("notes.zip", "w") as zipped:
        zipped.writestr("a.md", "text" * 10)
    whole = Path("notes.zip").read_bytes()
    Path("notes.zip").write_bytes(whole.replace(b"texttext", b"texttexx", 1))
    report = moved(desk, "import", "notes.zip", "--store", desk.store, code=Exit.IN_PART)
    assert "damaged" in reasons(report)["/a.md"]


def test_a_hostile_tar_leads_nowhere(desk: Desk, tmp_path: Path) -> None:
    with tarfile.open("evil.tar", "w") as opened:
        for name, content in (("../../up", "1"), ("/abs", "2"), ("twice", "old"), ("twice", "new"), (".git/x", "3")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            opened.addfile(member, BytesIO(content.encode()))
        link = tarfile.TarInfo("passwd")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        opened.addfile(link)
    report = moved(desk, "import", "evil.tar", "--store", desk.store, code=Exit.IN_PART)
    assert reasons(report) == {
        "/../../up": "the API takes no such path: path: must not have a . or .. segment",
        "/twice": "it stands in the archive again, later",
        "/.git/x": "in a folder of version control",
        "/passwd": "a link",
    }
    assert desk.ok("ls", desk.store, "-r").split() == ["/abs", "/twice"]
    assert desk.ok("cat", desk.store, "/twice") == "new"
