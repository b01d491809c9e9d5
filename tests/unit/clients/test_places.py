"""Where other programs keep their memories. What is expected of Claude Code is what release 2.1.330 told its model, run
in folders and under settings of each of these kinds; of Basic Memory what release 0.23.2 does.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memolith.clients.transfer import known_tools
from memolith.clients.transfer.claude_code import project_name
from memolith.core.errors import InvalidRequest

LOCAL, SHARED = ".claude/settings.local.json", ".claude/settings.json"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home with nothing of another one's settings."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE",
        "CLAUDE_CODE_REMOTE_MEMORY_DIR",
        "BASIC_MEMORY_CONFIG_DIR",
        "XDG_CONFIG_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    return folder


def write(file: Path, content: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def by_name(home: Path, project: Path) -> Path:
    return home / ".claude" / "projects" / project_name(project) / "memory"


# ---- Claude Code: names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/my_app.2", "-home-ada-my-app-2"),
        ("/home/ada/plain folder", "-home-ada-plain-folder"),
        ("/home/ada/記憶", "-home-ada---"),
        ("/home/ada/smile😀x", "-home-ada-smile--x"),
    ],
)
def test_a_project_is_called_by_its_path_with_a_dash_for_each_utf16_unit_but_letters_and_digits(
    path: str, name: str
) -> None:
    assert project_name(Path(path)) == name


@pytest.mark.parametrize(
    ("path", "ending"),
    [
        ("/home/ada/" + "deep/" * 50 + "app", "deep--n0dm4v"),
        ("/home/ada/" + "記憶😀/" * 40 + "b", "------kkom7k"),
        ("/home/ada/" + "x" * 250, "xxxxx-b6aisy"),
    ],
)
def test_a_long_name_is_cut_and_ends_in_a_hash_of_the_whole_path(path: str, ending: str) -> None:
    assert project_name(Path(path)).endswith(ending)
    assert len(project_name(Path(path))) == 207


def test_a_long_path_has_one_memory_and_never_that_of_another_project_that_begins_alike(
    home: Path, tmp_path: Path
) -> None:
    deep = tmp_path / ("one-folder-in-another/" * 12)
    mine, other = repository(deep / "app"), repository(deep / "other")
    by_name(home, other).mkdir(parents=True)
    place = known_tools.claude(mine)
    assert place.folder == by_name(home, mine)
    assert place.beside == (by_name(home, other),)


def test_every_worktree_of_a_repository_shares_one_memory_also_of_a_bare_one(home: Path, tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    run = ["git", "-C", str(app), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*run, "worktree", "add", "-q", str(tmp_path / "fix")], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(app), str(tmp_path / "bare.git")], check=True)
    bare = ["git", "-C", str(tmp_path / "bare.git"), "worktree", "add", "-q", str(tmp_path / "from-bare"), "HEAD"]
    subprocess.run(bare, check=True)
    assert known_tools.claude(tmp_path / "fix").folder == by_name(home, app)
    assert known_tools.claude(tmp_path / "from-bare").folder == by_name(home, tmp_path / "bare.git")


# ---- Claude Code: settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "folder"),
    [
        ("~/mine", "{home}/mine"),
        ("/srv/memory/", "/srv/memory"),
        ("~", None),
        ("~/", None),
        ("~/../theirs", None),
        ("notes/memory", None),
        ("/", None),
        (17, None),
    ],
)
def test_a_setting_names_a_whole_path_or_one_below_home_and_else_counts_for_nothing(
    home: Path, tmp_path: Path, named: object, folder: str | None
) -> None:
    write(home / SHARED, {"autoMemoryDirectory": named})
    expected = by_name(home, tmp_path) if folder is None else Path(folder.format(home=home))
    assert known_tools.claude(tmp_path).folder == expected


def test_what_a_checkout_names_counts_before_what_a_person_names_if_that_person_trusts_the_checkout(
    home: Path, tmp_path: Path
) -> None:
    app = repository(tmp_path / "app")
    (app / "src").mkdir()
    write(home / SHARED, {"autoMemoryDirectory": "~/mine"})
    write(app / SHARED, {"autoMemoryDirectory": "~/shared"})
    write(home / ".claude.json", {"projects": {str(app): {"hasTrustDialogAccepted": True}}})
    assert known_tools.claude(app / "src").folder == home / "shared"
    write(app / LOCAL, {"autoMemoryDirectory": "~/local"})
    assert known_tools.claude(app / "src").folder == home / "local"


def test_a_checkout_that_nobody_trusts_does_not_choose_what_is_read_and_is_named(home: Path, tmp_path: Path) -> None:
    app = repository(tmp_path / "app")
    (home / "secrets").mkdir()
    write(app / SHARED, {"autoMemoryDirectory": "~/secrets"})
    write(home / ".claude.json", {"projects": {str(app): {"hasTrustDialogAccepted": False}}})
    place = known_tools.claude(app)
    assert place.folder == by_name(home, app)
    assert place.beside == (home / "secrets",)


def test_the_environment_moves_all_projects_or_names_the_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_REMOTE_MEMORY_DIR", str(home / "remote"))
    assert known_tools.claude(tmp_path).folder == home / "remote" / "projects" / project_name(tmp_path) / "memory"
    monkeypatch.setenv("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", str(home / "cowork"))
    assert known_tools.claude(tmp_path).folder == home / "cowork"


# ---- Basic Memory ---------------------------------------------------------------------------------------------------


def test_a_project_of_basic_memory_is_found_where_its_configuration_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".basic-memory/config.json", {"projects": {"main": {"path": "/a"}}, "default_project": "main"})
    assert known_tools.basic_memory(None).folder == Path("/a")
    write(home / "xdg/basic-memory/config.json", {"projects": {"main": {"path": "/b"}}})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "xdg"))
    assert known_tools.basic_memory(None).folder == Path("/b")
    write(home / "own/config.json", {"projects": {"main": "/c"}})
    monkeypatch.setenv("BASIC_MEMORY_CONFIG_DIR", str(home / "own"))
    assert known_tools.basic_memory("main").folder == Path("/c")


def test_of_a_project_in_the_cloud_its_copy_on_this_machine_is_meant(home: Path) -> None:
    cloud = {"path": "research", "mode": "cloud", "local_sync_path": "/copy"}
    elsewhere = {"path": "alone", "mode": "cloud", "local_sync_path": None}
    write(home / ".basic-memory/config.json", {"projects": {"research": cloud, "alone": elsewhere}})
    assert known_tools.basic_memory("research").folder == Path("/copy")
    with pytest.raises(InvalidRequest, match="no project alone"):
        known_tools.basic_memory("alone")


def test_a_projects_name_means_the_project_also_where_a_folder_has_that_name(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / ".basic-memory/config.json", {"projects": {"research": {"path": "/project"}}})
    (tmp_path / "research").mkdir()
    monkeypatch.chdir(tmp_path)
    assert known_tools.basic_memory("research").folder == Path("/project")
    assert known_tools.basic_memory("./research").folder == Path("research")
