"""What a real mount keeps on this machine: version control's folders, and what `memolith import` ignores, too."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memolith.clients.transfer import exporting
from memolith.entry.compose_laptop import Machine, open_site, owner_key
from memolith.scanner import Scanner
from tests.api.laptop import running
from tests.mount.mounted import Laptop, Mounted, fuse_is_missing, mounted, until
from tests.support.folders import quick_folder

WHY_NOT = fuse_is_missing()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=f"NOTHING IS MOUNTED IN THESE TESTS: {WHY_NOT}")

GIT = "git -c user.name=Ada -c user.email=ada@example.com -c init.defaultBranch=main"


@pytest.fixture(scope="module")
def laptop(scanner_database: Path) -> Iterator[Laptop]:
    with quick_folder() as folder:
        site = open_site(folder / "root", Scanner.load(scanner_database), Machine.real())
        api_key = owner_key(folder / "root", site.region)
        with running(site) as port:
            yield Laptop(f"http://127.0.0.1:{port}", api_key, folder)


@pytest.fixture
def here(laptop: Laptop) -> Iterator[Mounted]:
    with mounted(laptop.url, laptop.api_key, laptop.store(), laptop.folder / "here") as here:
        yield here


def again(laptop: Laptop, here: Mounted) -> None:
    """Ends the mount, and starts it again."""
    assert here.end() == 0
    here.start()


DELETED_WHILE_OPEN = """
import os, sys
opened = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.write(opened, b"a text")
os.unlink(sys.argv[1])
try:
    os.ftruncate(opened, 4)
    print(os.pread(opened, 100, 0).decode())
except OSError as error:
    print(os.strerror(error.errno))
"""


@pytest.mark.slow
def test_a_file_that_is_deleted_while_it_is_open_is_read_on_if_it_is_ignored_and_else_says_that_it_is_stale(
    here: Mounted,
) -> None:
    here.ok("mkdir .git")
    (here.desk / "deleted.py").write_text(DELETED_WHILE_OPEN)
    told = [here.ok(f"{sys.executable} {here.desk}/deleted.py {name}") for name in (".git/note.md", "note.md")]
    assert told == ["a te\n", "Stale file handle\n"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_git_repository_in_a_mount_works_and_nothing_of_it_reaches_the_store(laptop: Laptop, here: Mounted) -> None:
    here.ok(f"{GIT} init -q && echo one > a.md && {GIT} add -A && {GIT} commit -qm first")
    here.ok(f"echo two >> a.md && {GIT} commit -qam second && {GIT} checkout -q -b other HEAD^")
    assert here.ok("cat a.md") == "one\n"
    here.ok(f"{GIT} checkout -q main && {GIT} gc -q && {GIT} fsck --strict")
    assert here.ok(f"{GIT} status --porcelain") == ""
    assert laptop.stored(here.store_id) == {"/a.md": "one\ntwo\n"}
    assert {path for _, path in laptop.log(here.store_id)} == {"/a.md"}
    again(laptop, here)
    assert here.ok(f"{GIT} log --format=%s") == "second\nfirst\n"
    assert here.ok(f"{GIT} status --porcelain") == ""
    assert "ignored\t/.git\t" in here.ok("cat .memolith/local")
    here.ok("rm -rf .git")
    assert here.ok("ls -A") == "a.md\n"


@pytest.mark.slow
def test_what_import_ignores_stays_on_this_machine(laptop: Laptop, here: Mounted) -> None:
    here.ok("mkdir notes notes/.obsidian && echo {} > notes/.obsidian/app.json && echo x > notes/.DS_Store")
    here.ok("echo b > notes/b.md && head -c 300000 /dev/urandom > notes/.obsidian/cache")
    assert here.ok("ls -A notes") == ".DS_Store\n.obsidian\nb.md\n"
    assert here.sh("rmdir notes").code != 0
    assert laptop.stored(here.store_id) == {"/notes/b.md": "b\n"}
    here.ok("mv notes places")
    assert here.ok("ls -A places; cat places/.obsidian/app.json") == ".DS_Store\n.obsidian\nb.md\n{}\n"
    again(laptop, here)
    assert here.ok("wc -c < places/.obsidian/cache").strip() == "300000"
    assert laptop.stored(here.store_id) == {"/places/b.md": "b\n"}


@pytest.mark.slow
def test_patterns_of_memolithignore_count_from_its_close_and_not_for_what_the_store_has(
    laptop: Laptop, here: Mounted
) -> None:
    here.ok("mkdir drafts && echo one > drafts/kept.md")
    here.ok("printf '*.log\\nprivate/\\ndrafts/\\n!.vscode/\\n' > .memolithignore")
    here.ok("echo x > a.log; mkdir private .vscode; echo x > private/a.md; echo {} > .vscode/a.json")
    here.ok("echo two > drafts/kept.md; echo new > drafts/new.md")
    stored = laptop.stored(here.store_id)
    assert stored == {"/drafts/kept.md": "two\n", "/.vscode/a.json": "{}\n"}
    here.ok("echo > .memolithignore; echo y > b.log")
    assert "/b.log" in laptop.stored(here.store_id)
    assert here.ok("cat a.log private/a.md drafts/new.md") == "x\nx\nnew\n"


@pytest.mark.slow
def test_a_move_between_what_is_ignored_and_the_store_is_a_copy_and_a_deletion(laptop: Laptop, here: Mounted) -> None:
    here.ok("mkdir .trash && echo a > a.md && mv a.md .trash/ && cat .trash/a.md")
    assert laptop.stored(here.store_id) == {}
    here.ok("mv .trash/a.md b.md && mv .trash .idea && rmdir .idea")
    assert laptop.stored(here.store_id) == {"/b.md": "a\n"}
    assert here.ok("ls -A") == "b.md\n"


@pytest.mark.slow
def test_a_name_to_which_a_rename_was_refused_is_the_stores(laptop: Laptop, here: Mounted) -> None:
    """It was ignored from then on, with nothing there: what another client made at it was hidden, and `rm` failed."""
    here.ok("echo '*.log' > .memolithignore; echo a > a.md; mkdir d; echo b > d/b.md")
    for old, new in (("a.md", "b.log"), ("d", ".idea")):
        with pytest.raises(OSError, match="Invalid cross-device link"):
            (here.folder / old).rename(here.folder / new)
    assert "/b.log" not in here.ok("cat .memolith/local") and "/.idea" not in here.ok("cat .memolith/local")
    for path in ("/b.log", "/.idea/app.md"):
        laptop.client.beta.memory_stores.memories.create(here.store_id, path=path, content="theirs")
    until(lambda: here.sh("cat b.log .idea/app.md").out == "theirs" * 2)
    here.ok("echo mine > b.log && rm .idea/app.md")
    assert laptop.stored(here.store_id) == {"/a.md": "a\n", "/d/b.md": "b\n", "/b.log": "mine\n"}


@pytest.mark.slow
def test_a_folder_is_not_renamed_over_one_that_has_only_what_is_ignored_in_it(laptop: Laptop, here: Mounted) -> None:
    here.ok("mkdir -p a/.git a/in b/.git && echo a > a/a.md && echo a > a/.git/HEAD && echo b > b/.git/HEAD")
    refused = here.sh("mv -T a b")
    assert refused.code != 0 and "Directory not empty" in refused.err
    for _ in range(2):
        assert here.ok("cat a/a.md a/.git/HEAD b/.git/HEAD; ls -A b") == "a\na\nb\n.git\n"
        assert laptop.stored(here.store_id) == {"/a/a.md": "a\n"}
        again(laptop, here)
    here.ok("rm -r b/.git && mv -T a b && mkdir -p a/.git && echo new > a/.git/HEAD")
    for _ in range(2):
        assert here.ok("cat b/a.md b/.git/HEAD a/.git/HEAD") == "a\na\nnew\n"
        again(laptop, here)


@pytest.mark.slow
def test_of_two_mounts_at_once_the_second_shows_nothing_ignored_and_sends_nothing_that_the_first_ignores(
    laptop: Laptop, here: Mounted
) -> None:
    """Each had its own view of the same files: the other's patterns did not count, and what it deleted was no more."""
    here.ok("mkdir .git && echo a > .git/HEAD && echo '*.log' > .memolithignore")
    with mounted(laptop.url, laptop.api_key, here.store_id, here.desk) as other:
        assert other.ok("ls -A") == ""
        for line in ("mkdir .git", "echo b > b.log", "echo b > b.md && mv b.md c.log"):
            refused = other.sh(line)
            assert refused.code != 0 and "Device or resource busy" in refused.err
        assert laptop.stored(here.store_id) == {"/b.md": "b\n"}
        here.end()
        other.end()
        other.start()
        assert other.ok("cat .git/HEAD; ls -A") == "a\n.git\n.memolithignore\nb.md\n"


@pytest.mark.slow
@pytest.mark.parametrize("replace", [False, True])
def test_an_export_into_a_mount_makes_one_version_of_each_memory(
    laptop: Laptop, here: Mounted, *, replace: bool
) -> None:
    """It gives a draft its name, which `memolith import` ignores where the export was killed."""
    here.ok("echo was > a.md")
    target = exporting.Folder(here.folder, replace=replace)
    found = [target.write(name, b"now\n", 0).result for name in ("a.md", "n/b.md")]
    assert found == ["written" if replace else "kept", "written"]
    exporting._draft(here.folder / "n/c.md").write_text("half")
    assert laptop.stored(here.store_id) == {"/a.md": "now\n" if replace else "was\n", "/n/b.md": "now\n"}
    assert {path for _, path in laptop.log(here.store_id)} == {"/a.md", "/n/b.md"}
